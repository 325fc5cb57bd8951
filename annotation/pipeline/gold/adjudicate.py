"""Give an expert triplets to decide, one at a time, and keep what they say of each."""

from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import NamedTuple

from django.db import transaction
from django.db.models import (
    CharField,
    Exists,
    Max,
    Min,
    OuterRef,
    QuerySet,
    TextChoices,
    Value,
)
from django.db.models.functions import MD5, Cast, Concat

from annotation.crowd.accounts import workers_of
from annotation.crowd.inhouse.models import Assignment
from annotation.models import (
    Campaign,
    ExpertLabel,
    HitItem,
    ItemReport,
    Judgment,
    Triplet,
)
from annotation.pipeline.labelling.disagreements import disagreements, most_important

DRAWN_AT_ONCE = 1_000
MOST_COUNTED = 10_000  # while somebody waits: a sample's pile is nearly all there is
TEXTS = ("candidate__query", "candidate__pair")


class What(TextChoices):
    """Which triplets the expert is shown."""

    UNRESOLVED = "unresolved", "Unresolved"
    DISAGREEMENT = "disagreement", "Disagreements"
    REPORTED = "reported", "Reported"
    SAMPLE = "sample", "Random sample"


class Done(NamedTuple):
    decided: int
    triplets: int  # MOST_COUNTED: so many or more

    @property
    def is_cut(self) -> bool:
        return self.triplets == MOST_COUNTED


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
        judged = Judgment.objects.filter(worker__in=workers, triplet__isnull=False)
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
        unresolved = self.what == What.UNRESOLVED
        return triplets.filter(
            status=Triplet.Status.UNRESOLVED if unresolved else Triplet.Status.LABELLED
        )

    @cached_property
    def _listed(self) -> dict[int, int]:
        """The disagreements that matter most -> their places in the list."""
        found = most_important(self.campaign)
        return {one.triplet: place for place, one in enumerate(found)}

    def done(self) -> Done:
        pile = self.triplets().order_by()
        mine = ExpertLabel.objects.filter(expert=self.expert)
        decided = pile.filter(pk__in=mine.values("triplet")).count()
        return Done(decided, pile[:MOST_COUNTED].count())

    def next(self, skipped: list[int]) -> Triplet | None:
        """What was skipped comes last, in the order of skipping."""
        mine = ExpertLabel.objects.filter(triplet=OuterRef("pk"), expert=self.expert)
        waiting = self.triplets().exclude(Exists(mine))
        found = self._first(waiting.exclude(pk__in=skipped))
        if found is None and skipped:
            left = set(waiting.filter(pk__in=skipped).values_list("pk", flat=True))
            found = next((pk for pk in skipped if pk in left), None)
        return None if found is None else self.find(found)

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
            found = dict(waiting.filter(pk__in=drawn).annotate(met=met).values_list("pk", "met"))
            if found:
                return min(filter(found.__contains__, drawn), key=lambda pk: found[pk])
        return None

    def find(self, pk: int) -> Triplet | None:
        return self.open_to_me().filter(pk=pk).select_related(*TEXTS).first()

    def takes(self, triplet: Triplet, drawn: list[int]) -> bool:
        """Of this pile, or decided before: one picked by hand would be no random sample.

        `drawn`: of the sample, what the expert was shown; empty: the first of the draw is taken.
        """
        if triplet.expert_labels.filter(expert=self.expert).exists():
            return True
        # The list is the head of the pile: any other disagreement may be looked at, too.
        whole = self.what == What.DISAGREEMENT
        pile = disagreements(self.campaign) if whole else self.triplets()
        if not pile.filter(pk=triplet.pk).exists():
            return False
        if self.what != What.SAMPLE:
            return True
        return triplet.pk in drawn if drawn else triplet == self.next([])

    @transaction.atomic
    def decide(self, triplet: Triplet, label: int, note: str) -> None:
        """Given again, it takes the place of what the expert said before."""
        given, is_new = ExpertLabel.objects.select_for_update().get_or_create(
            triplet=triplet,
            expert=self.expert,
            defaults={"label": label, "note": note, "source": self.source},
        )
        if not is_new:
            given.change(label, note)
            given.save(update_fields=["label", "blind_label", "note"])

    @property
    def source(self) -> ExpertLabel.Source:
        if self.what == What.SAMPLE:
            return ExpertLabel.Source.SAMPLE
        return ExpertLabel.Source.ADJUDICATION

    @property
    def _own_seed(self) -> str:
        return f"{self.campaign.uid} {self.expert} "
