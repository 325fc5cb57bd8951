"""Links by which panels send people to a campaign, and what to do there with those who came."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Paginator
from django.db.models import Count, Q, QuerySet, Sum
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_http_methods, require_safe

from annotation.access.roles import MANAGE_WORKERS
from annotation.analytics.workers.panel_visits import PanelVisit, visits_by
from annotation.crowd.inhouse import visits
from annotation.crowd.inhouse.models import PanelLink
from annotation.crowd.inhouse.visits import PANELS
from annotation.crowd.prolific.models import Study
from annotation.models import Campaign
from annotation.operations.campaign.panels import url_of
from annotation.pipeline.gold.rejected_rows import known_as
from annotation.pipeline.ledger.dollars import dollars
from annotation.web.base.guards import campaign_page
from annotation.web.base.layout import page
from annotation.web.base.list_page import Cells, csv_file, iso
from annotation.web.base.uploaded_file import ENDINGS, sent_file
from core.errors import UserError
from core.files.rows import read_rows

PAGE_SIZE = 100
MOST_BYTES = 5_000_000


CELLS: Cells = {
    "participant": lambda line: line.person,
    "worker": lambda line: line.worker,
    "code": lambda line: line.visit.code,
    "arrived_at": lambda line: iso(line.visit.arrived_at),
    "finished_at": lambda line: iso(line.visit.finished_at),
    "tasks": lambda line: line.done.handed_in,
    "approved": lambda line: line.done.approved,
    "rejected": lambda line: line.done.rejected,
    "earned": lambda line: line.earned,
    "decision": lambda line: line.decision,
    "why": lambda line: line.why,
}
UNKNOWN = "nobody with this ID or code has been here"
CHECKED: Cells = {
    "line": lambda checked: checked.line,
    "participant": lambda checked: checked.person,
    "code": lambda checked: checked.of.visit.code if checked.of else "",
    "decision": lambda checked: checked.of.decision if checked.of else "reject",
    "earned": lambda checked: checked.of.earned if checked.of else dollars(0),
    "why": lambda checked: checked.of.why if checked.of else UNKNOWN,
}


@dataclass(frozen=True)
class Checked:
    """A row of the panel's list."""

    line: int
    person: str
    of: PanelVisit | None


@require_safe
@campaign_page(MANAGE_WORKERS)
def panels(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    return _page(request, campaign)


@require_http_methods(["GET", "HEAD", "POST"])
@campaign_page(MANAGE_WORKERS)
def panel_list(request: HttpRequest, campaign: Campaign, key: str) -> HttpResponse:
    """The link's visits as CSV; a POST checks the panel's own list against them."""
    link = get_object_or_404(_links(campaign), key=key)
    if request.method != "POST":
        return csv_file(f"{campaign.name}-{link.panel}-{key[:8]}", CELLS, visits_by(link, campaign))
    try:
        wanted = "the panel's list"
        with (
            sent_file(request, most_bytes=MOST_BYTES, wanted=wanted) as (path, name),
            known_as(path, name),
        ):
            rows = [(row.line, _texts(row.fields)) for row in read_rows(path, required=())]
    except UserError as error:
        return _page(request, campaign, fault=str(error))
    checked = _checked(rows, list(visits_by(link, campaign)))
    return csv_file(f"{campaign.name}-{link.panel}-{key[:8]}-checked", CHECKED, checked)


def _texts(fields: Mapping[str, object]) -> list[str]:
    return [str(value).strip() for value in fields.values() if value is not None]


def _checked(rows: list[tuple[int, list[str]]], lines: list[PanelVisit]) -> Iterator[Checked]:
    """By whichever column holds an ID or a code that is one person's own."""
    codes: dict[str, list[PanelVisit]] = {}
    for line in lines:
        codes.setdefault(line.visit.code, []).append(line)
    known = {code: of[0] for code, of in codes.items() if len(of) == 1}
    known |= {line.person: line for line in lines if line.person}
    for number, texts in rows:
        who = next((known[text] for text in texts if text in known), None)
        yield Checked(number, who.person if who else (texts[0] if texts else ""), who)


def _links(campaign: Campaign) -> QuerySet[PanelLink]:
    if not campaign.policy.crowd_traits.by_link:
        raise Http404
    return visits.links_to(campaign.hit_type_id)


def _page(request: HttpRequest, campaign: Campaign, *, fault: str = "") -> HttpResponse:
    links = _links(campaign).annotate(
        came=Count("visits"), finished=Count("visits", filter=~Q(visits__finished_at=None))
    )
    on_page = Paginator(links, PAGE_SIZE).get_page(request.GET.get("page"))
    content: dict[str, Any] = {
        "links": [(link, PANELS[link.panel].title, url_of(link)) for link in on_page],
        "on_page": on_page,
        "fault": fault,
        "endings": ENDINGS,
        "is_published": bool(campaign.hit_type_id),
        "strays": Study.objects.filter(link__in=on_page).aggregate(n=Sum("strays"))["n"],
    }
    template = "annotation/panels/links.html"
    status = 422 if fault else 200
    return page(request, template, content, title="Panels", campaign=campaign, status=status)
