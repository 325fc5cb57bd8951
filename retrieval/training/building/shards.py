"""A material as Quorum builds it: a folder of shards, and a manifest that is written last.

    FOLDER/    request.json, rows-00000.jsonl, rows-00001.jsonl, ..., manifest.json

A folder without a manifest is a build that was stopped, and is gone on with: a shard is whole or
not there. The same request makes the same bytes.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from core.errors import UserError
from core.files.whole import write_whole
from core.progress import Progress, no_progress
from retrieval.vectors.checksums import sha256_of
from retrieval.vectors.folder import one_build

FORMAT, VERSION = "quorum-material", 1
MANIFEST, REQUEST = "manifest.json", "request.json"
SHARD = "rows-{:05}.jsonl"


def draws(seed: int, epochs: int, row: int) -> Iterator[random.Random]:
    """The row's own in each epoch."""
    for epoch in range(epochs):
        place = f"{seed}/{row}" if not epoch else f"{seed}/{row}/{epoch}"
        yield random.Random(place)  # noqa: S311 - to be repeated


def of_epochs(epochs: int) -> dict[str, int]:
    """As an option of a request: one epoch is as it was before there were more."""
    if epochs < 1:
        raise UserError(f"{epochs} epochs have nothing to draw: take 1 or more.")
    return {"epochs": epochs} if epochs > 1 else {}


@dataclass(frozen=True)
class Request:
    """All that decides the rows."""

    kind: str
    seed: int
    options: Mapping[str, Any]
    inputs: Mapping[str, str]  # digests of what it is made from

    def to_dict(self) -> dict[str, Any]:
        return json.loads(json.dumps(asdict(self)))  # type: ignore[no-any-return]


def build(
    folder: Path,
    request: Request,
    shards: int,
    rows_of: Callable[[int], Iterable[Mapping[str, Any]]],
    *,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """The manifest, and `unchanged`: whether it was there already.

    `progress` counts shards. UserError where the folder holds anything else.
    """
    with one_build(folder, f"The material {folder} is being built"):
        if known := _claimed(folder, request):
            return {**known, "unchanged": True}
        for number in range(shards):
            path = folder / SHARD.format(number)
            if not path.exists():
                write_whole(path, (orjson.dumps(row) + b"\n" for row in rows_of(number)))
            progress(1)
        files = {path.name: _facts(path) for path in sorted(folder.glob("rows-*.jsonl"))}
        manifest = {
            "format": FORMAT,
            "format_version": VERSION,
            **request.to_dict(),
            "rows": sum(facts["rows"] for facts in files.values()),
            "files": files,
        }
        write_whole(folder / MANIFEST, [orjson.dumps(manifest, option=orjson.OPT_INDENT_2) + b"\n"])
        (folder / REQUEST).unlink()
    return {**manifest, "unchanged": False}


def read_manifest(folder: Path) -> dict[str, Any]:
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
        if manifest["format"] == FORMAT and isinstance(manifest["files"], dict):
            return dict(manifest)
    except (OSError, ValueError, KeyError, TypeError):
        pass
    if not folder.is_dir():
        raise UserError(f"{folder} is no folder that `quorum material` built: name one.")
    raise UserError(
        f"{folder} holds no whole material: its {MANIFEST} is missing, broken, or a release's. Run "
        "the command that builds it again, name another folder, or say `kind: release`."
    )


def shards_of(folder: Path) -> Iterator[Path]:
    """In order; UserError where one is not as its manifest says."""
    for name, facts in sorted(read_manifest(folder)["files"].items()):
        path = folder / Path(name).name
        if not path.is_file() or sha256_of(path) != facts["sha256"]:
            raise UserError(
                f"{path} is not the file that {MANIFEST} names: build the material again in a new "
                "folder."
            )
        yield path


def _claimed(folder: Path, request: Request) -> dict[str, Any] | None:
    """The manifest of a finished build of this request; None where it is still to be done."""
    if (folder / MANIFEST).is_file():
        manifest = read_manifest(folder)
        _require_same(folder, manifest, request)
        return manifest
    path = folder / REQUEST
    if path.is_file():
        _require_same(folder, json.loads(path.read_bytes()), request)
    elif others := sorted(one.name for one in folder.iterdir() if not one.name.startswith(".")):
        raise UserError(
            f"{folder} holds something other than a material ({others[0]}): name a new folder."
        )
    else:
        write_whole(path, [orjson.dumps(request.to_dict())])
    return None


def _require_same(folder: Path, known: Mapping[str, Any], request: Request) -> None:
    for name, value in request.to_dict().items():
        if known.get(name) != value:
            raise UserError(
                f"{folder} holds a material of another request ({name}): name a new folder, or "
                "remove that one."
            )


def _facts(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        rows = sum(1 for _ in file)
    return {"rows": rows, "bytes": path.stat().st_size, "sha256": sha256_of(path)}
