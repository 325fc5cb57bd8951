"""Every operation on a campaign, by its name."""

from collections.abc import Mapping

from annotation.operations.campaign import (
    assignments,
    budget,
    lifecycle,
    pause_resume,
    retry,
    workers,
)
from annotation.operations.operation import Operation

OPERATIONS: Mapping[str, Operation] = {
    operation.name: operation
    for module in (budget, pause_resume, lifecycle, retry, workers, assignments)
    for operation in module.OPERATIONS
}
