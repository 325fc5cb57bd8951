"""Add, replace and retire controls: none is changed, so that HITs keep what they showed."""

from datetime import datetime
from typing import NamedTuple

from django.db import IntegrityError, transaction

from annotation.models import Campaign, Control
from annotation.pipeline.controls.own_controls import is_packed_with_own
from annotation.protocol.packing.pack import negatives_needed, positives_needed
from annotation.protocol.policy.policy import Policy
from annotation.protocol.policy.tasks import PAPER_TASK, TASKS, TaskType
from core.errors import UserError
from core.text.clean import clean_text, normalise_question, pair_key

MOST_CHARACTERS = 2000
RETIRED = "This control is retired already: HITs that hold it are still judged by it."


class UnfitTexts(ValueError):
    """What makes them no control, as the end of a sentence."""


class Texts(NamedTuple):
    query: str
    question: str
    answer: str


def check_texts(texts: Texts, task: TaskType = PAPER_TASK) -> None:
    for name, text in zip(Texts._fields, texts, strict=True):
        # Without an answer it would be told by its lack, or hide those of its whole HIT.
        if not text:
            raise UnfitTexts(f"the {name} is empty")
        if len(text) > MOST_CHARACTERS:
            raise UnfitTexts(f"the {name} has more than {MOST_CHARACTERS:,} characters")
    same = normalise_question(texts.query) == normalise_question(texts.question)
    if same and task.shows_question:
        raise UnfitTexts("its query and question are the same text, which tells it at a glance")


def positive(texts: Texts, task: TaskType) -> Control:
    """Unsaved. The texts are the key: the same control twice, in whatever file, is one."""
    key = pair_key(texts.query, texts.question if task.shows_question else texts.answer)
    return Control(kind=Control.Kind.POSITIVE, task=task.name, key=key, **texts._asdict())


def add_positive(texts: Texts, task: TaskType = PAPER_TASK) -> Control:
    """To the pool that all campaigns of the task share, for HITs to come."""
    control = positive(fit(texts, task), task)
    try:
        with transaction.atomic():
            control.save(force_insert=True)
    except IntegrityError as error:  # of two at once, the database lets one in
        raise UserError("The pool holds a control of this query and question already.") from error
    return control


def add_own(campaign: Campaign, kind: Control.Kind | str, texts: Texts) -> Control:
    """For the campaign's HITs to come alone."""
    texts = fit(texts, campaign.policy.task_type)
    key = f"d{pair_key(texts.query, texts.question)[:40]}"
    control = Control(kind=kind, campaign=campaign, key=key, drafted=True, **texts._asdict())
    try:
        with transaction.atomic():
            control.save(force_insert=True)
    except IntegrityError as error:
        raise UserError("The campaign has a control of this query and question already.") from error
    return control


@transaction.atomic
def replace(control: Control, texts: Texts, *, now: datetime) -> Control:
    """A new control with these texts in place of one, which retires."""
    task = task_of_control(control)
    texts = fit(texts, task)
    if texts == Texts(control.query, control.question, control.answer):
        raise UserError("Nothing is changed: these are the texts that the control has.")
    _retire(control, now)
    if control.campaign_id is None:
        return add_positive(texts, task)
    of_campaign = Control.objects.filter(campaign=control.campaign_id)
    original = control.key.partition(".")[0]
    versions = of_campaign.filter(key__startswith=f"{original}.").count()
    return Control.objects.create(
        kind=control.kind,
        campaign_id=control.campaign_id,
        key=f"{original}.{versions + 1}",
        drafted=control.drafted,
        **texts._asdict(),
    )


@transaction.atomic
def retire(control: Control, *, now: datetime) -> None:
    """Refused where a campaign that is under way could no longer pack a HIT.

    What is in use is locked: of two who retire the last spare ones at once, one finds them gone.
    """
    # A triplet may be repacked alone, into a HIT that controls fill up.
    needs = positives_needed if control.kind == Control.Kind.POSITIVE else negatives_needed
    least = max((needs(1, policy) for policy in _policies(control)), default=0)
    if _others_locked(control, least) < least:
        raise UserError(
            f"A HIT may need {least} {control.kind} controls, and without this one fewer would be "
            "left: add others first, or change its words."
        )
    _retire(control, now)


def _retire(control: Control, now: datetime) -> None:
    # Of two at once, one update of the row finds it in use.
    if not Control.objects.filter(pk=control.pk, retired_at=None).update(retired_at=now):
        raise UserError(RETIRED)


def task_of_control(control: Control) -> TaskType:
    return control.campaign.policy.task_type if control.campaign else TASKS[control.task]


def fit(texts: Texts, task: TaskType = PAPER_TASK) -> Texts:
    try:
        return cleaned(texts, task)
    except UnfitTexts as fault:
        raise UserError(f"This is not a control: {fault}.") from fault


def cleaned(texts: Texts, task: TaskType = PAPER_TASK) -> Texts:
    texts = Texts(*map(clean_text, texts))
    check_texts(texts, task)
    return texts


def _policies(control: Control) -> list[Policy]:
    """Of the campaigns that draw on it."""
    if control.campaign is not None:
        is_needed = not control.drafted or is_packed_with_own(control.campaign)
        return [control.campaign.policy] if is_needed else []
    living = Campaign.objects.exclude(state=Campaign.State.CANCELLED)
    policies = (campaign.policy for campaign in living)
    return [policy for policy in policies if policy.task == control.task]


def _others_locked(control: Control, least: int) -> int:
    """How many of its kind are in use beside it; of one campaign's no more than `least` is counted.

    Until the transaction ends nobody else retires one.
    """
    in_use = Control.objects.filter(
        kind=control.kind,
        campaign=control.campaign_id,
        task=control.task,
        drafted=control.drafted,
        retired_at=None,
    ).order_by("pk")
    if control.campaign_id is None:
        pool = in_use.select_for_update().values_list("pk", flat=True)
        return len(set(pool) - {control.pk})
    Campaign.objects.select_for_update().get(pk=control.campaign_id)  # it has thousands of its own
    return len(in_use.exclude(pk=control.pk)[:least])
