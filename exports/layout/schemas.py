"""The columns of a release's tables, and the digests that stand for people and controls.

Workers are salted hashes, the same in every release of a campaign. No table holds a clock time:
the same record makes the same bytes.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

import pyarrow as pa

from exports.layout.files import ASSIGNMENTS, CONTROLS, JUDGMENTS

DIGEST_LENGTH = 20  # hexadecimal digits: enough to tell apart whatever there may be


def worker_digest(salt: str, worker: str) -> str:
    """`worker` as the crowd names them, which nobody finds without the salt."""
    return hmac.new(salt.encode(), worker.encode(), "sha256").hexdigest()[:DIGEST_LENGTH]


def control_digest(query: str, question: str) -> str:
    """Of a control's two questions: whoever holds a release can tell that none is in it."""
    both = f"{query}\x1f{question}"
    return hashlib.sha256(both.encode()).hexdigest()[:DIGEST_LENGTH]


def _column(name: str, kind: pa.DataType, *, null: bool = False) -> pa.Field[Any]:
    return pa.field(name, kind, nullable=null)


# A valid vote a row, by query id, rank and position.
JUDGMENT_COLUMNS = pa.schema(
    [
        _column("query_id", pa.string()),
        _column("candidate_id", pa.string()),
        _column("rank", pa.int16()),
        _column("position", pa.int16()),  # from 1, by the time of submission
        _column("worker", pa.string()),
        _column("value", pa.int8()),
        _column("hit", pa.int32()),
    ]
)
# A piece of work that was handed in a row, in the order of submission.
ASSIGNMENT_COLUMNS = pa.schema(
    [
        _column("hit", pa.int32()),
        _column("worker", pa.string()),
        _column("status", pa.string()),  # submitted, approved or rejected
        _column("passed", pa.bool_(), null=True),  # null: not reviewed yet
        _column("discarded", pa.bool_()),  # paid, its votes do not count
        _column("cents", pa.int32()),  # what it cost, the fee included
    ]
)
# A control that was judged a row, by the order of the assignments, then by its place in the HIT.
CONTROL_COLUMNS = pa.schema(
    [
        _column("hit", pa.int32()),
        _column("worker", pa.string()),
        _column("kind", pa.string()),  # positive or negative
        _column("control", pa.string()),  # control_digest of its texts
        _column("expected", pa.int8()),
        _column("given", pa.int8(), null=True),  # null: left out
    ]
)
TABLES = {
    JUDGMENTS: JUDGMENT_COLUMNS,
    ASSIGNMENTS: ASSIGNMENT_COLUMNS,
    CONTROLS: CONTROL_COLUMNS,
}
