"""`quorum` in this process."""

import sys
from contextlib import nullcontext, redirect_stdout
from typing import IO

import pytest

from config.commands import execute, load


def verbs(noun: str) -> list[str]:
    return list(load(noun).commands)


def quorum(*words: object, stdout: IO[str] | None = None) -> None:
    """CommandError where the command refuses."""
    with redirect_stdout(stdout) if stdout else nullcontext():
        execute(list(map(str, words)))


def show_bars(monkeypatch: pytest.MonkeyPatch, *, terminal: bool = True) -> None:
    """At once; call it when the output is captured already."""
    monkeypatch.setattr("core.command.BAR_DELAY", 0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
