"""The log of what people did: pages by key, filters, and all of it as CSV."""

from datetime import UTC, datetime
from typing import cast
from urllib.parse import urlencode

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from annotation.access.roles import SEE_VOTES, entries_seen_by
from annotation.models import AuditEntry, Campaign
from annotation.operations.registry import DATABASE_OPERATIONS, LONG_OPERATIONS, OPERATIONS
from annotation.web.account.log_details import details_in_words
from annotation.web.base.filters import LogFilter
from annotation.web.base.guards import campaign_page, dashboard_page
from annotation.web.base.layout import page
from annotation.web.base.list_page import Cells, csv_file, iso
from annotation.web.base.pagination import Steps, counted

PAGE_SIZE = 50
# Offered beside the names of the operations; any other name can be typed.
OTHER_VERBS = (
    "activate", "add-account", "add-group", "add-role", "add-webhook", "build index",
    "build-release", "cancel-training", "change-account", "change-address", "change-group",
    "change-password", "change-role",
    "create", "create-token",
    "deactivate", "delete-account", "delete-group",
    "delete-role", "delete-token", "disable-webhook", "enable-webhook", "experiment",
    "first-account",
    "import", "import pairs",
    "import-controls", "import-drafts", "import-gold", "import-history", "instructions", "invite",
    "join",
    "label", "lockout",
    "prune vectors", "register model",
    "resend", "revoke-invitation", "reset-password", "rotate-secret", "score", "train",
    "turk-account", "turk-close", "turk-forget", "turk-open", "turk-publish", "turk-renew",
    "unlock", *(name for name, one in LONG_OPERATIONS.items() if one.logged),
)  # fmt: skip


@require_safe
@dashboard_page
def log(request: HttpRequest) -> HttpResponse:
    return _answer(request, entries_seen_by(cast(User, request.user)), None)


@require_safe
@campaign_page(SEE_VOTES)
def campaign_log(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    return _answer(request, AuditEntry.objects.filter(campaign=campaign), campaign)


def _answer(
    request: HttpRequest, entries: QuerySet[AuditEntry], campaign: Campaign | None
) -> HttpResponse:
    filters = LogFilter(request.GET)
    filters.is_valid()  # what is no date or no way narrows nothing: its field says so
    matching = entries.filter(filters.where()).select_related("campaign").order_by("-at", "-pk")
    if request.GET.get("as") == "csv":
        name = f"{campaign}-log" if campaign else "log"
        return csv_file(name, CELLS, matching.iterator(chunk_size=1000))
    return _page(request, matching, filters, campaign)


def _page(
    request: HttpRequest,
    entries: QuerySet[AuditEntry],
    filters: LogFilter,
    campaign: Campaign | None,
) -> HttpResponse:
    key, total = _key(request.GET.get("from", "")), counted(entries)
    if key is not None:
        at, pk = key
        entries = entries.filter(at__lte=at).exclude(at=at, pk__gte=pk)
    rows = list(entries[: PAGE_SIZE + 1])
    shown, more = rows[:PAGE_SIZE], len(rows) > PAGE_SIZE
    chosen = {
        name: value for name, value in request.GET.items() if name in filters.fields and value
    }
    steps = Steps(request.GET)
    last = f"{shown[-1].at.isoformat()},{shown[-1].pk}" if more else ""
    context = {
        "filters": filters,
        "is_filtered": bool(chosen),
        "verbs": sorted(map(_in_words, {*OPERATIONS, *DATABASE_OPERATIONS, *OTHER_VERBS})),
        "rows": [(one, _in_words(one.verb), details_in_words(one.details)) for one in shown],
        "total": total,
        "steps": steps,
        "next": last and steps.next(last),
        "csv": urlencode(chosen | {"as": "csv"}),
    }
    return page(
        request, "annotation/account/audit_log.html", context, title="Log", campaign=campaign
    )


def _key(text: str) -> tuple[datetime, int] | None:
    """The last row of the page before; what is no key begins at the newest."""
    moment, _, pk = text.partition(",")
    try:
        at = datetime.fromisoformat(moment)
    except ValueError:
        return None
    if at.tzinfo is None or not (pk.isascii() and pk.isdigit() and len(pk) < 19):
        return None
    try:
        return at.astimezone(UTC), int(pk)
    except OverflowError:  # the first or last day that there is, in another zone
        return None


def _in_words(verb: str) -> str:
    return verb.replace("-", " ")


def _details(entry: AuditEntry) -> str:
    return "; ".join(f"{key}: {value}" for key, value in details_in_words(entry.details))


CELLS: Cells = {
    "at": lambda one: iso(one.at),
    "by": lambda one: one.actor,
    "via": lambda one: one.via,
    "did": lambda one: one.verb,
    "to": lambda one: one.subject,
    "campaign": lambda one: one.campaign.name if one.campaign else "",
    "details": _details,
}
