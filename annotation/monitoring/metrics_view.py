"""What Prometheus reads: for holders of the token; without one, for this machine alone."""

import secrets

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST

from annotation.monitoring.metrics import exposition

LOOPBACK = ("127.0.0.1", "::1")
REFUSED = (
    "Metrics need the token of QUORUM_METRICS_TOKEN, as Authorization: Bearer TOKEN. If none is"
    " set, you can read them only on this machine.\n"
)


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    if not _may_read(request):
        answer = HttpResponse(REFUSED, status=401, content_type="text/plain; charset=utf-8")
        answer["WWW-Authenticate"] = 'Bearer realm="metrics"'
        return answer
    return HttpResponse(exposition(), content_type=CONTENT_TYPE_LATEST)


def _may_read(request: HttpRequest) -> bool:
    if token := settings.METRICS_TOKEN:
        given = request.headers.get("Authorization", "")
        return secrets.compare_digest(given.encode(), f"Bearer {token}".encode())
    # What a proxy on this machine hands on comes from elsewhere.
    handed_on = "X-Forwarded-For" in request.headers or "Forwarded" in request.headers
    return request.META["REMOTE_ADDR"] in LOOPBACK and not handed_on
