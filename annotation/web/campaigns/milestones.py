"""The way of a campaign, from its queries to the last HIT: what is done, and what is next."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from annotation.access.roles import RUN
from annotation.analytics.campaign.milestones import milestones_of
from annotation.analytics.campaign.snapshots import newest
from annotation.analytics.quality.campaign_leak import TOO_FEW, leak_warning, meetings_warning
from annotation.analytics.quality.control_leak import LEAST_HITS
from annotation.crowd.hit_url import preview_path
from annotation.models import Campaign
from annotation.pipeline.controls.own_controls import has_own_controls
from annotation.pipeline.publishing.pack import own_supply, positive_names, triplets_to_judge
from annotation.pipeline.publishing.takers import too_small_a_team
from annotation.protocol.packing.pack import positives_needed
from annotation.web.base.guards import campaign_page, refuse_role
from annotation.web.base.layout import page
from annotation.web.campaigns.operation import REQUESTED, ask_for, read_options
from annotation.web.campaigns.overview_data import finish, troubles_of
from core.errors import UserError

CHOICES = (
    ("dense", "By meaning: the encoder's nearest pairs, as in the paper"),
    ("bm25", "By words: BM25 alone"),
    ("dense,bm25", "Both, their rankings fused: fewer positives are missed"),
)


@require_http_methods(["GET", "HEAD", "POST"])
@campaign_page()
def campaign_milestones(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    if request.method == "POST":
        return _take_step(request, campaign)
    return _render(request, campaign)


def _take_step(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    if not request.user.has_perm(RUN, campaign):
        return refuse_role(request, campaign)
    try:
        _ask(request, campaign, request.POST.get("step", ""))
    except UserError as error:
        return _render(request, campaign, fault=str(error), status=409)
    messages.success(request, REQUESTED)
    return redirect("campaign-milestones", campaign.name)


def _ask(request: HttpRequest, campaign: Campaign, step: str) -> None:
    milestones = milestones_of(campaign)
    is_next = {
        "retrieve": not milestones.is_retrieved,
        "pack": milestones.is_retrieved and not milestones.is_published,
    }
    if not is_next.get(step):
        raise UserError("That step is done already, or an earlier step comes first: see below.")
    ask_for(request, step, campaign, read_options(step, request.POST))


def _render(
    request: HttpRequest, campaign: Campaign, *, fault: str = "", status: int = 200
) -> HttpResponse:
    milestones = milestones_of(campaign)
    number = _number(request.GET.get("hit", ""), milestones.hits)
    key = campaign.hits.filter(number=number).values_list("key", flat=True).first()
    warning = leak_warning(campaign)
    last = newest(campaign) if milestones.is_published else None
    context = {
        "milestones": milestones,
        "finish": finish(campaign, last) if last else "",
        "troubles": troubles_of(campaign, last.figures, request.user) if last else [],
        "policy": campaign.policy,
        "published_to": _published_to(campaign),
        "leak_warning": warning,
        "too_few_to_measure": TOO_FEW if milestones.hits < LEAST_HITS else "",
        "meetings_warning": meetings_warning(campaign),
        # Asked only where packing comes next.
        "own": lambda: own_supply(campaign),
        "pool": lambda: len(positive_names(campaign.policy.task)),
        "pool_needed": lambda: positives_needed(triplets_to_judge(campaign), campaign.policy),
        "may_pack_again": not milestones.is_published
        and bool(warning or has_own_controls(campaign)),
        "too_small_a_team": too_small_a_team(campaign.policy, campaign),
        "job": milestones.job,
        "fault": fault,
        "choices": CHOICES,
        "number": number,
        "preview": preview_path(key) if key else "",
    }
    return page(
        request,
        "annotation/campaigns/milestones.html",
        context,
        title="Milestones",
        campaign=campaign,
        status=status,
    )


def _published_to(campaign: Campaign) -> str:
    crowd = campaign.policy.crowd_traits
    return f"open to {crowd.title}" if crowd.has_accounts else f"requested at {campaign.endpoint}"


def _number(text: str, most: int) -> int:
    wanted = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 1
    return max(1, min(wanted, most))
