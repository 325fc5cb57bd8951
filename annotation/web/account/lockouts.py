"""Who has to wait after wrong passwords, and the end of it."""

from typing import cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from annotation.access.audit_log import by_page, record
from annotation.access.lockouts import current_lockouts, unlock
from annotation.web.base.guards import refuse, staff_page
from annotation.web.base.layout import page

UNLOCK = "annotation.delete_attempt"
LACKS = (
    f"Your account lacks the permission {UNLOCK}: an administrator can give it to you under Admin."
)


@require_safe
@staff_page
def lockouts(request: HttpRequest) -> HttpResponse:
    context = {"locked": current_lockouts(), "may_unlock": request.user.has_perm(UNLOCK)}
    return page(request, "annotation/account/lockouts.html", context, title="Sign-in lockouts")


@require_POST
@transaction.atomic
@staff_page
def end_lockout(request: HttpRequest, digest: str) -> HttpResponse:
    if not request.user.has_perm(UNLOCK):
        return refuse(request, 403, "Not open to you", LACKS)
    lockout = next((one for one in current_lockouts() if one.digest == digest), None)
    if lockout is None:
        messages.info(request, "That lockout had ended already.")
        return redirect("lockouts")
    unlock(digest)
    details = {"limit": lockout.limit, "address": lockout.address}
    record(by_page(cast(User, request.user)), "unlock", subject=lockout.name, details=details)
    messages.success(request, "They can sign in again.")
    return redirect("lockouts")
