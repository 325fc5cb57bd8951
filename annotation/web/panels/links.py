"""Links by which panels send people to a campaign, and what to do there with those who came."""

from functools import partial
from typing import Any

from django.core.paginator import Paginator
from django.db.models import Count, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_http_methods, require_safe

from annotation.access.roles import MANAGE_WORKERS
from annotation.analytics.workers.panel_list import CheckedRow, check_list
from annotation.analytics.workers.panel_visits import visits_by
from annotation.crowd.factory import PROVIDERS
from annotation.crowd.inhouse import visits
from annotation.crowd.inhouse.models import PanelLink, Participant
from annotation.models import Campaign
from annotation.operations.campaign.panels import url_of
from annotation.pipeline.gold.rejected_rows import known_as
from annotation.pipeline.ledger.pay import underpaid
from annotation.protocol.policy.panels import PANELS
from annotation.web.base.guards import campaign_page
from annotation.web.base.layout import page
from annotation.web.base.list_page import Cells, csv_file, iso
from annotation.web.base.uploaded_file import ENDINGS, sent_file
from core.errors import UserError

PAGE_SIZE = 100
MOST_BYTES = 5_000_000
OURS = ("decision", "earned", "why")


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
            elsewhere = Participant.objects.filter(member__visits__link__in=_links(campaign))
            ids = set(elsewhere.values_list("external_id", flat=True))
            checked = check_list(path, list(visits_by(link, campaign)), ids)
    except UserError as error:
        return _page(request, campaign, fault=str(error))
    cells: Cells = {
        **{
            _unlike(name, number, checked.head): partial(_cell, number)
            for number, name in enumerate(checked.head)
        },
        "decision": lambda row: row.decision,
        "earned": lambda row: row.visit.earned if row.visit and not row.doubt else "",
        "why": lambda row: row.why,
    }
    return csv_file(f"{campaign.name}-{link.panel}-{key[:8]}-checked", cells, checked.rows)


def _cell(number: int, row: CheckedRow) -> str:
    return row.cells[number]


def _unlike(name: str, number: int, head: list[str]) -> str:
    """A column's name that no other one has."""
    return name if head.count(name) == 1 and name not in OURS else f"{name} {number + 1}"


def _links(campaign: Campaign) -> QuerySet[PanelLink]:
    if not campaign.policy.crowd_traits.by_link:
        raise Http404
    return visits.links_to(campaign.hit_type_id)


def _page(request: HttpRequest, campaign: Campaign, *, fault: str = "") -> HttpResponse:
    links = _links(campaign).annotate(
        came=Count("visits"), finished=Count("visits", filter=~Q(visits__finished_at=None))
    )
    on_page = Paginator(links, PAGE_SIZE).get_page(request.GET.get("page"))
    terms = PROVIDERS[campaign.policy.crowd].studies.terms(on_page)
    content: dict[str, Any] = {
        "links": [(one, PANELS[one.panel], url_of(one), terms.get(one.pk)) for one in on_page],
        "on_page": on_page,
        "fault": fault,
        "endings": ENDINGS,
        "is_published": bool(campaign.hit_type_id),
        "strays": sum(study.strays for study in terms.values()),
        "promised": sum(study.promised for study in terms.values()),
        "underpaid": underpaid(campaign),
    }
    template = "annotation/panels/links.html"
    status = 422 if fault else 200
    return page(request, template, content, title="Panels", campaign=campaign, status=status)
