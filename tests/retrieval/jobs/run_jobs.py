"""Files as they lie when they have been sent, and the worker that takes the job up."""

from collections.abc import Mapping

from django.contrib.auth.models import User

from retrieval.corpus.uploads import UploadedFile, ending_of, new_folder
from retrieval.jobs.handlers import HANDLERS
from retrieval.jobs.import_files import ImportRequest, request_import
from retrieval.jobs.queue import run
from retrieval.models import Job


def sent(files: Mapping[str, bytes], *, by: User | None = None, **wanted: object) -> Job:
    folder = new_folder()
    report = []
    for number, (name, content) in enumerate(files.items(), 1):
        stored = f"{number}{ending_of(name)}"
        (folder / stored).write_bytes(content)
        report.append(UploadedFile(stored, name, len(content)))
    return request_import(ImportRequest(**{"source": "s", **wanted}), report, folder, by=by)  # type: ignore[arg-type]


def worked(job: Job) -> Job:
    """By a worker that is free."""
    ended = run(job.pk, f"worker {job.attempts}", HANDLERS)
    assert ended is not None
    return ended


def facts(job: Job) -> list[dict[str, object]]:
    assert job.result is not None
    return list(job.result["files"])
