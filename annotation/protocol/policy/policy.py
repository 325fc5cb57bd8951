"""Every number of the protocol in one frozen object (QUADRo, section 4 and appendix C).

The defaults are the paper's values; a campaign stores the policy that governed it.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import re
import reprlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_type_hints

from annotation.protocol.policy.crowds import (
    CROWDED_HIT,
    CROWDS,
    OF_AN_ACCOUNT,
    PAPER_CROWD,
    PAPER_CURRENCY,
    PROLIFIC_FEE,
    Adjudication,
    CrowdKind,
    CrowdTraits,
    Currency,
    Fee,
    Minimum,
)
from annotation.protocol.policy.tasks import PAPER_TASK, TASKS, TaskName, TaskType

TieMode = Literal["extend", "repack"]
OnFailedControl = Literal["reject", "pay_and_discard"]
ExcludeBy = Literal["qualification", "block"]
ExclusionRule = Literal["share", "sequential"]
Aggregation = Literal["majority", "best"]
BoughtFirst = Literal["least_sure", "top_ranks"]
SplitSize = int | float  # an int is a count of queries, a float a share of them

LATER = {
    "task": PAPER_TASK.name,
    "exclusion_rule": "share",
    "currency": PAPER_CURRENCY,
    "vat_permille": 0,
    "aggregation": "majority",
    "wanted_confidence": 0,
    "bought_first": "least_sure",
    "rank_prior": False,
}
SHARES_TOLERANCE = Fraction(1, 1000)
# Neither a database nor a page takes all of them; the surrogates are halves of characters.
UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


class PolicyError(ValueError):
    """A policy that cannot govern a campaign; `faults` holds everything wrong with it."""

    def __init__(self, faults: Iterable[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(self.faults))


class Rule(NamedTuple):
    """What one field demands of its value."""

    demand: str
    holds: Callable[[Any], bool]


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return _is_whole(value) or isinstance(value, float)


def _whole(least: int, most: int) -> Rule:
    return Rule(
        f"a whole number from {least} to {most}",
        lambda value: _is_whole(value) and least <= value <= most,
    )


def _number(least: float, most: float) -> Rule:
    return Rule(
        f"a number from {least} to {most}",
        lambda value: _is_number(value) and least <= value <= most,
    )


def _text(most: int) -> Rule:
    return Rule(
        f"a text of 1 to {most} characters, without control characters",
        lambda value: (
            isinstance(value, str)
            and bool(value.strip())
            and len(value) <= most
            and UNPRINTABLE.search(value) is None
        ),
    )


def _one_of(literal: object) -> Rule:
    options = get_args(literal)
    return Rule(
        " or ".join(f'"{option}"' for option in options),
        lambda value: isinstance(value, str) and value in options,
    )


_FLAG = Rule("true or false", lambda value: isinstance(value, bool))
_CONFIDENCE = Rule(
    "0, or a number from 0.55 to 0.99",
    lambda value: _is_number(value) and (value == 0 or 0.55 <= value <= 0.99),
)
_SPLIT_SIZE = Rule(
    "a share from 0.0 to 1.0 or a whole count from 0",
    lambda value: value >= 0 if _is_whole(value) else isinstance(value, float) and 0 <= value <= 1,
)


@dataclass(frozen=True)
class Policy:
    """The rules of one campaign; an impossible one cannot be made (PolicyError)."""

    task: Annotated[TaskName, _one_of(TaskName)] = PAPER_TASK.name
    candidates_per_query: Annotated[int, _whole(1, 1000)] = 30
    hit_size: Annotated[int, _whole(3, 100)] = 7
    positive_controls: Annotated[int, _whole(1, 50)] = 1
    negative_controls: Annotated[int, _whole(1, 50)] = 1
    control_pool_size: Annotated[int, _whole(1, 1_000_000)] = 60
    negative_max_cosine: Annotated[float, _number(-1, 1)] = 0.30
    annotators: Annotated[int, _whole(1, 100)] = 2
    tie_mode: Annotated[TieMode, _one_of(TieMode)] = "extend"
    max_votes: Annotated[int, _whole(1, 100)] = 5
    # What makes the label of votes: their majority, or the aggregator that foretells controls best.
    aggregation: Annotated[Aggregation, _one_of(Aggregation)] = "majority"
    # One more vote is asked for until the label is as sure as that; 0: until there is a majority.
    wanted_confidence: Annotated[float, _CONFIDENCE] = 0.0
    # Whether a label leans to the rank that its candidate had, or is by votes alone.
    rank_prior: Annotated[bool, _FLAG] = False
    # Which votes come first where the budget does not reach.
    bought_first: Annotated[BoughtFirst, _one_of(BoughtFirst)] = "least_sure"
    # So many who say "Can't judge" send a triplet to an expert; 0: the page has Yes and No only.
    cannot_judge_limit: Annotated[int, _whole(0, 100)] = PAPER_CROWD.cannot_judge_limit
    # Whether an expert's label is the label, or stays beside the votes and measures them.
    adjudication: Annotated[Adjudication, _one_of(Adjudication)] = PAPER_CROWD.adjudication
    on_failed_control: Annotated[OnFailedControl, _one_of(OnFailedControl)] = "reject"
    exclusion_rule: Annotated[ExclusionRule, _one_of(ExclusionRule)] = "share"
    max_failure_rate: Annotated[float, _number(0, 1)] = 0.10
    min_assignments: Annotated[int, _whole(1, 1_000_000)] = 10
    exclude_by: Annotated[ExcludeBy, _one_of(ExcludeBy)] = "qualification"
    crowd: Annotated[CrowdKind, _one_of(CrowdKind)] = PAPER_CROWD.kind
    # The site's.
    currency: Annotated[Currency, _one_of(Currency)] = PAPER_CURRENCY
    reward_cents: Annotated[int, _whole(0, 100_000)] = PAPER_CROWD.reward_cents
    # Where it depends on the account; those of other crowds are the same for all.
    fee_permille: Annotated[int, _whole(0, 1000)] = PROLIFIC_FEE.permille
    vat_permille: Annotated[int, _whole(0, 1000)] = 0
    masters: Annotated[bool, _FLAG] = True
    min_approval_percent: Annotated[int, _whole(0, 100)] = 95
    min_approved: Annotated[int, _whole(0, 10_000_000)] = 100
    # Items of the qualification test before the first HIT; 0: none.
    qualification_items: Annotated[int, _whole(0, 100)] = 0
    qualification_pass_percent: Annotated[int, _whole(1, 100)] = 80
    show_answer: Annotated[bool, _FLAG] = True
    # Words that only one of the two questions has; the paper's page marks none.
    mark_differences: Annotated[bool, _FLAG] = PAPER_CROWD.mark_differences
    # The crowd's own limits: a year for work and listing, 30 days for the review.
    assignment_minutes: Annotated[int, _whole(1, 525_600)] = 30
    lifetime_days: Annotated[int, _whole(1, 365)] = 7
    auto_approval_days: Annotated[int, _whole(1, 30)] = 3
    train: Annotated[SplitSize, _SPLIT_SIZE] = 0.77
    dev: Annotated[SplitSize, _SPLIT_SIZE] = 0.099
    test: Annotated[SplitSize, _SPLIT_SIZE] = 0.131
    title: Annotated[str, _text(128)] = "Do these pairs of questions ask the same thing?"
    description: Annotated[str, _text(2000)] = (
        "Read short pairs of questions and say for each pair whether both ask the same thing."
    )
    keywords: Annotated[str, _text(1000)] = "questions, similarity, language, judgment"

    def __post_init__(self) -> None:
        faults = _faults(asdict(self))
        if faults:
            raise PolicyError(faults)
        # A rate written as 0 or as 0.0 is the same and has the same digest.
        for name in ("max_failure_rate", "negative_max_cosine", "wanted_confidence"):
            object.__setattr__(self, name, float(getattr(self, name)))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Policy:
        """The policy that differs from the defaults by `values`; PolicyError lists every fault."""
        if not isinstance(values, Mapping):
            raise PolicyError([f"a policy must be an object of fields, not {_short(values)}"])
        defaults = {each.name: each.default for each in fields(cls)}
        known = {name: value for name, value in values.items() if name in defaults}
        unknown = [_unknown(name, defaults) for name in values if name not in defaults]
        faults = unknown + _faults(defaults | known)
        if faults:
            raise PolicyError(faults)
        return cls(**known)

    def to_dict(self) -> dict[str, Any]:
        """Without what came later, where it is as in the paper: digests are those of before."""
        later: dict[str, Any] = dict(LATER)
        if not self.crowd_traits.asks("fee_permille"):
            later["fee_permille"] = PROLIFIC_FEE.permille
        return {name: value for name, value in asdict(self).items() if later.get(name) != value}

    def digest(self) -> str:
        return policy_digest(self.to_dict())

    def for_crowd(self, kind: CrowdKind, *, reward_cents: int | None = None) -> Policy:
        """The same rules for another crowd, at what it usually pays unless that is said."""
        traits = CROWDS[kind]
        reward = traits.reward_cents if reward_cents is None else reward_cents
        return Policy.from_dict(
            {**self.to_dict(), **traits.fixed, "crowd": kind, "reward_cents": reward}
        )

    def decides_like(self, other: Policy) -> bool:
        """Whether the same answers make the same labels by both, whoever gave them."""
        mine, theirs = asdict(self), asdict(other)
        return {name for name in mine if mine[name] != theirs[name]} <= _OF_A_CROWD

    @property
    def task_type(self) -> TaskType:
        return TASKS[self.task]

    @property
    def crowd_traits(self) -> CrowdTraits:
        return CROWDS[self.crowd]

    @property
    def fee(self) -> Fee | None:
        traits = self.crowd_traits
        if not traits.asks("fee_permille"):
            return traits.fee
        return Fee(self.fee_permille, vat_permille=self.vat_permille)

    @property
    def minimum(self) -> Minimum:
        return self.crowd_traits.minimums.get(self.currency, Minimum())

    @property
    def is_adaptive(self) -> bool:
        """Whether confidence ends the asking, and no majority."""
        return self.wanted_confidence > 0

    @property
    def real_items(self) -> int:
        """Items of a HIT that are no controls."""
        return self.hit_size - self.positive_controls - self.negative_controls


def policy_digest(values: Mapping[str, Any]) -> str:
    """sha256 of the canonical JSON: of an older policy too, which lacks fields of today's."""
    canonical = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def currency_of(values: Mapping[str, Any]) -> str:
    """Of a policy or figures as they are written, which do not name the paper's."""
    return str(values.get("currency", PAPER_CURRENCY))


_RULES: dict[str, Rule] = {
    name: hint.__metadata__[0] for name, hint in get_type_hints(Policy, include_extras=True).items()
}


def _faults(values: Mapping[str, Any]) -> list[str]:
    wrong = {
        name: f"{name} must be {rule.demand}, not {_short(values[name])}"
        for name, rule in _RULES.items()
        if not rule.holds(values[name])
    }
    faults = list(wrong.values())
    for names, check in _JOINT_CHECKS:
        # A relation between fields says nothing while one of them is wrong in itself.
        if wrong.keys().isdisjoint(names):
            faults += check(*(values[name] for name in names))
    return faults


def _check_room(hit_size: int, positive_controls: int, negative_controls: int) -> list[str]:
    controls = positive_controls + negative_controls
    if controls < hit_size:
        return []
    return [f"hit_size {hit_size} leaves no place for a real triplet beside {controls} controls"]


def _check_votes(annotators: int, max_votes: int) -> list[str]:
    if max_votes < annotators:
        return [f"max_votes {max_votes} is less than annotators {annotators}"]
    if annotators < CROWDED_HIT <= max_votes:
        return [
            f"max_votes {max_votes} must stay under {CROWDED_HIT} while annotators {annotators} "
            f"does: the crowd lets no HIT grow to {CROWDED_HIT} assignments"
        ]
    return []


def _check_confidence(aggregation: Aggregation, wanted_confidence: float) -> list[str]:
    if wanted_confidence and aggregation == "majority":
        return ['wanted_confidence must be 0 while aggregation is "majority"']
    return []


def _check_rank_prior(aggregation: Aggregation, rank_prior: bool) -> list[str]:
    if rank_prior and aggregation == "majority":
        return ['rank_prior must be false while aggregation is "majority"']
    return []


def _check_bought_first(wanted_confidence: float, bought_first: BoughtFirst) -> list[str]:
    if bought_first != "least_sure" and not wanted_confidence:
        return ['bought_first must be "least_sure" while wanted_confidence is 0']
    return []


def _check_splits(train: SplitSize, dev: SplitSize, test: SplitSize) -> list[str]:
    sizes = (train, dev, test)
    if len({type(size) for size in sizes}) > 1:
        return ["train, dev and test must be all shares (0.77) or all whole counts (1500)"]
    decimals = (Fraction(str(size)) for size in sizes)  # as written, not as the floats near them
    total = sum(decimals, Fraction(0))
    if isinstance(train, float) and abs(total - 1) > SHARES_TOLERANCE:
        return [f"train, dev and test are shares that sum to {float(total):g}, not to 1"]
    if total == 0:
        return ["train, dev and test are counts that sum to 0"]
    return []


def _check_crowd(
    crowd: CrowdKind, currency: Currency, reward_cents: int, *others: object
) -> list[str]:
    traits = CROWDS[crowd]
    values = dict(zip(_SCREENING, others, strict=True))
    faults = [
        f"{name} must be {json.dumps(wanted)} for {traits.title}"
        for name, wanted in traits.fixed.items()
        if values[name] != wanted
    ]
    if reward_cents < traits.least_reward_cents:
        faults.append(
            f"reward_cents must be at least {traits.least_reward_cents} for {traits.title}"
        )
    if traits.minimums and currency not in traits.minimums:
        taken = " or ".join(f'"{each}"' for each in traits.minimums)
        faults.append(f"currency must be {taken} for {traits.title}")
    return faults


def _check_task(task: TaskName, *others: object) -> list[str]:
    values = dict(zip(_FIXED_BY_TASK, others, strict=True))
    return [
        f"{name} must be {json.dumps(wanted)} for the task {task}"
        for name, wanted in TASKS[task].fixed.items()
        if values[name] != wanted
    ]


# What a task may have fixed.
_FIXED_BY_TASK = tuple(sorted(set[str]().union(*(task.fixed for task in TASKS.values()))))
# What a crowd may have fixed.
_SCREENING = tuple(sorted(set[str]().union(*(traits.fixed for traits in CROWDS.values()))))
_OF_A_CROWD = {"crowd", "reward_cents", *OF_AN_ACCOUNT, *_SCREENING}
_JOINT_CHECKS: tuple[tuple[tuple[str, ...], Callable[..., list[str]]], ...] = (
    (("hit_size", "positive_controls", "negative_controls"), _check_room),
    (("annotators", "max_votes"), _check_votes),
    (("aggregation", "wanted_confidence"), _check_confidence),
    (("aggregation", "rank_prior"), _check_rank_prior),
    (("wanted_confidence", "bought_first"), _check_bought_first),
    (("train", "dev", "test"), _check_splits),
    (("crowd", "currency", "reward_cents", *_SCREENING), _check_crowd),
    (("task", *_FIXED_BY_TASK), _check_task),
)


def _unknown(name: object, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(str(name), known, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"unknown field {_short(name)}{hint}"


def _short(value: object) -> str:
    return reprlib.repr(value)
