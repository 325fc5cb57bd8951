"""The frame around every page of the dashboard."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from annotation.access.roles import (
    ADJUDICATE,
    BUILD,
    CHANGE_CONTROLS,
    DOWNLOAD,
    FUND,
    GRANT,
    MANAGE_WORKERS,
    RUN,
    SEE_VOTES,
    VIEW,
    WRITE_INSTRUCTIONS,
)
from annotation.analytics.campaign.completion import state_of
from annotation.models import Campaign
from annotation.web.base.crowd_text import said_of, say_form
from annotation.web.base.saved_views import Views
from core.frame import framed

NAMES = {
    "view": VIEW,
    "see_votes": SEE_VOTES,
    "run": RUN,
    "fund": FUND,
    "manage_workers": MANAGE_WORKERS,
    "write_instructions": WRITE_INSTRUCTIONS,
    "adjudicate": ADJUDICATE,
    "change_controls": CHANGE_CONTROLS,
    "grant": GRANT,
    "download": DOWNLOAD,
    "build": BUILD,
}


# A campaign's pages: title, the address's name, and who sees the tab.
TABS: list[tuple[str, str, str]] = [
    ("Overview", "campaign", VIEW),
    ("Milestones", "campaign-milestones", VIEW),
    ("Dry run", "campaign-dry-run", RUN),
    ("Instructions", "instructions", WRITE_INSTRUCTIONS),
    ("Review", "campaign-review", VIEW),
    ("Triplets", "campaign-triplets", SEE_VOTES),
    ("HITs", "campaign-hits", SEE_VOTES),
    ("Assignments", "campaign-assignments", SEE_VOTES),
    ("Controls", "campaign-controls", VIEW),
    ("Workers", "campaign-workers", SEE_VOTES),
    ("Panels", "campaign-panels", MANAGE_WORKERS),
    ("Releases", "campaign-releases", DOWNLOAD),
    ("Roles", "campaign-roles", GRANT),
    ("Log", "campaign-log", SEE_VOTES),
]

# Pages without a tab of their own, and the tab that leads to them.
UNDER = {
    "operation": "campaign",
    "adjudicate": "campaign-review",
    "release": "campaign-releases",
    "campaign-control": "campaign-controls",
    "campaign-control-drafts": "campaign-controls",
    "campaign-hit": "campaign-hits",
    "campaign-label-error": "campaign-review",
    "campaign-plan": "campaign-review",
    "campaign-publish": "campaign-milestones",
    "campaign-reconcile": "campaign",
    "campaign-reports": "campaign-workers",
    "campaign-triplet": "campaign-triplets",
    "campaign-worker": "campaign-workers",
    "import-experts": "campaign-review",
    "panel-list": "campaign-panels",
}


@dataclass(frozen=True)
class Tab:
    title: str
    link: str
    current: str  # as `aria-current` has it; empty: the reader is elsewhere


class May:
    """In templates: whether the reader may do something in a campaign, `may.run`."""

    def __init__(self, request: HttpRequest, campaign: Campaign | None) -> None:
        self._user = request.user
        self._campaign = campaign

    def __getitem__(self, name: str) -> bool:
        return bool(self._user.has_perm(NAMES[name], self._campaign))


def page(
    request: HttpRequest,
    template: str,
    context: dict[str, Any],
    *,
    title: str,
    campaign: Campaign | None = None,
    status: int = 200,
) -> HttpResponse:
    """A page within the dashboard's frame; `campaign` brings its row of tabs."""
    if campaign:
        title = said_of(campaign, title)
        if form := context.get("form"):
            say_form(form, campaign.policy.crowd_traits)
    whole = {
        "campaign": campaign,
        "may": May(request, campaign),
        "tabs": _tabs(request, campaign) if campaign else [],
        "state": context.get("state") or (state_of(campaign) if campaign else None),
        "crowd": campaign.policy.crowd_traits if campaign else None,
        "views": Views(request),
        **context,
    }
    return framed(request, template, whole, title=title, status=status)


def _tabs(request: HttpRequest, campaign: Campaign) -> list[Tab]:
    here = (request.resolver_match.url_name if request.resolver_match else None) or ""
    said = campaign.policy.crowd_traits.said
    current = {here: "page", UNDER.get(here, ""): "true"}
    return [
        Tab(said(title), reverse(name, args=[campaign.name]), current.get(name, ""))
        for title, name, permission in TABS
        if name != "campaign-panels" or campaign.policy.crowd_traits.by_link
        if request.user.has_perm(permission, campaign)
    ]
