"""What workers said where the answer is known, and what experts say of triplets."""

from collections.abc import Mapping

from django.db.models import Case, Count, IntegerField, QuerySet, Sum, Value, When
from django.db.models.functions import Coalesce

from annotation.models import Campaign, Control, Exclusion, ExpertLabel, Judgment
from annotation.pipeline.labelling.votes import CHOSEN_WITHOUT_LOOKING

RIGHT = Case(
    When(item__control__kind=Control.Kind.POSITIVE, then=Value(1)),
    default=Value(0),
    output_field=IntegerField(),
)


def control_answers(campaign: Campaign) -> QuerySet[Judgment]:
    """The reviewed ones, of failed work too: what work fails says how good a worker is."""
    answered = Judgment.objects.filter(
        triplet=None, assignment__hit__campaign=campaign, assignment__passed__isnull=False
    )
    return answered.exclude(worker__in=Exclusion.in_force(campaign).values("worker")).order_by("pk")


def verdicts(labels: QuerySet[ExpertLabel]) -> dict[int, tuple[int, int]]:
    """Triplet -> how many experts said yes before they saw a vote, and how many said no."""
    rows = labels.order_by().values_list("triplet")
    said = rows.annotate(experts=Count("pk"), yes=Sum(Coalesce("blind_label", "label")))
    return {triplet: (yes, experts - yes) for triplet, experts, yes in said}


def majorities(verdicts: Mapping[int, tuple[int, int]]) -> dict[int, int]:
    """Without the triplets on which experts are evenly split."""
    return {one: int(yes > no) for one, (yes, no) in verdicts.items() if yes != no}


def blind_labels(campaign: Campaign) -> QuerySet[ExpertLabel]:
    """Of triplets that were chosen without looking at their votes."""
    labels = ExpertLabel.objects.filter(triplet__campaign=campaign)
    return labels.filter(source__in=CHOSEN_WITHOUT_LOOKING)


def blind_verdicts(campaign: Campaign) -> dict[int, tuple[int, int]]:
    return verdicts(blind_labels(campaign))


def choosing_labels(campaign: Campaign) -> QuerySet[ExpertLabel]:
    """Of the other triplets, where experts do not decide: they help to choose an aggregator.

    What measures the labels may not choose how they are made, and no aggregator makes those that
    experts decide.
    """
    if campaign.policy.adjudication == "decide":
        return ExpertLabel.objects.none()
    labels = ExpertLabel.objects.filter(triplet__campaign=campaign)
    return labels.exclude(triplet__in=blind_labels(campaign).values("triplet"))
