"""How well the controls of a packed campaign can be told apart, kept with the campaign."""

from annotation.analytics.quality.control_leak import LEAKS_ABOVE, MOST_HITS, ShownItem, leak_of
from annotation.models import Campaign, HitItem
from annotation.pipeline.controls.own_controls import has_own_controls

CONTROL = ("control__query", "control__question", "control__answer")
CANDIDATE = ("triplet__candidate__query__text", "triplet__candidate__pair__question",
             "triplet__candidate__pair__answer")  # fmt: skip


def measure_leak(campaign: Campaign) -> float | None:
    """Of its first HITs; None where they are too few to say."""
    campaign.control_leak = leak_of(_items_of(campaign), seed=campaign.seed)
    campaign.save(update_fields=["control_leak"])
    return campaign.control_leak


def leak_warning(campaign: Campaign) -> str:
    """Empty where nothing is measured, or nothing is wrong; a page has a button beside it."""
    if campaign.control_leak is None or campaign.control_leak <= LEAKS_ABOVE:
        return ""
    remedy = "Draft controls from the campaign's own corpus, confirm them, and pack again."
    if has_own_controls(campaign):
        remedy = "Confirm more drafts, in words of your own where you can, and pack again."
    return f"Controls can be told apart: AUC {campaign.control_leak:.2f}. {remedy}"


def leak_figures(campaign: Campaign) -> dict[str, object]:
    """What commands and jobs say of it; nothing where nothing is measured."""
    warning = leak_warning(campaign) or None
    if warning:
        warning += f" `quorum campaign draft-controls {campaign}` drafts them."
    figures = {"control_auc": campaign.control_leak, "warning": warning}
    return {name: value for name, value in figures.items() if value is not None}


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
