"""A page for each act: what it needs to be told, what will follow, and then the operation."""

from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from annotation.access.audit_log import by_page
from annotation.jobs.tasks import deliver_campaign, soon
from annotation.models import Assignment, Campaign
from annotation.operations.campaign.operation import Act, Field, perform
from annotation.operations.campaign.registry import ACTS
from annotation.operations.campaign.workers import worker_of
from annotation.pipeline.ledger.dollars import cents_of, dollars
from annotation.web.base.guards import campaign_page, refuse
from annotation.web.base.layout import page
from annotation.web.workers.workers import names_of
from core.errors import UserError

LONGEST = 2000
LONGEST_NAME = 60  # of somebody, in a title
# The names that alone make no title before a campaign's name or before whom it is done to.
BEFORE_THE_CAMPAIGN = {"budget": "Budget of", "retry": "Retry the calls of"}
BEFORE_THE_SUBJECT = {"bonus": "Bonus for", "withdraw-bonus": "Withdraw the bonus for"}
# What the button says, where the name alone is no operation, or could mean "back".
BUTTONS = {
    "budget": "Set the budget",
    "bonus": "Give the bonus",
    "cancel": "Cancel the campaign",
    "message": "Send the message",
    "retry": "Retry the calls",
    "withdraw-bonus": "Withdraw the bonus",
}
HURTFUL = {"exclude", "reject"}


class ActForm(forms.Form):
    """The fields of an act."""

    def __init__(self, act: Act, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in act.fields:
            self.fields[field.name] = _form_field(field)


def _form_field(field: Field) -> forms.Field:
    common: dict[str, Any] = {
        "label": field.label,
        "help_text": field.help,
        "initial": field.default,
    }
    if field.kind == "count":
        return forms.IntegerField(min_value=field.least, max_value=field.most, **common)
    if field.kind == "text":
        return forms.CharField(max_length=LONGEST, widget=forms.Textarea({"rows": 3}), **common)
    return forms.CharField(max_length=100, **common)


@require_http_methods(["GET", "HEAD", "POST"])
@campaign_page()
def act_page(request: HttpRequest, campaign: Campaign, act: str) -> HttpResponse:
    """Fields first, where there are any; then the sentences, which a second click agrees to."""
    chosen = ACTS.get(act)
    if chosen is None:
        raise Http404
    if not request.user.has_perm(chosen.permission, campaign):
        sentence = (
            f"Your role in {campaign} does not include this: whoever owns it can change that."
        )
        return refuse(request, 403, "Not part of your role", sentence)
    form = _asked(request, chosen)
    if not form.is_valid():
        return _shown(request, campaign, chosen, form)
    try:
        sentences = list(chosen.foresee(campaign, form.cleaned_data))
        if "agreed" not in request.POST or not _named(request, campaign, chosen):
            return _shown(request, campaign, chosen, form, sentences=sentences)
        perform(chosen, campaign, form.cleaned_data, by=by_page(cast(User, request.user)))
    except UserError as error:
        return _shown(request, campaign, chosen, form, fault=str(error), status=422)
    if chosen.calls and campaign.endpoint:
        soon(deliver_campaign, campaign.pk)
    messages.success(request, _done(chosen, campaign))
    return redirect(_back(chosen, campaign, form))


def _asked(request: HttpRequest, act: Act) -> ActForm:
    """A link may fill some of the fields, or all of them."""
    if request.method == "POST":
        return ActForm(act, request.POST)
    if {field.name for field in act.fields} <= request.GET.keys():
        return ActForm(act, request.GET)
    return ActForm(act, initial=request.GET.dict())


def _named(request: HttpRequest, campaign: Campaign, act: Act) -> bool:
    """What cannot be taken back takes the campaign's name, typed."""
    return not act.for_good or request.POST.get("typed", "").strip() == campaign.name


def _done(act: Act, campaign: Campaign) -> str:
    told = " The crowd is told by the next free worker." if act.calls and campaign.endpoint else ""
    return f"Done: {act.help}.{told}"


def _back(act: Act, campaign: Campaign, form: ActForm) -> str:
    """To the worker whom it is about, else to the campaign."""
    whom = _whom(act, form)
    works = Assignment.objects.filter(hit__campaign=campaign)
    if act.subject == "worker":
        works = works.filter(worker__worker_id=worker_of(campaign, whom))
    elif act.subject == "assignment":
        works = works.filter(crowd_id=whom)
    worker = works.values_list("worker", flat=True).first() if whom else None
    if worker is None:
        return reverse("campaign", args=[campaign.name])
    return reverse("campaign-worker", args=[campaign.name, worker])


def _whom(act: Act, form: ActForm) -> str:
    whom = str(form[act.subject].value() or "") if act.subject else ""
    return whom.replace("\0", "").strip()  # no database can be asked for the first


def _title(act: Act, campaign: Campaign, whom: str) -> str:
    """With the worker or the assignment that it is about, and always the campaign."""
    words = act.name.replace("-", " ").capitalize()
    if not act.subject:
        return f"{BEFORE_THE_CAMPAIGN.get(act.name, words)} {campaign}"
    words = BEFORE_THE_SUBJECT.get(act.name, words)
    if act.subject == "assignment":
        named = f"assignment {whom[:LONGEST_NAME]}" if whom else "an assignment"
    else:
        named = names_of(campaign, [whom]).get(whom, whom[:LONGEST_NAME]) or "a worker"
    return f"{words} {named} in {campaign}"


def _told(act: Act, form: ActForm) -> list[tuple[str, str]]:
    """What was asked for, as people write it."""
    told = []
    for field in act.fields:
        value = str(form.cleaned_data[field.name])
        told.append((field.label, dollars(cents_of(value)) if field.kind == "dollars" else value))
    return told


def _shown(
    request: HttpRequest,
    campaign: Campaign,
    act: Act,
    form: ActForm,
    *,
    sentences: list[str] | None = None,
    fault: str = "",
    status: int = 200,
) -> HttpResponse:
    context = {
        "act": act,
        "back": _back(act, campaign, form),
        "form": form,
        "sentences": sentences,
        "told": _told(act, form) if sentences else [],
        "button": BUTTONS.get(act.name, act.name.capitalize()),
        "is_grave": act.for_good or act.name in HURTFUL,
        "fault": fault,
        "misspelt": "agreed" in request.POST and act.for_good and not fault,
    }
    title = _title(act, campaign, _whom(act, form))
    return page(
        request,
        "annotation/campaigns/operation.html",
        context,
        title=title,
        campaign=campaign,
        status=status,
    )
