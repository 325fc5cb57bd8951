"""`make bench SIZE=aggregation` at a tiny size."""

from pathlib import Path

import numpy as np
import pytest
from crowdkit.aggregation import GLAD, MACE, DawidSkene

from benchmarks import folders
from benchmarks.quality import aggregation
from benchmarks.quality.aggregation import (
    CHOSEN,
    PEERS,
    SETS,
    Size,
    Stock,
    assignments_of,
    least_sure_first,
    of_crowd_kit,
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Sets of 60 items, ten votes each, one in five wrong."""
    random = np.random.default_rng(1)
    for name, (folder, positive) in SETS.items():
        path = tmp_path / "crowd" / folder
        path.mkdir(parents=True)
        gold = [positive if random.random() < 0.4 else "other" for _ in range(60)]
        swapped = {positive: "other", "other": positive}
        lines = [
            f"{name}{item},w{worker},{swapped[gold[item]] if random.random() < 0.2 else gold[item]}"
            for item in range(60)
            for worker in random.permutation(15)[:10]
        ]
        rows = [f"{name}{item},{label}" for item, label in enumerate(gold)]
        (path / "labels.csv").write_text("\n".join(["item,worker,label", *lines, "else,w1,other"]))
        (path / "gold.csv").write_text("\n".join(["item,gold", *rows]))
    return tmp_path


def test_two_votes_are_bought_a_third_at_a_tie_and_two_control_answers_to_five(data: Path) -> None:
    crowd = aggregation.load("RTE", data)
    table = aggregation.bought(Stock(crowd, 1))
    asked = ~table.is_known
    votes, yes = table.votes()[asked], table.yes()[asked]
    assert set(votes) == {2, 3}
    assert (yes[votes == 2] != 1).all()
    assert table.known[~asked].tolist() == crowd.gold[~asked].tolist()
    assert table.votes()[~asked].sum() == pytest.approx(0.4 * votes.sum(), rel=0.15)


def test_the_least_sure_are_asked_again_and_paid_by_whole_hits(data: Path) -> None:
    stock = Stock(aggregation.load("RTE", data), 1)
    items = (~stock.is_control).sum()
    once, tied = -(-items // 5), (aggregation.bought(stock).votes()[~stock.is_control] == 3).sum()
    assert assignments_of(aggregation.bought(stock)) == 2 * once + -(-tied // 5)
    curve = dict(least_sure_first(stock, 3 * once, 1))
    assert (min(curve), max(curve)) == (once, 3 * once)  # all of the budget, by HITs
    assert curve[3 * once] > curve[once]
    everything = dict(least_sure_first(stock, 100 * once, 1))
    most = once - (-6 * items // 5)  # seven votes an item, at most
    assert most <= max(everything) <= most + 4


def test_easier_controls_are_from_the_half_that_most_people_get_right(data: Path) -> None:
    crowd = aggregation.load("RTE", data)
    right = np.bincount(crowd.item, crowd.vote == crowd.gold[crowd.item]) / 10
    controls = Stock(crowd, 1, easier=True).is_control
    assert controls.sum() == 20
    assert right[controls].min() >= np.median(right)


def test_every_aggregator_is_measured_on_every_set_and_the_run_is_kept_with_its_plot(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = {  # they make as many rounds whatever the size
        "Dawid-Skene": of_crowd_kit(lambda: DawidSkene(n_iter=3), takes_known=True),
        "MACE": of_crowd_kit(lambda: MACE(n_restarts=1, n_iter=2)),
        "GLAD": of_crowd_kit(lambda: GLAD(n_iter=2)),
    }
    assert quick.keys() == PEERS.keys()
    monkeypatch.setattr(aggregation, "PEERS", quick)
    tiny = Size(orders=2, peers_orders=1, votes=3000, sets=("RTE", "adult"))
    monkeypatch.setattr(aggregation, "Size", lambda orders: tiny)
    assert aggregation.main(["--data", str(data), "--orders", "2"]) == 0
    kept = (folders.RESULTS / "aggregation.json").read_text()
    for name in ("RTE", "adult", CHOSEN, *PEERS):
        assert f'"{name}"' in kept
    assert "RTE" in (folders.RESULTS / "aggregation.svg").read_text()


def test_without_the_data_it_is_skipped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert aggregation.main(["--data", str(tmp_path / "none")]) == 0
    assert "the benchmark is skipped" in capsys.readouterr().out
