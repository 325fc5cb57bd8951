"""Of Quorum itself."""

import tomllib
from importlib import metadata
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"


def quorum_version() -> str:
    """A checkout says its version itself; installed as a package, the installation does."""
    if PROJECT.is_file():
        return str(tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["version"])
    return metadata.version("quorum")
