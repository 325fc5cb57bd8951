"""`make bench SIZE=aggregation`: what aggregators make of the votes of real crowds.

Each order draws the votes of each item again and buys them as the protocol does: two, and a third
where they tie. A third of the items stand in for controls; of each worker there are two control
answers to five votes, as in a HIT, from those that they gave on these items. So the votes, and
with them the cost, are the same for all aggregators. Controls are as hard as the rest; or easier,
as those of a campaign are: from the half of the items that most people get right.

RTE, TEMP and the products were looked at while the models were made, dogs when the guard was made
stricter. Faces and adult were not; each of the three has one class against the rest.
"""

import argparse
import csv
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import ceil
from pathlib import Path
from statistics import fmean
from typing import Any

import matplotlib

matplotlib.use("svg")
import numpy as np
import pandas as pd
from crowdkit.aggregation import GLAD, MACE, DawidSkene
from matplotlib import pyplot as plt
from numpy.typing import NDArray

import benchmarks.ready  # noqa: F401
from annotation.protocol.aggregation.calibration import by_agreement
from annotation.protocol.aggregation.choice import AGGREGATORS, choose
from annotation.protocol.aggregation.table import UNKNOWN, Floats, VoteTable, with_known
from annotation.protocol.labels.claims import MAJORITY, Claims
from annotation.protocol.policy.presets import ADAPTIVE
from benchmarks import folders
from benchmarks.main_job import machine

# The folder of each set, and its class against the rest.
SETS = {
    "RTE": ("snow2008_rte", "1"),
    "TEMP": ("snow2008_temp", "1"),
    "product": ("product_matching", "1"),
    "dogs": ("dogs", "0"),
    "faces": ("face_sentiment", "0"),
    "adult": ("adult_content2", "G"),
}
CHOSEN = "chosen"
CONTROLS = 1 / 3  # of the items
ANSWERS = 2 / 5  # control answers to a vote
REAL_ITEMS = 5  # of a HIT, beside two controls
MOST_VOTES = ADAPTIVE.policy().max_votes
PASS = 0.1  # of the first round: so many HITs are asked for together
GROWTH = 1.1  # of the work: then the aggregator is chosen again


Shares = Callable[[VoteTable], Floats]


@dataclass(frozen=True)
class Size:
    orders: int = 50
    peers_orders: int = 3  # of crowd-kit's, which take minutes
    votes: int = 1_000_000  # of the made-up table that is timed
    sets: Sequence[str] = tuple(SETS)


@dataclass(frozen=True)
class Crowd:
    """A row for each vote; `gold`, of each item."""

    item: NDArray[np.int64]
    worker: NDArray[np.int64]
    vote: NDArray[np.int64]
    gold: NDArray[np.int64]


def load(name: str, data: Path) -> Crowd:
    folder, positive = SETS[name]
    path = data / "crowd" / folder
    with (path / "gold.csv").open(encoding="utf-8", newline="") as file:
        gold = {row["item"]: int(row["gold"] == positive) for row in csv.DictReader(file)}
    numbers = {item: number for number, item in enumerate(gold)}
    workers: dict[str, int] = {}
    with (path / "labels.csv").open(encoding="utf-8", newline="") as file:
        rows = [
            (
                numbers[row["item"]],
                workers.setdefault(row["worker"], len(workers)),
                int(row["label"] == positive),
            )
            for row in csv.DictReader(file)
            if row["item"] in numbers
        ]
    item, worker, vote = np.array(rows).T
    return Crowd(item, worker, vote, np.array(list(gold.values())))


class Stock:
    """The votes of a crowd, of each item in an order of chance, and which items are controls."""

    def __init__(self, crowd: Crowd, seed: int, *, easier: bool = False) -> None:
        random = np.random.default_rng(seed)
        self.crowd = crowd
        self.of_item = np.bincount(crowd.item, minlength=len(crowd.gold))
        self.is_control = random.random(len(crowd.gold)) < CONTROLS
        if easier:
            self.is_control = self._easier(random)
        order = np.lexsort((random.random(len(crowd.item)), crowd.item))
        self.turn = np.empty(len(order), np.int64)  # of each vote among those of its item
        before = (np.cumsum(self.of_item) - self.of_item)[crowd.item[order]]
        self.turn[order] = np.arange(len(order)) - before
        pool = random.permutation(np.flatnonzero(self.is_control[crowd.item]))
        self._pool = pool[np.argsort(crowd.worker[pool], kind="stable")]

    def _easier(self, random: np.random.Generator) -> NDArray[np.bool_]:
        """As many, from the half of the items that most people get right."""
        crowd = self.crowd
        right = np.bincount(crowd.item, crowd.vote == crowd.gold[crowd.item], len(crowd.gold))
        asked = np.flatnonzero(self.of_item)
        share = right[asked] / self.of_item[asked]
        by_share = asked[np.lexsort((random.random(len(asked)), -share))]
        easy = by_share[: len(asked) // 2]
        chosen = random.choice(easy, min(len(easy), round(CONTROLS * len(asked))), replace=False)
        return np.isin(np.arange(len(crowd.gold)), chosen)

    def table(self, votes: NDArray[np.int64]) -> VoteTable:
        """With so many votes on each item, and the answers to controls that come with them."""
        crowd, pool = self.crowd, self._pool
        taken = ~self.is_control[crowd.item] & (self.turn < votes[crowd.item])
        cast = np.bincount(crowd.worker[taken], minlength=crowd.worker.max() + 1)
        wanted = np.rint(ANSWERS * cast)
        answered = np.bincount(crowd.worker[pool], minlength=len(wanted))
        place = np.arange(len(pool)) - (np.cumsum(answered) - answered)[crowd.worker[pool]]
        answers = pool[place < wanted[crowd.worker[pool]]]
        rows = np.concatenate([np.flatnonzero(taken), answers])
        known = np.where(self.is_control, crowd.gold, UNKNOWN)
        columns = crowd.item[rows], crowd.worker[rows], crowd.vote[rows]
        return VoteTable(*columns, known, int(crowd.worker.max()) + 1)


def bought(stock: Stock) -> VoteTable:
    """Two votes an item, a third at a tie."""
    crowd, early = stock.crowd, stock.turn < 2
    first = np.bincount(crowd.item[early], crowd.vote[early], len(crowd.gold))
    return stock.table(np.where(first == 1, 3, 2))


def least_sure_first(stock: Stock, budget: int, seed: int) -> Iterator[tuple[int, float]]:
    """The assignments paid so far and the accuracy, pass by pass: one vote on each item, then in
    HITs of REAL_ITEMS one more on those whose label is least sure. A HIT that is not full costs as
    much. A pass asks for at most a tenth of what the first round was."""
    votes = np.where(stock.is_control, 0, 1)
    asked = ~stock.is_control & (stock.of_item > 0)
    hits = paid = ceil(asked.sum() / REAL_ITEMS)
    fitted = 0
    while True:
        table = stock.table(votes)
        if paid > GROWTH * fitted:
            choice, fitted = choose(table, seed=seed), paid
        weights = AGGREGATORS[choice.name](table)
        yield paid, accuracy(table, weights.shares(table), stock.crowd.gold)
        fitted_map = by_agreement(table, weights, choice.map)
        claims = Claims(choice.name, fitted_map.offset, fitted_map.slope, None)
        sure = np.array([claims.confidence(one) for one in weights.log_odds(table).tolist()])
        can_grow = asked & (votes < np.minimum(MOST_VOTES, stock.of_item))
        places = min(ceil(hits * PASS), budget - paid) * REAL_ITEMS
        order = np.argsort(np.where(can_grow, sure, np.inf), kind="stable")
        more = order[: min(places, can_grow.sum())]
        if not len(more):
            return
        votes[more] += 1
        paid += ceil(len(more) / REAL_ITEMS)


def assignments_of(table: VoteTable) -> int:
    """Two for each HIT, and one for each HIT of ties."""
    votes = table.votes()[~table.is_known]
    return 2 * ceil(int((votes > 0).sum()) / REAL_ITEMS) + ceil(int((votes > 2).sum()) / REAL_ITEMS)


def of_crowd_kit(model: Any, *, takes_known: bool = False) -> Shares:
    def aggregate(table: VoteTable) -> Floats:
        columns = {"task": table.item, "worker": table.worker, "label": table.vote}
        known = pd.Series(table.known)[table.is_known]
        # Otherwise it may know a control only by its votes.
        given = {"true_labels": known} if takes_known else {}
        chances = model().fit_predict_proba(pd.DataFrame(columns), **given)
        ones = chances.get(1, pd.Series(0.0, chances.index)).reindex(range(table.items))
        return with_known(table, ones.to_numpy(float))

    return aggregate


PEERS: Mapping[str, Shares] = {
    "Dawid-Skene": of_crowd_kit(DawidSkene, takes_known=True),
    "MACE": of_crowd_kit(MACE),
    "GLAD": of_crowd_kit(GLAD),
}


def accuracy(table: VoteTable, shares: Floats, gold: NDArray[np.int64]) -> float:
    """Of the items that have votes; a tie is half right."""
    asked = ~table.is_known & (table.votes() > 0)
    right = np.where(shares == 0.5, 0.5, (shares > 0.5) == gold)
    return float(right[asked].mean())


def of_set(name: str, size: Size, data: Path, *, easier: bool = False) -> dict[str, Any]:
    crowd = load(name, data)
    accuracies: dict[str, list[float]] = {}
    names: list[str] = []
    costs: list[int] = []
    at_cost: list[dict[int, float]] = []
    for order in range(size.orders):
        stock = Stock(crowd, order, easier=easier)
        table = bought(stock)
        costs.append(assignments_of(table))
        names.append(choose(table, seed=order).name)
        shares = {name: by(table).shares(table) for name, by in AGGREGATORS.items()}
        if order < size.peers_orders:
            shares |= {name: aggregate(table) for name, aggregate in PEERS.items()}
        shares[CHOSEN] = shares[names[-1]]
        for aggregator, given in shares.items():
            accuracies.setdefault(aggregator, []).append(accuracy(table, given, crowd.gold))
        at_cost.append(dict(least_sure_first(stock, costs[-1], order)))
    made, least = fmean(accuracies[CHOSEN]), fmean(accuracies[MAJORITY])
    controls = "easier controls" if easier else "controls as hard"
    print(f"{name}, {controls}: {made:.4f}, majority {least:.4f}", flush=True)
    return {
        "items": len(crowd.gold),
        "positives": round(float(crowd.gold.mean()), 4),
        "accuracy": {name: round(fmean(each), 4) for name, each in accuracies.items()},
        "least_gain_of_the_chosen": round(
            min(a - b for a, b in zip(accuracies[CHOSEN], accuracies[MAJORITY], strict=True)), 4
        ),
        "chosen": {name: names.count(name) for name in sorted(set(names))},
        **_costs(accuracies[MAJORITY], costs, at_cost),
    }


def _costs(
    majorities: Sequence[float], costs: Sequence[int], at_cost: Sequence[Mapping[int, float]]
) -> dict[str, Any]:
    """In assignments, controls included, over the same orders: at shares of what two votes and a
    third at a tie cost, and at how small a share the accuracy is their majority's."""
    shares = np.linspace(0.4, 1, 31)
    made = np.array(
        [
            [_reached(curve, share * cost) for share in shares]
            for cost, curve in zip(costs, at_cost, strict=True)
        ]
    ).mean(axis=0)
    least, cost = fmean(majorities), fmean(costs)
    first = fmean(min(curve) for curve in at_cost) / cost  # no less can be paid
    enough = shares[(made >= least) & (shares >= first)]
    return {
        "quadro": {"accuracy": round(least, 4), "assignments": round(cost, 1)},
        "adaptive": {
            f"{share:.0%} of the cost": round(float(right), 4)
            for share, right in zip(shares[::5], made[::5], strict=True)
            if share >= first
        },
        "saved_at_equal_accuracy": round(1 - float(enough.min()), 2) if len(enough) else None,
    }


def _reached(curve: Mapping[int, float], cost: float) -> float:
    """The accuracy once no more than that was paid, but for the first round."""
    return curve[max(paid for paid in curve if paid <= max(cost, min(curve)))]


def of_time(votes: int) -> dict[str, Any]:
    """From nothing, of 2.5 votes an item and 300 a worker; a hundredth of the items are known."""
    random = np.random.default_rng(1)
    items, workers = round(votes / 2.5), max(2, votes // 300)
    labels = (random.random(items) < 0.2).astype(int)
    item, worker = random.integers(0, items, votes), random.integers(0, workers, votes)
    right = random.random(votes) < random.uniform(0.6, 0.98, workers)[worker]
    known = np.where(random.random(items) < 0.01, labels, UNKNOWN)
    table = VoteTable(item, worker, np.where(right, labels[item], 1 - labels[item]), known, workers)
    taken = {}
    for name, aggregate in AGGREGATORS.items():
        tracemalloc.start()
        began = time.process_time()
        aggregate(table).shares(table)
        taken[name] = {
            "cpu_seconds": round(time.process_time() - began, 2),
            "mb": round(tracemalloc.get_traced_memory()[1] / 1e6),
        }
        tracemalloc.stop()
    return {"votes": votes, "aggregators": taken}


def measured(size: Size, data: Path) -> dict[str, Any]:
    return {
        "machine": machine(),
        "size": asdict(size),
        "sets": {name: of_set(name, size, data) for name in size.sets},
        "sets_with_easier_controls": {
            name: of_set(name, replace(size, peers_orders=0), data, easier=True)
            for name in size.sets
        },
        "time": of_time(size.votes),
    }


def draw(figures: Mapping[str, Any], path: Path) -> None:
    """A row for each set, a mark for each aggregator: what it gains on the majority."""
    matplotlib.rcParams["svg.hashsalt"] = "aggregation"
    sides = {
        "controls as hard as the rest": figures["sets"],
        "easier controls": figures["sets_with_easier_controls"],
    }
    size = (12, 0.6 * len(figures["sets"]) + 1.6)
    figure, axes = plt.subplots(1, len(sides), figsize=size, sharey=True)
    for axis, (title, sets) in zip(axes, sides.items(), strict=True):
        for number, name in enumerate([*AGGREGATORS, *PEERS, CHOSEN]):
            gains = [
                100 * (one["accuracy"][name] - one["accuracy"][MAJORITY])
                for one in sets.values()
                if name in one["accuracy"]
            ]
            is_chosen = name == CHOSEN
            axis.scatter(
                gains,
                range(len(gains)),
                label=name,
                marker="D" if is_chosen else "o^sv*PX<"[number % 8],
                s=90 if is_chosen else 40,
                facecolors="none" if is_chosen else None,
                edgecolors="#d55e00" if is_chosen else None,
            )
        axis.axvline(0, color="#808080", linewidth=1)
        axis.set_yticks(range(len(sets)), list(sets))
        axis.set_title(title)
    figure.supxlabel("points of accuracy more than the majority of the same votes")
    axes[0].legend(bbox_to_anchor=(2.25, 1), loc="upper left", frameon=False)
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make bench SIZE=aggregation", description=__doc__)
    parser.add_argument("--data", type=Path, default=folders.DATA, help="the folder of real data")
    parser.add_argument("--orders", type=int, default=50)
    options = parser.parse_args(words)
    if not (options.data / "crowd").is_dir():
        print(f"crowd is not in {options.data}: the benchmark is skipped.")
        return 0
    figures = measured(Size(orders=options.orders), options.data)
    folders.keep("aggregation", figures)
    draw(figures, folders.RESULTS / "aggregation.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
