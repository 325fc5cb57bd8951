"""A file is read in a process of its own, with limits, and the one that wants it lives on."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.errors import UserError
from core.files import read_apart as module
from core.files.read_apart import read_apart
from core.progress import Progress, no_progress

Read = Iterator[object]
OTHERS: set[str] = set()  # of this process, before the test


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.csv"
    path.write_text("question,answer\n")
    return path


def running() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


@pytest.fixture(autouse=True)
def before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests may have left a process that serves them to the end."""
    monkeypatch.setattr(sys.modules[__name__], "OTHERS", running())


def children() -> set[str]:
    return running() - OTHERS


def refusal(file: Path, read: object) -> str:
    with pytest.raises(UserError) as refused:
        list(read_apart(file, read, no_progress))  # type: ignore[arg-type]
    assert not children()
    return str(refused.value)


def test_what_is_read_comes_in_order_with_all_of_the_progress(file: Path) -> None:
    def read(progress: Progress) -> Iterator[int]:
        for number in range(5):
            progress(10)
            yield number
        progress(7)

    counted: list[int] = []
    assert list(read_apart(file, read, counted.append)) == [0, 1, 2, 3, 4]
    assert sum(counted) == 57
    assert not children()


def test_it_is_read_elsewhere(file: Path) -> None:
    [child] = read_apart(file, lambda progress: iter([os.getpid()]), no_progress)
    assert child != os.getpid()


def test_what_is_wrong_with_the_file_is_said_as_ever(file: Path) -> None:
    def read(progress: Progress) -> Read:
        yield 1
        raise UserError("It is wrong: correct it.")

    assert refusal(file, read) == "It is wrong: correct it."


def test_an_error_of_ours_says_where_it_was(file: Path) -> None:
    def read(progress: Progress) -> Read:
        yield {}["nothing"]

    with pytest.raises(KeyError) as raised:
        list(read_apart(file, read, no_progress))
    assert 'yield {}["nothing"]' in raised.value.__notes__[0]


@pytest.mark.skipif(not module.STATM.exists(), reason="only Linux has such a limit")
def test_too_much_memory_is_a_sentence(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_MEMORY", 500_000_000)
    assert refusal(file, lambda progress: iter([len(bytes(2_000_000_000))])) == (
        f"{file} takes more than 500 MB of memory to read, which no file of texts does: check its "
        "content, or split it."
    )
    assert list(read_apart(file, lambda progress: iter([len(bytes(400_000_000))]), no_progress))


def test_too_much_time_is_a_sentence(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SECONDS", 1)

    def read(progress: Progress) -> Read:
        while True:
            pass
        yield

    assert refusal(file, read) == (
        f"{file} takes more than 1 seconds to read, which no file of texts of its size does: check "
        "its content, or split it."
    )


@pytest.mark.parametrize(
    ("number", "why"),
    [
        (signal.SIGABRT, "takes more than 1,000 MB of memory"),  # of a library in C++
        (signal.SIGKILL, "takes more than 1,000 MB of memory"),  # the machine has no more
        (signal.SIGSEGV, "cannot be read, its reader broke down at it"),
    ],
)
def test_a_reader_that_dies_is_a_sentence(
    number: signal.Signals, why: str, file: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def read(progress: Progress) -> Read:
        yield 1
        signal.signal(number, signal.SIG_DFL) if number != signal.SIGKILL else None
        os.kill(os.getpid(), number)

    assert why in refusal(file, read)


def test_a_file_that_is_wanted_no_more_is_read_no_further(file: Path) -> None:
    def read(progress: Progress) -> Read:
        while True:
            yield 1

    reading = read_apart(file, read, no_progress)
    assert next(reading) == 1
    reading.close()  # type: ignore[attr-defined]
    assert not children()
