"""`make bench SIZE=adaptive`: votes bought where they matter, beside the paper's rule.

The dry run's crowd, of whom two careful people agree on 78 % of the triplets as in the paper, works
the same triplets under `quadro` and under the preset `adaptive`, for each wanted confidence: by
controls alone, with experts who judge a random sample beside, with ranks as a prior, and with both.
HITs have controls, failed work is done again unpaid, votes of excluded workers are bought again,
and whole assignments are paid. Labels, claims, exclusions, and HITs of repacked triplets are by
the production's rules.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import matplotlib

matplotlib.use("svg")
import numpy as np
from matplotlib import pyplot as plt
from numpy.random import Generator
from numpy.typing import NDArray

import benchmarks.ready  # noqa: F401
from annotation.crowd.simulated.profiles import Worker, make_workers
from annotation.protocol.aggregation.fit import fit
from annotation.protocol.aggregation.table import UNKNOWN, Floats, Ints, VoteTable, Weights
from annotation.protocol.estimates.cost import assignment_cents
from annotation.protocol.labels.claims import MAJORITY, NO_CLAIMS, Claims
from annotation.protocol.labels.derivation import Evidence, derive_label
from annotation.protocol.labels.majority import Label
from annotation.protocol.packing.repack import OpenTriplet, regroup
from annotation.protocol.policy.policy import Policy
from annotation.protocol.policy.presets import ADAPTIVE
from annotation.protocol.screening.exclusion import is_crossed
from annotation.protocol.studies.simulated_labels import draw_labels
from annotation.simulation.options import Options
from benchmarks import folders
from benchmarks.main_job import machine

CONFIDENCES = (0.9, 0.94, 0.95, 0.96)
# Triplets that experts judge blindly, and whether ranks have a say.
CASES = {
    "controls alone": (0, False),
    "experts judge 300": (300, False),
    "ranks have a say": (0, True),
    "both": (300, True),
}
QUADRO = Policy()
SEEDS = 12
PASS = 0.1  # of the first round's HITs, between two collections
GROWTH = 1.1  # as `annotation.pipeline.labelling.aggregate` has it
WANTED_ERROR, WANTED_COST = 0.5, 0.8  # of quadro's


@dataclass(frozen=True)
class Size:
    queries: int = 60
    workers: int = 40
    seeds: int = SEEDS
    confidences: Sequence[float] = CONFIDENCES


@dataclass(frozen=True)
class World:
    """`says`: (workers, items), what each says of each; controls are the last items."""

    says: Ints
    truth: Ints
    query: Sequence[str]  # of each triplet
    ranks: Ints  # the same
    positives: Ints  # controls
    negatives: Ints
    sampled: Ints  # triplets, in the order in which experts would judge them

    @property
    def triplets(self) -> int:
        return len(self.query)


def make_world(size: Size, seed: int) -> World:
    policy = QUADRO
    random = np.random.default_rng(seed)
    people = make_workers(replace(Options(seed=seed).profiles(), workers=size.workers))
    ranks = range(1, policy.candidates_per_query + 1)
    labels = [draw_labels(f"q{one}", ranks, seed=seed) for one in range(size.queries)]
    triplets, pool = size.queries * len(ranks), policy.control_pool_size
    truth = np.concatenate([np.array(labels).ravel(), np.ones(pool, int), np.zeros(pool, int)])
    plain = np.arange(len(truth)) >= triplets
    says = np.array([_said(one, truth, plain, random) for one in people])
    return World(
        says,
        truth,
        [f"q{one}" for one in range(size.queries) for _ in ranks],
        np.tile(ranks, size.queries),
        np.arange(triplets, triplets + pool),
        np.arange(triplets + pool, len(truth)),
        random.permutation(triplets),
    )


def _said(worker: Worker, truth: Ints, plain: NDArray[np.bool_], random: Generator) -> Ints:
    draws = random.random(len(truth))
    if worker.yes_bias is not None:
        return (draws < worker.yes_bias).astype(int)
    right = draws < np.where(plain, worker.plain_accuracy, worker.accuracy)
    return np.where(right, truth, 1 - truth)


@dataclass
class Hit:
    triplets: Sequence[int]
    barred: set[int]  # workers who may not have it
    outstanding: int
    had: set[int] = field(default_factory=set)  # workers


@dataclass(frozen=True)
class Came:
    error: float  # of the labels
    assignments: int  # that were paid
    cents: int
    unlabelled: int
    votes: float  # that count, a triplet
    aggregator: str


@dataclass
class Play:
    """One campaign, from its first HITs until nobody has anything to do."""

    world: World
    policy: Policy
    audit: int
    random: Generator
    hits: list[Hit] = field(default_factory=list)
    work: list[tuple[int, Sequence[int], Sequence[int], bool]] = field(default_factory=list)
    paid: int = 0
    failures: Counter[int] = field(default_factory=Counter)
    reviewed: Counter[int] = field(default_factory=Counter)
    excluded: set[int] = field(default_factory=set)
    given_up: set[int] = field(default_factory=set)  # whom too many workers have had
    fitted: int = 0
    claims: Claims = NO_CLAIMS
    weights: Weights | None = None
    prior: Floats | None = None  # of each item

    def run(self) -> Came:
        self.hits = list(self._first_hits())
        a_pass = max(1, round(PASS * len(self.hits)))
        while True:
            open_hits = [hit for hit in self.hits if hit.outstanding]
            for turn in self.random.permutation(len(open_hits))[:a_pass].tolist():
                self._take(open_hits[turn])
            labels = self._labels()
            if not self._ask(labels) and not any(hit.outstanding for hit in self.hits):
                if self._is_fitted():
                    return self._came(labels)
                self.fitted = 0  # nothing more is asked for: all that came is weighed again

    def _first_hits(self) -> Iterator[Hit]:
        """Of one rank after the other, so that no query comes twice."""
        ranks, size = self.policy.candidates_per_query, self.policy.real_items
        order = np.arange(self.world.triplets).reshape(-1, ranks).T.ravel().tolist()
        for start in range(0, len(order), size):
            yield Hit(order[start : start + size], set(), self.policy.annotators)

    def _take(self, hit: Hit) -> None:
        free = [
            one
            for one in range(len(self.world.says))
            if one not in self.excluded | hit.barred | hit.had
        ]
        if not free:
            hit.outstanding = 0
            self.given_up |= set(hit.triplets)  # else they are packed again for nobody
            return
        worker = int(self.random.choice(free))
        hit.had.add(worker)
        policy = self.policy
        controls = np.concatenate(
            [
                self.random.choice(self.world.positives, policy.positive_controls, replace=False),
                self.random.choice(self.world.negatives, policy.negative_controls, replace=False),
            ]
        )
        passed = bool((self.world.says[worker, controls] == self.world.truth[controls]).all())
        self.work.append((worker, hit.triplets, controls.tolist(), passed))
        self.reviewed[worker] += 1
        self.failures[worker] += not passed
        self.paid += passed
        hit.outstanding -= passed
        if is_crossed(self.failures[worker], self.reviewed[worker], policy):
            self.excluded.add(worker)

    def _table(self) -> VoteTable:
        counted = [one for one in self.work if one[0] not in self.excluded]
        rows = [(item, worker) for worker, real, _, passed in counted if passed for item in real]
        rows += [(item, worker) for worker, _, controls, _ in counted for item in controls]
        item, worker = np.array(rows, int).reshape(-1, 2).T
        known = np.where(
            np.arange(len(self.world.truth)) < self.world.triplets, UNKNOWN, self.world.truth
        )
        said = self.world.says[worker, item]
        return VoteTable(item, worker, said, known, len(self.world.says))

    def _is_fitted(self) -> bool:
        return self.policy.aggregation == MAJORITY or self.fitted == len(self.work)

    def _fit(self, table: VoteTable) -> None:
        voted = np.flatnonzero(table.votes()[: self.world.triplets])
        judged = np.intersect1d(self.world.sampled[: self.audit], voted)
        nobody = np.full(self.world.triplets, UNKNOWN)
        audit = nobody.copy()
        audit[judged] = self.world.truth[judged]
        ranks = self.world.ranks if self.policy.rank_prior else None
        made = fit(table, audit, nobody, ranks)
        self.weights, self.prior, self.fitted = made.weights, made.prior_of_items, len(self.work)
        to_chance, slope = made.by_audit.map, made.prior.slope
        self.claims = Claims(made.choice.name, to_chance.offset, to_chance.slope, None, slope)

    def _labels(self) -> Sequence[Label]:
        table, policy = self._table(), self.policy
        odds: Sequence[float | None] = [None] * self.world.triplets
        if policy.aggregation == "best":
            if self.weights is None or len(self.work) > GROWTH * self.fitted:
                self._fit(table)
            assert self.weights is not None
            odds = self.weights.log_odds(table, self.prior).tolist()
        tallies = zip(table.votes().tolist(), table.yes().tolist(), odds, strict=False)
        return [
            derive_label(
                Evidence(
                    votes,
                    yes,
                    said=self.claims.said(odd) if votes else None,
                    is_sure=bool(votes) and self.claims.is_sure(odd, policy),
                ),
                policy,
            )
            for votes, yes, odd in tallies
        ][: self.world.triplets]

    def _ask(self, labels: Sequence[Label]) -> bool:
        """Whether there is something new to do."""
        if self.policy.tie_mode == "extend":
            return self._extend(labels)
        waiting = {one for hit in self.hits if hit.outstanding for one in hit.triplets}
        wanting = [
            n for n, one in enumerate(labels) if one.wanted and n not in waiting | self.given_up
        ]
        earlier: dict[int, set[int]] = {one: set() for one in wanting}
        for hit in self.hits:
            for one in earlier.keys() & set(hit.triplets):
                earlier[one] |= hit.had - self.excluded
        triplets = [
            OpenTriplet(f"{one:020}", self.world.query[one], frozenset(earlier[one]))
            for one in wanting
        ]
        regrouped = regroup(triplets, self.policy, flush=not waiting)
        self.given_up |= {int(one.key) for one in regrouped.impossible}
        for group in regrouped.groups:
            barred = set(group.excluded_workers)
            self.hits.append(Hit([int(one.key) for one in group.triplets], barred, 1))
        return bool(triplets)

    def _extend(self, labels: Sequence[Label]) -> bool:
        asked = False
        for hit in self.hits:
            wanted = max(labels[one].wanted for one in hit.triplets)
            if wanted and not hit.outstanding and len(hit.had) < len(self.world.says):
                hit.outstanding, asked = wanted, True
        return asked

    def _came(self, labels: Sequence[Label]) -> Came:
        value = np.array([-1 if one.value is None else one.value for one in labels])
        made = value >= 0
        wrong: Floats = value[made] != self.world.truth[: len(value)][made]
        return Came(
            float(wrong.mean()),
            self.paid,
            self.paid * assignment_cents(self.policy),
            int((~made).sum()),
            float(self._table().votes()[: len(value)].mean()),
            self.claims.aggregator,
        )


def beside_quadro(world: World, size: Size, seed: int) -> tuple[Came, dict[str, list[Came]]]:
    """What came of quadro, and of each confidence, by the case."""
    quadro = Play(world, QUADRO, 0, np.random.default_rng(seed)).run()
    adaptive = {
        case: [
            Play(
                world,
                replace(ADAPTIVE.policy(), wanted_confidence=wanted, rank_prior=ranks),
                audit,
                np.random.default_rng(seed),
            ).run()
            for wanted in size.confidences
        ]
        for case, (audit, ranks) in CASES.items()
    }
    print(f"{seed}: quadro {quadro.error:.4f}, {quadro.assignments} assignments", flush=True)
    return quadro, adaptive


def measured(size: Size) -> dict[str, Any]:
    played = [beside_quadro(make_world(size, seed), size, seed) for seed in range(size.seeds)]
    quadro = [one for one, _ in played]
    adaptive = {
        case: [
            {"wanted_confidence": wanted, **_ratios(quadro, [one[case][at] for _, one in played])}
            for at, wanted in enumerate(size.confidences)
        ]
        for case in CASES
    }
    return {
        "machine": machine(),
        "size": asdict(size),
        "triplets": size.queries * QUADRO.candidates_per_query,
        "quadro": _means(quadro),
        "adaptive": adaptive,
    }


def _means(came: Sequence[Came]) -> dict[str, Any]:
    return {
        "error": round(fmean(one.error for one in came), 4),
        "assignments": round(fmean(one.assignments for one in came), 1),
        "votes_a_triplet": round(fmean(one.votes for one in came), 3),
        "unlabelled": sum(one.unlabelled for one in came),
    }


def _ratios(quadro: Sequence[Came], came: Sequence[Came]) -> dict[str, Any]:
    """Of means over seeds, with the standard deviation of one campaign's."""
    pairs = list(zip(quadro, came, strict=True))
    errors = [after.error / before.error for before, after in pairs]
    costs = [after.cents / before.cents for before, after in pairs]
    return {
        **_means(came),
        "aggregators": dict(Counter(one.aggregator for one in came)),
        "error_ratio": round(fmean(errors), 3),
        "error_ratio_deviation": round(stdev(errors), 3),
        "cost_ratio": round(fmean(costs), 3),
        "cost_ratio_deviation": round(stdev(costs), 3),
    }


def draw(adaptive: Mapping[str, Sequence[Mapping[str, Any]]], path: Path) -> None:
    """A line for each case, a point for each wanted confidence; the wanted corner in grey."""
    matplotlib.rcParams["svg.hashsalt"] = "adaptive"
    figure, axis = plt.subplots(figsize=(7, 4.5))
    colours = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
    for (case, rows), colour, marker in zip(adaptive.items(), colours, "o^sD", strict=True):
        costs, errors = ([row[f"{name}_ratio"] for row in rows] for name in ("cost", "error"))
        axis.plot(costs, errors, marker=marker, color=colour, label=case)
        for row, cost, error in zip(rows, costs, errors, strict=True):
            axis.annotate(
                f"{row['wanted_confidence']:.0%}",
                (cost, error),
                (5, 5),
                color=colour,
                textcoords="offset points",
            )
    axis.fill_between([0, WANTED_COST], WANTED_ERROR, color="#808080", alpha=0.2, linewidth=0)
    axis.scatter([1], [1], marker="*", s=120, color="#808080", label="quadro")
    axis.set(xlim=(0.4, 1.2), ylim=(0, 1.2), xlabel="cost / quadro's", ylabel="error / quadro's")
    axis.legend(frameon=False)
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make bench SIZE=adaptive", description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    options = parser.parse_args(words)
    if options.seeds < 2:
        parser.error("--seeds must be at least 2, to say how far campaigns differ")
    figures = measured(Size(seeds=options.seeds))
    folders.keep("adaptive", figures)
    draw(figures["adaptive"], folders.RESULTS / "adaptive.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
