"""An event as a mail to one person, with a link that ends such mails without a sign-in."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core import signing
from django.core.mail import EmailMessage
from django.urls import reverse

from annotation.models import Event, MailPreference
from annotation.notifications.digest import offered_work
from core.text.money import money

Type = Event.Type
SALT = "quorum.unsubscribe"
MOST_SUBJECT = 150
SUBJECTS: Mapping[str, str] = {
    Type.COMPLETE: "Campaign {campaign} is complete",
    Type.BLOCKED: "Campaign {campaign} stands still",
    Type.BUDGET: "The budget of campaign {campaign} is nearly spent",
    Type.PAY: "Campaign {campaign} pays less than its crowd asks for",
    Type.RELEASE: "Release {release} of campaign {campaign} is ready",
    Type.JOB: "The job {kind} {subject} failed",
    Type.WORK: "There is new work for you",
}
TEXTS: Mapping[str, str] = {
    Type.COMPLETE: "Every triplet of campaign {campaign} is decided: {labelled:,} have a label, "
    "{unresolved:,} are unresolved.",
    Type.BLOCKED: "Campaign {campaign} stands still until somebody acts:\n\n{reasons}",
    Type.BUDGET: "Campaign {campaign} has spent {spent} of its {budget}, and {open:,} "
    "triplets are still open.",
    Type.PAY: "People who work on campaign {campaign} take longer than planned:\n\n{reasons}",
    Type.RELEASE: "You can download release {release} of campaign {campaign}.",
    Type.JOB: "The job {kind} {subject} failed: {error}",
    Type.WORK: "You can take these tasks now:\n\n{tasks}",
}
FOOT = "You get this mail from {site}. Stop mails like this: {stop}\nAll your mails: {choose}\n"


def compose(event: Event, user: User) -> EmailMessage | None:
    """None where they want no such mail, cannot get one, or there is nothing to tell any more."""
    if not (user.is_active and user.email and wants(user, event.type)):
        return None
    data: dict[str, Any] = {**event.data}
    if event.type == Type.WORK:
        tasks = offered_work(user)
        if not tasks:
            return None
        data["tasks"] = "\n".join(f"- {one_line(name)}: {count}" for name, count in tasks.items())
    data["reasons"] = "\n".join(f"- {reason}" for reason in data.get("reasons", ()))
    for name in ("spent", "budget"):
        data[name] = money(data.get(f"{name}_cents", 0))
    stop = link("unsubscribe", signing.dumps([user.pk, event.type], salt=SALT))
    foot = FOOT.format(site=settings.PUBLIC_URL, stop=stop, choose=link("mail-preferences"))
    text = TEXTS[event.type].format_map(data)
    return EmailMessage(
        one_line(SUBJECTS[event.type].format_map(data)),
        f"{text}\n\n{_place(event)}\n\n-- \n{foot}",
        to=[user.email],
        headers={
            "List-Unsubscribe": f"<{stop}>",
            "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
            "Auto-Submitted": "auto-generated",
        },
    )


def has_mail_server() -> bool:
    """Without one, mails are printed on the console of the site."""
    return settings.EMAIL_BACKEND != "django.core.mail.backends.console.EmailBackend"


def _place(event: Event) -> str:
    if event.type == Type.WORK:
        return link("work")
    if event.type == Type.JOB:
        return link("job", event.data["job"])
    assert event.campaign is not None
    page = "campaign-releases" if event.type == Type.RELEASE else "campaign"
    return link(page, event.campaign.name)


def link(page: str, *arguments: object) -> str:
    return settings.PUBLIC_URL + reverse(page, args=arguments)


def one_line(text: str) -> str:
    """For a header: what others wrote must not begin another one."""
    words = " ".join(text.split())
    return "".join(each for each in words if each.isprintable())[:MOST_SUBJECT]


def wants(user: User, type: str) -> bool:
    preference = MailPreference.objects.filter(account=user).first()
    return preference is None or type not in preference.unwanted


def unsubscribe(token: str) -> tuple[User, str]:
    """Whom and what the link is for; BadSignature where it is none of ours."""
    pk, type = signing.loads(token, salt=SALT)
    user = User.objects.filter(pk=pk).first()
    if user is None:
        raise signing.BadSignature
    return user, type


def choose(user: User, unwanted: list[str]) -> None:
    MailPreference.objects.update_or_create(account=user, defaults={"unwanted": unwanted})


def unwanted_by(user: User) -> list[str]:
    preference = MailPreference.objects.filter(account=user).first()
    return list(preference.unwanted) if preference else []
