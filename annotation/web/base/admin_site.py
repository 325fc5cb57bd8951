"""The admin site as a frame of the dashboard: who may enter, and what its side bar leads to."""

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from unfold.sites import UnfoldAdminSite

from annotation.access.roles import may_enter
from annotation.notifications.webhooks import MANAGE
from retrieval.web.access import IMPORT, may_view_corpus

Item = dict[str, Any]


class DashboardSite(UnfoldAdminSite):  # type: ignore[misc]
    """Its lists of records ask for permissions of their own."""

    index_title = "Admin"

    def has_permission(self, request: HttpRequest) -> bool:
        return may_enter(request.user)


def navigation(request: HttpRequest) -> list[Item]:
    """The pages that this reader may open."""
    groups: list[tuple[str, list[Item]]] = [
        ("", [_item("Campaigns", "flag", "dashboard"), _item("Controls", "rule", "controls")]),
    ]
    groups[0][1].append(_item("Pilots", "science", "pilots"))
    if may_view_corpus(request.user):
        groups.append(("Database", _database(request)))
    site = [_item("Log", "history", "log")]
    if request.user.has_perm(MANAGE):
        site.append(_item("Events", "notifications", "events"))
        site.append(_item("Webhooks", "webhook", "webhooks"))
    if request.user.is_staff:
        site.append(_item("Team", "group", "team"))
        site.append(_item("Sign-in lockouts", "lock", "lockouts"))
        site.append(_item("Admin", "table", "admin:index"))
    site.append(_item("API", "api", "api"))
    groups.append(("Site", site))
    _mark_place([item for _, items in groups for item in items], request.path)
    return [{"title": title, "items": items} for title, items in groups]


def _mark_place(items: Sequence[Item], path: str) -> None:
    """The reader is at the longest link that begins the address; a campaign may be named as any."""
    begins = [item["link"] for item in items if path.startswith(item["link"])]
    here = max(begins, key=len, default="")
    for item in items:
        item["active"] = item["link"] == here


def _database(request: HttpRequest) -> list[Item]:
    whole = _item("Pairs and indexes", "database", "database")
    parts = [
        _item("Search", "search", "database-search"),
        _item("Ask", "question_answer", "database-ask"),
        _item("Models", "model_training", "database-models"),
    ]
    if request.user.has_perm(IMPORT):
        parts.append(_item("Import", "upload", "database-import"))
    return [whole, *parts]


def _item(title: str, icon: str, page: str) -> Item:
    return {"title": title, "icon": icon, "link": reverse(page)}
