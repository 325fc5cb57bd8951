"""`make bench SIZE=label_error`, intervals, exclusion and shared_errors at a tiny size."""

import json

import pytest

from annotation.protocol.aggregation import calibration
from benchmarks import folders
from benchmarks.quality import exclusion, intervals, label_error, shared_errors
from benchmarks.quality.label_error import KINDS, Size


def test_intervals_cover_what_is_true_no_certificate_is_broken_and_shown_chances_come_true(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tiny = Size(campaigns=20, labels=1_000, most_judged=200)
    monkeypatch.setattr(label_error, "JUDGED", (100,))
    monkeypatch.setattr(label_error, "JUDGED_FOR_CHANCES", (100, 800))
    monkeypatch.setattr(label_error, "Size", lambda campaigns: tiny)
    assert label_error.main(["--campaigns", "20"]) == 0
    kept = json.loads((folders.RESULTS / "labels" / "label_error.json").read_text())
    for judged in kept["intervals"].values():
        for name in ("label error", "false positives", "false negatives"):
            assert judged["100"][name]["covered"] >= 0.8
    for way in kept["certificates"].values():
        assert way["true share"]["given"] <= 0.05
        assert way["twice the share"]["given"] > 0.3
    few, many = (kept["chances"]["all"][judged] for judged in ("100", "800"))
    assert few["shown"] == 0
    assert many["shown"] > 0.5
    assert many["error_of_the_shown"] < few["error_of_the_others"]
    kinds = [kept["chances"][kind] for kind in KINDS[1:] if kind in kept["chances"]]
    assert sum(kind["800"]["campaigns"] for kind in kinds) == many["campaigns"] == 20


def test_intervals_of_metrics_are_nearer_to_the_truth_where_ranks_have_a_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(calibration, "MOST_ERROR", 1)
    monkeypatch.setattr(intervals, "WORLDS", 30)
    tiny = intervals.Size(campaigns=1, queries=40, judged=200, all_queries=500)
    figures = intervals.measured(tiny)
    for release in ("majorities", "chances"):
        assert figures[release]["campaigns"] == 1
        blind, ranks = (
            figures[release][name]["good"]["MAP"]["off"]
            for name in ("chances are exact", "chances are drawn, and ranks")
        )
        assert abs(ranks) < 0.06 < abs(blind)


def test_the_sequential_rule_needs_fewer_controls_of_a_spammer_and_excludes_no_honest_worker() -> (
    None
):
    assert exclusion.main(exclusion.Size(workers=200, hits=40)) == 0
    kinds = json.loads((folders.RESULTS / "labels" / "exclusion.json").read_text())["kinds"]
    spammer = kinds["always answers the same"]
    assert [spammer[rule]["controls_in_the_middle"] for rule in exclusion.RULES] == [20, 6]
    assert kinds["fails 10%"]["sequential"]["excluded"] < 0.02
    assert kinds["fails 10%"]["share"]["excluded"] > 0.3


def test_copying_is_found_and_what_was_found_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_errors, "ERRORS", (0.2,))
    assert shared_errors.main(shared_errors.Size(workers=30, honest=1, copying=1)) == 0
    found = json.loads((folders.RESULTS / "labels" / "shared_errors.json").read_text())[
        "errors on 20%"
    ]
    assert found["honest_crowds_that_name_anybody"] == 0
    assert found["two who answer as one"]["controls"] <= 200
