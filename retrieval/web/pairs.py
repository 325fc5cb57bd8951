"""The pairs of a source, page by page, and one pair by itself."""

from django.db import models as db
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from core.frame import framed
from retrieval.corpus.pair_reader import MAX_ID, MAX_SOURCE
from retrieval.models import QaPair, QuerySet
from retrieval.web.access import database_page, may

PAGE_SIZE = 50
SHOWN = 10  # queries that a pair is a candidate of


@require_safe
@database_page()
def pairs(request: HttpRequest) -> HttpResponse:
    """In the order of the source's ids, from after `after` on: an index holds that order."""
    source, after = (_parameter(request, name) for name in ("source", "after"))
    if len(source) > MAX_SOURCE or len(after) > MAX_ID:
        source = ""
    listed = QaPair.objects.filter(source=source, source_id__gt=after).order_by("source_id")
    page = list(listed[: PAGE_SIZE + 1]) if source else []
    context = {
        "source": source,
        "pairs": page[:PAGE_SIZE],
        "after": after,
        "next": page[PAGE_SIZE - 1].source_id if len(page) > PAGE_SIZE else "",
        "may": may(request.user),
    }
    title = f"Pairs of {source}" if source else "Pairs"
    return framed(request, "retrieval/pairs.html", context, title=title)


def render_pair(
    request: HttpRequest, pair: QaPair, query_sets: db.QuerySet[QuerySet]
) -> HttpResponse:
    """`query_sets`: those that the reader may know of."""
    candidacies = pair.candidacies.filter(query__query_set__in=query_sets)
    context = {
        "pair": pair,
        "candidacies": candidacies.select_related("query__query_set").order_by("pk")[: SHOWN + 1],
        "shown": SHOWN,
        "may": may(request.user),
    }
    return framed(request, "retrieval/pair.html", context, title=f"Pair {pair.pk}")


def _parameter(request: HttpRequest, name: str) -> str:
    """PostgreSQL cannot even be asked for a text with this character."""
    return request.GET.get(name, "").replace("\0", "")
