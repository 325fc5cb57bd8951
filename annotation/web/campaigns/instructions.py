"""The wording that annotators read: its versions, and the next one beside its rendered form."""

from dataclasses import dataclass
from typing import cast

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_http_methods

from annotation.access.audit_log import by_page
from annotation.access.roles import WRITE_INSTRUCTIONS
from annotation.models import Campaign, Instructions
from annotation.operations.campaign.cached_outlook import known_hits_of_versions
from annotation.operations.instructions import save_instructions
from annotation.pipeline.setup.instructions import (
    MOST_CHARACTERS,
    Added,
    Overtaken,
    Unchanged,
    clean_instructions,
)
from annotation.web.base.guards import campaign_page, permitted, refuse
from annotation.web.base.layout import page
from annotation.web.base.markdown import render_markdown
from core.errors import UserError


@dataclass(frozen=True)
class Draft:
    """What stands in the form, the version that it was made from, and what is said of it."""

    text: str
    based_on: int
    fault: str = ""
    overtaken_by: Instructions | None = None
    saved: Added | None = None
    is_preview: bool = False
    status: int = 200


@campaign_page()
@require_http_methods(["GET", "HEAD", "POST"])
def edit_instructions(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    if request.method != "POST":
        return _page(request, campaign, _draft_of(campaign, request.GET.get("version", "")))
    if not permitted(request, WRITE_INSTRUCTIONS, campaign):
        sentence = (
            "To save instructions, your account needs the right to add them: ask an owner of"
            f" {campaign} for a role that has it."
        )
        return refuse(request, 403, "Not open to you", sentence)
    return _page(request, campaign, _received(request, campaign))


def _draft_of(campaign: Campaign, version: str) -> Draft:
    """An earlier version's text, to look at or to go back to; else the newest one's."""
    newest = campaign.instructions.latest("version")
    asked = int(version) if version.isdecimal() and len(version) < 9 else newest.version
    draft = campaign.instructions.filter(version=asked).first() or newest
    return Draft(draft.text, newest.version)


def _received(request: HttpRequest, campaign: Campaign) -> Draft:
    sent = request.POST.get("text", "")
    base = request.POST.get("based_on", "")
    based_on = int(base) if base.isdecimal() and len(base) < 9 else 0
    try:
        text = clean_instructions(sent)
        if "save" not in request.POST:
            return Draft(text, based_on, is_preview=True)
        by = by_page(cast(User, request.user))
        added = save_instructions(by, campaign, text, based_on=based_on)
    except Unchanged as error:
        return Draft(text, error.newest.version, fault=str(error), status=422)
    except UserError as error:
        return Draft(sent.replace("\0", ""), based_on, fault=str(error), status=422)
    except Overtaken as error:
        # A person who saves now has seen both texts.
        return Draft(text, error.newest.version, overtaken_by=error.newest, status=409)
    return Draft(text, added.version, saved=added)


def _page(request: HttpRequest, campaign: Campaign, draft: Draft) -> HttpResponse:
    known = known_hits_of_versions(campaign)
    versions = campaign.instructions.order_by("-version").defer("text")
    context = {
        "draft": draft,
        "may_write": permitted(request, WRITE_INSTRUCTIONS, campaign),
        # What is too long to save is too long to render.
        "preview": "" if draft.fault else render_markdown(draft.text),
        "versions": [(one, known.of(one)) for one in versions],
        "note": known.note,
        "most": MOST_CHARACTERS,
    }
    return page(
        request,
        "annotation/campaigns/instructions.html",
        context,
        title="Instructions",
        campaign=campaign,
        status=draft.status,
    )
