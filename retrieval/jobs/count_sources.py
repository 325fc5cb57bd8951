"""The figures of the database, counted by a job and kept: the tables are too long to count at
each look."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Max, Q

from core.errors import UserError
from retrieval.corpus.sources.counts import SourceCounts, Words, source_counts
from retrieval.index.versions import current_indexes, restored_pairs
from retrieval.jobs.queue import Result, Watch, request
from retrieval.models import IndexVersion, Job, QaPair
from retrieval.models.corpus import pairs_of

KIND = "count"
SUBJECT = "the database"


@dataclass(frozen=True)
class Lacking:
    """What the index that is current does not hold."""

    index: int
    since: int  # pairs, and sources' pairs, added after it was made
    restored: int | None  # withdrawn when it was made, and back since; None: its files are away


@dataclass(frozen=True)
class Figures:
    sources: list[SourceCounts]
    total: SourceCounts
    lacking: list[Lacking]  # of each corpus with an index
    counted_at: datetime
    stale: bool  # pairs have come or were withdrawn since


def ask_to_count(by: User | None) -> Job | None:
    """None where it is being counted already."""
    with suppress(UserError):
        return request(KIND, SUBJECT, {}, by=by)
    return None


def count_sources(job: Job, watch: Watch) -> Result:
    """The marks are read first: what comes while it counts makes the figures stale, not wrong."""
    watch.stage("counting the pairs of each source")(0)
    marks = _marks()
    counts, total = source_counts()
    lacking = [_lacking(one) for one in current_indexes()]
    return {
        "sources": [asdict(one) for one in counts],
        "total": asdict(total),
        "lacking": [asdict(one) for one in lacking],
        "marks": marks,
    }


def newest_figures() -> Figures | None:
    jobs = Job.objects.filter(subject=SUBJECT, kind=KIND, state=Job.State.DONE)
    job = jobs.order_by("-requested_at").first()
    if job is None or job.result is None or job.ended_at is None:
        return None
    kept = job.result
    return Figures(
        sources=[_counts(one) for one in kept["sources"]],
        total=_counts(kept["total"]),
        lacking=[Lacking(**one) for one in kept["lacking"]],
        counted_at=job.ended_at,
        stale=kept["marks"] != _marks(),
    )


def _marks() -> dict[str, object]:
    """Each from the end of an index, however long the table is."""
    newest = QaPair.objects.aggregate(newest=Max("pk"))["newest"]
    gone = QaPair.objects.filter(withdrawn_at__isnull=False)
    last = gone.aggregate(last=Max("withdrawn_at"))["last"]
    return {"newest": newest, "withdrawn": last and last.isoformat()}


def _lacking(index: IndexVersion) -> Lacking:
    restored = None
    # One of an older Quorum, or damaged, is told where it is used.
    with suppress(OSError, EOFError, ValueError):
        restored = restored_pairs(index)
    there = pairs_of(index.corpus).filter(withdrawn_at=None)
    joined = Q(pk__gt=index.newest_pair)
    if index.corpus is not None:
        joined |= ~Q(source__in=index.manifest.get("sources", ()))
    since = there.filter(joined).count()
    return Lacking(index.pk, since, restored)


def _counts(kept: Mapping[str, Any]) -> SourceCounts:
    words = {name: Words(**kept[name]) for name in ("question_words", "answer_words")}
    return SourceCounts(**{**kept, **words})
