"""Which mails an account gets, and where: chosen on a page, ended by a link without a sign-in."""

from typing import cast

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core import signing
from django.core.mail import EmailMessage
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from annotation.access.audit_log import by_page, record
from annotation.access.roles import may_enter
from annotation.access.throttle import Limit, TooMany, attempt
from annotation.models import Event
from annotation.models.event import OFFERED_TYPES
from annotation.notifications.mail import choose, has_mail_server, link, unsubscribe, unwanted_by
from annotation.web.base.guards import refuse
from core.frame import framed_for_reader

SALT = "quorum.mail-address"
DAYS = 3
NO_LINK = "This link does not work: check that it is complete."
LATE = f"This link does not work, or is older than {DAYS} days: enter the address again."
CONFIRM = (
    "Confirm the address by this link within {days} days: {link}\n\nOtherwise nothing changes.\n"
)
LIMIT = Limit("mail address", 5, 60, "You have changed the address often: wait an hour.")
ADDRESS_HELP = "Without one you get no mail. Confirm a new one with the link we mail to it."
PRINTED = (
    "This site has no mail server: the mail with your link is printed on its console. Ask whoever "
    "runs the site."
)


class PreferenceForm(forms.Form):
    email = forms.EmailField(
        label="E-mail address", max_length=254, required=False, help_text=ADDRESS_HELP
    )
    wanted = forms.MultipleChoiceField(
        label="Mails", required=False, widget=forms.CheckboxSelectMultiple
    )


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def mail_preferences(request: HttpRequest) -> HttpResponse:
    user = cast(User, request.user)
    unwanted, offered = unwanted_by(user), _offered(user)
    wanted = [type for type, _ in offered if type not in unwanted]
    form = PreferenceForm(request.POST or None, initial={"email": user.email, "wanted": wanted})
    cast(forms.MultipleChoiceField, form.fields["wanted"]).choices = offered
    if request.method != "POST" or not form.is_valid():
        return _page(request, form)
    now = {type: type not in form.cleaned_data["wanted"] for type, _ in offered}
    before = {type: type in unwanted for type in Event.Type.values}
    choose(user, [type for type, is_unwanted in (before | now).items() if is_unwanted])
    try:
        _change_address(request, user, form.cleaned_data["email"])
    except TooMany as error:
        form.add_error("email", str(error))
        return _page(request, form)
    messages.success(request, "Your choice is saved.")
    return redirect("mail-preferences")


def _offered(user: User) -> list[tuple[str, str]]:
    """Who only judges hears of work alone."""
    if may_enter(user):
        return OFFERED_TYPES
    return [(Event.Type.WORK.value, str(Event.Type.WORK.label))]


def _change_address(request: HttpRequest, user: User, email: str) -> None:
    """A new one counts once its owner has opened the link that is sent there."""
    if email == user.email:
        return
    if not email:
        set_address(user, "")
        return
    attempt([LIMIT.of(str(user.pk))])
    ask_to_confirm(request, user, email)


def ask_to_confirm(request: HttpRequest, user: User, email: str) -> None:
    token = signing.dumps([user.pk, user.email, email], salt=SALT)
    text = CONFIRM.format(days=DAYS, link=link("confirm-address", token))
    EmailMessage("Confirm your e-mail address", text, to=[email]).send(fail_silently=True)
    if has_mail_server():
        messages.info(request, f"A mail to {email} has a link: open it to confirm the address.")
    else:
        messages.warning(request, PRINTED)


@transaction.atomic
def set_address(user: User, email: str) -> None:
    record(by_page(user), "change-address", subject=user.get_username())
    User.objects.filter(pk=user.pk).update(email=email)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def confirm_address(request: HttpRequest, token: str) -> HttpResponse:
    try:
        pk, before, email = signing.loads(token, salt=SALT, max_age=DAYS * 86400)
    except signing.BadSignature:
        return refuse(request, 404, "This link does not work", LATE)
    user = User.objects.filter(pk=pk, email=before, is_active=True).first()
    if user is None:
        return refuse(request, 404, "This link does not work", LATE)
    if request.method != "POST":
        question = f"Send the mails of {user.get_username()} to {email}?"
        return _ask(request, "Confirm your address", question, "Confirm")
    set_address(user, email)
    return _ask(request, "Address confirmed", f"Mails go to {email} from now on.")


@csrf_exempt  # a mail program sends it, by RFC 8058: the token is what it has
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def unsubscribe_page(request: HttpRequest, token: str) -> HttpResponse:
    """A GET only asks: programs that look at links open them too."""
    try:
        user, type = unsubscribe(token)
    except signing.BadSignature:
        return refuse(request, 404, "This link does not work", NO_LINK)
    words = dict(Event.Type.choices).get(type, type)
    if request.method != "POST":
        question = f"Stop the mails “{words}” to {user.get_username()}?"
        return _ask(request, "Stop these mails", question, "Stop them")
    choose(user, sorted({*unwanted_by(user), type}))
    sentence = f"{user.get_username()} gets no more mails “{words}”."
    return _ask(request, "Stopped", sentence)


def _ask(request: HttpRequest, title: str, sentence: str, button: str = "") -> HttpResponse:
    content = {"title": title, "sentence": sentence, "button": button}
    return render(request, "annotation/notifications/ask.html", content)


def _page(request: HttpRequest, form: PreferenceForm) -> HttpResponse:
    template, status = "annotation/notifications/preferences.html", 422 if form.errors else 200
    return framed_for_reader(request, template, {"form": form}, title="E-mails", status=status)
