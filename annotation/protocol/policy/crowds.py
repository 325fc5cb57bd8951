"""What sets one crowd apart from another: its rules, its fees and its words.

A new crowd needs its traits here, an adapter of the port, and a line in `annotation/crowd/factory`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

CrowdKind = Literal["mturk", "inhouse", "panel", "prolific"]
Adjudication = Literal["decide", "measure"]
Currency = Literal["USD", "EUR", "GBP"]  # all sums are in hundredths of it
PAPER_CURRENCY: Currency = "USD"

# Policy fields of the account there.
OF_AN_ACCOUNT = frozenset({"fee_permille", "vat_permille"})
# From this many assignments a HIT the crowd takes a higher fee, and no HIT can grow across it.
CROWDED_HIT = 10


@dataclass(frozen=True)
class Fee:
    """In thousandths of what the worker gets; each part is at least one cent, rounded half up."""

    permille: int
    universities_permille: int = 0  # of them, where the fee depends on the account
    masters_permille: int = 0
    crowded_permille: int = 0
    vat_permille: int = 0  # of the fee

    def of_assignment(self, reward_cents: int, *, masters: bool, assignments: int) -> int:
        """For ONE assignment of a HIT that has so many."""
        fee = self._part(reward_cents, self.permille)
        if masters:
            fee += self._part(reward_cents, self.masters_permille)
        if assignments >= CROWDED_HIT and self.crowded_permille:
            fee += self._part(reward_cents, self.crowded_permille)
        return fee

    def of_bonus(self, cents: int) -> int:
        return self._part(cents, self.permille)

    def __str__(self) -> str:
        parts = [percent(self.permille)]
        if self.masters_permille:
            parts.append(f"{percent(self.masters_permille)} more for Masters")
        if self.crowded_permille:
            more = percent(self.crowded_permille)
            parts.append(f"{more} more from {CROWDED_HIT} assignments a HIT")
        if self.vat_permille:
            parts.append(f"and {percent(self.vat_permille)} VAT on it")
        return ", ".join(parts)

    def _part(self, cents: int, permille: int) -> int:
        return max(1, (cents * permille * (1000 + self.vat_permille) + 500_000) // 1_000_000)


def percent(permille: int) -> str:
    return f"{permille / 10:g}%"


# Names of campaigns may have a hyphen.
_HIT = re.compile(r"(^|[.:?!] )?(?<![\w-])HIT(s?)(?![\w-])")


def _like(match: re.Match[str], word: str) -> str:
    """A capital begins a sentence, and a text."""
    begins = match[1] is not None
    return f"{match[1] or ''}{word[0].upper() if begins else word[0]}{word[1:]}{match[2]}"


class Minimum(NamedTuple):
    hourly_cents: int = 0  # what people must be offered; 0: anything
    screen_out_cents: int = 0  # what somebody who finds no task must be paid; 0: nothing


@dataclass(frozen=True)
class CrowdTraits:
    """What a crowd can do, in numbers for the rules and in words for pages, the card and docs."""

    kind: CrowdKind
    title: str
    people: str  # who works there
    description: str
    came: str  # who they were and how they came, to readers of a dataset
    payer: str
    extends: str  # how more judgments are got of what is posted already
    rejects: str  # what of the work it lets be rejected
    excludes: str  # how somebody is kept away
    kept: str  # what it has us keep of who somebody is, in words to them
    forgets: bool  # that can be deleted at their request, and the judgments stay
    fixed: Mapping[str, Any]  # policy fields that it does not let vary
    reward_cents: int  # unless a policy says otherwise
    least_reward_cents: int
    adjudication: Adjudication  # unless a policy says otherwise, as with the two below
    cannot_judge_limit: int
    mark_differences: bool
    fee: Fee | None
    no_fee: str  # in words, where we reckon none
    has_accounts: bool  # its people work on this site; else its own site frames our page
    is_team: bool  # its people are known beforehand, by name, and can be counted
    by_link: bool  # its people come by links, for visits
    # It has a study for each link: a visit is paid, rejected and ended there, and as a whole.
    by_study: bool
    minimums: Mapping[Currency, Minimum]  # by each currency that it pays in; empty: none in any
    longest_message: int
    shortest_reason: int  # of a rejection that a person writes
    longest_reason: int  # of a rejection
    overturn_days: int | None  # that it lets a rejection be overturned; None: no limit
    may_refuse_to_reverse: bool  # a rejection, whenever it is asked to
    writes_after_decision: bool  # its messages reach only workers whose work was decided
    message_place: str
    reports: str  # how news of the work gets here
    contact: str  # what workers do where the settings name no address
    hit: str  # its word for a HIT
    extras: str  # what it pays beside assignments and bonuses
    unasked: frozenset[str]  # policy fields that mean nothing there, beside the fixed ones

    @property
    def fee_in_words(self) -> str:
        if self.fee is None:
            return self.no_fee
        if not self.asks("fee_permille"):
            return str(self.fee)
        return f"{self.fee}, of universities {percent(self.fee.universities_permille)}"

    @property
    def reverses(self) -> str:
        """How long a rejection can be overturned, in words."""
        if self.may_refuse_to_reverse:
            return f"where {self.title} lets you"
        return "at any time" if self.overturn_days is None else f"for {self.overturn_days} days"

    @property
    def abilities(self) -> Mapping[str, str]:
        """What can be done there and how: as pages and docs have it."""
        return {
            "who judges": self.description,
            "who pays": self.payer,
            "fee": self.fee_in_words,
            "extends": self.extends,
            "rejects": self.rejects,
            "overturns": self.reverses,
            "keeps away": self.excludes,
            "writes": self.message_place,
            "reports": self.reports,
        }

    def said(self, text: str) -> str:
        """A sentence that speaks of HITs, in the crowd's own word."""
        return _HIT.sub(lambda match: _like(match, self.hit), text)

    def asks(self, name: str) -> bool:
        """Whether its policies may say something of their own in this field."""
        return name not in {"crowd", "currency", *self.fixed, *self.unasked}

    def defaults(self) -> dict[str, Any]:
        """Fields of a policy for this crowd that are not the paper's."""
        fee = {"fee_permille": self.fee.permille} if self.fee and self.asks("fee_permille") else {}
        return {
            **fee,
            "crowd": self.kind,
            **self.fixed,
            "reward_cents": self.reward_cents,
            "adjudication": self.adjudication,
            "cannot_judge_limit": self.cannot_judge_limit,
            "mark_differences": self.mark_differences,
        }


MTURK = CrowdTraits(
    kind="mturk",
    title="a Mechanical Turk server",
    people="workers",
    description="workers at a server with Mechanical Turk's API, as the emulator on this machine",
    came="workers of a Mechanical Turk server, who chose the work there",
    payer="the server, from your account's balance",
    extends="each HIT, within the assignments that its fee allows",
    rejects="each HIT",
    excludes="by a qualification or a block",
    kept="your worker ID",
    forgets=False,
    fixed={},
    reward_cents=15,
    least_reward_cents=1,
    adjudication="measure",
    cannot_judge_limit=0,
    mark_differences=False,
    fee=Fee(permille=200, masters_permille=50, crowded_permille=200),
    no_fee="",
    has_accounts=False,
    is_team=False,
    by_link=False,
    by_study=False,
    minimums={},
    longest_message=4096,
    shortest_reason=1,
    longest_reason=1024,
    overturn_days=30,
    may_refuse_to_reverse=False,
    writes_after_decision=True,
    message_place="in a message of the server, which cannot be recalled",
    reports="when each pass asks",
    contact="write to the requester through the crowd's site",
    hit="HIT",
    extras="",
    unasked=OF_AN_ACCOUNT,
)
INHOUSE = CrowdTraits(
    kind="inhouse",
    title="your own team",
    people="members of your team",
    description="people whom you invite to this site",
    came="a team with accounts of their own, invited by name",
    payer="you, if at all",
    extends="each task",
    rejects="each task",
    excludes="from the campaign",
    kept="your username and e-mail address",
    forgets=True,
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
    no_fee="none",
    has_accounts=True,
    is_team=True,
    by_link=False,
    by_study=False,
    minimums={},
    longest_message=MTURK.longest_message,
    shortest_reason=MTURK.shortest_reason,
    longest_reason=MTURK.longest_reason,
    overturn_days=None,
    may_refuse_to_reverse=False,
    writes_after_decision=False,
    message_place="on their work page",
    reports="at once, for they work on this site",
    contact="write to the people who invited you",
    hit="task",
    extras="",
    unasked=frozenset({"reward_cents", "keywords", "auto_approval_days", *OF_AN_ACCOUNT}),
)
PANEL = replace(
    INHOUSE,
    kind="panel",
    title="a panel",
    people="participants of the panel",
    description="people whom a panel sends by a link",
    came="participants of a panel, who came by its link",
    payer="the panel, from your list",
    rejects="each task here, and visits at the panel by a list",
    kept="your completion code and the IDs that {panel} gave in the link",
    fixed={**INHOUSE.fixed, "qualification_items": 0},
    reward_cents=15,
    adjudication="measure",
    cannot_judge_limit=0,
    mark_differences=False,
    no_fee="the panel's own",
    is_team=False,
    by_link=True,
    message_place="on their page here, if they come back to it",
    contact="write to the researcher through the panel's site",
    unasked=frozenset({"keywords", "auto_approval_days", *OF_AN_ACCOUNT}),
)
# Of companies, unless a campaign's policy says otherwise.
PROLIFIC_FEE = Fee(permille=428, universities_permille=333)
PROLIFIC = replace(
    PANEL,
    kind="prolific",
    title="Prolific",
    people="participants of Prolific",
    description="participants of Prolific",
    came="participants of Prolific, who came by the link of its study",
    payer="Prolific, from your account's balance",
    extends="each task, by places of its study, which only grow",
    rejects="a visit as a whole",
    excludes="from the campaign, and by a group from its studies at Prolific",
    fee=PROLIFIC_FEE,
    unasked=PANEL.unasked - OF_AN_ACCOUNT,
    by_study=True,
    may_refuse_to_reverse=True,
    least_reward_cents=1,
    minimums={"USD": Minimum(800, 14), "GBP": Minimum(600, 10)},
    shortest_reason=100,
    message_place="in a message at Prolific, which cannot be recalled",
    reports="by signed events where this site is public, and when each pass asks",
    contact="write to the researcher at Prolific",
    extras="visits that are paid for more tasks than were done",
)
CROWDS: Mapping[CrowdKind, CrowdTraits] = {
    each.kind: each for each in (MTURK, INHOUSE, PANEL, PROLIFIC)
}
# The paper's, and the one that the emulator stands in for.
PAPER_CROWD = MTURK


def crowd_defaults(named: object) -> dict[str, Any]:
    """Nothing where that is no crowd: the policy refuses it."""
    return next((each.defaults() for each in CROWDS.values() if each.kind == named), {})
