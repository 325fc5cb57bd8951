"""What a crowd tells of its own accord: it only brings the campaign's next pass forward."""

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from annotation.crowd.factory import PROVIDERS
from annotation.crowd.port import NotSent
from annotation.jobs.tasks import advance_campaign, soon
from annotation.models import Campaign
from annotation.protocol.policy.crowds import CROWDS

MOST_BYTES = 65_536


@csrf_exempt  # signed by the crowd instead
@require_POST
def study_event(request: HttpRequest, crowd: str) -> HttpResponse:
    traits = next((one for one in CROWDS.values() if one.kind == crowd and one.by_study), None)
    if traits is None:
        raise Http404
    if len(request.body) > MOST_BYTES:
        return JsonResponse({"error": f"An event has at most {MOST_BYTES:,} bytes."}, status=413)
    try:
        types = PROVIDERS[traits.kind].studies.heard(request.body, request.headers)
    except NotSent as error:
        return JsonResponse({"error": str(error)}, status=403)
    for campaign in Campaign.objects.filter(hit_type_id__in=types):
        soon(advance_campaign, campaign.pk)
    return HttpResponse(status=204)
