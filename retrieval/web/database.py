"""What the database holds, as the paper's Table 1 tells it, and the indexes over it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from core.frame import framed
from core.text.words import plural
from retrieval.corpus.corpora import corpora
from retrieval.jobs import count_sources, import_files
from retrieval.jobs.count_sources import Figures, newest_figures
from retrieval.jobs.handlers import HANDLERS, IndexRequest
from retrieval.models import IndexVersion, Job, QaPair
from retrieval.web.access import database_page, may
from retrieval.web.forms import BuildForm

SHOWN_VERSIONS = 8
SHOWN_JOBS = 8
BUILD_DEFAULTS = {name: value for name, value in asdict(IndexRequest()).items() if name != "corpus"}


@dataclass(frozen=True)
class Version:
    """An index as the page shows it."""

    index: IndexVersion
    current: bool
    bytes: int | None  # of its vectors and its own files; None: of an older Quorum
    missing: str  # what it lacks; empty: nothing that is known


@require_safe
@database_page()
def database(request: HttpRequest) -> HttpResponse:
    return render_database(request, BuildForm())


def render_database(request: HttpRequest, form: BuildForm, *, status: int = 200) -> HttpResponse:
    """`form`: of the index that may be built."""
    kept = newest_figures()
    jobs = list(_jobs())
    context = {
        "may": may(request.user),
        "figures": kept,
        "empty": not QaPair.objects.exists(),
        "versions": _versions(kept),
        "form": form,
        "build_defaults": BUILD_DEFAULTS,
        "running": [one for one in jobs if not one.is_over and may_see(request.user, one)],
        "counting": any(one.kind == count_sources.KIND and not one.is_over for one in jobs),
        "corpora": corpora(),
        "jobs": [_render(request.user, one) for one in jobs if one.is_over],
    }
    return framed(request, "retrieval/database.html", context, title="Corpus", status=status)


def may_see(user: User | AnonymousUser, job: Job) -> bool:
    return user.is_staff or job.requested_by_id == user.pk


def _jobs() -> QuerySet[Job]:
    return (
        Job.objects.filter(kind__in=HANDLERS)
        .select_related("requested_by")
        .order_by("-pk")[:SHOWN_JOBS]
    )


def _render(user: User | AnonymousUser, job: Job) -> Mapping[str, object]:
    """With a link for those who may follow it."""
    link = ""
    if may_see(user, job):
        link = "database-imported" if job.kind == import_files.KIND else "job"
    return {"job": job, "link": link}


def _versions(kept: Figures | None) -> list[Version]:
    newest = IndexVersion.objects.select_related("trained", "corpus").order_by("-chosen_at", "-pk")
    shown, met = [], set()
    for one in newest[:SHOWN_VERSIONS]:
        is_current = one.corpus_id not in met
        met.add(one.corpus_id)
        missing = _missing(one, kept) if is_current else ""
        shown.append(Version(one, is_current, _bytes(one.manifest), missing))
    return shown


def _bytes(manifest: Mapping[str, Any]) -> int | None:
    if "store" not in manifest:
        return None
    own = [manifest["files"], *(shard["files"] for shard in manifest["shards"])]
    return sum(int(facts["bytes"]) for files in own for facts in files.values())


def _missing(index: IndexVersion, kept: Figures | None) -> str:
    lacking = next((one for one in kept.lacking if one.index == index.pk), None) if kept else None
    if lacking is None:
        return "not counted yet"
    parts = []
    if lacking.since:
        parts.append(f"{plural(lacking.since, 'pair')} that came after it")
    if lacking.restored:
        parts.append(f"{plural(lacking.restored, 'pair')} restored since")
    if lacking.restored is None:
        parts.append("its files are away or damaged")
    if not parts and kept and kept.stale:
        return "not counted since the last change"
    return ", ".join(parts)
