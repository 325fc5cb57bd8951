"""Every operation by its name."""

from collections.abc import Mapping

from annotation.operations import corpora, history, pairs, pool, second_crowd, turk
from annotation.operations.campaign import (
    assignments,
    budget,
    controls,
    dry_run,
    lifecycle,
    panels,
    pause_resume,
    pilots,
    pool_depth,
    retry,
    roles,
    steps,
    workers,
)
from annotation.operations.operation import LongOperation, Operation

OPERATIONS: Mapping[str, Operation] = {
    operation.name: operation
    for module in (
        budget,
        pause_resume,
        lifecycle,
        retry,
        workers,
        assignments,
        roles,
        controls,
        panels,
        pilots,
        second_crowd,
    )
    for operation in module.OPERATIONS
}
DATABASE_OPERATIONS: Mapping[str, Operation] = {
    operation.name: operation
    for module in (corpora, history, pairs, pool, turk)
    for operation in module.OPERATIONS
}
LONG_OPERATIONS: Mapping[str, LongOperation] = {
    operation.name: operation
    for module in (steps, dry_run, pool_depth)
    for operation in module.OPERATIONS
}
