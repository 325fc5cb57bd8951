"""Figures for the pages of review and of controls, made after a pass with a campaign's snapshot.

Keys of `figures`: controls, as `control_figures` counts them; exposure, of the campaign's own
controls or else of the pool's; and disagreements, the list that `weigh_all` makes.
"""

from django.db.models import Count, Max, Q, QuerySet
from django.utils import timezone

from annotation.analytics.quality.control_accuracy import (
    Figures,
    added_up,
    control_figures,
    rates_of,
)
from annotation.models import Campaign, Control, MeetingTally, ReviewFigures
from annotation.pipeline.controls.own_controls import has_own_controls
from annotation.pipeline.labelling.disagreements import STORED, weigh_all
from annotation.pipeline.labelling.tallies import tallies_of
from annotation.pipeline.outbox.claims import Clock
from annotation.protocol.packing.own_controls import exposures_of
from annotation.protocol.screening.control_accuracy import ControlRate


def take(campaign: Campaign, *, clock: Clock = timezone.now) -> ReviewFigures:
    """Made again, in the place of the last one."""
    figures = {
        "controls": control_figures(campaign),
        "exposure": exposure_of(campaign),
        STORED: weigh_all(campaign),
    }
    made, _ = ReviewFigures.objects.update_or_create(
        campaign=campaign, defaults={"at": clock(), "figures": figures}
    )
    return made


def exposure_of(campaign: Campaign) -> dict[str, int | bool]:
    own = has_own_controls(campaign)
    which = Q(control__drafted=True) if own else Q(control__campaign=None)
    rows = tallies_of(campaign, MeetingTally).filter(which).order_by()
    pairs = rows.values_list("control", "worker").annotate(Count("pk"), Max("revealed"))
    met = exposures_of((control, times, bool(known)) for control, _, times, known in pairs).values()
    return {
        "of_pool": not own,
        "worn": sum(one.is_worn for one in met),  # of the pool, nothing retires
        "most": max((one.most for one in met), default=0),  # meetings of a worker with a control
        "revealed": sum(one.revealed > 0 for one in met),  # whose answer somebody knows
    }


def of_campaign(campaign: Campaign) -> Figures | None:
    """Of its controls, by kind; None before they were first counted."""
    rows = ReviewFigures.objects.filter(campaign=campaign)
    return rows.values_list("figures__controls", flat=True).first()


def with_exposure(campaign: Campaign) -> tuple[Figures | None, dict[str, int | bool] | None]:
    """Figures that were counted before there was an exposure get that now."""
    rows = ReviewFigures.objects.filter(campaign=campaign)
    row = rows.values_list("figures__controls", "figures__exposure").first()
    if row is None:
        return None, None
    controls, exposure = row
    return controls, exposure or exposure_of(campaign)


def of_pool(campaigns: QuerySet[Campaign]) -> dict[int, ControlRate]:
    """Positive control -> its rate in all these campaigns."""
    rows = ReviewFigures.objects.filter(campaign__in=campaigns)
    counted = rows.values_list("figures__controls", flat=True)
    positive = Control.Kind.POSITIVE
    return added_up(rate for figures in counted for rate in rates_of(figures, positive))
