"""Changes each named rule once and shows a test notices: `python -m tests.house.mutants [WORD...]`.

Each mutant is one edit, applied to a copy of the project in a scratch folder, where its tests
must then fail. Exit status 1 when a mutant survives or is broken: its snippet does not
stand in the source exactly once, or its tests cannot run. The same tests must first pass there
without any edit. A word limits the run to the mutants whose file or rule holds it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest
from tqdm import tqdm

from tests.annotation.pipeline import mutants as pipeline
from tests.annotation.protocol import mutants as protocol

ROOT = Path(__file__).parents[2]
PARALLEL = 2
SECONDS = 120  # what tests of a mutant that loops for ever are given
# Loading no plugin but a suite's own halves the time.
ENVIRONMENT = {
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "HYPOTHESIS_PROFILE": "thorough",
}
left_out = shutil.ignore_patterns("var", ".*", "__pycache__", "*.png", "results")
EMPTY_DATABASE = "var/test/dry-runs"  # which spares each copy all migrations

Outcome = Literal["killed", "SURVIVED", "BROKEN"]
Table = Mapping[tuple[str, str], tuple[tuple[str, str, str], ...]]


@dataclass(frozen=True)
class Suite:
    """An area's table, and the options of pytest that its tests need."""

    table: Table
    options: tuple[str, ...]


SUITES = (
    # Rules stay apart from Django: no settings of it, and no fixtures.
    Suite(protocol.MUTANTS, ("-c", os.devnull, "--rootdir", ".", "--noconftest")),
    Suite(pipeline.MUTANTS, ("-p", "pytest_django.plugin")),
)


@dataclass(frozen=True)
class Mutant:
    suite: Suite
    source: str
    tests: str
    rule: str
    snippet: str
    replacement: str


def mutants() -> Iterator[Mutant]:
    for suite in SUITES:
        for (source, tests), rows in suite.table.items():
            for row in rows:
                yield Mutant(suite, source, tests, *row)


def fault(mutant: Mutant) -> str:
    """Why the mutant can show nothing; empty where it can."""
    for path in (mutant.source, mutant.tests):
        if not (ROOT / path).exists():
            return f"{path} does not exist"
    count = (ROOT / mutant.source).read_text().count(mutant.snippet)
    return "" if count == 1 else f"{mutant.source} holds {mutant.snippet!r} {count} times"


def outcome(mutant: Mutant) -> Outcome:
    """What became of the mutant; a loop without end is a failing test too."""
    if fault(mutant):
        return "BROKEN"
    edited = (ROOT / mutant.source).read_text().replace(mutant.snippet, mutant.replacement)
    try:
        status = run(mutant.suite, mutant.tests, {mutant.source: edited})
    except subprocess.TimeoutExpired:
        return "killed"
    if status == pytest.ExitCode.OK:
        return "SURVIVED"
    return "killed" if status == pytest.ExitCode.TESTS_FAILED else "BROKEN"


def run(suite: Suite, tests: str, edits: Mapping[str, str]) -> int:
    """pytest's exit status in a fresh copy of the project with these edits."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        shutil.copytree(ROOT, folder, ignore=left_out, dirs_exist_ok=True)
        if (ROOT / EMPTY_DATABASE).exists():
            shutil.copytree(ROOT / EMPTY_DATABASE, Path(folder, EMPTY_DATABASE))
        for name, text in edits.items():
            Path(folder, name).write_text(text)
        options = ["-x", "-q", "-p", "no:cacheprovider", *suite.options]
        return subprocess.run(
            [sys.executable, "-m", "pytest", *options, tests],
            cwd=folder,
            env=os.environ | ENVIRONMENT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=SECONDS,
            check=False,
        ).returncode


def unfit(chosen: list[Mutant]) -> list[str]:
    """Test files that fail without any edit, so that their verdict would mean nothing."""
    used = {mutant.tests: mutant.suite for mutant in chosen}
    return [tests for tests, suite in used.items() if run(suite, tests, {}) != pytest.ExitCode.OK]


def main(words: list[str]) -> int:
    chosen = [
        mutant
        for mutant in mutants()
        if not words or any(word in f"{mutant.source} {mutant.rule}" for word in words)
    ]
    if failing := unfit(chosen):
        print("These tests fail without any mutant: " + ", ".join(failing), file=sys.stderr)
        return 1
    alive = 0
    with ThreadPoolExecutor(PARALLEL) as pool:
        outcomes = tqdm(pool.map(outcome, chosen), total=len(chosen), desc="mutants", unit="")
        for mutant, became in zip(chosen, outcomes, strict=True):
            alive += became != "killed"
            tqdm.write(f"{became:8}  {mutant.source:36}  {mutant.rule}", file=sys.stdout)
    print(f"{len(chosen) - alive} of {len(chosen)} mutants killed")
    return 1 if alive or not chosen else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
