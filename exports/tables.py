"""The columns of a release's tables, and the digests that stand for people and controls.

Workers are salted hashes, the same in every release of a campaign. No table holds a clock time:
the same record makes the same bytes.
"""

from __future__ import annotations

import hashlib
import hmac

import pyarrow as pa

from exports.layout import ASSIGNMENTS, CONTROLS, JUDGMENTS

DIGEST_LENGTH = 20  # hexadecimal digits: enough to tell apart whatever there may be


def worker_digest(salt: str, worker: str) -> str:
    """`worker` as the crowd names them, which nobody finds without the salt."""
    return hmac.new(salt.encode(), worker.encode(), "sha256").hexdigest()[:DIGEST_LENGTH]


def control_digest(query: str, question: str) -> str:
    """Of a control's two questions: whoever holds a release can tell that none is in it."""
    both = f"{query}\x1f{question}"
    return hashlib.sha256(both.encode()).hexdigest()[:DIGEST_LENGTH]


# A valid vote a row, by query id, rank and position.
JUDGMENT_COLUMNS = pa.schema(
    [
        pa.field("query_id", pa.string(), nullable=False),
        pa.field("candidate_id", pa.string(), nullable=False),
        pa.field("rank", pa.int16(), nullable=False),
        pa.field("position", pa.int16(), nullable=False),  # from 1, by the time of submission
        pa.field("worker", pa.string(), nullable=False),
        pa.field("value", pa.int8(), nullable=False),
        pa.field("hit", pa.int32(), nullable=False),
    ]
)
# A piece of work that was handed in a row, in the order of submission.
ASSIGNMENT_COLUMNS = pa.schema(
    [
        pa.field("hit", pa.int32(), nullable=False),
        pa.field("worker", pa.string(), nullable=False),
        pa.field("status", pa.string(), nullable=False),  # submitted, approved or rejected
        pa.field("passed", pa.bool_()),  # null: not reviewed yet
        pa.field("discarded", pa.bool_(), nullable=False),  # paid, its votes do not count
        pa.field("cents", pa.int32(), nullable=False),  # what it cost, the fee included
    ]
)
# A control that was judged a row, by the order of the assignments, then by its place in the HIT.
CONTROL_COLUMNS = pa.schema(
    [
        pa.field("hit", pa.int32(), nullable=False),
        pa.field("worker", pa.string(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),  # positive or negative
        pa.field("control", pa.string(), nullable=False),  # control_digest of its texts
        pa.field("expected", pa.int8(), nullable=False),
        pa.field("given", pa.int8()),  # null: left out
    ]
)
TABLES = {
    JUDGMENTS: JUDGMENT_COLUMNS,
    ASSIGNMENTS: ASSIGNMENT_COLUMNS,
    CONTROLS: CONTROL_COLUMNS,
}
