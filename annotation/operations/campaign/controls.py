"""A campaign's own controls, and the control candidates that its votes propose for the pool."""

from dataclasses import replace
from typing import Any

from django.utils import timezone

from annotation.access.roles import CHANGE_CONTROLS
from annotation.models import Campaign, ControlCandidate
from annotation.operations.operation import Argument, Operation, Options, Result, tried
from annotation.operations.pool import MOST_NUMBER, REPLACE, RETIRE, TEXTS, texts_in
from annotation.pipeline.controls import candidates
from core.errors import UserError

TRIPLET = Argument("triplet", "count", "Candidate triplet", "its number", maximum=MOST_NUMBER)


def _confirm(campaign: Campaign, options: Options) -> Result:
    found, by = _candidate(campaign, options), options["by"]
    control = candidates.confirm(found, texts_in(options), by=by.name, now=timezone.now())
    return {"new": control.pk}


def _preview_confirm(campaign: Campaign, options: Options) -> list[str]:
    tried(_confirm)(campaign, options)
    triplet = _candidate(campaign, options).triplet
    pair = triplet.candidate.pair
    terms = f", under {pair.license}" if pair.license else ""
    return [
        f"{triplet.positive_votes:,} of {triplet.votes:,} votes are Yes. The pair is from "
        f"{pair.source}{terms}.",
        "New HITs of all campaigns can contain this control. A worker who answers No fails it, so "
        "confirm only what nobody can doubt.",
    ]


def _texts_before(campaign: Campaign, given: Options) -> Options:
    found = _found(campaign, given)
    if found is None:
        return {}
    candidate = found.triplet.candidate
    texts = (candidate.query.text, candidate.pair.question, candidate.pair.answer)
    return {one.name: text for one, text in zip(TEXTS, texts, strict=True)}


def _dismiss(campaign: Campaign, options: Options) -> Result:
    found = _candidate(campaign, options)
    candidates.dismiss(found, by=options["by"].name, now=timezone.now())
    return {}


def _candidate(campaign: Campaign, options: Options) -> ControlCandidate:
    found = _found(campaign, options)
    if found is None:
        raise UserError(f"Triplet {options['triplet']} is no control candidate of {campaign}.")
    return found


def _found(campaign: Campaign, given: Options) -> ControlCandidate | None:
    found = candidates.control_candidates(campaign).filter(triplet=given.get("triplet", 0))
    return found.select_related("triplet__candidate__query", "triplet__candidate__pair").first()


OF_A_CAMPAIGN: dict[str, Any] = {"noun": "campaign", "verb": ""}
OPERATIONS = (
    replace(REPLACE, title="Replace", button=REPLACE.words, **OF_A_CAMPAIGN),
    replace(RETIRE, title="Retire", button=RETIRE.words, **OF_A_CAMPAIGN),
    Operation(
        "confirm-control",
        "add a control candidate to the pool, with its texts or better ones",
        CHANGE_CONTROLS,
        _preview_confirm,
        _confirm,
        (TRIPLET, *TEXTS),
        everywhere=True,
        subject="triplet",
        calls_crowd=False,
        confirms=False,
        title="Confirm",
        button="Confirm as a control",
        initial=_texts_before,
    ),
    Operation(
        "dismiss-control",
        "dismiss a control candidate, so that it is not proposed again",
        CHANGE_CONTROLS,
        tried(_dismiss, "Triplet {triplet} is not proposed as a control again."),
        _dismiss,
        (TRIPLET,),
        subject="triplet",
        calls_crowd=False,
        confirms=False,
        title="Dismiss",
        button="Dismiss the candidate",
    ),
)
