"""`quorum` in this process."""

from contextlib import nullcontext, redirect_stdout
from typing import IO

from config.commands import execute, load


def verbs(noun: str) -> list[str]:
    return list(load(noun).commands)


def quorum(*words: object, stdout: IO[str] | None = None) -> None:
    """CommandError where the command refuses."""
    with redirect_stdout(stdout) if stdout else nullcontext():
        execute(list(map(str, words)))
