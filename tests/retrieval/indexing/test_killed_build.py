"""Processes that are killed while they build an index, and the ones after them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(("kind", "kills"), [("exact", 4), ("hnsw", 8), ("milvus", 2)])
def test_after_a_killed_build_the_next_one_finds_what_an_undisturbed_one_finds(
    tmp_path: Path, kind: str, kills: int
) -> None:
    if kind == "milvus":
        pytest.importorskip("pymilvus")
    environment = {**os.environ, "QUORUM_DATA": str(tmp_path), "QUORUM_DATABASE_URL": ""}
    environment["DJANGO_SETTINGS_MODULE"] = "config.settings"
    command = [sys.executable, "-m", "tests.retrieval.indexing.killed_builds", kind, str(kills)]
    root = Path(__file__).parents[3]
    run = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "points, killed at" in run.stdout
