"""The team as the staff see it: members, and the invitations that make new ones."""

from typing import Any, cast

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.mail import EmailMessage
from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import Count, F, Max, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from annotation.access.audit_log import by_page, record
from annotation.crowd.inhouse.members import activate, deactivate, invite, revoke
from annotation.crowd.inhouse.models import Assignment, Invitation, Member
from annotation.crowd.turk.stores import is_in_use
from annotation.notifications.mail import has_mail_server
from annotation.web.base.guards import permitted, refuse, staff_page
from annotation.web.base.layout import page
from core.errors import UserError

INVITE = "inhouse.add_invitation"
MANAGE = "inhouse.change_member"
PAGE_SIZE = 100
SUBJECT = "You are invited to do tasks at Quorum"
NO_SERVER = "No mail server is set: copy the link, and send it yourself."
LETTER = (
    "{by} invites you to do tasks at Quorum. Open this link within {days} days, choose a "
    "username and a password, and begin:\n\n{link}\n"
)


class InvitationForm(forms.Form):
    note = forms.CharField(label="For whom", max_length=200, required=False)
    email = forms.EmailField(label="E-mail", required=False, max_length=254)
    days = forms.IntegerField(label="Days", min_value=1, max_value=365, initial=14)
    uses = forms.IntegerField(label="Accounts", min_value=1, max_value=1000, initial=1)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        mailed = "The link is mailed there." if has_mail_server() else NO_SERVER
        self.fields["email"].help_text = mailed


@require_http_methods(["GET", "HEAD", "POST"])
@staff_page
def team(request: HttpRequest) -> HttpResponse:
    """The page; a POST makes an invitation."""
    if request.method != "POST":
        return _page(request, InvitationForm())
    if not permitted(request, INVITE):
        return _not_permitted(request, INVITE)
    form = InvitationForm(request.POST)
    if not form.is_valid():
        return _page(request, form, status=422)
    try:
        code = _invite(cast(User, request.user), **form.cleaned_data)
    except UserError as error:
        form.add_error(None, str(error))
        return _page(request, form, status=422)
    # In the answer itself, for only the code's digest is stored.
    link = settings.PUBLIC_URL + reverse("join", args=[code])
    if email := form.cleaned_data["email"]:
        _mail(request, email, link, form.cleaned_data["days"])
    return _page(request, InvitationForm(), link=link)


def _mail(request: HttpRequest, email: str, link: str, days: int) -> None:
    """The invitation is there already: where no mail goes out, its link is on the page."""
    if not has_mail_server():
        messages.warning(request, NO_SERVER)
        return
    text = LETTER.format(by=request.user.get_username(), days=days, link=link)
    try:
        EmailMessage(SUBJECT, text, to=[email]).send()
    except OSError as error:  # SMTP's own are such, too
        messages.error(request, f"The mail server did not take it ({error}): send the link below.")
    else:
        messages.success(request, f"The link was mailed to {email}.")


@transaction.atomic
def _invite(by: User, *, note: str, email: str, days: int, uses: int) -> str:
    code = invite(by, note=note, email=email, days=days, uses=uses, now=timezone.now())
    record(by_page(by), "invite", subject=note, details={"days": days, "uses": uses})
    return code


@require_POST
@transaction.atomic
@staff_page
def revoke_invitation(request: HttpRequest, pk: int) -> HttpResponse:
    if not permitted(request, INVITE):
        return _not_permitted(request, INVITE)
    invitation = get_object_or_404(Invitation, pk=pk)
    revoke(invitation, now=timezone.now())
    record(by_page(cast(User, request.user)), "revoke-invitation", subject=invitation.note)
    messages.info(request, "The invitation no longer works.")
    return redirect("team")


@require_POST
@transaction.atomic
@staff_page
def change_member(request: HttpRequest, pk: int) -> HttpResponse:
    """Ends or renews a membership: the field `active` says which."""
    if not permitted(request, MANAGE):
        return _not_permitted(request, MANAGE)
    member = get_object_or_404(Member.team().select_related("user"), pk=pk)
    becomes_active = request.POST.get("active") == "1"
    verb, name = "activate" if becomes_active else "deactivate", member.user.get_username()
    details = {"worker": member.worker_id}
    record(by_page(cast(User, request.user)), verb, subject=name, details=details)
    if becomes_active:
        activate(member)
        messages.success(request, f"{name} can work again.")
    else:
        deactivate(member)
        messages.info(request, f"{name} gets no more work.")
    return redirect("team")


def _page(
    request: HttpRequest, form: InvitationForm, *, link: str = "", status: int = 200
) -> HttpResponse:
    content = {
        "form": form,
        "link": link,
        "members": Paginator(_members(), PAGE_SIZE).get_page(request.GET.get("page")),
        "invitations": _open_invitations(),
        "may_invite": permitted(request, INVITE),
        "may_manage": permitted(request, MANAGE),
        "has_turk": is_in_use(),
    }
    return page(request, "annotation/account/team.html", content, title="Team", status=status)


def _members() -> QuerySet[Member]:
    submitted = (
        Assignment.Status.SUBMITTED,
        Assignment.Status.APPROVED,
        Assignment.Status.REJECTED,
    )
    return (
        Member.team()
        .select_related("user")
        .annotate(
            submitted=Count("assignments", filter=Q(assignments__status__in=submitted)),
            approved=Count("assignments", filter=Q(assignments__status=Assignment.Status.APPROVED)),
            rejected=Count("assignments", filter=Q(assignments__status=Assignment.Status.REJECTED)),
            last_work=Max("assignments__submitted_at"),
        )
        .order_by("-active", "user__username")
    )


def _open_invitations() -> QuerySet[Invitation]:
    open_ones = Invitation.objects.filter(expires_at__gt=timezone.now(), uses__lt=F("max_uses"))
    return open_ones.select_related("created_by").order_by("expires_at")


def _not_permitted(request: HttpRequest, permission: str) -> HttpResponse:
    sentence = (
        f"Your account lacks the permission {permission}: an administrator can give it to you"
        " under Admin."
    )
    return refuse(request, 403, "Not open to you", sentence)
