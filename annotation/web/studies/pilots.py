"""The paper's pilots: the same triplets with the answer and without it."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from annotation.access.roles import CREATE, visible_campaigns
from annotation.models import Pilot
from annotation.web.base.guards import dashboard_page
from annotation.web.base.layout import page

SHOWN = 50


@require_safe
@dashboard_page
def pilots(request: HttpRequest) -> HttpResponse:
    """Those of which the reader sees both conditions, and the campaigns to draw another from."""
    seen = visible_campaigns(request.user)
    listed = Pilot.objects.filter(shown__in=seen.values("pk"), hidden__in=seen.values("pk"))
    listed = listed.select_related("shown__query_set__drawn_from", "hidden").order_by("-pk")
    sources = seen.filter(pilot_with_the_answer=None, pilot_without_the_answer=None)
    may_create = request.user.has_perm(CREATE)
    context = {
        "pilots": listed[:SHOWN],
        "sources": sources.order_by("-pk")[:SHOWN] if may_create else [],
    }
    return page(request, "annotation/studies/pilots.html", context, title="Pilots")
