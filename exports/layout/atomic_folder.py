"""Folders of releases: complete as soon as they are there, or never there."""

import json
from pathlib import Path
from typing import Any

from core.errors import UserError
from core.files.work_folder import sync, sync_folders
from exports.layout.files import FORMAT, FORMAT_VERSIONS, MANIFEST
from exports.layout.manifest import checksums


def check_target(out: Path, campaign: str, *, last: int | None = None) -> None:
    """Nothing may lie there, or the campaign's release `last`, its newest."""
    if not out.exists():
        return
    if not out.is_dir():
        raise UserError(f"{out} is a file: name a folder by --out.")
    there = _read_manifest(out)
    if there and there.get("format_version") not in FORMAT_VERSIONS:
        raise UserError(
            f"{out} holds a release of an older version of Quorum: choose another folder by --out."
        )
    if any(out.iterdir()) and there.get("campaign") != campaign:
        raise UserError(
            f"{out} is not empty and holds no release of campaign {campaign}: choose another "
            "folder by --out."
        )
    if there and last is not None and there["number"] != last:
        raise UserError(
            f"{out} holds release {there['number']} of campaign {campaign}, whose newest is "
            f"release {last}, and a release never changes: choose another folder by --out."
        )


def _read_manifest(folder: Path) -> dict[str, Any]:
    """Empty where there is none of a release."""
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
    except (FileNotFoundError, ValueError):
        return {}
    return manifest if isinstance(manifest, dict) and manifest.get("format") == FORMAT else {}


def publish(work: Path, out: Path, campaign: str) -> bool:
    """Make the written folder the release in one step; False where the same one lies there.

    A release never changes: UserError where `out` holds another one.
    """
    check_target(out, campaign)
    if out.exists() and any(out.iterdir()):
        _require_same(work, out, campaign)
        return False
    for path in work.rglob("*"):
        if path.is_file():
            sync(path)
    sync_folders(work)
    work.rename(out)
    sync(out.parent)
    return True


def _require_same(work: Path, out: Path, campaign: str) -> None:
    wanted, number = _read_manifest(work)["number"], _read_manifest(out).get("number")
    if wanted != number:
        raise UserError(
            f"{out} holds release {number} of campaign {campaign}, this is release {wanted}, and a "
            "release never changes: the same command writes it to another folder (--out)."
        )
    mine, theirs = checksums(work), checksums(out)
    names = mine.keys() | theirs.keys()
    if differing := sorted(name for name in names if mine.get(name) != theirs.get(name)):
        raise UserError(
            f"{out} is not release {number} of campaign {campaign} as it was made (differing in "
            f"{', '.join(differing)}): choose another folder by --out."
        )
