"""A page for each operation: its arguments, a preview, and a button that confirms it."""

from collections.abc import Mapping
from functools import partial
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from annotation.access.audit_log import by_page
from annotation.jobs.requests import request_operation
from annotation.jobs.tasks import deliver_campaign, soon
from annotation.models import Assignment, Campaign
from annotation.operations.campaign.worker_names import worker_of
from annotation.operations.operation import Argument, LongOperation, Operation, Options, perform
from annotation.operations.registry import DATABASE_OPERATIONS, LONG_OPERATIONS, OPERATIONS
from annotation.web.base.crowd_text import said_of
from annotation.web.base.guards import campaign_page, dashboard_page, refuse_account, refuse_role
from annotation.web.base.layout import page
from annotation.web.workers.pairs import names_of
from core.errors import UserError
from core.text.money import cents_of, money
from retrieval.models import Job
from retrieval.web.forms import corpus_choices, source_choices

Chosen = Operation | LongOperation
REQUESTED = "Requested. It starts when a worker process is free."
LONGEST_NAME = 60  # of somebody, in a title
# Where an operation of the database leads back to.
PAGES = {
    "corpus": "database",
    "controls": "controls",
    "import": "known-workers",
    "turk": "turk-accounts",
}
# Where one of a campaign does, by the argument that names what it is about; else to the campaign.
CAMPAIGN_PAGES = {
    "username": "campaign-roles",
    "control": "campaign-controls",
    "triplet": "campaign-controls",
    "draft": "campaign-control-drafts",
    "panel": "campaign-panels",
    "link": "campaign-panels",
}


class PercentField(forms.FloatField):
    """A share, which people write as a percentage."""

    def __init__(self, **about: Any) -> None:
        about |= {"label": f"{about['label']}, %", "initial": round(100 * about["initial"], 1)}
        widget = forms.NumberInput({"step": "any"})
        super().__init__(min_value=0, max_value=100, widget=widget, **about)

    def clean(self, value: Any) -> float | None:
        percent = super().clean(value)
        return None if percent is None else percent / 100


class ChoicesField(forms.MultipleChoiceField):
    """Names in one text with commas between, as a command takes them; None where there are none."""

    widget = forms.TextInput

    def clean(self, value: Any) -> list[str] | None:
        return super().clean(value.split(",") if value else []) or None


class WordsField(forms.CharField):
    """Names with spaces or lines between; None where there are none."""

    widget = forms.Textarea

    def clean(self, value: Any) -> list[str] | None:
        return super().clean(value).split() or None


class OperationForm(forms.Form):
    """The arguments of an operation."""

    def __init__(self, operation: Operation | LongOperation, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for argument in operation.arguments:
            self.fields[argument.name] = _form_field(argument)


def _form_field(argument: Argument) -> forms.Field:
    common: dict[str, Any] = {
        "label": argument.label,
        "help_text": argument.help,
        "initial": argument.default,
        "required": not argument.optional,
    }
    if argument.kind == "count":
        return forms.IntegerField(min_value=argument.minimum, max_value=argument.maximum, **common)
    if argument.kind == "share":
        return PercentField(**common)
    if argument.kind == "flag":
        return forms.BooleanField(**common | {"required": False})
    if argument.kind == "choices":
        return ChoicesField(choices=[(name, name) for name in argument.choices], **common)
    if argument.kind == "choice":
        names = [(name, name.capitalize()) for name in argument.choices]
        return forms.ChoiceField(choices=[("", "Choose one"), *names], **common)
    if argument.kind in ("corpus", "source"):
        names = corpus_choices()[1:] if argument.kind == "corpus" else source_choices()
        choices = [("", "Choose one"), *names]
        return forms.TypedChoiceField(choices=choices, empty_value=None, **common)
    if argument.kind == "sources":
        return forms.MultipleChoiceField(choices=source_choices(), **common)
    if argument.kind in ("pairs", "queries"):
        return WordsField(**common)
    if argument.kind == "text":
        common["widget"] = forms.Textarea({"rows": 3})
    empty = None if argument.optional else ""
    return forms.CharField(max_length=argument.longest, empty_value=empty, **common)


@require_http_methods(["GET", "HEAD", "POST"])
@campaign_page()
def operation_page(request: HttpRequest, campaign: Campaign, operation: str) -> HttpResponse:
    study = LONG_OPERATIONS.get(operation)
    chosen = study if study and study.is_study and study.preview else OPERATIONS.get(operation)
    return _answer(request, campaign, chosen)


@require_http_methods(["GET", "HEAD", "POST"])
@dashboard_page
def database_operation_page(request: HttpRequest, operation: str) -> HttpResponse:
    return _answer(request, None, DATABASE_OPERATIONS.get(operation))


def _answer(request: HttpRequest, campaign: Campaign | None, chosen: Chosen | None) -> HttpResponse:
    """Arguments first, where there are any; then the preview, which a second click confirms."""
    if chosen is None:
        raise Http404
    of = None if chosen.everywhere else campaign
    if not request.user.has_perm(chosen.permission, of):
        return refuse_role(request, of) if of else refuse_account(request, chosen.permission)
    if campaign and chosen.also and not request.user.has_perm(chosen.also, campaign):
        return refuse_role(request, campaign)
    form = _form(request, campaign, chosen)
    if not form.is_valid():
        return _render(request, campaign, chosen, form)
    try:
        sentences = _preview(request, chosen, campaign, form.cleaned_data)
        if "agreed" not in request.POST or not _is_named(request, campaign, chosen):
            return _render(request, campaign, chosen, form, sentences=sentences)
        said = _execute(request, chosen, campaign, form.cleaned_data)
    except UserError as error:
        return _render(request, campaign, chosen, form, fault=str(error), status=422)
    messages.success(request, said_of(campaign, said) if campaign else said)
    return redirect(_back(chosen, campaign, form))


def _preview(
    request: HttpRequest, chosen: Chosen, campaign: Campaign | None, options: Options
) -> list[str]:
    if isinstance(chosen, LongOperation):
        assert campaign
        assert chosen.preview
        return list(chosen.preview(campaign, options))
    return list(chosen.preview(campaign, {**options, "by": by_page(cast(User, request.user))}))


def _execute(
    request: HttpRequest, chosen: Chosen, campaign: Campaign | None, options: Options
) -> str:
    """What the next page says of it."""
    if isinstance(chosen, LongOperation):
        assert campaign
        ask_for(request, chosen.name, campaign, options)
        return REQUESTED
    perform(chosen, campaign, options, by=by_page(cast(User, request.user)))
    if campaign and chosen.calls_crowd and campaign.endpoint:
        soon(deliver_campaign, campaign.pk)
    return _done(chosen, campaign)


def read_options(name: str, sent: Mapping[str, Any]) -> Options:
    """The arguments of a long operation as its page has sent them; UserError where one is none."""
    form = OperationForm(LONG_OPERATIONS[name], sent)
    for field, errors in form.errors.items():
        raise UserError(f"{form[field].label}: {errors[0]}")
    return form.cleaned_data


def ask_for(request: HttpRequest, name: str, campaign: Campaign, options: Options) -> Job:
    """For a page of its own of a long operation; UserError where it is impossible now."""
    by = by_page(cast(User, request.user))
    return request_operation(LONG_OPERATIONS[name], campaign, options, by=by)


def _form(request: HttpRequest, campaign: Campaign | None, operation: Chosen) -> OperationForm:
    """A link may fill some of the fields, or all of them."""
    if request.method == "POST":
        return OperationForm(operation, request.POST)
    linked = OperationForm(operation, request.GET)
    if linked.fields.keys() <= request.GET.keys():
        return linked
    before: Options = {}
    if isinstance(operation, Operation):
        linked.is_valid()  # what is no value of its field is left out
        before = operation.initial(campaign, linked.cleaned_data)
    return OperationForm(operation, initial={**before, **request.GET.dict()})


def _is_named(request: HttpRequest, campaign: Campaign | None, operation: Chosen) -> bool:
    """What cannot be undone takes the campaign's name, typed."""
    typed = request.POST.get("typed", "").strip()
    return not operation.irreversible or campaign is None or typed == campaign.name


def _done(operation: Operation, campaign: Campaign | None) -> str:
    calls = campaign and operation.calls_crowd and campaign.endpoint
    return f"Done: {operation.help}.{' The crowd follows shortly.' if calls else ''}"


def _back(operation: Chosen, campaign: Campaign | None, form: OperationForm) -> str:
    """To the worker whom it is about or a list of what it changes, else to the campaign."""
    if campaign is None:
        assert isinstance(operation, Operation)
        return reverse(PAGES[operation.noun])
    if operation.name == "pilot":
        return reverse("pilots")
    if operation.subject in CAMPAIGN_PAGES:
        return reverse(CAMPAIGN_PAGES[operation.subject], args=[campaign.name])
    subject = _subject(operation, form)
    assignments = Assignment.objects.filter(hit__campaign=campaign)
    if operation.subject == "worker":
        assignments = assignments.filter(worker__worker_id=worker_of(campaign, subject))
    elif operation.subject == "assignment":
        assignments = assignments.filter(crowd_id=subject)
    worker = assignments.values_list("worker", flat=True).first() if subject else None
    if worker is None:
        return reverse("campaign", args=[campaign.name])
    return reverse("campaign-worker", args=[campaign.name, worker])


def _subject(operation: Chosen, form: OperationForm) -> str:
    name = operation.subject
    subject = str(form[name].value() or "") if name else ""
    return subject.replace("\0", "").strip()  # no database can be asked for the first


def _title(operation: Chosen, campaign: Campaign | None, subject: str) -> str:
    """With whom or what it is about, and always the campaign."""
    words = operation.title or operation.words
    if campaign is None:
        return words
    if not operation.subject:
        return f"{words} {campaign}"
    return f"{words} {_named(operation, campaign, subject)} in {campaign}"


def _named(operation: Chosen, campaign: Campaign, subject: str) -> str:
    (argument,) = (one for one in operation.arguments if one.name == operation.subject)
    word = "account" if argument.kind == "account" else argument.label.lower()
    if not subject:
        return f"an {word}" if word[0] in "aeiou" else f"a {word}"
    if argument.kind == "worker":
        return names_of(campaign, [subject]).get(subject, subject[:LONGEST_NAME])
    named = subject[:LONGEST_NAME]
    return named if argument.kind == "account" else f"{word} {named}"


def _values(operation: Chosen, form: OperationForm) -> list[tuple[str, str]]:
    """What was sent, as people write it."""
    values = []
    for argument in operation.arguments:
        value = form.cleaned_data[argument.name]
        if not value and (argument.optional or argument.kind == "flag"):
            continue
        shown = ", ".join(value) if isinstance(value, list) else str(value)
        if argument.kind == "flag":
            shown = "yes"
        if argument.kind == "money":
            shown = money(cents_of(shown))
        values.append((argument.label, shown))
    return values


def _render(
    request: HttpRequest,
    campaign: Campaign | None,
    operation: Chosen,
    form: OperationForm,
    *,
    sentences: list[str] | None = None,
    fault: str = "",
    status: int = 200,
) -> HttpResponse:
    said = partial(said_of, campaign) if campaign else str
    values = _values(operation, form) if sentences else []
    context = {
        "operation": operation,
        "help": said(operation.help),
        "back": _back(operation, campaign, form),
        "form": form,
        "sentences": sentences and [said(sentence) for sentence in sentences],
        "values": [(said(label), value) for label, value in values],
        "button": said(operation.button or operation.words),
        "is_grave": operation.irreversible or operation.harms,
        "fault": said(fault),
        "misspelt": "agreed" in request.POST and operation.irreversible and not fault,
    }
    return page(
        request,
        "annotation/campaigns/operation.html",
        context,
        title=_title(operation, campaign, _subject(operation, form)),
        campaign=campaign,
        status=status,
    )
