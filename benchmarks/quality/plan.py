"""`make bench SIZE=plan`: does what is planned come true? Campaigns are made up and labelled.

Fifty configurations of crowd, items, policy, and controls. The crowd is known from a first
campaign of two votes an item, where experts judged all. Another campaign with as many controls or
fewer is predicted, then worked by the rule of labels: workers of unlike skill, apart for each
label, some of whom guess always and all now and then; items of unlike hardness; HITs that are
extended or packed again, and work that fails its controls. No configuration was used to make the
model.
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
from annotation.analytics.workers.crowd import Known, Past, Vote
from annotation.protocol.estimates.controls import Controls
from annotation.protocol.estimates.cost import assignment_cents
from annotation.protocol.estimates.plan import CONFIDENCES, Crowd, label_of, predict
from annotation.protocol.packing.pack import hits_needed
from annotation.protocol.policy.policy import Policy
from annotation.protocol.policy.presets import ADAPTIVE
from benchmarks import folders
from benchmarks.main_job import machine

SMALL = 1_000  # items of a first campaign, as a team has them
NEAR = 0.1
WORKERS = 200
POLICIES = ((1, 1), (2, 3), (3, 3), (4, 5), (5, 5))

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


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
    ease: float  # of controls, beside items
    guessing: NDArray[np.float64]  # (workers,), the chance that an assignment is guessed


@dataclass(frozen=True)
class Came:
    error: float
    cents: float


@dataclass(frozen=True)
class Work:
    """Assignments in order of submission. `right`: (assignments, labels) of the controls."""

    hit: Ints
    worker: Ints
    guessed: Bools
    right: Ints
    passed: Bools

    def take(self, rows: Ints) -> "Work":
        return Work(*(column[rows] for column in vars(self).values()))


def people(random: Generator) -> People:
    middle = np.log(random.uniform(0.1, 0.25, 2))
    skill = middle + random.normal(0, random.uniform(0.3, 0.8), (WORKERS, 2))
    always = np.arange(WORKERS) < WORKERS * random.uniform(0, 0.2)
    guessing = np.where(always, 1, random.uniform(0, 0.15))
    share, hardness, ease = random.uniform([0.05, 0.3, 0.5], [0.4, 1.0, 2.0])
    return People(float(share), skill, float(hardness), float(ease), guessing)


def work(random: Generator, crowd: People, hits: int, controls: Controls, passing: int) -> Work:
    """Until this many assignments of each HIT have passed."""
    asked = np.array([controls.negative, controls.positive])
    misses = chance(crowd.skill - crowd.ease)
    going, rounds = np.repeat(np.arange(hits), passing), []
    while len(going):
        worker = random.integers(0, WORKERS, len(going))
        guessed = random.random(len(going)) < crowd.guessing[worker]
        right = random.binomial(asked, np.where(guessed[:, None], 0.5, 1 - misses[worker]))
        passed = (right == asked).all(axis=1)
        rounds.append((going, worker, guessed, right, passed))
        going = going[~passed]
    return Work(*(np.concatenate(column) for column in zip(*rounds, strict=True)))


def chance(log_odds: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 / (1 + np.exp(-log_odds))


def votes_of(
    random: Generator, crowd: People, items: int, real_items: int, done: Work
) -> tuple[Ints, Bools]:
    """Of each item its label; and of each assignment, which of its HIT's votes are wrong."""
    labels = (random.random(items) < crowd.share).astype(int)
    hard = random.normal(0, crowd.hardness, items)
    item = np.minimum(done.hit[:, None] * real_items + np.arange(real_items), items - 1)
    log_odds = crowd.skill[done.worker[:, None], labels[item]] + hard[item]
    wrong = chance(np.where(done.guessed[:, None], 0, log_odds))
    return labels, random.random(item.shape) < wrong


def known_of(random: Generator, crowd: People, items: int, policy: Policy) -> Known:
    """A first campaign, as its records tell of it."""
    done = work(random, crowd, hits_needed(items, policy), Controls.of(policy), policy.annotators)
    labels, wrong = votes_of(random, crowd, items, policy.real_items, done)
    votes: dict[int, list[Vote]] = {item: [] for item in range(items)}
    rows = zip(done.hit.tolist(), wrong.tolist(), strict=True)
    for assignment, (hit, of_hit) in enumerate(rows):
        first = hit * policy.real_items
        for item, is_wrong in enumerate(of_hit[: items - first], first):
            votes[item].append(Vote(int(labels[item] != is_wrong), assignment, 0))
    failed = np.flatnonzero(~done.passed)
    right = {
        assignment: Controls(positive, negative)
        for assignment, (negative, positive) in zip(
            failed.tolist(), done.right[failed].tolist(), strict=True
        )
    }
    past = Past(policy, dict(enumerate(labels.tolist())), votes, right, {})
    return Known([past], len(done.hit), len(failed), WORKERS, days=1, item_seconds=None)


def worked(random: Generator, crowd: People, items: int, policy: Policy, known: Crowd) -> Came:
    """A campaign, vote by vote as the rule of labels asks for them.

    `known`: what is known of its crowd, by which labels are made sure.
    """
    hits, most = hits_needed(items, policy), policy.max_votes
    done = work(random, crowd, hits, Controls.of(policy), most)
    places = np.flatnonzero(done.passed)
    places = places[np.argsort(done.hit[places], kind="stable")]
    labels, votes = votes_of(random, crowd, items, policy.real_items, done.take(places))
    wrong = votes.reshape(hits, most, -1).swapaxes(1, 2).reshape(-1, most)[:items]
    made, used = np.full(items, -1), np.zeros(items, int)
    for given in range(policy.annotators, most + 1):
        positive = np.where(labels[:, None] == 1, ~wrong, wrong)[:, :given].sum(axis=1)
        rules = [label_of(policy, known, given, count) for count in range(given + 1)]
        value = np.array([-1 if rule.value is None else rule.value for rule in rules])[positive]
        going = made < 0
        used[going], made[going] = given, value[going]
    more = used - policy.annotators
    by_hit = np.concatenate([more, np.zeros(hits * policy.real_items - items, int)])
    extended = int(by_hit.reshape(hits, -1).max(axis=1).sum())
    repacked = -(-int(more.sum()) // policy.real_items)
    extra = extended if policy.tie_mode == "extend" else repacked
    at_once = policy.annotators if policy.tie_mode == "extend" else 1
    cents = float(hits * policy.annotators * assignment_cents(policy))
    cents += extra * assignment_cents(policy, at_once)
    if policy.on_failed_control == "pay_and_discard":
        cents *= len(done.hit) / len(places)
    return Came(float((made != labels)[made >= 0].mean()), cents)


def compared(size: Size, seed: int, *, confidence: float = 0.0) -> tuple[Came, Came]:
    """What was predicted, and what came; `confidence`: that labels are asked for, 0: a majority."""
    random = np.random.default_rng(seed)
    crowd = people(random)
    asked = Controls(*random.integers(1, 4, 2).tolist())
    kept = Controls(*(int(random.integers(1, most + 1)) for most in asked))
    first = asked.within(Policy(hit_size=int(random.integers(8, 13))))
    known = known_of(random, crowd, size.known, first).crowd(kept, per_day=20)
    annotators, most = POLICIES[seed % len(POLICIES)]
    policy = replace(
        kept.within(first),
        annotators=annotators,
        max_votes=most,
        tie_mode=("extend", "repack")[seed // 5 % 2],
        on_failed_control=("reject", "pay_and_discard")[seed // 10 % 2],
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
