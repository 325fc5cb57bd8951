"""What campaigns say of their crowd: how often its votes are wrong, how its work fails, its speed.

Under fewer controls as well: answers of failed work are kept, and they say what would have passed
and who would have been excluded.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import chain
from statistics import median
from typing import NamedTuple

from django.db.models import Count, Q, QuerySet
from django.db.models.functions import TruncDate

from annotation.models import (
    Assignment,
    Behaviour,
    Campaign,
    Control,
    Exclusion,
    ExpertLabel,
    Judgment,
)
from annotation.pipeline.labelling.known_answers import blind_verdicts, majorities
from annotation.pipeline.labelling.votes import ROWS, SUBMISSION, valid_judgments
from annotation.protocol.estimates.controls import Controls, Judged, first_votes, passing
from annotation.protocol.estimates.plan import Crowd, crowd_of
from annotation.protocol.policy.policy import Policy
from annotation.protocol.screening.control import RejectionReason
from annotation.protocol.screening.exclusion import is_crossed
from core.errors import UserError

LEAST_JUDGED = 20  # by experts, of each label, before a crowd is known
LEAST = Controls(1, 1)  # by any policy


class Vote(NamedTuple):
    value: int
    assignment: int
    worker: int


@dataclass(frozen=True)
class Past:
    """A campaign's reviewed work.

    `votes`: on the triplets that experts judged, in order of submission, those that do not count
    as well; `right`: of failed assignments, the controls that were answered rightly; `excluded`:
    by the rule, each with their assignments in order of submission. Where nothing can be left
    out, `votes` are those that count and the other two are empty.
    """

    policy: Policy
    labels: Mapping[int, int]
    votes: Mapping[int, Sequence[Vote]]
    right: Mapping[int, Controls]
    excluded: Mapping[int, Sequence[int]]

    @property
    def asked(self) -> Controls:
        return Controls.of(self.policy)

    def passes(self, assignment: int, kept: Controls) -> float:
        """The chance, if it had these controls."""
        right = self.right.get(assignment)
        return 1.0 if right is None else passing(right, self.asked, kept)

    def staying(self, kept: Controls) -> set[int]:
        """Excluded workers who would not have been: failures count as far as they are expected."""
        return {
            worker
            for worker, done in self.excluded.items()
            if not self._is_crossed(done, kept) and kept != self.asked
        }

    def _is_crossed(self, done: Sequence[int], kept: Controls) -> bool:
        failures = 0.0
        for reviewed, assignment in enumerate(done, 1):
            failures += 1 - self.passes(assignment, kept)
            if is_crossed(failures, reviewed, self.policy):
                return True
        return False

    def judged(self, kept: Controls) -> Mapping[Judged, float]:
        """By the first votes alone: later ones are bought where these tie, not at random."""
        out = self.excluded.keys() - self.staying(kept)
        alike: Counter[tuple[int, tuple[tuple[bool, float], ...]]] = Counter()
        for triplet, label in self.labels.items():
            given = (one for one in self.votes.get(triplet, ()) if one.worker not in out)
            votes = ((one.value != label, self.passes(one.assignment, kept)) for one in given)
            alike[label, tuple(votes)] += 1
        judged: defaultdict[Judged, float] = defaultdict(float)
        for (label, same), triplets in alike.items():
            for kind, chance in first_votes(label, same, self.policy.annotators).items():
                judged[kind] += triplets * chance
        return judged


@dataclass(frozen=True)
class Known:
    """`item_seconds`: the median active time that an item takes; None: no browser told it."""

    past: Sequence[Past]
    submitted: int  # and reviewed
    failed: int
    workers: int
    days: int  # of work, each worker's apart
    item_seconds: float | None

    @property
    def asked(self) -> Controls:
        """Which all campaigns had."""
        return Controls(*map(min, zip(*(one.asked for one in self.past), strict=True)))

    @property
    def excluded(self) -> int:
        return sum(len(one.excluded) for one in self.past)

    def staying(self, kept: Controls) -> int:
        return sum(len(one.staying(kept)) for one in self.past)

    def judged(self, kept: Controls) -> Mapping[Judged, float]:
        judged: Counter[Judged] = Counter()
        for one in self.past:
            judged.update(one.judged(kept))
        return judged

    def per_day(self, policy: Policy, hours: float | None) -> float:
        """Assignments that one person submits, who works so long, or as long as they did before."""
        if hours is None:
            return self.submitted / self.days
        if not self.item_seconds:
            raise UserError(
                "No browser told how long work took there: plan without hours, by what people "
                "submitted a day."
            )
        return timedelta(hours=hours).total_seconds() / (self.item_seconds * policy.hit_size)

    def crowd(self, kept: Controls, *, per_day: float) -> Crowd:
        passed = sum(one.passes(failed, kept) for one in self.past for failed in one.right)
        failing = (self.failed - passed) / self.submitted
        return crowd_of(self.judged(kept), failing=failing, per_day=per_day)


def known_of(like: Sequence[Campaign], *, timed: bool = False) -> Known:
    """UserError where experts have judged too little. `timed`: with `item_seconds`."""
    like = list(dict.fromkeys(like))  # named twice, its experts know no more
    reviewed = Assignment.objects.filter(hit__campaign__in=like, passed__isnull=False).order_by()
    counts = reviewed.aggregate(
        submitted=Count("pk"),
        failed=Count("pk", filter=Q(passed=False)),
        workers=Count("worker", distinct=True),
    )
    days = reviewed.values("worker", day=TruncDate("submitted_at")).distinct().count()
    item_seconds = _item_seconds(like) if timed else None
    known = Known([past_of(one) for one in like], **counts, days=days, item_seconds=item_seconds)
    judged = known.judged(known.asked)
    for label, kind in enumerate(("negatives", "positives")):
        count = round(sum(n for one, n in judged.items() if one.label == label))
        if count < LEAST_JUDGED:
            raise UserError(
                f"Experts have judged {count} {kind} blindly in {', '.join(map(str, like))}, and "
                f"{LEAST_JUDGED} are needed to say how often votes are wrong: have them judge a "
                "sample, or plan after another campaign where they did."
            )
    return known


def _item_seconds(like: Sequence[Campaign]) -> float | None:
    sizes = {one.pk: one.policy.hit_size for one in like}
    times = Behaviour.objects.filter(assignment__hit__campaign__in=like, active_ms__isnull=False)
    rows = times.values_list("assignment__hit__campaign", "active_ms")
    each = [(ms or 0) / sizes[campaign] for campaign, ms in rows.iterator(chunk_size=ROWS)]
    return median(each) / 1000 if each else None


def past_of(campaign: Campaign) -> Past:
    policy, labels = campaign.policy, majorities(blind_verdicts(campaign))
    counting = valid_judgments(campaign)
    if Controls.of(policy) == LEAST:
        return Past(policy, labels, _votes(campaign, counting), {}, {})
    excluded = _excluded(campaign)
    failed = Q(assignment__failure=RejectionReason.MISSED.key)
    kept_out = Q(assignment__passed=True, worker__in=excluded)
    others = Exclusion.in_force(campaign).exclude(worker__in=excluded).values("worker")
    discarded = (
        Judgment.objects.filter(failed | kept_out, assignment__hit__campaign=campaign)
        .exclude(assignment__passed=True, assignment__status=Assignment.Status.REJECTED)
        .exclude(worker__in=others)
    )
    votes = _votes(campaign, counting, discarded)
    return Past(policy, labels, votes, _right(campaign), excluded)


def _votes(campaign: Campaign, *judgments: QuerySet[Judgment]) -> Mapping[int, Sequence[Vote]]:
    """By triplet that experts judged."""
    judged = ExpertLabel.objects.filter(triplet__campaign=campaign).values("triplet")
    columns = (*SUBMISSION, "triplet_id", "value", "assignment_id", "worker_id")
    rows = (one.filter(triplet__in=judged).values_list(*columns) for one in judgments)
    votes: defaultdict[int, list[Vote]] = defaultdict(list)
    for _, _, triplet, *vote in sorted(chain(*rows)):
        votes[triplet].append(Vote(*vote))
    return votes


def _right(campaign: Campaign) -> Mapping[int, Controls]:
    """Of failed assignments. A HIT that controls fill up counts as if it had as many as others."""
    failed = Assignment.objects.filter(hit__campaign=campaign, passed=False)
    answers = {
        f"{kind}_{value}": Count(
            "judgments",
            filter=Q(judgments__item__control__kind=kind, judgments__value=value),
        )
        for kind in Control.Kind.values
        for value in (0, 1)
    }
    asked = Controls.of(campaign.policy)
    missed = Q(failure=RejectionReason.MISSED.key)
    right = dict.fromkeys(failed.exclude(missed).values_list("pk", flat=True), Controls(0, 0))
    for row in failed.filter(missed).annotate(**answers).values("pk", *answers):
        right[row["pk"]] = Controls(
            min(row["positive_1"], max(0, asked.positive - row["positive_0"])),
            min(row["negative_0"], max(0, asked.negative - row["negative_1"])),
        )
    return right


def _excluded(campaign: Campaign) -> Mapping[int, Sequence[int]]:
    """By the rule, and not by hand: each with their reviewed assignments, in order."""
    out = Exclusion.in_force(campaign).filter(reason="").values("worker")
    reviewed = Assignment.objects.filter(
        hit__campaign=campaign, passed__isnull=False, worker__in=out
    ).order_by("submitted_at", "crowd_id")
    done: defaultdict[int, list[int]] = defaultdict(list)
    for worker, assignment in reviewed.values_list("worker_id", "pk"):
        done[worker].append(assignment)
    return done
