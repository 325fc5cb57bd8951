"""Give an expert triplets to decide, one at a time, and keep what they say of each.

Where the policy says `decide`, a triplet's label follows at once; votes are never touched. A label
of the random sample measures the votes for good. If its triplet is adjudicated later, by another
expert or by the same one, it is that which decides, and what was said blind still measures.
"""

from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Any, NamedTuple

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import (
    CharField,
    Exists,
    F,
    Max,
    Min,
    OuterRef,
    Q,
    QuerySet,
    TextChoices,
    Value,
)
from django.db.models.functions import MD5, Cast, Concat
from django.utils import timezone

from annotation.access.roles import adjudicators_of, is_blind
from annotation.crowd.accounts import workers_of
from annotation.crowd.inhouse.members import member_of
from annotation.crowd.inhouse.models import Assignment
from annotation.models import Assignment as Submitted
from annotation.models import (
    Campaign,
    ExpertLabel,
    HitItem,
    ItemReport,
    Judgment,
    Triplet,
)
from annotation.pipeline.changes import mark_hits_of
from annotation.pipeline.labelling.disagreements import (
    disagreements,
    most_important,
)
from annotation.pipeline.labelling.label import write_labels_of
from annotation.pipeline.ledger.reservations import locked
from annotation.pipeline.publishing.takers import waiting_for_somebody

DRAWN_AT_ONCE = 1_000
MOST_COUNTED = 10_000  # while somebody waits: a sample's pile is nearly all there is
TEXTS = ("candidate__query", "candidate__pair")
TIED = Q(votes=2 * F("positive_votes"))


class What(TextChoices):
    """Which triplets the expert is shown."""

    UNRESOLVED = "unresolved", "Unresolved"
    OPEN = "open", "Waiting for a vote"
    DISAGREEMENT = "disagreement", "Disagreements"
    REPORTED = "reported", "Reported"
    SAMPLE = "sample", "Random sample"


WHY_NOT = {
    What.OPEN: (
        "Open triplets wait for more votes: the policy of this campaign lets no expert decide them."
    ),
    What.SAMPLE: (
        "The random sample is for experts who cannot see the votes: an owner can give somebody the "
        "role of adjudicator, and no other role."
    ),
}


def piles_of(campaign: Campaign, user: User) -> list[What]:
    """Open ones where they can be decided; the sample for those from whom its labels are hidden."""
    lacking = set()
    if campaign.policy.adjudication != "decide":
        lacking.add(What.OPEN)
    if not is_blind(user, campaign):
        lacking.add(What.SAMPLE)
    return [what for what in What if what not in lacking]


def pile_with(triplet: Triplet, campaign: Campaign) -> What | None:
    """Where an expert may decide it by its number."""
    decides = campaign.policy.adjudication == "decide"
    if triplet.status == Triplet.Status.UNRESOLVED:
        return What.UNRESOLVED
    if triplet.status == Triplet.Status.OPEN:
        waiting = waiting_for_somebody(campaign, timezone.now(), only=triplet.pk)
        may = decides and waiting.filter(pk=triplet.pk).exists()
        return What.OPEN if may else None
    # Where experts decide, any label may be put right: then it is theirs against the votes.
    is_disputed = decides or 0 < triplet.positive_votes < triplet.votes
    return What.DISAGREEMENT if is_disputed else None


class Done(NamedTuple):
    decided: int
    left: int  # MOST_COUNTED: so many or more

    @property
    def triplets(self) -> int:
        return self.decided + self.left

    @property
    def is_cut(self) -> bool:
        return self.left == MOST_COUNTED


def pile_of(campaign: Campaign, what: What, user: User) -> "Pile":
    member = member_of(user)
    return Pile(campaign, what, user.get_username(), member.worker_id if member else None)


def may_decide_open(campaign: Campaign, user: User) -> bool:
    return pile_of(campaign, What.OPEN, user).next([]) is not None


def nobody_may_decide_open(campaign: Campaign) -> bool:
    """Whoever may adjudicate has judged all of them, or has said already what they think."""
    people = list(adjudicators_of(campaign))
    return bool(people) and not any(may_decide_open(campaign, one) for one in people)


@dataclass(frozen=True)
class Pile:
    """An expert at a pile of a campaign's triplets; `worker_id` is theirs in the in-house crowd."""

    campaign: Campaign
    what: What
    expert: str
    worker_id: str | None

    def open_to_me(self) -> QuerySet[Triplet]:
        """Without those that the expert has judged as an annotator, or has the HIT of."""
        triplets = Triplet.objects.filter(campaign=self.campaign)
        if self.worker_id is None:
            return triplets
        workers = workers_of(self.worker_id)
        judged = Judgment.objects.filter(assignment__worker__in=workers, triplet__isnull=False)
        gone = (Assignment.Status.RETURNED, Assignment.Status.LAPSED)
        assignments = Assignment.objects.filter(member__worker_id=self.worker_id).exclude(
            status__in=gone
        )
        taken = HitItem.objects.filter(
            hit__crowd_id__in=assignments.values("posted_hit__hit_id"), triplet__isnull=False
        )
        return triplets.exclude(pk__in=judged.values("triplet")).exclude(
            pk__in=taken.values("triplet")
        )

    def triplets(self) -> QuerySet[Triplet]:
        triplets = self.open_to_me()
        if self.what == What.REPORTED:
            reports = ItemReport.objects.filter(item__hit__campaign=self.campaign)
            return triplets.filter(pk__in=reports.values("item__triplet"))
        if self.what == What.DISAGREEMENT:
            return triplets.filter(pk__in=self._listed)
        if self.what == What.OPEN:
            waiting = self._waiting_for_somebody.values("pk")
            return triplets.filter(pk__in=waiting).exclude(pk__in=_being_judged(self.campaign))
        if self.what == What.UNRESOLVED:
            return triplets.filter(status=Triplet.Status.UNRESOLVED)
        # The label that they measure is that of the votes: what experts decided has none, or hides
        # the majority that it has.
        hidden = self._no_majority & Q(label_source=Triplet.LabelSource.EXPERT)
        return triplets.filter(status=Triplet.Status.LABELLED).exclude(hidden)

    @property
    def _no_majority(self) -> Q:
        return TIED | Q(votes__lt=self.campaign.policy.annotators)

    @cached_property
    def _listed(self) -> dict[int, int]:
        """The disagreements that matter most -> their places in the list."""
        disagreements = most_important(self.campaign)
        return {one.triplet: place for place, one in enumerate(disagreements)}

    @cached_property
    def _waiting_for_somebody(self) -> QuerySet[Triplet]:
        return waiting_for_somebody(self.campaign, timezone.now())

    def done(self) -> Done:
        left = self._waiting().order_by()[:MOST_COUNTED].count()
        return Done(self._decided_by_me().count(), left)

    def _waiting(self) -> QuerySet[Triplet]:
        """Of those that are decided, an expert may still decide one by its link."""
        mine = ExpertLabel.objects.filter(triplet=OuterRef("pk"), expert=self.expert)
        waiting = self.triplets().exclude(Exists(mine))
        if self.what == What.SAMPLE:
            return waiting
        return waiting.exclude(label_source=Triplet.LabelSource.EXPERT)

    def _decided_by_me(self) -> QuerySet[Triplet]:
        """As many as were in this pile by their votes, whatever their labels are now."""
        triplets = self.campaign.triplets.filter(
            pk__in=ExpertLabel.objects.filter(expert=self.expert).values("triplet")
        )
        policy = self.campaign.policy
        ended = Q(votes__gte=policy.max_votes)
        if policy.cannot_judge_limit:
            ended |= Q(cannot_judge__gte=policy.cannot_judge_limit)
        if self.what == What.UNRESOLVED:
            return triplets.filter(self._no_majority, ended)
        if self.what == What.OPEN:
            return triplets.filter(self._no_majority).exclude(ended)
        if self.what == What.DISAGREEMENT:
            return triplets.filter(pk__in=disagreements(self.campaign))
        return triplets.filter(pk__in=self.triplets())

    def next(self, skipped: list[int]) -> Triplet | None:
        """What was skipped comes last, in the order of skipping."""
        waiting = self._waiting()
        first = self._first(waiting.exclude(pk__in=skipped))
        if first is None and skipped:
            left = set(waiting.filter(pk__in=skipped).values_list("pk", flat=True))
            first = next((pk for pk in skipped if pk in left), None)
        return None if first is None else self.find(first)

    def _first(self, waiting: QuerySet[Triplet]) -> int | None:
        """Everybody has an order of their own, after what no other expert has decided.

        So two at once meet late, and rarely.
        """
        others = ExpertLabel.objects.filter(triplet=OuterRef("pk"), source=self.source)
        met = Exists(others.exclude(expert=self.expert))
        if self.what == What.SAMPLE:
            return self._drawn(waiting, met)
        if self.what == What.DISAGREEMENT:
            left = dict(waiting.annotate(met=met).values_list("pk", "met"))
            return min(left, key=lambda pk: (left[pk], self._listed[pk]), default=None)
        order = MD5(Concat(Value(self._own_seed), Cast("pk", CharField())))
        return waiting.order_by(met, order).values_list("pk", flat=True).first()

    def _drawn(self, waiting: QuerySet[Triplet], met: Exists) -> int | None:
        """Nearly all triplets are labelled: numbers are drawn, for to order them all takes long."""
        ends = self.campaign.triplets.aggregate(low=Min("pk"), high=Max("pk"))
        draw = Random(self._own_seed)  # noqa: S311
        while waiting.exists():
            drawn = [draw.randint(ends["low"], ends["high"]) for _ in range(DRAWN_AT_ONCE)]
            met_of = dict(waiting.filter(pk__in=drawn).annotate(met=met).values_list("pk", "met"))
            if met_of:
                return min(filter(met_of.__contains__, drawn), key=lambda pk: met_of[pk])
        return None

    def find(self, pk: int) -> Triplet | None:
        return self.open_to_me().filter(pk=pk).select_related(*TEXTS).first()

    def takes(self, triplet: Triplet, drawn: list[int]) -> bool:
        """Of this pile, or decided before: one picked by hand would be no random sample.

        `drawn`: of the sample, what the expert was shown; empty: the first of the draw is taken.
        """
        given = triplet.expert_labels.filter(expert=self.expert).first()
        if given is not None and (given.adjudicated or self.what == What.SAMPLE):
            return True
        if self.what == What.SAMPLE:
            return triplet.pk in drawn if drawn else triplet == self.next([])
        # What another expert decided may be decided again.
        return triplet.label_source == Triplet.LabelSource.EXPERT or self._has(triplet)

    def _has(self, triplet: Triplet) -> bool:
        # The list is the head of its pile: any other that belongs there may be looked at, too.
        if self.what == What.DISAGREEMENT:
            where = pile_with(triplet, self.campaign)
            return where == self.what or disagreements(self.campaign).contains(triplet)
        return self.triplets().contains(triplet)

    @transaction.atomic
    def decide(self, triplet: Triplet, label: int, note: str) -> None:
        """Given again, it takes the place of what the expert said before."""
        campaign = locked(self.campaign)
        adjudicated = self.what != What.SAMPLE
        given, is_new = ExpertLabel.objects.select_for_update().get_or_create(
            triplet=triplet,
            expert=self.expert,
            defaults={
                "label": label,
                "note": note,
                "source": self.source,
                "adjudicated": adjudicated,
            },
        )
        if not is_new:
            given.change(label, note)
            given.adjudicated = given.adjudicated or adjudicated
            given.save(update_fields=["label", "blind_label", "adjudicated", "note"])
        if campaign.policy.adjudication == "decide":
            write_labels_of(campaign, [triplet.pk])
            mark_hits_of([triplet.pk])  # a pass follows: it tells people what is complete now

    @property
    def source(self) -> ExpertLabel.Source:
        if self.what == What.SAMPLE:
            return ExpertLabel.Source.SAMPLE
        return ExpertLabel.Source.ADJUDICATION

    @property
    def _own_seed(self) -> str:
        return f"{self.campaign.uid} {self.expert} "


def _being_judged(campaign: Campaign) -> QuerySet[HitItem, Any]:
    """Triplets of which a vote is under way: in somebody's hands, or submitted and not reviewed."""
    items = HitItem.objects.filter(hit__campaign=campaign, triplet__isnull=False)
    in_hand = Q(status=Assignment.Status.ACCEPTED, deadline__gt=timezone.now())
    here = Assignment.objects.filter(in_hand | Q(status=Assignment.Status.SUBMITTED))
    unreviewed = Submitted.objects.filter(hit__campaign=campaign, passed=None)
    under_way = Q(hit__crowd_id__in=here.values("posted_hit__hit_id"))
    under_way |= Q(hit__in=unreviewed.values("hit"))
    return items.filter(under_way).values("triplet")
