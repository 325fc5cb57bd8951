"""Long work that people ask for by a page or a program: its job, written to the log with it."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from django.db import transaction

from annotation.access.audit_log import Actor, record
from annotation.jobs.tasks import run_job, soon
from annotation.models import Campaign
from annotation.operations.operation import LongOperation, Options
from core.errors import UserError
from retrieval.corpus.uploads import UploadedFile, check_sent
from retrieval.jobs import queue
from retrieval.jobs.count_sources import ask_to_count
from retrieval.jobs.handlers import IndexRequest, request_index
from retrieval.jobs.import_files import ImportRequest, request_import
from retrieval.models import Job


@transaction.atomic
def request_operation(
    operation: LongOperation, campaign: Campaign, options: Options, *, by: Actor
) -> Job:
    """UserError where it is impossible, or the same is under way."""
    order = operation.order(campaign, operation.complete(options))
    job = queue.request(operation.name, campaign.name, order.arguments, by=by.user)
    if operation.logged:
        logged = {**order.arguments, **order.details, "job": job.pk}
        record(by, operation.name, campaign=campaign, details=logged)
    soon(run_job, job.pk)
    return job


def ask_to_import(
    by: Actor, wanted: ImportRequest, files: Sequence[UploadedFile], folder: Path
) -> Job:
    """UserError where the files are none that can be read so."""
    if not files:
        raise UserError("No file was sent: choose one, or drop it on the page.")
    check_sent(folder, files, plain=not wanted.format)
    with transaction.atomic():
        job = request_import(wanted, files, folder, by=by.user)
        details = asdict(wanted) | {"files": [one.name for one in files], "job": job.pk}
        record(by, "import pairs", subject=wanted.source, details=details)
        soon(run_job, job.pk)
    return job


@transaction.atomic
def ask_for_index(by: Actor, wanted: IndexRequest) -> Job:
    job = request_index(wanted, by=by.user)
    details = asdict(wanted) | {"job": job.pk}
    record(by, "build index", subject=job.subject, details=details)
    soon(run_job, job.pk)
    return job


@transaction.atomic
def ask_for_count(by: Actor) -> Job:
    """It reads the database and changes nothing in it."""
    job = ask_to_count(by.user)
    if job is None:
        raise UserError("The database is being counted already: wait until that ends.")
    soon(run_job, job.pk)
    return job
