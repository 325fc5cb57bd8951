"""`make bench SIZE=label_error` at a tiny size."""

import json

import pytest

from benchmarks import folders
from benchmarks.quality import label_error
from benchmarks.quality.label_error import KINDS, Size


def test_intervals_cover_what_is_true_no_certificate_is_broken_and_shown_chances_come_true(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tiny = Size(campaigns=20, labels=1_000, most_judged=200)
    monkeypatch.setattr(label_error, "JUDGED", (100,))
    monkeypatch.setattr(label_error, "JUDGED_FOR_CHANCES", (100, 800))
    monkeypatch.setattr(label_error, "Size", lambda campaigns: tiny)
    assert label_error.main(["--campaigns", "20"]) == 0
    kept = json.loads((folders.RESULTS / "label_error.json").read_text())
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
