"""The expert's page: one triplet, blind to what the crowd said of it until they have decided."""

from dataclasses import dataclass
from typing import cast
from urllib.parse import urlencode

from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.views.decorators.http import require_http_methods

from annotation.access.audit_log import by_page, record
from annotation.access.roles import ADJUDICATE
from annotation.analytics.quality.text_diff import Part, as_judged
from annotation.models import Campaign, ExpertLabel, ItemReport, Triplet
from annotation.pipeline.adjudicate import WHY_NOT, Pile, What, pile_of, pile_with, piles_of
from annotation.pipeline.gold.gold_file import MAX_NOTE
from annotation.pipeline.labelling.label import overruled
from annotation.protocol.labels.derivation import label_before_experts
from annotation.protocol.labels.majority import decide_tally
from annotation.protocol.policy.policy import Policy
from annotation.web.base.guards import campaign_page, refuse
from annotation.web.base.layout import page
from annotation.web.base.markdown import render_markdown
from core.errors import UserError
from core.text.clean import clean_text

MOST_SKIPPED = 500  # kept in the session
MOST_NOTES = 50
MOST_DRAWN = 10  # in as many windows
HELD = (
    "You cannot label this triplet: it is not in this pile, or you have judged it "
    "as an annotator. Continue with the next one."
)
UNREADABLE = (
    f"Nothing was kept: an answer is Yes or No with a note of at most {MAX_NOTE:,} characters. "
    "Choose again."
)


@dataclass(frozen=True)
class BlindTriplet:
    """All that the page shows of a triplet before the decision."""

    pk: int
    query: list[Part]
    question: list[Part]
    answer: str


@dataclass(frozen=True)
class Revealed:
    """What the crowd and other experts said of it."""

    own: ExpertLabel
    status: str  # by the votes
    label: int | None  # that an expert may overrule
    decides: bool  # the expert's label, as the policy has it
    pile: What | None  # where a label that only measures can be made one that decides
    yes: int
    no: int
    cannot_judge: int
    reports: list[ItemReport]
    others: list[ExpertLabel]


@campaign_page(ADJUDICATE)
@require_http_methods(["GET", "HEAD", "POST"])
def adjudicate(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    try:
        pile = _pile(request, campaign)
    except UserError as error:
        return refuse(request, 404, "There is no such page", str(error))
    if request.method == "POST":
        return _take(request, pile)
    return _show(request, pile)


def _pile(request: HttpRequest, campaign: Campaign) -> Pile:
    what = request.GET.get("what", What.UNRESOLVED)
    if what not in What.values:
        raise UserError(f"Choose one of {', '.join(What.values)}.")
    if What(what) not in piles_of(campaign, cast(User, request.user)):
        raise UserError(WHY_NOT[What(what)])
    return pile_of(campaign, What(what), cast(User, request.user))


def _take(request: HttpRequest, pile: Pile) -> HttpResponse:
    triplet = _triplet(pile, request.POST.get("triplet", ""))
    if triplet is None or not pile.takes(triplet, _drawn(request, pile)):
        return refuse(request, 404, "Not this one", HELD)
    label, note = request.POST.get("label", ""), clean_text(request.POST.get("note", ""))
    is_skip = "skip" in request.POST
    if len(note) > MAX_NOTE or not (is_skip or label in {"0", "1"}):
        return _page(request, pile, triplet, note=note, fault=UNREADABLE)
    _keep_note(request, pile, triplet, note if is_skip else "")
    if is_skip:
        skipped = [pk for pk in _skipped(request, pile) if pk != triplet.pk]
        request.session[_pile_key(pile)] = [*skipped, triplet.pk][-MOST_SKIPPED:]
        return _to(request, pile)
    _decide(request, pile, triplet, int(label), note)
    request.session[_last_key(pile)] = triplet.pk
    return _to(request, pile, decided=triplet.pk)


@transaction.atomic
def _decide(request: HttpRequest, pile: Pile, triplet: Triplet, label: int, note: str) -> None:
    # Not what was said: other experts read the log, and are to decide blind.
    details = {"pile": pile.what.label.lower(), "again": _own(pile, triplet) is not None}
    pile.decide(triplet, label, note)
    by = by_page(cast(User, request.user))
    record(by, "label", campaign=pile.campaign, subject=f"triplet {triplet.pk}", details=details)


def _show(request: HttpRequest, pile: Pile) -> HttpResponse:
    triplet = _triplet(pile, request.GET.get("decided", ""))
    if triplet is not None and (own := _own(pile, triplet)) is not None:
        return _page(request, pile, triplet, note=own.note)
    triplet = _asked_for(request, pile) or pile.next(_skipped(request, pile))
    if triplet and pile.what == What.SAMPLE:
        others = [pk for pk in _shown_before(request, pile) if pk != triplet.pk]
        request.session[_drawn_key(pile)] = [*others, triplet.pk][-MOST_DRAWN:]
    note = _notes(request, pile).get(str(triplet.pk), "") if triplet else ""
    return _page(request, pile, triplet, note=note)


def _asked_for(request: HttpRequest, pile: Pile) -> Triplet | None:
    """One of the pile by its number; never of a sample, which would be random no more."""
    if pile.what == What.SAMPLE:
        return None
    triplet = _triplet(pile, request.GET.get("triplet", ""))
    if triplet is None or not pile.takes(triplet, []):
        return None
    own = _own(pile, triplet)
    return None if own and own.adjudicated else triplet


def _page(
    request: HttpRequest, pile: Pile, triplet: Triplet | None, *, note: str, fault: str = ""
) -> HttpResponse:
    own = _own(pile, triplet) if triplet else None
    user = cast(User, request.user)
    context = {
        "task": pile.campaign.policy.task_type,
        "what": pile.what,
        "piles": [(one.value, one.label) for one in piles_of(pile.campaign, user)],
        "done": pile.done(),
        "instructions": render_markdown(pile.campaign.instructions.latest("version").text),
        "shown": triplet and _texts(triplet, pile.campaign.policy),
        "revealed": _revealed(pile, triplet, own) if triplet and own else None,
        "note": note,
        "fault": fault,
        "last": request.session.get(_last_key(pile)),
        "most": MAX_NOTE,
    }
    status = 422 if fault else 200
    template = "annotation/experts/adjudicate.html"
    campaign = pile.campaign
    return page(request, template, context, title="Adjudicate", campaign=campaign, status=status)


def _texts(triplet: Triplet, policy: Policy) -> BlindTriplet:
    candidate = triplet.candidate
    query, question = as_judged(
        candidate.query.text, candidate.pair.question, marked=policy.mark_differences
    )
    return BlindTriplet(triplet.pk, query, question, candidate.pair.answer)


def _own(pile: Pile, triplet: Triplet) -> ExpertLabel | None:
    return triplet.expert_labels.filter(expert=pile.expert).first()


def _revealed(pile: Pile, triplet: Triplet, own: ExpertLabel) -> Revealed:
    reports = ItemReport.objects.filter(item__triplet=triplet).order_by("pk")
    policy, votes = pile.campaign.policy, (triplet.votes, triplet.positive_votes)
    by_votes = decide_tally(*votes, policy, triplet.cannot_judge)
    of_triplet = Triplet.objects.filter(pk=triplet.pk)
    said = of_triplet.annotate(said=overruled(pile.campaign)).values_list("said", flat=True).get()
    return Revealed(
        own=own,
        status=by_votes.status,
        label=label_before_experts(triplet.label, triplet.label_source, *votes, policy, said),
        decides=own.adjudicated and policy.adjudication == "decide",
        pile=None if own.adjudicated else _where_to_decide(triplet, pile.campaign),
        yes=triplet.positive_votes,
        no=triplet.votes - triplet.positive_votes,
        cannot_judge=triplet.cannot_judge,
        reports=list(reports),
        others=list(triplet.expert_labels.exclude(expert=pile.expert).order_by("pk")),
    )


def _where_to_decide(triplet: Triplet, campaign: Campaign) -> What | None:
    return pile_with(triplet, campaign) if campaign.policy.adjudication == "decide" else None


def _triplet(pile: Pile, pk: str) -> Triplet | None:
    return pile.find(int(pk)) if pk.isascii() and pk.isdigit() and len(pk) < 19 else None


def _to(request: HttpRequest, pile: Pile, **more: int) -> HttpResponseRedirect:
    response = HttpResponseRedirect(f"{request.path}?{urlencode({'what': pile.what, **more})}")
    response.status_code = 303
    return response


def _pile_key(pile: Pile) -> str:
    return f"skipped-{pile.campaign.pk}-{pile.what}"


def _drawn_key(pile: Pile) -> str:
    return f"drawn-{pile.campaign.pk}"


def _last_key(pile: Pile) -> str:
    return f"last-{pile.campaign.pk}-{pile.what}"


def _notes_key(pile: Pile) -> str:
    return f"notes-{pile.campaign.pk}"


def _notes(request: HttpRequest, pile: Pile) -> dict[str, str]:
    """Of skipped triplets, by key: what was typed and not decided."""
    return dict(request.session.get(_notes_key(pile), {}))


def _keep_note(request: HttpRequest, pile: Pile, triplet: Triplet, note: str) -> None:
    before = _notes(request, pile)
    notes = {key: value for key, value in before.items() if key != str(triplet.pk)}
    if note:
        notes[str(triplet.pk)] = note
    if notes != before:
        request.session[_notes_key(pile)] = dict(list(notes.items())[-MOST_NOTES:])


def _skipped(request: HttpRequest, pile: Pile) -> list[int]:
    return list(request.session.get(_pile_key(pile), []))


def _drawn(request: HttpRequest, pile: Pile) -> list[int]:
    """What they skipped, and what they look at: others' labels may have changed the draw since."""
    return [*_skipped(request, pile), *_shown_before(request, pile)]


def _shown_before(request: HttpRequest, pile: Pile) -> list[int]:
    return list(request.session.get(_drawn_key(pile), []))
