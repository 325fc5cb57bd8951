"""The accounts of requesters as the staff see them: balances, deposits, pay-outs."""

from typing import cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST, require_safe

from annotation.access.audit_log import by_page, logged
from annotation.access.roles import CHANGE_ACCOUNTS, VIEW_ACCOUNTS
from annotation.crowd.turk.accounts import figures_of
from annotation.crowd.turk.models import RequesterAccount
from annotation.crowd.turk.payments import HEAD, lines_of, numbered_payout
from annotation.operations.turk import DEPOSIT, PAY_OUT
from annotation.web.base.guards import permitted, refuse_account, staff_page
from annotation.web.base.layout import page
from annotation.web.base.list_page import csv_file
from core.errors import UserError


@require_safe
@staff_page
def turk_accounts(request: HttpRequest) -> HttpResponse:
    if not permitted(request, VIEW_ACCOUNTS):
        return refuse_account(request, VIEW_ACCOUNTS)
    known = RequesterAccount.objects.prefetch_related("payouts").order_by("name")
    content = {
        "accounts": [(account, figures_of(account)) for account in known],
        "may_deposit": permitted(request, DEPOSIT),
        "may_pay_out": permitted(request, PAY_OUT),
        "may_change": permitted(request, CHANGE_ACCOUNTS),
    }
    return page(request, "annotation/turk/accounts.html", content, title="Turk")


@require_safe
@staff_page
def payout_csv(request: HttpRequest, requester: str, number: int) -> HttpResponse:
    """As often as it is wanted: it is made of the same rows each time."""
    if not permitted(request, PAY_OUT):
        return refuse_account(request, PAY_OUT)
    account = get_object_or_404(RequesterAccount, name=requester)
    try:
        lines = lines_of(numbered_payout(account, number))
    except UserError as error:
        raise Http404 from error
    cells = {name: lambda line, at=at: line[at] for at, name in enumerate(HEAD)}
    return csv_file(f"{requester}-payout-{number}", cells, lines)


@require_POST
@staff_page
def change_account(request: HttpRequest, requester: str) -> HttpResponse:
    """Closes an account or opens it again: the field `active` says which."""
    if not permitted(request, CHANGE_ACCOUNTS):
        return refuse_account(request, CHANGE_ACCOUNTS)
    account = get_object_or_404(RequesterAccount, name=requester)
    account.active = request.POST.get("active") == "1"
    verb = "turk-open" if account.active else "turk-close"
    with logged(by_page(cast(User, request.user)), verb, subject=requester):
        account.save(update_fields=["active"])
    messages.info(request, f"{requester} is {'open' if account.active else 'closed'} now.")
    return redirect("turk-accounts")
