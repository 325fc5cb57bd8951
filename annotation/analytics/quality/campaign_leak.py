"""How well the controls of a packed campaign can be told apart, kept with the campaign."""

from django.db.models import Count, Exists, OuterRef, QuerySet

from annotation.analytics.quality.control_leak import (
    LEAKS_ABOVE,
    LEAST_HITS,
    MOST_HITS,
    ShownItem,
    leak_of,
)
from annotation.models import Campaign, Control, HitItem
from annotation.pipeline.controls.own_controls import has_own_controls
from annotation.pipeline.publishing.pack import triplets_to_judge
from annotation.protocol.packing.own_controls import MOST_MEETINGS, own_needed, uses_of_one

CONTROL = ("control__query", "control__question", "control__answer")
CANDIDATE = ("triplet__candidate__query__text", "triplet__candidate__pair__question",
             "triplet__candidate__pair__answer")  # fmt: skip
# Why a packed campaign has no AUC.
TOO_FEW = f"Too few HITs to measure whether controls can be told apart: {LEAST_HITS} are needed."


def measure_leak(campaign: Campaign) -> float | None:
    """Of its first HITs; None where they are too few to say."""
    campaign.control_leak = leak_of(_items_of(campaign), seed=campaign.seed)
    campaign.save(update_fields=["control_leak"])
    return campaign.control_leak


def leak_warning(campaign: Campaign) -> str:
    """Empty where nothing is measured, or nothing is wrong; a page has a button beside it."""
    if campaign.control_leak is None or campaign.control_leak <= LEAKS_ABOVE:
        return ""
    remedy = " Draft controls from the campaign's own corpus, confirm them, and pack again."
    if has_own_controls(campaign):
        remedy = " Confirm more drafts, in words of your own where you can, and pack again."
    if campaign.endpoint:
        remedy = ""  # its HITs stay as they are
    return f"Controls can be told apart: AUC {campaign.control_leak:.2f}.{remedy}"


def meetings_warning(campaign: Campaign) -> str:
    """How often one person may meet the same control, as long as packing again can change it."""
    own = campaign.controls.filter(drafted=True)
    if campaign.endpoint or not has_own_controls(campaign):
        return ""
    in_use = _by_kind(own.filter(retired_at=None))
    shown = _by_kind(own.filter(Exists(HitItem.objects.filter(control=OuterRef("pk")))))
    triplets, policy = triplets_to_judge(campaign), campaign.policy
    uses = uses_of_one(triplets, policy, *(shown if any(shown) else in_use))
    if uses <= MOST_MEETINGS:
        return ""
    needed = own_needed(triplets, policy, uses=MOST_MEETINGS)
    lacking = " and ".join(
        f"{need - have:,} more {kind.value}"
        for kind, need, have in zip(Control.Kind, needed, in_use, strict=True)
        if need > have
    )
    return (
        f"Whoever does every HIT meets the same control up to {uses} times. To make it "
        f"{MOST_MEETINGS} at most, {f'confirm {lacking} controls, and ' if lacking else ''}"
        f"pack{' again' if campaign.hits.exists() else ''}."
    )


def _by_kind(controls: QuerySet[Control]) -> list[int]:
    kinds = dict(controls.order_by().values_list("kind").annotate(controls=Count("pk")))
    return [kinds.get(kind.value, 0) for kind in Control.Kind]


def leak_figures(campaign: Campaign) -> dict[str, object]:
    """What commands and jobs say of it; nothing where nothing is packed."""
    leak = leak_warning(campaign)
    if leak and not campaign.endpoint:
        leak += f" `quorum campaign draft-controls {campaign}` drafts them."
    figures: dict[str, object] = {"control_auc": campaign.control_leak}
    if campaign.control_leak is None:
        is_small = 0 < campaign.hits.count() < LEAST_HITS
        figures = {"note": TOO_FEW} if is_small else {}
    warning = " ".join(filter(None, [leak, meetings_warning(campaign)]))
    return figures | ({"warning": warning} if warning else {})


def _items_of(campaign: Campaign) -> list[ShownItem]:
    items = HitItem.objects.filter(
        hit__campaign=campaign, hit__repack=False, hit__number__lte=MOST_HITS
    )
    rows = items.order_by("hit__number", "position").values_list(
        "hit__number", "position", "key", "control_id", *CONTROL, *CANDIDATE
    )
    shown = []
    for hit, position, key, control, *texts in rows:
        query, question, answer = texts[3:] if control is None else texts[:3]
        shown.append(ShownItem(hit, position, key, query, question, answer, control is not None))
    return shown
