"""A release's figures as the terminal shows them."""

from __future__ import annotations

from typing import Any

from exports.statistics.counts import SplitCounts, split_rows
from exports.statistics.text_table import render_table, without_metrics
from tests.exports.statistics.test_counts import counts

CAMPAIGN: dict[str, Any] = {
    "unresolved": 1,
    "votes": 2420,
    "ties_broken": 2,
    "first_two_votes": {"triplets": 9, "agreement": 0.6667, "kappa": 0.3077},
    "workers": 5,
    "excluded_workers": 1,
    "assignments": {"submitted": 24, "approved": 23, "rejected": 1, "paid_but_discarded": 1},
    "cost_cents": 123_437,
    "label_error": None,
    "label_error_reason": "no gold",
}
ANNOTATORS: dict[str, Any] = {
    "agreement": {"alpha": 0.1269},
    "workers": {"robust_share": 0.5, "gini": 0.25, "top_share": 0.375},
}


def test_the_table_has_a_row_for_each_split_and_the_figures_of_the_campaign() -> None:
    rows = split_rows({"train": counts((3, 1197, 2400), (2, 8, 20)), "dev": SplitCounts()})
    assert render_table({"splits": rows, "campaign": CAMPAIGN, **ANNOTATORS}) == "\n".join(
        [
            "       queries     candidates  positives      negatives  triplets  answerable  votes",
            "train        2  605.0 ± 595.0  2.5 ± 0.5  602.5 ± 594.5     1,210      100.0%   2.00",
            "dev          0              -          -              -         0           -      -",
            "all          2  605.0 ± 595.0  2.5 ± 0.5  602.5 ± 594.5     1,210      100.0%   2.00",
            "candidates, positives, negatives: a query, mean ± deviation; votes: a triplet",
            "",
            "first two votes agree on 66.7% of the triplets (Cohen's kappa 0.31), "
            "2 ties broken, 1 triplets unresolved",
            "5 workers, 1 excluded. Assignments: 23 approved, 1 rejected, 1 paid but discarded, "
            "cost USD 1,234.37",
            "label error unknown: no gold",
            "Krippendorff's alpha of all votes 0.13; 50.0% of the labels stay the same whichever "
            "worker is removed; the Gini of votes per worker is 0.25, the busiest gave 37.5%",
        ]
    )


def test_splits_without_metrics_are_named() -> None:
    whole, negatives = counts((3, 7, 20)), counts((0, 9, 18))
    assert without_metrics(split_rows({"dev": whole, "test": whole})) is None
    assert without_metrics(split_rows({"dev": SplitCounts(), "test": negatives})) == (
        "No metric can be computed on dev, which has no query and on test, which has no positive. "
        "Label more queries."
    )


def test_what_is_undefined_is_left_out() -> None:
    """All labels are imported, and nobody has judged."""
    nobody = {
        "agreement": {"alpha": None},
        "workers": {"robust_share": None, "gini": None, "top_share": None},
    }
    votes = {"first_two_votes": {"triplets": 0, "agreement": None, "kappa": None}}
    table = render_table({"splits": {}, "campaign": CAMPAIGN | votes, **nobody})
    assert table.splitlines()[3:] == [
        "2 ties broken, 1 triplets unresolved",
        "5 workers, 1 excluded. Assignments: 23 approved, 1 rejected, 1 paid but discarded, "
        "cost USD 1,234.37",
        "label error unknown: no gold",
    ]


def test_an_undefined_kappa_leaves_the_agreement() -> None:
    votes = {"first_two_votes": {"triplets": 1, "agreement": 1.0, "kappa": None}}
    table = render_table({"splits": {}, "campaign": CAMPAIGN | votes})
    assert "first two votes agree on 100.0% of the triplets, 2 ties broken" in table


def test_the_label_error_is_told_with_its_interval() -> None:
    error = {
        "label_error": 0.1,
        "label_error_interval": [0.0179, 0.4042],
        "label_error_triplets": 1_010,
        "label_error_kinds": {
            "false_positives": {"share": 0.2, "interval": [0.1, 0.35]},
            "false_negatives": None,
        },
    }
    certificate = {"error": 0.45, "confidence": 0.95}
    table = render_table({"splits": {}, "campaign": CAMPAIGN | error, "certificate": certificate})
    assert table.splitlines()[-2:] == [
        "label error 10.0% (95% interval 1.8% to 40.4%) of 1,010 triplets with gold; "
        "false positives 20.0% (10.0% to 35.0%) of the positives",
        "certified: at most 45.0% of the labels are wrong, with 95% confidence",
    ]


def test_without_the_judgments_what_they_alone_tell_is_not_told() -> None:
    campaign = {key: CAMPAIGN[key] for key in ("unresolved", "label_error", "label_error_reason")}
    table = render_table({"splits": {}, "campaign": campaign, "workers": {"robust_share": 0.5}})
    assert table.splitlines()[-2:] == ["1 triplets unresolved", "label error unknown: no gold"]
