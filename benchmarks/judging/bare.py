"""The floor of taking and submitting a HIT: the same rows, written by views that decide nothing.

Session, sign-in and CSRF as everywhere; whose work it is and which HIT comes next is taken from
the request instead of being found out.
"""

import json
from datetime import datetime, timedelta

from django.contrib import admin
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.db.models import F
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path
from django.utils import timezone
from django.views.decorators.http import require_POST

from annotation.crowd.inhouse.models import Assignment, PostedHit
from annotation.monitoring.health import health

LEASE = timedelta(minutes=30)


@require_POST
@login_required
def take(request: HttpRequest) -> HttpResponse:
    return _take(request, timezone.now())


@require_POST
@login_required
def submit(request: HttpRequest, assignment_id: str) -> HttpResponse:
    now = timezone.now()
    sheet = {name: value for name, value in request.POST.items() if name.startswith("item-")}
    Assignment.objects.filter(
        assignment_id=assignment_id, status=Assignment.Status.ACCEPTED
    ).update(status=Assignment.Status.SUBMITTED, submitted_at=now, answers_json=json.dumps(sheet))
    return _take(request, now)


def _take(request: HttpRequest, now: datetime) -> HttpResponse:
    hit = int(request.POST["hit"])
    with transaction.atomic():
        PostedHit.objects.filter(pk=hit).update(open_assignments=F("open_assignments") - 1)
        work = Assignment.objects.create(
            posted_hit_id=hit,
            member_id=int(request.POST["member"]),
            accepted_at=now,
            deadline=now + LEASE,
        )
    return HttpResponseRedirect(f"/work/{work.assignment_id}")


urlpatterns = [
    path("health", health),
    path("admin/", admin.site.urls),  # the site's middleware asks for its address
    path("work/next", take),
    path("work/<str:assignment_id>", submit),
]
