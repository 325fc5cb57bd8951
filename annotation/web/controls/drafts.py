"""Drafts of a campaign's own controls, one at a time: a key confirms, dismisses or edits it."""

from typing import cast

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from annotation.access.audit_log import by_page
from annotation.access.roles import CHANGE_CONTROLS
from annotation.models import Campaign, ControlDraft
from annotation.operations.operation import perform
from annotation.operations.pool import add_drafts_of
from annotation.operations.registry import OPERATIONS
from annotation.pipeline.controls.controls import MOST_CHARACTERS
from annotation.pipeline.controls.drafts import in_turns
from annotation.pipeline.gold.rejected_rows import BadRows, Rejected
from annotation.pipeline.publishing.pack import own_supply
from annotation.web.base.guards import campaign_page
from annotation.web.base.layout import page
from annotation.web.base.uploaded_file import ENDINGS, sent_file
from annotation.web.campaigns.operation import ask_for
from annotation.web.controls.controls import newest_job
from core.errors import UserError
from core.text.words import plural

DRAFT = "draft-controls"
MOST_BYTES = 1_000_000
MOST_SHOWN = 100


class DraftForm(forms.Form):
    draft = forms.IntegerField(widget=forms.HiddenInput)
    question = forms.CharField(max_length=MOST_CHARACTERS, widget=forms.Textarea({"rows": 2}))
    answer = forms.CharField(max_length=MOST_CHARACTERS, widget=forms.Textarea({"rows": 4}))


@require_http_methods(["GET", "HEAD", "POST"])
@campaign_page(CHANGE_CONTROLS)
def control_drafts(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    if request.method != "POST":
        return _render(request, campaign)
    try:
        _act(request, campaign)
    except BadRows as error:
        return _render(request, campaign, fault=str(error), rejected=error.rows)
    except UserError as error:
        return _render(request, campaign, fault=str(error))
    return redirect("campaign-control-drafts", campaign.name)


def _act(request: HttpRequest, campaign: Campaign) -> None:
    if "find" in request.POST:
        ask_for(request, DRAFT, campaign, {})
        messages.success(request, "Drafts are requested. They appear here.")
        return
    if "import" in request.POST:
        messages.success(request, _imported(request, campaign))
        return
    decision = "confirm-draft" if "confirm" in request.POST else "dismiss-draft"
    operation = OPERATIONS[decision]
    form = DraftForm(request.POST)
    # Only what the decision takes: a dismissed draft may have empty texts.
    for name in form.fields.keys() - {one.name for one in operation.arguments}:
        del form.fields[name]
    if not form.is_valid():
        field, errors = next(iter(form.errors.items()))
        raise UserError(f"{form[field].label}: {errors[0]}")
    options = {one.name: form.cleaned_data[one.name] for one in operation.arguments}
    perform(operation, campaign, options, by=by_page(cast(User, request.user)))


def _imported(request: HttpRequest, campaign: Campaign) -> str:
    with sent_file(request, most_bytes=MOST_BYTES, wanted="it in parts") as (path, name):
        done = add_drafts_of(by_page(cast(User, request.user)), campaign, path, name)
    known = f"; {done.read - done.added:,} were known already" if done.read > done.added else ""
    return f"{plural(done.added, 'draft')} added{known}."


def _render(
    request: HttpRequest,
    campaign: Campaign,
    *,
    fault: str = "",
    rejected: tuple[Rejected, ...] = (),
) -> HttpResponse:
    """After a fault the same draft, as it was sent."""
    draft = _draft(request, campaign)
    texts = {"draft": draft.pk, "question": draft.question, "answer": draft.answer} if draft else {}
    states = campaign.control_drafts.values_list("state").annotate(drafts=Count("pk"))
    context = {
        "draft": draft,
        "form": DraftForm(initial=texts | (request.POST.dict() if fault else {})),
        "counts": dict(states),
        "fault": fault,
        "rejected": rejected[:MOST_SHOWN],
        "all_rejected": len(rejected),
        "endings": ENDINGS,
        "most_bytes": MOST_BYTES,
        "job": newest_job(campaign, DRAFT),
        "own": own_supply(campaign),
        "is_published": bool(campaign.endpoint),
    }
    return page(
        request,
        "annotation/controls/drafts.html",
        context,
        title="Control drafts",
        campaign=campaign,
        status=422 if fault else 200,
    )


def _draft(request: HttpRequest, campaign: Campaign) -> ControlDraft | None:
    waiting = campaign.control_drafts.filter(state=ControlDraft.State.OPEN).select_related("query")
    sent = request.POST.get("draft", "")
    same = waiting.filter(pk=sent) if sent.isascii() and sent.isdigit() and len(sent) < 19 else None
    return (same and same.first()) or in_turns(waiting).first()
