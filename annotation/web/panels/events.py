"""What Prolific tells of its own accord: it only brings the campaign's next pass forward."""

from django.db.models import Q
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from annotation.crowd.inhouse.models import HitType
from annotation.crowd.prolific.models import Hook, Study
from annotation.crowd.prolific.webhooks import HookEvent, NotGenuine, read_event
from annotation.jobs.tasks import advance_campaign, soon
from annotation.models import Campaign

MOST_BYTES = 65_536


@csrf_exempt  # signed by Prolific instead
@require_POST
def prolific_event(request: HttpRequest) -> HttpResponse:
    """Events come more than once and in any order: what has changed is read by the pass."""
    if len(request.body) > MOST_BYTES:
        return JsonResponse({"error": f"An event has at most {MOST_BYTES:,} bytes."}, status=413)
    try:
        event = _read(request)
    except NotGenuine as error:
        return JsonResponse({"error": str(error)}, status=403)
    named = Q(study_id=event.resource_id) | Q(link__visits__session_id=event.resource_id)
    studies = Study.objects.filter(pk__in=Study.objects.filter(named).values("pk"))
    if studies.update(at_rest=False):
        types = HitType.objects.filter(queue__panel_links__study__in=studies).values("type_id")
        for campaign in Campaign.objects.filter(hit_type_id__in=types):
            soon(advance_campaign, campaign.pk)
    return HttpResponse(status=204)


def _read(request: HttpRequest) -> HookEvent:
    """By whichever workspace's secret fits."""
    fault = NotGenuine("This site expects no events of Prolific's.")
    for secret in Hook.objects.exclude(secret="").values_list("secret", flat=True):
        try:
            return read_event(request.body, request.headers, secret)
        except NotGenuine as error:
            fault = error
    raise fault
