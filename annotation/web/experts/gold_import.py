"""A file of labels that experts gave elsewhere: they stand beside the votes."""

from typing import cast

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from annotation.access.audit_log import by_page
from annotation.access.roles import RUN
from annotation.models import Campaign
from annotation.operations.gold import add_gold_of
from annotation.pipeline.gold.gold_file import MAX_EXPERT
from annotation.pipeline.gold.import_gold import EXPERT, Imported
from annotation.pipeline.gold.rejected_rows import BadRows, Rejected
from annotation.web.base.guards import campaign_page
from annotation.web.base.layout import page
from annotation.web.base.uploaded_file import ENDINGS, sent_file
from core.errors import UserError
from core.text.words import plural

MOST_BYTES = 5_000_000
MOST_SHOWN = 100


class GoldForm(forms.Form):
    expert = forms.CharField(
        max_length=MAX_EXPERT,
        initial=EXPERT,
        help_text="Expert who gave the labels, if the file does not say.",
    )
    replace = forms.BooleanField(
        required=False,
        label="Put the file's labels in place of others that the same expert gave before",
    )


@require_http_methods(["GET", "HEAD", "POST"])
@campaign_page(RUN)
def import_experts(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Of those who run the campaign: a file gives labels in anybody's name."""
    if request.method != "POST":
        return _render(request, campaign, GoldForm())
    form = GoldForm(request.POST)
    if not form.is_valid():
        return _render(request, campaign, form, status=422)
    try:
        done = _import(request, campaign, form)
    except BadRows as error:
        return _render(request, campaign, form, fault=str(error), rejected=error.rows, status=422)
    except UserError as error:
        return _render(request, campaign, form, fault=str(error), status=422)
    messages.success(request, summary(done))
    return redirect("import-experts", campaign.name)


def _import(request: HttpRequest, campaign: Campaign, form: GoldForm) -> Imported:
    by, chosen = by_page(cast(User, request.user)), form.cleaned_data
    wanted = "it in parts, or by quorum experts import"
    with sent_file(request, most_bytes=MOST_BYTES, wanted=wanted) as (path, name):
        return add_gold_of(
            by, campaign, path, name, expert=chosen["expert"], replace=chosen["replace"]
        )


def summary(done: Imported) -> str:
    parts = [f"{plural(done.labels_new, 'label')} added"]
    if done.labels_changed:
        parts.append(f"{done.labels_changed:,} changed")
    if done.labels_unchanged:
        parts.append(f"{done.labels_unchanged:,} known already")
    if not done.rows_without_triplet:
        return f"{', '.join(parts)}."
    lines = ", ".join(map(str, done.first_lines_without))
    stray = f"{done.rows_without_triplet:,} rows are about no triplet here (first in lines {lines})"
    if done.rows_without_triplet == 1:
        stray = f"1 row is about no triplet here (line {lines})"
    return f"{', '.join(parts)}. {stray}."


def _render(
    request: HttpRequest,
    campaign: Campaign,
    form: GoldForm,
    *,
    fault: str = "",
    rejected: tuple[Rejected, ...] = (),
    status: int = 200,
) -> HttpResponse:
    context = {
        "form": form,
        "fault": fault,
        "rejected": rejected[:MOST_SHOWN],
        "all_rejected": len(rejected),
        "endings": ENDINGS,
        "most_bytes": MOST_BYTES,
    }
    return page(
        request,
        "annotation/experts/gold_import.html",
        context,
        title="Import the experts' labels",
        campaign=campaign,
        status=status,
    )
