"""A campaign's own controls, and the control candidates that its votes propose for the pool."""

from dataclasses import replace
from typing import Any

from django.utils import timezone

from annotation.access.roles import CHANGE_CONTROLS
from annotation.models import Campaign, Control, ControlCandidate, ControlDraft
from annotation.operations.operation import Argument, Operation, Options, Result, tried
from annotation.operations.pool import MOST_NUMBER, REPLACE, RETIRE, TEXTS, texts_in
from annotation.pipeline.controls import candidates, drafts
from annotation.pipeline.controls.own_controls import is_packed_with_own
from core.errors import UserError

TRIPLET = Argument("triplet", "count", "Candidate triplet", "its number", maximum=MOST_NUMBER)


def _confirm(campaign: Campaign, options: Options) -> Result:
    candidate, by = _candidate(campaign, options), options["by"]
    control = candidates.confirm(candidate, texts_in(options), by=by.name, now=timezone.now())
    return {"new": control.pk}


def _preview_confirm(campaign: Campaign, options: Options) -> list[str]:
    tried(_confirm)(campaign, options)
    triplet = _candidate(campaign, options).triplet
    pair = triplet.candidate.pair
    terms = f", under {pair.license}" if pair.license else ""
    right, wrong = ("Yes", "No") if triplet.label else ("No", "Yes")
    return [
        f"All {triplet.votes:,} votes are {right}. The pair is from {pair.source}{terms}.",
        f"New HITs of {_whose(campaign)} can contain this control. A worker who answers {wrong} "
        "fails it, so confirm only what nobody can doubt.",
    ]


def _whose(campaign: Campaign) -> str:
    return "this campaign" if is_packed_with_own(campaign) else "all campaigns"


def _texts_before(campaign: Campaign, given: Options) -> Options:
    proposed = _first_candidate(campaign, given)
    if proposed is None:
        return {}
    candidate = proposed.triplet.candidate
    texts = (candidate.query.text, candidate.pair.question, candidate.pair.answer)
    return {one.name: text for one, text in zip(TEXTS, texts, strict=True)}


def _dismiss(campaign: Campaign, options: Options) -> Result:
    candidate = _candidate(campaign, options)
    candidates.dismiss(candidate, by=options["by"].name, now=timezone.now())
    return {}


def _candidate(campaign: Campaign, options: Options) -> ControlCandidate:
    candidate = _first_candidate(campaign, options)
    if candidate is None:
        raise UserError(f"Triplet {options['triplet']} is no control candidate of {campaign}.")
    return candidate


def _first_candidate(campaign: Campaign, given: Options) -> ControlCandidate | None:
    matching = candidates.control_candidates(campaign).filter(triplet=given.get("triplet", 0))
    return matching.select_related("triplet__candidate__query", "triplet__candidate__pair").first()


KIND = Argument("kind", "choice", "Kind", choices=tuple(Control.Kind.values))
GIVEN = (
    replace(TEXTS[0], help="one of the campaign's"),
    replace(TEXTS[1], help="the same in other words, or for a negative something else"),
    replace(
        TEXTS[2], optional=True, help="of a positive control, the query's own if it is left out"
    ),
)
DRAFT = Argument("draft", "count", "Draft", "its number", maximum=MOST_NUMBER)


def _add_draft(campaign: Campaign, options: Options) -> Result:
    kind, texts = Control.Kind(options["kind"]), [options[one.name] or "" for one in GIVEN]
    return {"draft": drafts.add_draft(campaign, kind, *texts).pk}


def _confirm_draft(campaign: Campaign, options: Options) -> Result:
    draft, by = _draft(campaign, options), options["by"].name
    question, answer = options["question"], options["answer"]
    return {"new": drafts.confirm(draft, question, answer, by=by, now=timezone.now()).pk}


def _preview_draft(campaign: Campaign, options: Options) -> list[str]:
    tried(_confirm_draft)(campaign, options)
    draft = _draft(campaign, options)
    right = "Yes" if draft.kind == Control.Kind.POSITIVE else "No"
    return [
        f"The query is {draft.query.text!r}, and the only right answer {right}.",
        "HITs that are packed from now on can contain this control. A worker who answers "
        "otherwise fails it, so confirm only what nobody can doubt.",
    ]


def _draft_before(campaign: Campaign, given: Options) -> Options:
    draft = campaign.control_drafts.filter(pk=given.get("draft", 0)).first()
    return {"question": draft.question, "answer": draft.answer} if draft else {}


def _dismiss_draft(campaign: Campaign, options: Options) -> Result:
    drafts.dismiss(_draft(campaign, options), by=options["by"].name, now=timezone.now())
    return {}


def _draft(campaign: Campaign, options: Options) -> ControlDraft:
    draft = campaign.control_drafts.filter(pk=options["draft"]).select_related("query").first()
    if draft is None:
        raise UserError(f"Campaign {campaign} has no draft {options['draft']} of a control.")
    return draft


OF_A_CAMPAIGN: dict[str, Any] = {"noun": "campaign", "verb": ""}
OPERATIONS = (
    replace(REPLACE, title="Replace", button=REPLACE.words, **OF_A_CAMPAIGN),
    replace(RETIRE, title="Retire", button=RETIRE.words, **OF_A_CAMPAIGN),
    Operation(
        "confirm-control",
        "make a candidate a control of the pool, or of a campaign with controls of its own",
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
    Operation(
        "add-draft",
        "draft a control in words of your own, or a model's, which a person confirms",
        CHANGE_CONTROLS,
        tried(
            _add_draft, "The draft waits for a person. Workers see nothing that nobody confirms."
        ),
        _add_draft,
        (KIND, *GIVEN),
        calls_crowd=False,
        confirms=False,
        title="Draft a control",
        button="Add the draft",
    ),
    Operation(
        "confirm-draft",
        "make a draft a control of the campaign, with its texts or better ones",
        CHANGE_CONTROLS,
        _preview_draft,
        _confirm_draft,
        (DRAFT, *TEXTS[1:]),
        subject="draft",
        calls_crowd=False,
        confirms=False,
        title="Confirm",
        button="Confirm as a control",
        initial=_draft_before,
    ),
    Operation(
        "dismiss-draft",
        "dismiss a draft of a control, so that it is not proposed again",
        CHANGE_CONTROLS,
        tried(_dismiss_draft, "Draft {draft} is not proposed again."),
        _dismiss_draft,
        (DRAFT,),
        subject="draft",
        calls_crowd=False,
        confirms=False,
        title="Dismiss",
        button="Dismiss the draft",
    ),
)
