"""A campaign's HITs in their order, by state."""

from django import forms
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from annotation.access.roles import SEE_VOTES
from annotation.analytics.quality.hit_states import with_state
from annotation.models import Campaign
from annotation.web.base.columns import NUMBER, WIDE, Column
from annotation.web.base.filters import HitFilter
from annotation.web.base.guards import campaign_page
from annotation.web.base.list_page import Listed, iso, list_page
from annotation.web.base.pagination import Place, Window, window

REACH = 10_000  # HITs that one page looks through


class HitSearch(HitFilter):
    field_order = ("q",)
    q = forms.CharField(
        label="Search",
        required=False,
        max_length=64,
        help_text="A HIT's number, its key or its id at the crowd",
    )


@require_safe
@campaign_page(SEE_VOTES)
def hits(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    return list_page(request, campaign, LISTED)


def _window_of(campaign: Campaign, asked: HitSearch, at: Place) -> Window:
    rows = with_state(campaign.hits.filter(asked.where("round")), timezone.now())
    where = asked.where("state")
    if name := asked.cleaned_data["q"]:
        named = Q(key=name) | Q(crowd_id=name)
        if name.isascii() and name.isdigit() and len(name) < 10:
            named |= Q(number=int(name))
        return Window(list(rows.filter(named, where).order_by("number")[:3]), 0, None)
    return window(rows, at=at, key="number", where=where, reach=REACH)


LISTED = Listed(
    "HITs",
    "HITs",
    HitSearch,
    _window_of,
    key="hit",
    columns=[
        Column("hit", "HIT", "number"),
        Column("state", "State", "condition"),
        Column("submitted", "Submitted", "submitted", NUMBER),
        Column("max", "Max assignments", "max_assignments", NUMBER),
        Column("round", "Round", "repack", WIDE),
        Column("published", "Published, UTC", "published_at", WIDE),
        Column("expires", "Expires, UTC", "expires_at"),
        Column("crowd-id", "Crowd id", look=WIDE),
    ],
    figure="hits",
    cells={
        "hit": lambda row: row.number,
        "state": lambda row: row.condition,
        "submitted": lambda row: row.submitted,
        "max_assignments": lambda row: row.max_assignments,
        "round": lambda row: "repack" if row.repack else "first",
        "published_at": lambda row: iso(row.published_at),
        "expires_at": lambda row: iso(row.expires_at),
        "key": lambda row: row.key,
        "crowd_id": lambda row: row.crowd_id,
    },
)
