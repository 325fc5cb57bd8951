"""What the JSON of a release must look like: code that reads it further on need not ask again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from annotation.protocol.aggregation.choice import ADJUDICATED, CONTROLS
from annotation.protocol.labels.claims import NAMES
from annotation.protocol.screening.control import RejectionReason
from exports.layout.files import FORMAT_VERSIONS
from exports.layout.rules import COUNT, FLAG, ID, LABEL, NUMBER, OBJECT, TEXT, WHOLE, Rule, whole
from exports.layout.schemas import (
    CANDIDATE_COLUMNS,
    QUERY_COLUMNS,
    RecordColumn,
    pooled_columns,
)
from exports.splits.splits import SPLITS
from exports.verify.findings import Findings, quote
from retrieval.ranking.fusion import RETRIEVERS

LONGEST = 64 * 2**20  # bytes of a line, or of a document
SOURCES = ("import", "adjudication", "sample")


@dataclass(frozen=True)
class Each:
    """A list of such values."""

    schema: Any


@dataclass(frozen=True)
class OrNull:
    schema: Any


@dataclass(frozen=True)
class Maybe:
    """A field that need not be there."""

    schema: Any


@dataclass(frozen=True)
class AtLeast:
    """An object with these fields, and maybe others."""

    fields: Mapping[str, Any]


SPLIT = Rule(" or ".join(SPLITS), lambda value: value in SPLITS)
WAY = Rule("clusters or random", lambda value: value in ("clusters", "random"))
SOURCE = Rule(" or ".join(SOURCES), lambda value: value in SOURCES)
VERSION = Rule(
    " or ".join(map(str, FORMAT_VERSIONS)),
    lambda value: type(value) is int and value in FORMAT_VERSIONS,
)
POOL = Rule(
    f"some of {', '.join(RETRIEVERS)}, each once",
    lambda value: isinstance(value, list) and value == [n for n in RETRIEVERS if n in value] != [],
)

PLACEMENT_SCHEMA = {
    "id": ID,
    "split": OrNull(SPLIT),
    "cluster": ID,
    "candidates": COUNT,
    "labelled": COUNT,
    "complete": FLAG,
    "reason": OrNull(TEXT),
}
GOLD_SCHEMA = {
    "query_id": ID,
    "candidate_id": ID,
    "expert": ID,
    "label": LABEL,
    "blind_label": OrNull(LABEL),
    "source": SOURCE,
}
RELEASE_SCHEMA = {
    "format": ID,
    "format_version": VERSION,
    "campaign": ID,
    "number": whole(1),
    "options": {"partial": FLAG, "split": WAY, "judgments": FLAG, "certify": Maybe(NUMBER)},
    "previous": OrNull({"number": whole(1), "manifest_sha256": ID}),
    "nearness": {"jaccard": NUMBER, "cosine": NUMBER, "vectors": FLAG},
    "versions": OBJECT,
}
AGGREGATION_SCHEMA = {
    "aggregator": Rule(" or ".join(NAMES), lambda value: value in NAMES),
    "why": TEXT,
    "known": Maybe({CONTROLS: COUNT, ADJUDICATED: COUNT}),  # not in the oldest
    "offset": NUMBER,
    "slope": NUMBER,
    "offset_error": Maybe(NUMBER),  # nor these
    "slope_error": Maybe(NUMBER),
    "error_correlation": Maybe(NUMBER),
    "sampled": OrNull(COUNT),
    # Only where ranks are a prior.
    "prior": Maybe(NUMBER),
    "rank_slope": Maybe(NUMBER),
}
CROWD_SCHEMA = {
    "campaign": ID,
    "crowd": ID,
    "policy": OBJECT,
    "policy_sha256": ID,
    "seed": WHOLE,
    "first_hit": whole(1),
    "excluded_workers": Each(ID),
    "cost_cents": COUNT,
    "bonus_cents": WHOLE,
    "billed_cents": Maybe(WHOLE),
    "query_ids": Each(ID),
}
CAMPAIGN_SCHEMA = AtLeast(
    {
        "campaign": ID,
        "policy": OBJECT,
        "policy_sha256": ID,
        "seeds": AtLeast({"split": WHOLE}),
        "queries": AtLeast({"origin": ID, "total": COUNT, "retrievers": Maybe(POOL)}),
        # The oldest releases name none.
        "corpus": Maybe({"name": ID, "sources": OrNull(Each(ID))}),
        "retriever": OrNull(OBJECT),
        "instructions": Each(AtLeast({"version": COUNT, "file": ID, "sha256": ID})),
        "sources": Each(OBJECT),
        "triplets": {"triplets": COUNT, "labelled": COUNT, "open": COUNT, "unresolved": COUNT},
        "excluded_workers": Each(ID),
        "rejection_reasons": {reason.key: COUNT for reason in RejectionReason},
        "cost_cents": COUNT,
        "bonus_cents": WHOLE,
        # Only where the crowd's own bill differs from the books.
        "billed_cents": Maybe(WHOLE),
        # Only where a second crowd judged some of the queries.
        "crowds": Maybe(Each(CROWD_SCHEMA)),
        # Only where labels need not be majorities, of each crowd.
        "aggregation": Maybe(Each(AGGREGATION_SCHEMA)),
    }
)


def gold_schema(*, decides: bool) -> Mapping[str, Any]:
    """`decides`: whether adjudication does."""
    return {**GOLD_SCHEMA, **({"adjudicated": FLAG} if decides else {})}


def record_schema(retrievers: Sequence[str], extra: Sequence[RecordColumn]) -> Mapping[str, Any]:
    """A candidate tells which of the retrievers found it; in an imported dataset, it may."""
    candidate = _object((*CANDIDATE_COLUMNS, *extra))
    if "aggregation" in candidate:
        candidate["aggregation"]["overruled"] = Maybe(LABEL)
    if retrievers:
        ranks = {name: Maybe(each.rule) for name, each in pooled_columns(retrievers).items()}
        candidate["found_by"] = Maybe(ranks)
    return {**_object(QUERY_COLUMNS), "candidates": Each(candidate)}


def _object(columns: Iterable[RecordColumn]) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for column in columns:
        *parents, name = column.path
        fields = schema
        for parent in parents:
            fields = fields.setdefault(parent, {})
        fields[name] = OrNull(column.rule) if column.null else column.rule
    return schema


def faults(value: Any, schema: Any, where: str = "") -> Iterator[str]:
    """What of `value` is not as `schema` wants it; `where` it stands comes first."""
    if isinstance(schema, Maybe):
        yield from faults(value, schema.schema, where)
    elif isinstance(schema, OrNull):
        if value is not None:
            yield from faults(value, schema.schema, where)
    elif isinstance(schema, Rule):
        if not schema.holds(value):
            yield f"{where or 'it'} must be {schema.demand}, not {quote(value)}"
    elif isinstance(schema, Each):
        if not isinstance(value, list):
            yield f"{where or 'it'} must be a list, not {quote(value)}"
            return
        for number, each in enumerate(value, start=1):
            yield from faults(each, schema.schema, f"{where} {number}".strip())
    else:
        yield from _of_object(value, schema, where)


def _of_object(value: Any, schema: Any, where: str) -> Iterator[str]:
    fields = schema.fields if isinstance(schema, AtLeast) else schema
    if not isinstance(value, dict):
        yield f"{where or 'it'} must be an object, not {quote(value)}"
        return
    dot = f"{where}." if where else ""
    for name in fields.keys() - value.keys():
        if not isinstance(fields[name], Maybe):
            yield f"{dot}{name} is missing"
    if not isinstance(schema, AtLeast):
        for name in value.keys() - fields.keys():
            yield f"{dot}{quote(name)} is no field of it"
    for name in [name for name in fields if name in value]:
        yield from faults(value[name], fields[name], f"{dot}{name}")


def read_object(path: Path, schema: Any, findings: Findings) -> dict[str, Any] | None:
    """None, and differences, where the file is not an object of that schema."""
    if path.stat().st_size > LONGEST:
        findings.damage(path.name, f"{path.name}: larger than any release's")
        return None
    try:
        value = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError as error:
        findings.damage(path.name, f"{path.name}: no JSON ({error})")
        return None
    wrong = list(faults(value, schema))
    for fault in wrong:
        findings.damage(path.name, f"{path.name}: {fault}")
    return None if wrong else value


def read_lines(path: Path, schema: Any, findings: Findings) -> Iterator[tuple[int, bytes, Any]]:
    """Number, text and value of each line that is as `schema` wants it; the others are named."""
    with path.open("rb") as file:
        for number, text in enumerate(iter(lambda: file.readline(LONGEST + 1), b""), start=1):
            where = f"{path.name}, line {number}"
            if len(text) > LONGEST:
                findings.damage(path.name, f"{where}: longer than any release's")
                return
            try:
                value = orjson.loads(text)
            except orjson.JSONDecodeError as error:
                findings.damage(path.name, f"{where}: no JSON ({error})")
                continue
            wrong = list(faults(value, schema))
            for fault in wrong:
                findings.damage(path.name, f"{where}: {fault}")
            if not wrong:
                yield number, text, value
