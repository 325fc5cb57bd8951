"""A file of positive controls for the pool, or those that come with Quorum."""

from pathlib import Path
from typing import cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from annotation.access.audit_log import by_page
from annotation.access.roles import CHANGE_CONTROLS
from annotation.operations.pool import add_controls_of
from annotation.pipeline.controls.import_controls import SHIPPED, Imported
from annotation.pipeline.gold.rejected_rows import BadRows, Rejected
from annotation.protocol.policy.tasks import PAPER_TASK, TASKS
from annotation.web.base.guards import dashboard_page, refuse_account
from annotation.web.base.layout import page
from annotation.web.base.uploaded_file import ENDINGS, sent_file
from core.errors import UserError
from core.text.words import plural

MOST_BYTES = 5_000_000
MOST_SHOWN = 100


@require_http_methods(["GET", "HEAD", "POST"])
@dashboard_page
def import_to_pool(request: HttpRequest) -> HttpResponse:
    if not request.user.has_perm(CHANGE_CONTROLS):
        return refuse_account(request, CHANGE_CONTROLS)
    if request.method != "POST":
        return _render(request)
    try:
        done = _import(request)
    except BadRows as error:
        return _render(request, fault=str(error), rejected=error.rows)
    except UserError as error:
        return _render(request, fault=str(error))
    messages.success(request, _summary(done))
    return redirect("dashboard" if request.POST.get("back") == "dashboard" else "controls")


def _import(request: HttpRequest) -> Imported:
    if "shipped" in request.POST:
        return _add(request, SHIPPED, SHIPPED.name)
    with sent_file(request, most_bytes=MOST_BYTES, wanted="the controls alone") as (path, name):
        return _add(request, path, name)


def _add(request: HttpRequest, path: Path, name: str) -> Imported:
    task = TASKS.get(request.POST.get("task", ""), PAPER_TASK)
    return add_controls_of(by_page(cast(User, request.user)), path, name, task)


def _summary(done: Imported) -> str:
    """What was known already is no fault."""
    known = done.read - done.added
    kept = f"; {known:,} were known already" if known else ""
    return f"{plural(done.added, 'control')} added{kept}. The pool holds {done.pool:,} now."


def _render(
    request: HttpRequest, *, fault: str = "", rejected: tuple[Rejected, ...] = ()
) -> HttpResponse:
    context = {
        "fault": fault,
        "rejected": rejected[:MOST_SHOWN],
        "all_rejected": len(rejected),
        "endings": ENDINGS,
        "tasks": TASKS.values(),
        "task": request.POST.get("task", PAPER_TASK.name),
        "most_bytes": MOST_BYTES,
    }
    status = 422 if fault else 200
    template = "annotation/controls/control_import.html"
    return page(request, template, context, title="Import controls", status=status)
