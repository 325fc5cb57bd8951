"""`make bench SIZE=plan`: does what is planned come true? Campaigns are made up and labelled.

Fifty configurations of crowd, items, and policy. The crowd is known from a first campaign of two
votes an item, where experts judged all; another campaign is predicted, then worked by the rule of
labels: workers of unlike skill, apart for each label, items of unlike hardness, HITs that are
extended or packed again, and work that fails. No configuration was used to make the model.
"""

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

import benchmarks.ready  # noqa: F401
from annotation.protocol.estimates.cost import assignment_cents
from annotation.protocol.estimates.plan import (
    CONFIDENCES,
    Crowd,
    Judged,
    crowd_of,
    label_of,
    predict,
)
from annotation.protocol.policy.policy import Policy
from annotation.protocol.policy.presets import ADAPTIVE
from benchmarks import folders
from benchmarks.main_job import machine

SMALL = 1_000  # items of a first campaign, as a team has them
NEAR = 0.1
POLICIES = ((1, 1), (2, 3), (3, 3), (4, 5), (5, 5))


@dataclass(frozen=True)
class Size:
    configurations: int = 50
    items: int = 60_000
    known: int = 60_000  # items of the first campaign


@dataclass(frozen=True)
class People:
    share: float
    skill: NDArray[np.float64]  # (workers, labels), log-odds of a wrong vote
    hardness: float
    failing: float


@dataclass(frozen=True)
class Came:
    error: float
    cents: float


def people(random: Generator) -> People:
    middle = np.log(random.uniform(0.1, 0.25, 2))
    skill = middle + random.normal(0, random.uniform(0.3, 0.8), (200, 2))
    share, hardness, failing = random.uniform([0.05, 0.3, 0], [0.4, 1.0, 0.2])
    return People(float(share), skill, float(hardness), float(failing))


def votes_on(
    random: Generator, crowd: People, items: int, most: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Of each item its label, and whether each of the votes that it may get is wrong."""
    labels = (random.random(items) < crowd.share).astype(int)
    hard = random.normal(0, crowd.hardness, items)
    worker = random.integers(0, len(crowd.skill), (items, most))
    log_odds = crowd.skill[worker, labels[:, None]] + hard[:, None]
    return labels, random.random((items, most)) < 1 / (1 + np.exp(-log_odds))


def worked(random: Generator, crowd: People, items: int, policy: Policy, known: Crowd) -> Came:
    """A campaign, vote by vote as the rule of labels asks for them.

    `known`: what is known of its crowd, by which labels are made sure.
    """
    labels, wrong = votes_on(random, crowd, items, policy.max_votes)
    made, used = np.full(items, -1), np.zeros(items, int)
    for votes in range(policy.annotators, policy.max_votes + 1):
        positive = np.where(labels[:, None] == 1, ~wrong, wrong)[:, :votes].sum(axis=1)
        rules = [label_of(policy, known, votes, count) for count in range(votes + 1)]
        value = np.array([-1 if rule.value is None else rule.value for rule in rules])[positive]
        going = made < 0
        used[going], made[going] = votes, value[going]
    hits = -(-items // policy.real_items)
    more = used - policy.annotators
    places = np.concatenate([more, np.zeros(hits * policy.real_items - items, int)])
    extended = int(places.reshape(hits, -1).max(axis=1).sum())
    repacked = -(-int(more.sum()) // policy.real_items)
    extra = extended if policy.tie_mode == "extend" else repacked
    at_once = policy.annotators if policy.tie_mode == "extend" else 1
    cents = hits * policy.annotators * assignment_cents(policy)
    cents += extra * assignment_cents(policy, at_once)
    submitted = random.negative_binomial(hits * policy.annotators + extra, 1 - crowd.failing)
    if policy.on_failed_control == "pay_and_discard":
        cents += submitted * assignment_cents(policy)
    return Came(float((made != labels)[made >= 0].mean()), float(cents))


def compared(size: Size, seed: int, *, confidence: float = 0.0) -> tuple[Came, Came]:
    """What was predicted, and what came; `confidence`: that labels are asked for, 0: a majority."""
    random = np.random.default_rng(seed)
    crowd = people(random)
    labels, wrong = votes_on(random, crowd, size.known, 2)
    judged = [
        Judged(label, 2, count)
        for label, count in zip(labels.tolist(), wrong.sum(axis=1).tolist(), strict=True)
    ]
    known = crowd_of(judged, failing=crowd.failing, per_day=20)
    annotators, most = POLICIES[seed % len(POLICIES)]
    policy = replace(
        Policy(),
        annotators=annotators,
        max_votes=most,
        tie_mode=("extend", "repack")[seed // 5 % 2],
        on_failed_control=("reject", "pay_and_discard")[seed // 10 % 2],
        hit_size=int(random.integers(5, 12)),
    )
    if confidence:
        policy = replace(policy, **{**ADAPTIVE.values, "wanted_confidence": confidence})
    planned = predict(size.items, policy, known, people=100)
    return Came(planned.error, planned.cents), worked(random, crowd, size.items, policy, known)


def ratios(size: Size, *, adaptive: bool = False) -> tuple[Sequence[float], Sequence[float]]:
    """By configuration, what came as a share of what was predicted: errors, and cost.

    `adaptive`: votes until labels are sure, else majorities.
    """
    pairs = [
        compared(size, seed, confidence=CONFIDENCES[seed % len(CONFIDENCES)] if adaptive else 0)
        for seed in range(size.configurations)
    ]
    return (
        [came.error / planned.error for planned, came in pairs],
        [came.cents / planned.cents for planned, came in pairs],
    )


def measured(size: Size) -> dict[str, Any]:
    """How far what came is from what was predicted, as a share of that."""
    kept = []
    for known, adaptive in product((size.known, SMALL), (False, True)):
        errors, costs = ratios(replace(size, known=known), adaptive=adaptive)
        labels = "labels that are sure" if adaptive else "majorities"
        print(f"{labels}, after a campaign of {known:,} items that experts judged")
        found: dict[str, Any] = {"labels": labels, "known": known}
        for name, of in (("error", errors), ("cost", costs)):
            far = np.abs(np.array(of) - 1)
            within, most, middle = int((far <= NEAR).sum()), far.max(), np.median(far)
            print(
                f"  {name}: within {NEAR:.0%} in {within} of {len(of)}; farthest {most:.1%}, in "
                f"the middle {middle:.1%}"
            )
            found[name] = {
                f"within_{NEAR:g}": within,
                "farthest": round(float(most), 4),
                "in_the_middle": round(float(middle), 4),
            }
        kept.append(found)
    return {"machine": machine(), "size": asdict(size), "compared": kept}


def main(size: Size = Size()) -> int:
    folders.keep("plan", measured(size))
    return 0


if __name__ == "__main__":
    sys.exit(main())
