"""The admin site as a frame of the dashboard: who may enter, and what its side bar leads to."""

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from unfold.sites import UnfoldAdminSite

from annotation.access.roles import DOWNLOAD, VIEW_ACCOUNTS, may_anywhere, may_enter
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
    groups = [("", _work(request))]
    if may_view_corpus(request.user):
        groups.append(("Database", _database(request)))
    groups.append(("Site", _site(request)))
    _mark_place([item for _, items in groups for item in items], request.path)
    return [{"title": title, "items": items} for title, items in groups]


def account(request: HttpRequest) -> list[Item]:
    """The links of the menu under the reader's name."""
    member = getattr(request.user, "member", None)
    pages = [("Your work", "work")] if member and member.active else []
    pages += [("E-mails", "mail-preferences"), ("Change password", "password")]
    return [{"title": title, "link": reverse(page)} for title, page in pages]


def _mark_place(items: Sequence[Item], path: str) -> None:
    """The reader is at the longest link that begins the address; a campaign may be named as any."""
    if path.startswith("/campaigns/"):  # some of a campaign's pages are not under the dashboard's
        path = reverse("dashboard")
    begins = [item["link"] for item in items if path.startswith(item["link"])]
    here = max(begins, key=len, default="")
    for item in items:
        item["active"] = item["link"] == here


def _work(request: HttpRequest) -> list[Item]:
    releases = [_item("Releases", "inventory_2", "releases")]
    if not may_enter(request.user):  # who may download and no more
        return releases
    return [
        _item("Campaigns", "flag", "dashboard"),
        *(releases if may_anywhere(request.user, DOWNLOAD) else []),
        _item("Controls", "rule", "controls"),
        _item("Pilots", "science", "pilots"),
    ]


def _site(request: HttpRequest) -> list[Item]:
    items = [_item("Log", "history", "log")] if may_enter(request.user) else []
    if request.user.has_perm(MANAGE):
        items.append(_item("Events", "notifications", "events"))
        items.append(_item("Webhooks", "webhook", "webhooks"))
    if request.user.has_perm(VIEW_ACCOUNTS):
        items.append(_item("Turk", "storefront", "turk-accounts"))
    if request.user.is_staff:
        items.append(_item("Team", "group", "team"))
        items.append(_item("Known workers", "badge", "known-workers"))
        items.append(_item("Sign-in lockouts", "lock", "lockouts"))
        items.append(_item("Admin", "table", "admin:index"))
    return [*items, _item("API", "api", "api")]


def _database(request: HttpRequest) -> list[Item]:
    whole = _item("Pairs and indexes", "database", "database")
    parts = [
        _item("Search", "search", "database-search"),
        _item("Ask", "question_answer", "database-ask"),
        _item("Models", "model_training", "database-models"),
        _item("Trainings", "fitness_center", "trainings"),
    ]
    if request.user.has_perm(IMPORT):
        parts.append(_item("Import", "upload", "database-import"))
    return [whole, *parts]


def _item(title: str, icon: str, page: str) -> Item:
    return {"title": title, "icon": icon, "link": reverse(page)}
