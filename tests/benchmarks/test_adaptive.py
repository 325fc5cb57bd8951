"""`make bench SIZE=adaptive` and `SIZE=plan` at a tiny size."""

import json

import numpy as np
import pytest

from annotation.protocol.policy.policy import Policy
from benchmarks import folders
from benchmarks.quality import adaptive, plan
from benchmarks.quality.adaptive import Play, Size, make_world

TINY = Size(queries=5, workers=12, seeds=2, confidences=(0.95,))


def test_quadro_pays_whole_assignments_for_ties() -> None:
    world = make_world(TINY, 1)
    play = Play(world, Policy(), 0, np.random.default_rng(1))
    came = play.run()
    paid = sum(passed for _, _, _, passed in play.work)
    assert (came.assignments, came.unlabelled) == (paid, 0)
    assert paid > 2 * len(play.hits) == 2 * world.triplets / 5
    assert came.cents == 19 * paid
    assert all(len(hit.had) >= 2 for hit in play.hits)


def test_both_are_played_and_the_run_is_kept_with_its_plot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adaptive, "Size", lambda seeds: TINY)
    assert adaptive.main([]) == 0
    kept = json.loads((folders.RESULTS / "adaptive.json").read_text())
    assert (kept["triplets"], kept["quadro"]["unlabelled"]) == (150, 0)
    assert len(kept["adaptive"]) == 4
    for rows in kept["adaptive"].values():
        assert 0.3 < rows[0]["cost_ratio"] < 1.5
    assert "quadro" in (folders.RESULTS / "adaptive.svg").read_text()


def test_one_seed_is_refused_before_anything_is_played(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        adaptive.main(["--seeds", "1"])
    assert "--seeds must be at least 2" in capsys.readouterr().err


def test_what_is_planned_stands_beside_what_comes() -> None:
    assert plan.main(plan.Size(configurations=2, items=2_000, known=2_000)) == 0
    kept = json.loads((folders.RESULTS / "plan.json").read_text())
    assert [one["known"] for one in kept["compared"]] == [2_000, 2_000, 1_000, 1_000]
    assert all(one["cost"]["within_0.1"] == 2 for one in kept["compared"])
