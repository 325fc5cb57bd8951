"""The expert's page: one triplet, blind to what the crowd said of it until they have decided."""

from dataclasses import dataclass
from typing import cast
from urllib.parse import urlencode

from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from annotation.access.audit_log import by_page, record
from annotation.access.roles import ADJUDICATE
from annotation.analytics.quality.text_diff import Part, mark_differences
from annotation.crowd.inhouse.members import member_of
from annotation.models import Campaign, ExpertLabel, ItemReport, Triplet
from annotation.pipeline.gold.adjudicate import Desk, What
from annotation.pipeline.gold.gold_file import MAX_NOTE
from annotation.web.base.guards import campaign_page, refuse
from annotation.web.base.markdown import render_markdown
from core.errors import UserError
from core.text.clean import clean_text

MOST_SKIPPED = 500  # kept in the session
MOST_NOTES = 50
MOST_DRAWN = 10  # in as many windows
HELD = (
    "This triplet is not open to you: it is not of this pile (any more), or you have judged it "
    "as an annotator. Go on with the next one."
)
UNREADABLE = (
    f"Nothing was kept: an answer is Yes or No with a note of at most {MAX_NOTE:,} characters. "
    "Choose again."
)


@dataclass(frozen=True)
class Shown:
    """All that the page shows of a triplet before the decision."""

    pk: int
    query: list[Part]
    question: list[Part]
    answer: str


@dataclass(frozen=True)
class Revealed:
    """What the crowd and other experts said of it."""

    own: ExpertLabel
    status: str
    label: int | None
    yes: int
    no: int
    reports: list[ItemReport]
    others: list[ExpertLabel]


@campaign_page(ADJUDICATE)
@require_http_methods(["GET", "HEAD", "POST"])
def adjudicate(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    try:
        desk = _desk(request, campaign)
    except UserError as error:
        return refuse(request, 404, "There is no such page", str(error))
    if request.method == "POST":
        return _take(request, desk)
    return _show(request, desk)


def _desk(request: HttpRequest, campaign: Campaign) -> Desk:
    what = request.GET.get("what", What.UNRESOLVED)
    if what not in What.values:
        raise UserError(f"Choose one of {', '.join(What.values)}.")
    member = member_of(request.user) if request.user.is_authenticated else None
    return Desk(
        campaign,
        What(what),
        expert=request.user.get_username(),
        worker_id=member.worker_id if member else None,
    )


def _take(request: HttpRequest, desk: Desk) -> HttpResponse:
    triplet = _triplet(desk, request.POST.get("triplet", ""))
    if triplet is None or not desk.takes(triplet, _drawn(request, desk)):
        return refuse(request, 404, "Not this one", HELD)
    label, note = request.POST.get("label", ""), clean_text(request.POST.get("note", ""))
    is_skip = "skip" in request.POST
    if len(note) > MAX_NOTE or not (is_skip or label in {"0", "1"}):
        return _page(request, desk, triplet, note=note, fault=UNREADABLE)
    _keep_note(request, desk, triplet, note if is_skip else "")
    if is_skip:
        skipped = [pk for pk in _skipped(request, desk) if pk != triplet.pk]
        request.session[_pile_key(desk)] = [*skipped, triplet.pk][-MOST_SKIPPED:]
        return _to(request, desk)
    _decide(request, desk, triplet, int(label), note)
    request.session[_last_key(desk)] = triplet.pk
    return _to(request, desk, decided=triplet.pk)


@transaction.atomic
def _decide(request: HttpRequest, desk: Desk, triplet: Triplet, label: int, note: str) -> None:
    # Not what was said: other experts read the log, and are to decide blind.
    details = {"pile": desk.what.value, "again": _own(desk, triplet) is not None}
    desk.decide(triplet, label, note)
    by = by_page(cast(User, request.user))
    record(by, "label", campaign=desk.campaign, subject=f"triplet {triplet.pk}", details=details)


def _show(request: HttpRequest, desk: Desk) -> HttpResponse:
    triplet = _triplet(desk, request.GET.get("decided", ""))
    if triplet is not None and (own := _own(desk, triplet)) is not None:
        return _page(request, desk, triplet, note=own.note)
    triplet = _asked_for(request, desk) or desk.next(_skipped(request, desk))
    if triplet and desk.what == What.SAMPLE:
        others = [pk for pk in _shown_before(request, desk) if pk != triplet.pk]
        request.session[_drawn_key(desk)] = [*others, triplet.pk][-MOST_DRAWN:]
    note = _notes(request, desk).get(str(triplet.pk), "") if triplet else ""
    return _page(request, desk, triplet, note=note)


def _asked_for(request: HttpRequest, desk: Desk) -> Triplet | None:
    """One of the pile by its number; never of a sample, which would be random no more."""
    if desk.what == What.SAMPLE:
        return None
    triplet = _triplet(desk, request.GET.get("triplet", ""))
    waits = triplet is not None and desk.takes(triplet, []) and _own(desk, triplet) is None
    return triplet if waits else None


def _page(
    request: HttpRequest, desk: Desk, triplet: Triplet | None, *, note: str, fault: str = ""
) -> HttpResponse:
    own = _own(desk, triplet) if triplet else None
    context = {
        "campaign": desk.campaign,
        "what": desk.what,
        "piles": What.choices,
        "done": desk.done(),
        "instructions": render_markdown(desk.campaign.instructions.latest("version").text),
        "shown": triplet and _texts(triplet),
        "revealed": _revealed(desk, triplet, own) if triplet and own else None,
        "note": note,
        "fault": fault,
        "last": request.session.get(_last_key(desk)),
        "most": MAX_NOTE,
    }
    status = 422 if fault else 200
    return render(request, "annotation/experts/adjudicate.html", context, status=status)


def _texts(triplet: Triplet) -> Shown:
    candidate = triplet.candidate
    query, question = mark_differences(candidate.query.text, candidate.pair.question)
    return Shown(triplet.pk, query, question, candidate.pair.answer)


def _own(desk: Desk, triplet: Triplet) -> ExpertLabel | None:
    return triplet.expert_labels.filter(expert=desk.expert).first()


def _revealed(desk: Desk, triplet: Triplet, own: ExpertLabel) -> Revealed:
    reports = ItemReport.objects.filter(item__triplet=triplet).order_by("pk")
    return Revealed(
        own=own,
        status=triplet.status,
        label=triplet.label,
        yes=triplet.positive_votes,
        no=triplet.votes - triplet.positive_votes,
        reports=list(reports),
        others=list(triplet.expert_labels.exclude(expert=desk.expert).order_by("pk")),
    )


def _triplet(desk: Desk, pk: str) -> Triplet | None:
    return desk.find(int(pk)) if pk.isascii() and pk.isdigit() and len(pk) < 19 else None


def _to(request: HttpRequest, desk: Desk, **more: int) -> HttpResponseRedirect:
    response = HttpResponseRedirect(f"{request.path}?{urlencode({'what': desk.what, **more})}")
    response.status_code = 303
    return response


def _pile_key(desk: Desk) -> str:
    return f"skipped-{desk.campaign.pk}-{desk.what}"


def _drawn_key(desk: Desk) -> str:
    return f"drawn-{desk.campaign.pk}"


def _last_key(desk: Desk) -> str:
    return f"last-{desk.campaign.pk}-{desk.what}"


def _notes_key(desk: Desk) -> str:
    return f"notes-{desk.campaign.pk}"


def _notes(request: HttpRequest, desk: Desk) -> dict[str, str]:
    """Of skipped triplets, by key: what was typed and not decided."""
    return dict(request.session.get(_notes_key(desk), {}))


def _keep_note(request: HttpRequest, desk: Desk, triplet: Triplet, note: str) -> None:
    before = _notes(request, desk)
    notes = {key: value for key, value in before.items() if key != str(triplet.pk)}
    if note:
        notes[str(triplet.pk)] = note
    if notes != before:
        request.session[_notes_key(desk)] = dict(list(notes.items())[-MOST_NOTES:])


def _skipped(request: HttpRequest, desk: Desk) -> list[int]:
    return list(request.session.get(_pile_key(desk), []))


def _drawn(request: HttpRequest, desk: Desk) -> list[int]:
    """What they skipped, and what they look at: others' labels may have changed the draw since."""
    return [*_skipped(request, desk), *_shown_before(request, desk)]


def _shown_before(request: HttpRequest, desk: Desk) -> list[int]:
    return list(request.session.get(_drawn_key(desk), []))
