"""The handlers of jobs, by kind."""

from functools import partial

from annotation.crowd.port import CrowdError
from annotation.models import Campaign, Role
from annotation.operations.campaigns import KIND as CREATE
from annotation.operations.campaigns import NOBODY, create_by_job
from annotation.operations.operation import LongOperation, Run, Unfinished
from annotation.operations.registry import LONG_OPERATIONS
from core.errors import UserError
from retrieval.jobs.handlers import HANDLERS as DATABASE_HANDLERS
from retrieval.jobs.queue import Handler, Result, Watch, keep
from retrieval.models import Job


def handler_of(operation: LongOperation) -> Handler:
    def handle(job: Job, watch: Watch) -> Result:
        campaign = Campaign.objects.get(name=job.subject)
        # Real money was confirmed when the job was requested, or when the campaign was published.
        options = operation.complete_command(job.arguments) | {"live": True}
        try:
            return operation.run(campaign, options, Run(watch.stage, own=partial(_own, job)))
        except Unfinished as error:
            keep(job, error.result)
            raise
        except CrowdError as error:
            raise UserError(str(error)) from error

    return handle


def _own(job: Job, campaign: Campaign) -> None:
    if job.requested_by is None or not job.requested_by.is_active:
        raise UserError(NOBODY)
    Role.objects.create(user=job.requested_by, campaign=campaign, name=Role.Name.OWNER)


HANDLERS: dict[str, Handler] = {
    **DATABASE_HANDLERS,
    CREATE: create_by_job,
    **{name: handler_of(operation) for name, operation in LONG_OPERATIONS.items()},
}


def register(kind: str, handler: Handler) -> None:
    """Of a package that stands above this one."""
    HANDLERS[kind] = handler
