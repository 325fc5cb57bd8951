"""Files that were sent to the site, into the database: a job, each file in a transaction.

What has become of a file is written with its pairs, so that a job that is cut off goes on with the
next one, and says in the end what it would have said.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import OperationalError

from core.errors import UserError
from core.files.disk_full import is_full
from core.progress import Progress
from retrieval.corpus.corpora import corpus_named, include
from retrieval.corpus.ingest import IngestResult, ingest
from retrieval.corpus.pair_reader import Reading, check_license, check_source
from retrieval.corpus.rejected_rows import Rejects
from retrieval.corpus.sources.formats import FORMATS
from retrieval.corpus.sources.top_share import TopShare, share_of
from retrieval.corpus.uploads import (
    REJECTED,
    UploadedFile,
    folder_of,
    require_moderate,
    sweep,
    throw_away_sent,
    waiting_folders,
)
from retrieval.encoders.lazy import load_scorer
from retrieval.jobs.count_sources import ask_to_count
from retrieval.jobs.queue import Result, Watch, keep, request
from retrieval.models import Job
from retrieval.models.corpus import ALL
from retrieval.registry.registry import resolve_model

KIND = "ingest"
SHOWN_NAME = 60
# A file may hold more rows than a disk has room for their reasons.
MOST_REJECTED = 10_000
NO_ROOM = (
    "The site's disk is full and nothing of {name} was imported: ask the administrator to free "
    "disk space, then send it again."
)
LOST = (
    "{name} is not where the worker looks for it: send it again, and make sure that the site and "
    "the worker share one QUORUM_DATA."
)
SUMS = ("read", "added", "duplicates", "withdrawn", "elsewhere", "rejected")


@dataclass(frozen=True)
class ImportRequest:
    """How the files are read: the options of `quorum corpus import`."""

    source: str
    license: str = ""
    format: str = ""  # empty: by the files' endings
    share: str = ""  # of the pairs, the best: 10% or 0.1; empty: all
    score_field: str = ""
    by_encoder: bool = False  # scored by the site's own
    corpus: str = ALL  # that the source joins
    index: bool = False  # build the corpus's index again afterwards

    def checked(self) -> "ImportRequest":
        if self.format and self.format not in FORMATS:
            raise UserError(f"There is no format {self.format!r}: choose one from the list.")
        if self.share:
            share_of(self.share)
            if bool(self.score_field) == self.by_encoder:
                raise UserError(
                    "Choose how pairs are ranked: by a column of the files, or by the site's "
                    "encoder."
                )
        elif self.score_field or self.by_encoder:
            raise UserError("Enter the share of pairs to keep, such as 10% or 0.1.")
        corpus_named(self.corpus)
        source, license = check_source(self.source), check_license(self.license)
        return ImportRequest(**{**asdict(self), "source": source, "license": license})


def subject_of(source: str) -> str:
    """Two imports into one source wait for each other; no campaign has such a name."""
    longest: int = Job._meta.get_field("subject").max_length or 0
    return f"source {source}"[:longest]


def request_import(
    wanted: ImportRequest, files: Sequence[UploadedFile], folder: Path, *, by: User | None
) -> Job:
    """UserError where the source is being imported into already, or what is wanted cannot be."""
    wanted = wanted.checked()
    arguments = asdict(wanted) | {"folder": folder.name, "files": [asdict(one) for one in files]}
    return request(KIND, subject_of(wanted.source), arguments, by=by)


def import_files(job: Job, watch: Watch) -> Result:
    files = [UploadedFile(**one) for one in job.arguments["files"]]
    folder = folder_of(job.arguments["folder"])
    done: list[dict[str, Any]] = list((job.result or {}).get("files", []))
    try:
        for number, file in enumerate(files[len(done) :], len(done) + 1):
            _Import(job, watch, folder / file.stored, file.name, number).run(done)
    except UserError:
        _remove(folder, files)
        raise
    _remove(folder, files)
    ask_to_count(job.requested_by)
    return _result(done)


def rejected_path(folder: Path, number: int) -> Path:
    return folder / f"{REJECTED}{number}.jsonl"


def rejected_of(job: Job, number: int) -> Path:
    """Where the refused rows of one of its files lie, if there are any and it is not long ago."""
    return rejected_path(folder_of(job.arguments["folder"]), number)


def rejected_rows(job: Job, number: int) -> Iterator[dict[str, Any]]:
    """Each with its line, the reason and the text."""
    path = rejected_of(job, number)
    if not path.is_file():
        return
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


@dataclass(frozen=True)
class _Import:
    """One file of a job."""

    job: Job
    watch: Watch
    path: Path
    name: str
    number: int  # from 1

    def run(self, done: list[dict[str, Any]]) -> None:
        def conclude(result: IngestResult) -> None:
            done.append(self._facts(result))
            if corpus := corpus_named(self.job.arguments.get("corpus", ALL)):
                include(corpus, self.job.arguments["source"])
            keep(self.job, _result(done))

        try:
            self._ingest(conclude)
        except UserError as error:
            raise UserError(self._message(str(error), done)) from error
        except (OSError, OperationalError) as error:
            if not is_full(error):
                raise
            raise UserError(self._message(NO_ROOM.format(name=self.name), done)) from error

    def _ingest(self, conclude: Callable[[IngestResult], object]) -> None:
        wanted = self.job.arguments
        if not self.path.is_file():
            raise UserError(LOST.format(name=self.name))
        require_moderate(self.path, self._stage("unpacking"))
        best = _best(wanted)
        if best is None:
            self._check()
        ingest(
            self.path,
            wanted["source"],
            license=wanted["license"],
            format=wanted["format"] or None,
            best=best,
            rejects=Rejects(self._rejected, MOST_REJECTED),
            conclude=conclude,
            progress=self._stage("adding the pairs of", times=2 if best else 1),
        )

    def _check(self) -> None:
        """Read once without the database: what is wrong with the whole file is told before it is
        locked, and on SQLite nobody sees how far the reading is once it is."""
        wanted = self.job.arguments
        reading = Reading(self.path, wanted["source"], "", wanted["format"] or None, None)
        with Rejects(self._rejected, MOST_REJECTED) as rejects:
            for batch in reading.batches(self._stage("reading")):
                for refused in batch.refused:
                    rejects.add(*refused)

    def _stage(self, doing: str, *, times: int = 1) -> Progress:
        """Counts the file's bytes, which are read so many times."""
        return self.watch.stage(
            f"{doing} {self.name[:SHOWN_NAME]}", self.path.stat().st_size * times
        )

    @property
    def _rejected(self) -> Path:
        return rejected_path(self.path.parent, self.number)

    def _facts(self, result: IngestResult) -> dict[str, Any]:
        facts = {name: getattr(result, name) for name in SUMS}
        best = result.best and asdict(result.best)
        return {"name": self.name, **facts, "skipped": dict(result.skipped), "best": best}

    def _message(self, sentence: str, done: Sequence[object]) -> str:
        """Without the places of files, which say nothing to people."""
        rejected = f"(all of them are in {self._rejected})"
        sentence = sentence.replace(rejected, "(the rejected rows are kept)")
        sentence = sentence.replace(str(self.path), self.name)
        before = f" Files imported before it: {len(done)}." if done else ""
        return sentence + before


def _best(wanted: Mapping[str, Any]) -> TopShare | None:
    if not wanted["share"]:
        return None
    scorer = None
    if wanted["by_encoder"]:
        scorer = load_scorer(resolve_model(settings.ENCODER_MODEL), settings.ENCODER_DEVICE)
    return TopShare(share_of(wanted["share"]), wanted["score_field"], scorer)


def _result(done: Sequence[Mapping[str, Any]]) -> Result:
    """The files, and what they come to together."""
    sums = {name: sum(one[name] for one in done) for name in SUMS}
    return {**sums, "files": list(done)}


def _remove(folder: Path, files: Sequence[UploadedFile]) -> None:
    """The rejected rows stay; a file that cannot be removed goes with its folder, later."""
    for file in files:
        with suppress(OSError):
            (folder / file.stored).unlink(missing_ok=True)


def tidy_uploads() -> None:
    """Files of imports that are over, however they ended, and of those that nobody asked for."""
    sweep()
    under_way = Job.objects.filter(kind=KIND, state__in=[Job.State.QUEUED, Job.State.RUNNING])
    wanted = set(under_way.values_list("arguments__folder", flat=True))
    for folder in waiting_folders():
        if folder.name not in wanted:
            throw_away_sent(folder)
