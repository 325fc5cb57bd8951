"""The page of an import, what came of it, and the rows that were refused."""

import csv
import io
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from core.files.csv_safety import harmless
from core.frame import framed
from retrieval.corpus.sources.formats import FORMATS
from retrieval.corpus.uploads import MOST_BYTES, MOST_FILES, PLAIN
from retrieval.jobs.count_sources import newest_figures
from retrieval.jobs.handlers import INDEX, subject_of
from retrieval.jobs.import_files import KIND, MOST_REJECTED, rejected_of, rejected_rows
from retrieval.models import Job
from retrieval.models.corpus import ALL
from retrieval.web.access import IMPORT, database_page, may
from retrieval.web.database import may_see
from retrieval.web.forms import BuildForm, ImportForm

SHOWN_ROWS = 50
COLUMNS = ("line", "reason", "text")


@require_safe
@database_page(IMPORT)
def import_page(request: HttpRequest) -> HttpResponse:
    return render_import(request, ImportForm(initial={"source": request.GET.get("source", "")}))


def render_import(
    request: HttpRequest, form: ImportForm, *, fault: str = "", status: int = 200
) -> HttpResponse:
    kept = newest_figures()
    context = {
        "form": form,
        "may": may(request.user),
        "fault": fault,
        "sources": [one.source for one in kept.sources] if kept else [],
        "formats": sorted(FORMATS),
        "endings": ", ".join(PLAIN),
        "most_bytes": MOST_BYTES,
        "most": f"{MOST_BYTES / 1e9:,.0f} GB",
        "most_files": MOST_FILES,
    }
    return framed(
        request, "retrieval/import.html", context, title="Import q/a pairs", status=status
    )


@dataclass(frozen=True)
class Outcome:
    """Of one file: what the job's result says of it, and the rows that were refused."""

    number: int
    facts: dict[str, Any]  # empty: it was refused, or its turn has not come
    name: str
    rows: list[dict[str, Any]]  # the first of them


@require_safe
@database_page()
def imported(request: HttpRequest, pk: int) -> HttpResponse:
    job = _import(request, pk)
    done = (job.result or {}).get("files", [])
    outcomes = [
        Outcome(
            number,
            done[number - 1] if number <= len(done) else {},
            sent["name"],
            list(itertools.islice(rejected_rows(job, number), SHOWN_ROWS)) if job.is_over else [],
        )
        for number, sent in enumerate(job.arguments["files"], 1)
    ]
    allowed, corpus = may(request.user), job.arguments.get("corpus", ALL)
    indexes = job.arguments.get("index")
    lacks_index = bool((job.result or {}).get("added")) and not indexes
    context = {
        "job": job,
        "may": allowed,
        "source": job.arguments["source"],
        "indexes": indexes,
        "indexing": _indexing(job, corpus) if indexes else None,
        "build": BuildForm(initial={"corpus": corpus})
        if lacks_index and allowed["build"]
        else None,
        "elsewhere": (job.result or {}).get("elsewhere"),
        "corpus": corpus,
        "outcomes": outcomes,
        "most_rows": MOST_REJECTED,
        "shown_rows": SHOWN_ROWS,
    }
    title = f"Import into {job.arguments['source']}"
    return framed(request, "retrieval/imported.html", context, title=title)


def _indexing(job: Job, corpus: str) -> Job | None:
    """The build that followed the import."""
    builds = Job.objects.filter(
        kind=INDEX, subject=subject_of(corpus), requested_at__gte=job.requested_at
    )
    return builds.order_by("pk").last()


@require_safe
@database_page()
def rejected(request: HttpRequest, pk: int, number: int) -> StreamingHttpResponse:
    """The refused rows of a file as CSV."""
    job = _import(request, pk)
    if number > len(job.arguments["files"]):  # a disk cannot even be asked for the longest names
        raise Http404
    if not job.is_over or not rejected_of(job, number).is_file():
        raise Http404
    lines = _csv(rejected_rows(job, number))
    response = StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="rejected-{job.pk}-{number}.csv"'
    response["X-Content-Type-Options"] = "nosniff"
    return response


def _import(request: HttpRequest, pk: int) -> Job:
    """Of the reader, or any for the staff; others do not exist for them."""
    job = get_object_or_404(Job.objects.select_related("requested_by"), pk=pk, kind=KIND)
    if not may_see(request.user, job):
        raise Http404
    return job


def _csv(rows: Iterator[dict[str, Any]]) -> Iterator[str]:
    for row in itertools.chain([dict(zip(COLUMNS, COLUMNS, strict=True))], rows):
        text = io.StringIO()
        csv.writer(text).writerow([harmless(row[name]) for name in COLUMNS])
        yield text.getvalue()
