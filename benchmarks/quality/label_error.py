"""`make bench SIZE=label_error`: whether stated errors, certificates and chances are true.

Made-up campaigns of good, careless, biased, colluding and drifting workers in other shares each
time, with 5 to 40 % positives; two votes, a third at a tie. Experts judge labels at random, from
all alike or three times as often where votes differ. Certificates are asked for after each ten
judged ones, which is the worst that somebody can do: just below the share that is truly wrong,
where none may hold, and well above it, where they should soon.

Chances are those of the aggregator that controls choose, to which colluding workers know the
answer, and which are no harder for anybody than the easiest item.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from statistics import fmean, median
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import benchmarks.ready  # noqa: F401
from annotation.protocol.aggregation.calibration import bins_of, calibration_error
from annotation.protocol.aggregation.fit import Fit, fit
from annotation.protocol.aggregation.table import UNKNOWN, VoteTable
from annotation.protocol.estimates.audit_plan import labels_for_width
from annotation.protocol.estimates.certificate import certify
from annotation.protocol.estimates.label_audit import Audit, Pattern
from annotation.protocol.labels.label_error import Share, wilson_interval
from benchmarks import folders
from benchmarks.main_job import machine

Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
WORKERS = 40
KINDS = ("good", "careless", "biased", "colluding", "drifting")
JUDGED = (50, 100, 200, 400)
JUDGED_FOR_CHANCES = (100, 200, 400, 800)
CONTROLS, ANSWERS = 200, 2 / 5  # half of each kind; answers to a vote
OFTENER = 3  # where votes differ
LOOKS = 10  # labels judged between two of them
WANTED_ECE = 0.02
WANTED = {"true share": 0.99, "half as much again": 1.5, "twice the share": 2.0}
PILOT, WIDTH = 100, 0.05


@dataclass(frozen=True)
class Size:
    campaigns: int = 400
    labels: int = 3_000
    most_judged: int = 1_000  # for a certificate


@dataclass(frozen=True)
class Made:
    """A campaign that is done: its labels, and which of them are wrong."""

    patterns: Sequence[Pattern]
    labels: Counter[Pattern]
    label: Ints
    wrong: Flags
    agreed: Flags
    kind: Ints  # of each worker
    table: VoteTable  # with controls

    @property
    def truth(self) -> Ints:
        return np.where(self.wrong, 1 - self.label, self.label)

    @property
    def mostly(self) -> str:
        """The kind that most are of, but for the good."""
        return KINDS[1 + int(np.bincount(self.kind, minlength=len(KINDS))[1:].argmax())]

    def audit(self, judged: Ints, *, decided: bool = False) -> Audit:
        """`decided`: by experts, where votes differ."""
        seen = Counter(self.patterns[one] for one in judged)
        wrong = Counter(self.patterns[one] for one in judged if self.wrong[one])
        differing = {one: n for one, n in self.labels.items() if not one.agreed and decided}
        return Audit(self.labels, seen, wrong, Counter(differing))


def campaign(labels: int, random: np.random.Generator) -> Made:
    truth = random.random(labels) < random.uniform(0.05, 0.4)
    shares = random.dirichlet([5.5, 1.5, 1.5, 1.5, 1.5])
    kind = random.choice(len(KINDS), WORKERS, p=shares)
    # Three different workers for each.
    worker = np.argsort(random.random((labels, WORKERS)), axis=1)[:, :3]
    hardness = random.beta(1, 8, labels)[:, None]
    late = np.linspace(0, 1, labels)[:, None]
    errs = chances_to_err(kind[worker], truth[:, None], hardness, late)
    votes = truth[:, None] ^ (random.random((labels, 3)) < errs)
    copied = np.where(random.random(labels) < 0.25, ~truth, truth)
    votes = np.where(kind[worker] == KINDS.index("colluding"), copied[:, None], votes)
    tied = votes[:, 0] != votes[:, 1]
    yes = votes[:, :2].sum(axis=1) + (votes[:, 2] & tied)
    no = 2 + tied - yes
    label = (yes > no).astype(int)
    rows = zip(label.tolist(), yes.tolist(), no.tolist(), strict=True)
    patterns = [Pattern(*row) for row in rows]
    asked = np.stack([np.ones_like(tied), np.ones_like(tied), tied], axis=1)
    item = np.broadcast_to(np.arange(labels)[:, None], (labels, 3))[asked]
    given = Votes(item, worker[asked], votes[asked].astype(int))
    table = with_controls(given, labels, kind, random)
    return Made(patterns, Counter(patterns), label, label != truth, ~tied, kind, table)


class Votes(NamedTuple):
    item: Ints
    worker: Ints
    vote: Ints


def chances_to_err(kind: Ints, truth: Flags, hardness: Floats | float, late: Floats) -> Floats:
    """But for what colluding workers copy."""
    each = [
        0.04 + 0.4 * hardness,
        0.3,
        np.where(truth, 0.03, 0.35),
        0.0,
        0.03 + 0.4 * late,
    ]
    return np.choose(kind, np.broadcast_arrays(*each))


def with_controls(given: Votes, labels: int, kind: Ints, random: np.random.Generator) -> VoteTable:
    """Each worker has answered them all along, as many as a HIT has beside its items."""
    worker = np.repeat(np.arange(WORKERS), np.rint(ANSWERS * np.bincount(given.worker)).astype(int))
    control, late = random.integers(0, CONTROLS, len(worker)), random.random(len(worker))
    label = control % 2 == 1
    vote = label ^ (random.random(len(worker)) < chances_to_err(kind[worker], label, 0.0, late))
    answers = Votes(labels + control, worker, vote.astype(int))
    votes = Votes(*map(np.concatenate, zip(given, answers, strict=True)))
    known = np.concatenate([np.full(labels, UNKNOWN), np.arange(CONTROLS) % 2])
    return VoteTable(*votes, known, WORKERS + 1)


def order_of(made: Made, random: np.random.Generator, *, oftener: float = 1) -> Ints:
    """In which experts judge them."""
    draws: NDArray[np.float64] = random.random(len(made.label)) ** np.where(
        made.agreed, 1, 1 / oftener
    )
    return np.argsort(-draws)


def of_intervals(made: Made, judged: Ints) -> dict[str, tuple[bool, float]]:
    """Whether each covers what is true, and how wide it is."""
    error = made.audit(judged).error()
    assert error is not None
    kinds = {"false positives": error.false_positives, "false negatives": error.false_negatives}
    shares = {"label error": (Share(*error[2:5]), made.wrong)}
    for (name, kind), label in zip(kinds.items(), (1, 0), strict=True):
        if kind is not None:
            shares[name] = kind.share, made.wrong[made.label == label]
    plain = wilson_interval(int(made.wrong[judged].sum()), len(judged))
    shares["all judged alike"] = Share(0, *plain), made.wrong
    return {
        name: (bool(share.low <= wrong.mean() <= share.high), share.high - share.low)
        for name, (share, wrong) in shares.items()
    }


def judged_for(made: Made, order: Ints, error: float, *, decided: bool, most: int) -> int | None:
    """When the certificate holds first, who asks after each few."""
    for judged in range(LOOKS, most + 1, LOOKS):
        if certify(made.audit(order[:judged], decided=decided), error).holds:
            return judged
    return None


def summary(rows: Sequence[dict[str, tuple[bool, float]]]) -> dict[str, Any]:
    names = dict.fromkeys(name for row in rows for name in row)
    of = {name: [row[name] for row in rows if name in row] for name in names}
    return {
        name: {
            "covered": round(fmean(covers for covers, _ in each), 4),
            "width": round(fmean(width for _, width in each), 4),
        }
        for name, each in of.items()
    }


def certificates(
    mades: Sequence[Made], orders: Sequence[Ints], size: Size, *, decided: bool
) -> dict[str, Any]:
    """Of labels by votes alone, or where experts decide what votes differ on."""
    figures = {}
    for name, factor in WANTED.items():
        held = []
        for made, order in zip(mades, orders, strict=True):
            wrong = made.wrong & made.agreed if decided else made.wrong
            held.append(
                judged_for(
                    made, order, factor * wrong.mean(), decided=decided, most=size.most_judged
                )
            )
        given = [judged for judged in held if judged is not None]
        figures[name] = {
            "given": round(len(given) / len(held), 4),
            "judged_in_the_middle": median(given) if given else None,
        }
    return figures


def of_chances(made: Made, order: Ints) -> dict[int, tuple[bool, float]]:
    """Whether they are shown after as many labels judged, and how far they are from what is true:
    the expected calibration error."""
    nobody = np.full(len(order), UNKNOWN)
    fitted = fit(made.table, nobody, nobody)
    return {
        judged: _of_chances(replace(fitted, audit=_audit(made, order[:judged])), made)
        for judged in JUDGED_FOR_CHANCES
    }


def _audit(made: Made, judged: Ints) -> Ints:
    audit = np.full(len(made.label), UNKNOWN)
    audit[judged] = made.truth[judged]
    return audit


def _of_chances(fitted: Fit, made: Made) -> tuple[bool, float]:
    chances = fitted.by_audit.map(fitted.log_odds)
    return fitted.calibration is not None, calibration_error(bins_of(chances, made.truth))


def chances(mades: Sequence[Made], orders: Sequence[Ints]) -> dict[str, Any]:
    """By the kind that most are of, and by how many labels are judged."""
    rows = [
        (made.mostly, of_chances(made, order)) for made, order in zip(mades, orders, strict=True)
    ]
    figures: dict[str, Any] = {}
    for kind in ("all", *KINDS[1:]):
        mine = [row for name, row in rows if kind in ("all", name)]
        for judged in JUDGED_FOR_CHANCES if mine else ():
            errors: dict[bool, list[float]] = {True: [], False: []}
            for row in mine:
                shown, error = row[judged]
                errors[shown].append(error)
            figures.setdefault(kind, {})[str(judged)] = {
                "campaigns": len(mine),
                "shown": round(len(errors[True]) / len(mine), 4),
                "error_of_the_shown": _mean(errors[True]),
                "error_of_the_others": _mean(errors[False]),
                "worst_of_the_shown": round(max(errors[True], default=0), 4),
                "shown_within_the_wanted": _mean([one <= WANTED_ECE for one in errors[True]]),
            }
    return figures


def _mean(values: Sequence[float]) -> float | None:
    return round(fmean(values), 4) if values else None


def measured(size: Size) -> dict[str, Any]:
    mades = [campaign(size.labels, np.random.default_rng(seed)) for seed in range(size.campaigns)]
    intervals: dict[str, Any] = {}
    for draw, oftener in {"all alike": 1, "oftener where votes differ": OFTENER}.items():
        orders = [
            order_of(made, np.random.default_rng([seed, 1]), oftener=oftener)
            for seed, made in enumerate(mades)
        ]
        for judged in JUDGED:
            rows = [
                of_intervals(made, order[:judged])
                for made, order in zip(mades, orders, strict=True)
            ]
            intervals.setdefault(draw, {})[str(judged)] = summary(rows)
            print(f"{draw}, {judged} judged: {intervals[draw][str(judged)]['label error']}")
    orders = [order_of(made, np.random.default_rng([seed, 2])) for seed, made in enumerate(mades)]
    widths = [planned(made, order) for made, order in zip(mades, orders, strict=True)]
    return {
        "machine": machine(),
        "size": asdict(size),
        "wrong_labels": round(fmean(float(made.wrong.mean()) for made in mades), 4),
        "intervals": intervals,
        "chances": chances(mades, orders),
        "width_by_plan": {"wanted": WIDTH, "in_the_middle": round(median(widths), 4)},
        "certificates": {
            "by votes": certificates(mades, orders, size, decided=False),
            "experts decide where votes differ": certificates(mades, orders, size, decided=True),
        },
    }


def planned(made: Made, order: Ints) -> float:
    """The width of the interval after as many as the plan says from a pilot."""
    needed = labels_for_width(made.audit(order[:PILOT]), WIDTH)
    return of_intervals(made, order[: max(PILOT, needed)])["label error"][1]


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make bench SIZE=label_error", description=__doc__)
    parser.add_argument("--campaigns", type=int, default=400)
    options = parser.parse_args(words)
    folders.keep("labels/label_error", measured(Size(campaigns=options.campaigns)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
