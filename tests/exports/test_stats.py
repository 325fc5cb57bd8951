"""The statistics table, with numbers worked out by hand."""

from __future__ import annotations

from typing import Any

from exports.stats import QueryCounts, VoteTally, render_table, split_statistics

CAMPAIGN: dict[str, Any] = {
    "unresolved": 1,
    "ties_broken": 2,
    "first_two_votes": {"triplets": 9, "agreement": 0.6667, "kappa": 0.3077},
    "workers": 5,
    "excluded_workers": 1,
    "assignments": {"submitted": 24, "approved": 23, "rejected": 1, "paid_but_discarded": 1},
    "cost_cents": 123_437,
    "label_error": None,
    "label_error_reason": "no gold",
}


def counts(*queries: tuple[int, int, int]) -> list[QueryCounts]:
    return [QueryCounts(positives, negatives, votes) for positives, negatives, votes in queries]


def test_means_and_deviations_are_those_of_the_whole_population() -> None:
    # Positives 2, 4, 4, 4, 5, 5, 7, 9: mean 5, deviation 2 (divided by n, not by n - 1).
    train = counts(*((positives, 10 - positives, 20) for positives in (2, 4, 4, 4, 5, 5, 7, 9)))
    row = split_statistics({"train": train})["train"]
    assert row["positives_per_query"] == {"mean": 5.0, "std": 2.0}
    assert row["negatives_per_query"] == {"mean": 5.0, "std": 2.0}
    assert row["candidates_per_query"] == {"mean": 10.0, "std": 0.0}


def test_the_last_row_is_over_all_queries_and_no_mean_of_means() -> None:
    rows = split_statistics({"train": counts((3, 0, 6), (2, 1, 7)), "test": counts((0, 2, 5))})
    assert list(rows) == ["train", "test", "all"]
    assert rows["all"] == {
        "queries": 3,
        "triplets": 8,
        "positives": 5,
        "negatives": 3,
        "candidates_per_query": {"mean": 2.6667, "std": 0.4714},
        "positives_per_query": {"mean": 1.6667, "std": 1.2472},
        "negatives_per_query": {"mean": 1.0, "std": 0.8165},
        "answerable_queries": 2,
        "answerable_share": 0.6667,
        "votes": 18,
        "votes_per_triplet": 2.25,
    }


def test_an_empty_split_has_counts_of_zero_and_no_means() -> None:
    row = split_statistics({"dev": []})["dev"]
    assert row["queries"] == row["triplets"] == row["votes"] == 0
    assert row["positives_per_query"] == {"mean": None, "std": None}
    assert row["answerable_share"] is None
    assert row["votes_per_triplet"] is None


def test_agreement_is_over_the_first_two_votes_of_triplets_that_have_them() -> None:
    tally = VoteTally(annotators=2)
    for votes in ([1, 1], [1, 0, 0], [0, 0], [0, 1, 1], [1], []):
        tally.add(votes, labelled=len(votes) > 1)
    # 2 of 4 agree; chance: 2/4 * 2/4 + 2/4 * 2/4 = 1/2, so kappa is 0.
    assert tally.summary() == {
        "votes": 11,
        "first_two_votes": {"triplets": 4, "agreement": 0.5, "kappa": 0.0},
        "ties_broken": 2,
    }


def test_a_tie_is_broken_only_where_a_label_came_of_it() -> None:
    tally = VoteTally(annotators=2)
    tally.add([1, 0, 1, 0], labelled=False)
    tally.add([1, 1, 0], labelled=True)
    assert tally.ties_broken == 0
    tally.add([1, 0, 0], labelled=True)
    assert tally.ties_broken == 1


def test_an_odd_first_round_is_never_tied() -> None:
    tally = VoteTally(annotators=3)
    tally.add([1, 0, 1], labelled=True)
    assert tally.ties_broken == 0


def test_without_votes_agreement_and_kappa_are_null() -> None:
    summary = VoteTally(annotators=2).summary()
    assert summary["first_two_votes"] == {"triplets": 0, "agreement": None, "kappa": None}


def test_the_table_has_a_row_for_each_split_and_the_figures_of_the_campaign() -> None:
    rows = split_statistics({"train": counts((3, 1197, 2400), (2, 8, 20)), "dev": []})
    assert render_table({"splits": rows, "campaign": CAMPAIGN}) == "\n".join(
        [
            "       queries     candidates  positives      negatives  triplets  answerable  votes",
            "train        2  605.0 ± 595.0  2.5 ± 0.5  602.5 ± 594.5     1,210      100.0%   2.00",
            "dev          0              -          -              -         0           -      -",
            "all          2  605.0 ± 595.0  2.5 ± 0.5  602.5 ± 594.5     1,210      100.0%   2.00",
            "candidates, positives, negatives: a query, mean ± deviation; votes: a triplet",
            "",
            "first two votes agree on 66.7% of the triplets (Cohen's kappa 0.31), "
            "2 ties broken, 1 triplets unresolved",
            "5 workers, 1 excluded; assignments: 23 approved, 1 rejected, 1 paid but discarded; "
            "cost $1,234.37",
            "label error unknown: no gold",
        ]
    )


def test_the_label_error_is_told_with_its_interval() -> None:
    error = {
        "label_error": 0.1,
        "label_error_interval": [0.0179, 0.4042],
        "label_error_triplets": 1_010,
    }
    table = render_table({"splits": {}, "campaign": CAMPAIGN | error})
    assert table.splitlines()[-1] == (
        "label error 10.0% (95 % interval 1.8% to 40.4%) of 1,010 triplets with gold"
    )
