"""What a release's folder holds, and what software wrote it. No clock times."""

import hashlib
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, TypedDict

from core.version import quorum_version
from exports.layout.files import (
    AGGREGATED_VERSION,
    FORMAT,
    FORMAT_VERSION,
    IMPORTED,
    MANIFEST,
    POOLED_VERSION,
    SOURCED_VERSION,
)

PRIOR = ("prior", "rank_slope")  # of an aggregator, where ranks may have a say
# How sure an aggregator's map from claims to chances is; the oldest releases do not tell.
ERRORS = ("offset_error", "slope_error", "error_correlation")
# Those that a release's bytes may depend on.
LIBRARIES = (
    "bm25s",
    "datasketch",
    "matplotlib",
    "numpy",
    "orjson",
    "pyarrow",
    "scipy",
    "sentence-transformers",
    "torch",
    "zstandard",
)


class Checksum(TypedDict):
    bytes: int
    sha256: str


def manifest(
    folder: Path, *, campaign: str, number: int, version: int = FORMAT_VERSION
) -> dict[str, object]:
    """Of all that lies in the folder; it is written last."""
    return {
        "format": FORMAT,
        "format_version": version,
        "campaign": campaign,
        "number": number,
        "files": checksums(folder),
    }


def version_of(campaign: Mapping[str, Any]) -> int:
    """Of the format, by what campaign.json says."""
    if is_aggregated(campaign):
        return AGGREGATED_VERSION
    if tells_sources(campaign):
        return SOURCED_VERSION
    return POOLED_VERSION if campaign["queries"].get("retrievers") else FORMAT_VERSION


def tells_sources(campaign: Mapping[str, Any]) -> bool:
    """Whether each label says what it comes from, by what campaign.json says.

    Elsewhere all are majorities, which the card and stats.json say once for all: records and tables
    are what they were before any label could be something else.
    """
    decides = campaign["policy"].get("adjudication") == "decide"
    imported = campaign["queries"]["origin"] == IMPORTED
    return bool(decides or imported or is_aggregated(campaign))


def is_aggregated(campaign: Mapping[str, Any]) -> bool:
    """Whether the labels need not be majorities of the votes that they are made of."""
    return bool(campaign["policy"].get("aggregation") == "best")


def has_rank_prior(campaign: Mapping[str, Any]) -> bool:
    """Whether ranks may have a say in the labels."""
    return bool(campaign["policy"].get("rank_prior"))


def beside_work(campaign: Mapping[str, Any]) -> int:
    """Cents of its cost that are not those of its assignments."""
    return int(campaign["bonus_cents"]) + int(campaign.get("billed_cents", 0))


def checksums(folder: Path) -> dict[str, Checksum]:
    """Size and sha256 of every file but the manifest, in the order of the paths."""
    files = {
        path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()
    }
    return {name: checksum(files[name]) for name in sorted(files) if name != MANIFEST}


def checksum(path: Path) -> Checksum:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"bytes": file.tell(), "sha256": digest}


def versions() -> dict[str, str]:
    """Of what is installed, read without importing any of it."""
    installed = {name: _installed(name) for name in LIBRARIES}
    of_package = {name: version for name, version in installed.items() if version is not None}
    return {"quorum": quorum_version(), **of_package}


def _installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def checksums_code(folder_name: str) -> str:
    """Compares a release with its manifest by Python alone, where no Quorum is installed."""
    return (
        "import hashlib, json, pathlib\n\n"
        f'folder = pathlib.Path("{folder_name}")\n'
        'listed = json.loads((folder / "manifest.json").read_bytes())["files"]\n'
        "for name, entry in listed.items():\n"
        "    found = hashlib.sha256((folder / name).read_bytes()).hexdigest()\n"
        '    assert found == entry["sha256"], name\n'
    )
