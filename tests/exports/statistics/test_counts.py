"""The statistics table, with numbers worked out by hand."""

from __future__ import annotations

import statistics

from hypothesis import given
from hypothesis import strategies as st

from exports.statistics.counts import SplitCounts, Sums, split_rows


def counts(*queries: tuple[int, int, int]) -> SplitCounts:
    found = SplitCounts()
    for positives, negatives, votes in queries:
        found.add(positives=positives, negatives=negatives, votes=votes)
    return found


def test_means_and_deviations_are_those_of_the_whole_population() -> None:
    # Positives 2, 4, 4, 4, 5, 5, 7, 9: mean 5, deviation 2 (divided by n, not by n - 1).
    row = counts(*((positives, 10 - positives, 20) for positives in (2, 4, 4, 4, 5, 5, 7, 9))).row()
    assert row["positives_per_query"] == {"mean": 5.0, "std": 2.0}
    assert row["negatives_per_query"] == {"mean": 5.0, "std": 2.0}
    assert row["candidates_per_query"] == {"mean": 10.0, "std": 0.0}


@given(st.lists(st.integers(0, 1000), min_size=1))
def test_running_sums_give_the_mean_and_deviation_of_all_numbers(numbers: list[int]) -> None:
    sums = Sums()
    for number in numbers:
        sums.add(number)
    mean, deviation = statistics.fmean(numbers), statistics.pstdev(numbers)
    assert sums.spread() == {"mean": round(mean, 4), "std": round(deviation, 4)}


def test_the_last_row_is_over_all_queries_and_no_mean_of_means() -> None:
    rows = split_rows({"train": counts((3, 0, 6), (2, 1, 7)), "test": counts((0, 2, 5))})
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
    row = counts().row()
    assert row["queries"] == row["triplets"] == row["votes"] == 0
    assert row["positives_per_query"] == {"mean": None, "std": None}
    assert row["answerable_share"] is None
    assert row["votes_per_triplet"] is None
