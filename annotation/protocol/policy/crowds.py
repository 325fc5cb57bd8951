"""What sets one crowd apart from another: its rules, its fees and its words.

A new crowd needs its traits here, an adapter of the port, and a line in `annotation/crowd/factory`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

CrowdKind = Literal["mturk", "inhouse", "panel", "prolific"]
Adjudication = Literal["decide", "measure"]

# From this many assignments a HIT the crowd takes a higher fee, and no HIT can grow across it.
CROWDED_HIT = 10


@dataclass(frozen=True)
class Fee:
    """In thousandths of what the worker gets; each part is at least one cent, rounded half up."""

    permille: int
    masters_permille: int = 0
    crowded_permille: int = 0

    def of_assignment(self, reward_cents: int, *, masters: bool, assignments: int) -> int:
        """For ONE assignment of a HIT that has so many."""
        fee = _part(reward_cents, self.permille)
        if masters:
            fee += _part(reward_cents, self.masters_permille)
        if assignments >= CROWDED_HIT and self.crowded_permille:
            fee += _part(reward_cents, self.crowded_permille)
        return fee

    def of_bonus(self, cents: int) -> int:
        return _part(cents, self.permille)


def _part(cents: int, permille: int) -> int:
    return max(1, (cents * permille + 500) // 1000)


# Names of campaigns may have a hyphen.
_HIT = re.compile(r"(^|[.:?!] )?(?<![\w-])HIT(s?)(?![\w-])")


def _like(match: re.Match[str], word: str) -> str:
    """A capital begins a sentence, and a text."""
    begins = match[1] is not None
    return f"{match[1] or ''}{word[0].upper() if begins else word[0]}{word[1:]}{match[2]}"


@dataclass(frozen=True)
class CrowdTraits:
    kind: CrowdKind
    title: str
    people: str  # who works there
    description: str
    fixed: Mapping[str, Any]  # policy fields that it does not let vary
    reward_cents: int  # unless a policy says otherwise
    least_reward_cents: int
    adjudication: Adjudication  # unless a policy says otherwise, as with the two below
    cannot_judge_limit: int
    mark_differences: bool
    fee: Fee | None
    has_accounts: bool  # its people work on this site; else its own site frames our page
    is_team: bool  # its people are known beforehand, by name, and can be counted
    by_link: bool  # its people come by links, for visits
    overturn_days: int | None  # that it lets a rejection be overturned; None: no limit
    writes_after_decision: bool  # its messages reach only workers whose work was decided
    message_place: str
    contact: str  # what workers do where the settings name no address
    hit: str  # its word for a HIT
    unasked: frozenset[str]  # policy fields that mean nothing there, beside the fixed ones

    def said(self, text: str) -> str:
        """A sentence that speaks of HITs, in the crowd's own word."""
        return _HIT.sub(lambda match: _like(match, self.hit), text)

    def asks(self, name: str) -> bool:
        """Whether its policies may say something of their own in this field."""
        return name != "crowd" and name not in self.fixed and name not in self.unasked

    def defaults(self) -> dict[str, Any]:
        """Fields of a policy for this crowd that are not the paper's."""
        return {
            "crowd": self.kind,
            **self.fixed,
            "reward_cents": self.reward_cents,
            "adjudication": self.adjudication,
            "cannot_judge_limit": self.cannot_judge_limit,
            "mark_differences": self.mark_differences,
        }


MTURK = CrowdTraits(
    kind="mturk",
    title="Mechanical Turk",
    people="workers",
    description="the workers of Mechanical Turk, or of the emulator on this machine",
    fixed={},
    reward_cents=15,
    least_reward_cents=1,
    adjudication="measure",
    cannot_judge_limit=0,
    mark_differences=False,
    fee=Fee(permille=200, masters_permille=50, crowded_permille=200),
    has_accounts=False,
    is_team=False,
    by_link=False,
    overturn_days=30,
    writes_after_decision=True,
    message_place="in an email from the crowd, which cannot be recalled",
    contact="write to the requester through the crowd's site",
    hit="HIT",
    unasked=frozenset(),
)
INHOUSE = CrowdTraits(
    kind="inhouse",
    title="your own team",
    people="members of your team",
    description="people whom you invite to this site",
    # A block would keep a colleague out of every other campaign too.
    fixed={
        "masters": False,
        "min_approval_percent": 0,
        "min_approved": 0,
        "exclude_by": "qualification",
    },
    reward_cents=0,
    least_reward_cents=0,
    adjudication="decide",
    cannot_judge_limit=2,
    mark_differences=True,
    fee=None,
    has_accounts=True,
    is_team=True,
    by_link=False,
    overturn_days=None,
    writes_after_decision=False,
    message_place="on their work page",
    contact="write to the people who invited you",
    hit="task",
    unasked=frozenset({"reward_cents", "keywords", "auto_approval_days"}),
)
PANEL = CrowdTraits(
    kind="panel",
    title="a panel",
    people="participants of the panel",
    description="people whom a panel sends by a link",
    fixed={**INHOUSE.fixed, "qualification_items": 0},
    reward_cents=15,
    least_reward_cents=0,
    adjudication="measure",
    cannot_judge_limit=0,
    mark_differences=False,
    fee=None,
    has_accounts=True,
    is_team=False,
    by_link=True,
    overturn_days=None,
    writes_after_decision=False,
    message_place="on their page here, if they come back to it",
    contact="write to the researcher through the panel's site",
    hit="task",
    unasked=frozenset({"keywords", "auto_approval_days"}),
)
PROLIFIC = replace(
    PANEL,
    kind="prolific",
    title="Prolific",
    people="participants of Prolific",
    description="participants of Prolific",
    fee=Fee(permille=428),  # of companies; of universities 333
    least_reward_cents=1,
    message_place="in a message at Prolific, which cannot be recalled",
    contact="write to the researcher at Prolific",
)
CROWDS: Mapping[CrowdKind, CrowdTraits] = {
    each.kind: each for each in (MTURK, INHOUSE, PANEL, PROLIFIC)
}
# The paper's, and the one that the emulator stands in for.
PAPER_CROWD = MTURK


def crowd_defaults(named: object) -> dict[str, Any]:
    """Nothing where that is no crowd: the policy refuses it."""
    return next((each.defaults() for each in CROWDS.values() if each.kind == named), {})
