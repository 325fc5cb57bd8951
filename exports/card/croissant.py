"""The release in Croissant 1.0 (JSON-LD): its files with their checksums, its tables by column."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from annotation.protocol.policy.tasks import TaskType, task_of
from exports.card.licences import bibtex, named
from exports.card.origin import corpus_in_words
from exports.formats.registry import FORMATS
from exports.layout.files import CAMPAIGN, CROISSANT, MANIFEST, OF_THE_ANNOTATORS, RELEASE
from exports.layout.manifest import has_rank_prior
from exports.layout.schemas import DESCRIPTIONS, RANKED_POSTERIOR
from exports.splits.splits import SPLITS

VERSION = "http://mlcommons.org/croissant/1.0"
# The vocabulary that the specification prescribes, word for word.
CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
MEDIA = {
    ".jsonl": "application/jsonlines",
    ".json": "application/json",
    ".md": "text/markdown",
    ".svg": "image/svg+xml",
} | {suffix: media for each in FORMATS for suffix, media in each.media.items()}


def croissant(folder: Path) -> bytes:
    """Of all files but itself and the manifest, which holds its checksum."""
    release = orjson.loads((folder / RELEASE).read_bytes())
    facts = orjson.loads((folder / CAMPAIGN).read_bytes())
    number, corpus, task = release["number"], corpus_in_words(facts), task_of(facts["policy"])
    described = {**DESCRIPTIONS, "label": task.labels}
    if has_rank_prior(facts):
        described["posterior"] = RANKED_POSTERIOR
    values = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": VERSION,
        "name": f"{release['campaign']}-{number}",
        "description": (
            f"{_what(task)}, and a label on every triplet that says whether {task.purpose}."
            f"{f' Its pairs are of the corpus {corpus}.' if corpus else ''}"
        ),
        "version": f"{number}.0.0",
        "citeAs": bibtex(release["campaign"], number),
        **_licences(facts),
        "keywords": list(task.keywords),
        "distribution": [_file(folder, path) for path in _paths(folder)],
        "recordSet": _record_sets(folder, described),
    }
    return json.dumps(values, ensure_ascii=False, allow_nan=False, indent=1).encode() + b"\n"


def _what(task: TaskType) -> str:
    if task.brings_candidates:
        return "Queries, each with answers that were proposed for it"
    return (
        "A question-ranking dataset: queries, each with the question/answer pairs that a "
        "retriever ranked highest for it"
    )


def _licences(facts: Mapping[str, Any]) -> dict[str, list[str]]:
    stated = [licence for licence in named(facts["sources"]) if licence]
    return {"license": stated} if stated else {}


def _paths(folder: Path) -> list[str]:
    paths = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    return sorted(set(paths) - {CROISSANT, MANIFEST})


def _file(folder: Path, path: str) -> dict[str, str]:
    with (folder / path).open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {
        "@type": "cr:FileObject",
        "@id": path,
        "name": path,
        "contentUrl": path,
        "contentSize": f"{(folder / path).stat().st_size} B",
        "encodingFormat": MEDIA.get(Path(path).suffix, "application/octet-stream"),
        "sha256": digest,
    }


def _record_sets(folder: Path, described: Mapping[str, str]) -> list[dict[str, Any]]:
    tables = {split: f"parquet/{split}.parquet" for split in SPLITS}
    tables |= {Path(name).stem: name for name in OF_THE_ANNOTATORS if (folder / name).exists()}
    return [_record_set(folder, name, path, described) for name, path in tables.items()]


def _record_set(folder: Path, name: str, path: str, described: Mapping[str, str]) -> dict[str, Any]:
    what = f"The labelled triplets of {name}" if name in SPLITS else f"The campaign's {name}"
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": f"{what}, a row each",
        "field": [_field(name, path, one, described) for one in pq.read_schema(folder / path)],
    }


def _field(
    record_set: str, path: str, column: pa.Field[Any], described: Mapping[str, str]
) -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"{record_set}/{column.name}",
        "name": column.name,
        "description": described[column.name],
        "dataType": _data_type(column.type),
        "source": {"fileObject": {"@id": path}, "extract": {"column": column.name}},
    }


def _data_type(column: pa.DataType) -> str:
    if pa.types.is_integer(column):
        return "sc:Integer"
    if pa.types.is_floating(column):
        return "sc:Float"
    return "sc:Boolean" if pa.types.is_boolean(column) else "sc:Text"
