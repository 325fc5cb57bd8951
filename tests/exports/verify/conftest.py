"""A whole release, built once, and copies of it to be tampered with."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.exports.support.built_releases import finished


@pytest.fixture(scope="package")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return finished(tmp_path_factory.mktemp("verify") / "demo-1")


@pytest.fixture
def release(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "demo-1"))
