"""Calls to the crowd, made again."""

from annotation.access.roles import RUN
from annotation.models import Campaign
from annotation.operations.campaign.cached_outlook import known_failures
from annotation.operations.operation import Operation, Options, Result
from annotation.pipeline.outbox.messages import retry_failed


def messages_wait(count: int) -> str:
    return "1 call waits" if count == 1 else f"{count:,} calls wait"


def _preview_retry(campaign: Campaign, options: Options) -> list[str]:
    failed, note = known_failures(campaign)
    return [
        f"{failed:,} calls that the crowd has refused are made again, and those that wait for "
        "their turn are made now: each is made once, however often it is asked for.",
        *note,
    ]


def _execute_retry(campaign: Campaign, options: Options) -> Result:
    return {"refused_before": retry_failed(campaign)}


OPERATIONS = (
    Operation(
        "retry",
        "retry the calls to the crowd that failed or are waiting",
        RUN,
        _preview_retry,
        _execute_retry,
        spends=True,
        confirms=False,
        title="Retry the calls of",
        button="Retry the calls",
    ),
)
