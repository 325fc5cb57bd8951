"""What a release was made from, so that it can be made and checked again. No clock times."""

import hashlib
import tomllib
from collections.abc import Mapping
from importlib import metadata

from django.conf import settings

from annotation.models import Campaign, Instructions

FORMAT = "quorum-release"
FORMAT_VERSION = 1
LIBRARIES = ("django", "numpy", "sentence-transformers", "torch", "faiss-cpu", "faiss-gpu")


def manifest(
    campaign: Campaign,
    *,
    splits: Mapping[str, list[str]],
    left_out: Mapping[str, str],
    open_triplets: int,
    files: Mapping[str, dict[str, object]],
) -> dict[str, object]:
    policy = campaign.policy
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "campaign": campaign.name,
        "policy": policy.to_dict(),
        "policy_sha256": policy.digest(),
        "seeds": {
            "campaign": campaign.seed,
            "sample": campaign.query_set.seed,
            "split": campaign.seed,
        },
        "queries": {
            "origin": campaign.query_set.origin,
            "duplicates_dropped": campaign.query_set.duplicates,
        },
        "retriever": _retriever(campaign),
        "instructions": _instructions(campaign),
        "versions": _versions(),
        "splits": {name: len(keys) for name, keys in splits.items()},
        "open_triplets": open_triplets,
        "left_out": [{"id": key, "reason": left_out[key]} for key in sorted(left_out)],
        "files": dict(files),
    }


def _retriever(campaign: Campaign) -> dict[str, object] | None:
    index = campaign.query_set.retrieved_with
    if index is None:
        return None
    return {
        "model": index.model,
        "form": index.form,
        "dimension": index.dimension,
        "pairs": index.pairs,
        "database_digest": index.database_digest,
        "model_fingerprint": index.manifest["model_fingerprint"],
        "versions": index.manifest["versions"],
    }


def _instructions(campaign: Campaign) -> list[dict[str, object]]:
    """The wordings that the campaign's annotators read."""
    read = Instructions.objects.filter(hit__campaign=campaign).distinct().order_by("version")
    return [
        {"version": each.version, "sha256": hashlib.sha256(each.text.encode()).hexdigest()}
        for each in read
    ]


def _versions() -> dict[str, str]:
    """Of what is installed, read without importing any of it."""
    installed = {name: _installed(name) for name in LIBRARIES}
    found = {name: version for name, version in installed.items() if version is not None}
    return {"quorum": _quorum_version(), **found}


def _installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _quorum_version() -> str:
    """A checkout says its version itself; installed as a package, the installation does."""
    project = settings.BASE_DIR / "pyproject.toml"
    if project.is_file():
        return str(tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"])
    return metadata.version("quorum")
