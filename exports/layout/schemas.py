"""Every column of a release, told once: Parquet, TSV, Croissant, loading code and checks derive.

Workers are salted hashes, the same in every release of a campaign. No table holds a clock time:
the same record makes the same bytes.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import pyarrow as pa

from annotation.protocol.labels.majority import LabelSource
from annotation.protocol.labels.valid_votes import ASKED
from annotation.protocol.policy.tasks import PAPER_TASK
from exports.layout import rules
from exports.layout.files import ASSIGNMENTS, CANNOT_JUDGE, CONTROLS, JUDGMENTS
from exports.layout.manifest import is_aggregated, tells_sources
from exports.layout.rules import COUNT, ID, LABEL, NUMBER, TEXT, Rule
from retrieval.ranking.fusion import BM25, DENSE

HITS_APART = 10_000_000  # between the numbers of two crowds' HITs: more than a campaign has
DIGEST_LENGTH = 20  # hexadecimal digits: enough to tell apart whatever there may be


def worker_digest(salt: str, worker: str) -> str:
    """`worker` as the crowd names them, which nobody finds without the salt."""
    return hmac.new(salt.encode(), worker.encode(), "sha256").hexdigest()[:DIGEST_LENGTH]


def first_hit(crowd: int) -> int:
    """The least number of a HIT of this crowd, counted from 0 as campaign.json has them."""
    return crowd * HITS_APART + 1


def crowd_of(hit: int) -> int:
    return (hit - 1) // HITS_APART


def control_digest(query: str, question: str) -> str:
    """Of a control's two questions: a reader of a release can tell that none is in it."""
    both = f"{query}\x1f{question}"
    return hashlib.sha256(both.encode()).hexdigest()[:DIGEST_LENGTH]


@dataclass(frozen=True)
class Column:
    name: str
    type: pa.DataType
    description: str  # in Croissant
    null: bool = False


@dataclass(frozen=True)
class RecordColumn(Column):
    """A column of the splits' tables; the JSONL holds it under `key`, a dot for each object."""

    key: str = ""  # if it is not the column's name
    rule: Rule = TEXT  # for the value in the JSONL
    repeated: bool = False  # many rows hold the same value: Parquet keeps a dictionary

    @property
    def path(self) -> list[str]:
        """The last part is its name in `retrieval.ranking.records`."""
        return (self.key or self.name).split(".")


QUERY_ID = RecordColumn(
    "query_id",
    pa.string(),
    "The query's id, the same in every file",
    key="id",
    rule=ID,
    repeated=True,
)
CANDIDATE_ID = RecordColumn(
    "candidate_id",
    pa.string(),
    "The id of the question/answer pair, the same under every query",
    key="id",
    rule=ID,
)
RANK = RecordColumn(
    "rank",
    pa.int16(),
    "Place among the query's candidates, from 1, as the retriever ranked them",
    rule=rules.RANK,
    repeated=True,
)
# A labelled triplet a row, in the order of the JSONL: what is its query's, then its candidate's.
QUERY_COLUMNS = (
    QUERY_ID,
    RecordColumn("query", pa.string(), "The query's text", repeated=True),
)
CANDIDATE_COLUMNS = (
    CANDIDATE_ID,
    RecordColumn("question", pa.string(), "The candidate's question"),
    RecordColumn("answer", pa.string(), "The candidate's answer"),
    RANK,
    RecordColumn(
        "score",
        pa.float64(),
        "The retriever's cosine; empty where it is not known",
        rule=NUMBER,
        null=True,
    ),
    RecordColumn(
        "label",
        pa.int8(),
        PAPER_TASK.labels,
        rule=LABEL,
        repeated=True,
    ),
    RecordColumn(
        "yes",
        pa.int16(),
        "Valid votes for 1",
        key="votes.yes",
        rule=COUNT,
        repeated=True,
    ),
    RecordColumn("no", pa.int16(), "Valid votes for 0", key="votes.no", rule=COUNT, repeated=True),
)
LABEL_SOURCE = RecordColumn(
    "label_source",
    pa.string(),
    "What made the label: the majority of the valid votes, an expert who adjudicated, or an import",
    rule=rules.one_of("majority", "expert", "import"),
    repeated=True,
)
AGGREGATED_COLUMNS = (
    replace(
        LABEL_SOURCE,
        description="What made the label: the aggregator or the majority of the valid votes, an "
        "expert who adjudicated, or an import",
        rule=rules.one_of(*get_args(LabelSource)),
    ),
    RecordColumn(
        "posterior",
        pa.float64(),
        "The chance that the label is 1 by the votes alone; empty where too few labels of experts "
        "are known for one",
        key="aggregation.posterior",
        rule=NUMBER,
        null=True,
    ),
    RecordColumn(
        "majority",
        pa.int8(),
        "The majority of the valid votes; empty where there is none",
        key="aggregation.majority",
        rule=LABEL,
        null=True,
        repeated=True,
    ),
)
FINDERS = {DENSE: "the cosine", BM25: "BM25"}


def pooled_columns(retrievers: Sequence[str]) -> dict[str, RecordColumn]:
    """The candidate's rank in each retriever of a pool, by the retriever's name."""
    return {
        name: RecordColumn(
            f"{name}_rank",
            pa.int16(),
            f"Rank by {FINDERS[name]}; empty where it did not find the candidate",
            null=True,
            rule=rules.RANK,
            repeated=True,
        )
        for name in retrievers
    }


def record_columns(
    retrievers: Sequence[str] = (), extra: Sequence[RecordColumn] = ()
) -> tuple[RecordColumn, ...]:
    """`retrievers`: those that pooled the candidates. `extra`: those of `extra_columns`."""
    pooled = pooled_columns(retrievers).values()
    return (*QUERY_COLUMNS, *CANDIDATE_COLUMNS, *extra, *pooled)


def extra_columns(campaign: Mapping[str, Any]) -> tuple[RecordColumn, ...]:
    """Of the splits' tables, beyond those that every release has."""
    if is_aggregated(campaign):
        return AGGREGATED_COLUMNS
    return (LABEL_SOURCE,) if tells_sources(campaign) else ()


def arrow_schema(columns: Iterable[Column]) -> pa.Schema:
    return pa.schema([pa.field(each.name, each.type, nullable=each.null) for each in columns])


WORKER = Column("worker", pa.string(), "Salted hash of the worker")
HIT = Column("hit", pa.int32(), "Number of the HIT")
# A valid vote a row, by query id, rank and position.
JUDGMENT_COLUMNS = (
    QUERY_ID,
    CANDIDATE_ID,
    RANK,
    Column(
        "position",
        pa.int16(),
        "Place among the triplet's valid votes, from 1, by the time of submission",
    ),
    WORKER,
    Column("value", pa.int8(), "The vote: 1 or 0"),
    HIT,
)
# Valid work that could not judge a triplet a row, by query id, rank and time of submission.
CANNOT_JUDGE_COLUMNS = (
    QUERY_ID,
    CANDIDATE_ID,
    WORKER,
    Column("reason", pa.string(), "Why the worker could not judge it"),
    HIT,
)
# What the rule of votes may ask for, beside the status and who is excluded.
FACT_COLUMNS = (
    Column(
        "passed", pa.bool_(), "Whether no control was missed; empty before the review", null=True
    ),
    Column("took", pa.duration("us"), "Time from its acceptance to its submission"),
)
ASKED_COLUMNS = tuple(column for column in FACT_COLUMNS if column.name in ASKED)
FACTS = tuple(column.name for column in ASKED_COLUMNS)
# An assignment that was submitted a row, in the order of submission.
ASSIGNMENT_COLUMNS = (
    HIT,
    WORKER,
    Column("status", pa.string(), "submitted, approved or rejected"),
    *ASKED_COLUMNS,
    Column("discarded", pa.bool_(), "Paid, and its votes do not count"),
    Column("cents", pa.int32(), "What it cost, the fee included, in cents"),
)
# A control that was judged a row, by the order of the assignments, then by its place in the HIT.
CONTROL_COLUMNS = (
    HIT,
    WORKER,
    Column("kind", pa.string(), "positive or negative"),
    Column("control", pa.string(), "Hash of the control's two questions"),  # control_digest
    Column("expected", pa.int8(), "The right answer of the control"),
    Column(
        "given",
        pa.int8(),
        "The worker's answer; empty where it was left out, or could not be judged",
        null=True,
    ),
)
TABLE_COLUMNS = {
    JUDGMENTS: JUDGMENT_COLUMNS,
    ASSIGNMENTS: ASSIGNMENT_COLUMNS,
    CONTROLS: CONTROL_COLUMNS,
    CANNOT_JUDGE: CANNOT_JUDGE_COLUMNS,
}
TABLES = {name: arrow_schema(columns) for name, columns in TABLE_COLUMNS.items()}
RANKED_POSTERIOR = (
    "The chance that the label is 1 by the votes and the rank; empty where too few labels of "
    "experts are known for one"
)
DESCRIPTIONS = {
    column.name: column.description
    for columns in (
        record_columns(list(FINDERS), (*AGGREGATED_COLUMNS[1:], LABEL_SOURCE)),
        *TABLE_COLUMNS.values(),
    )
    for column in columns
}
