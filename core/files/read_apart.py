"""A file that somebody sent, read in a process of its own with limits of memory and time.

Whatever the file unfolds to, the process that wants it lives on and says so in a sentence.
"""

import fcntl
import gc
import os
import resource
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from core.errors import UserError
from core.files.open import check_is_file
from core.progress import Progress

T = TypeVar("T")

MOST_MEMORY = 1_000_000_000  # bytes, beyond what the process begins with
SECONDS = 20.0  # of a core, for any file; and for each megabyte of it
SECONDS_A_MEGABYTE = 5.0
AHEAD = 1 << 20  # bytes that may wait for the other process
STATM = Path("/proc/self/statm")  # of Linux, which alone holds a process to such a limit


def read_apart(
    path: Path, read: Callable[[Progress], Iterator[T]], progress: Progress
) -> Iterator[T]:
    """What `read` yields; UserError where that takes more than a file of texts does."""
    check_is_file(path)
    seconds = int(SECONDS + SECONDS_A_MEGABYTE * path.stat().st_size / 1e6)
    receiver, sender = Pipe(duplex=False)
    if hasattr(fcntl, "F_SETPIPE_SZ"):  # of Linux: both can work at once
        with suppress(OSError):  # it grants less
            fcntl.fcntl(sender.fileno(), fcntl.F_SETPIPE_SZ, AHEAD)
    child = os.fork()  # not spawned: nothing has to be imported again
    if not child:
        receiver.close()
        _send(path, read, sender, seconds)
    sender.close()
    try:
        while (message := _next(receiver)) is not None:
            count, items, error = message
            progress(count)
            if error is not None:
                raise error
            if not items:
                return
            yield items.pop()
    finally:
        receiver.close()
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    raise UserError(_fault(path, -os.waitstatus_to_exitcode(status), seconds))


def _next(receiver: Connection) -> tuple[int, list[Any], Exception | None] | None:
    try:
        return receiver.recv()  # type: ignore[no-any-return]
    except EOFError:
        return None


def _send(
    path: Path, read: Callable[[Progress], Iterator[T]], sender: Connection, seconds: int
) -> NoReturn:
    """Nothing of the other process is undone: its connections, its files and its locks stay."""
    counted = 0
    error: Exception | None = None

    def count(increment: int) -> None:
        nonlocal counted
        counted += increment

    try:
        gc.freeze()
        _limit(seconds)
        try:
            for item in read(count):
                sender.send((counted, [item], None))
                counted = 0
        except MemoryError:
            error = UserError(_too_much_memory(path))
        except UserError as refusal:
            error = refusal
        except Exception as other:  # noqa: BLE001 - it is raised where the file is wanted
            other.add_note(traceback.format_exc())
            error = other
        _set_limit(resource.RLIMIT_DATA, resource.RLIM_INFINITY)  # to say so
        sender.send((counted, [], error))
    finally:
        os._exit(0)


def _limit(seconds: int) -> None:
    _set_limit(resource.RLIMIT_CORE, 0)
    _set_limit(resource.RLIMIT_CPU, seconds)
    if STATM.exists():
        has = int(STATM.read_text().split()[5]) * resource.getpagesize()
        _set_limit(resource.RLIMIT_DATA, has + MOST_MEMORY)


def _set_limit(kind: int, wanted: int) -> None:
    _, most = resource.getrlimit(kind)
    given = [one for one in (wanted, most) if one != resource.RLIM_INFINITY]
    resource.setrlimit(kind, (min(given, default=resource.RLIM_INFINITY), most))


def _too_much_memory(path: Path) -> str:
    return (
        f"{path} takes more than {MOST_MEMORY / 1e6:,.0f} MB of memory to read, which no file of "
        "texts does: check its content, or split it."
    )


def _fault(path: Path, number: int, seconds: int) -> str:
    """`number`: of the signal that has ended the process."""
    if number == signal.SIGXCPU:
        return (
            f"{path} takes more than {seconds:,} seconds to read, which no file of texts of its "
            "size does: check its content, or split it."
        )
    if number in (signal.SIGKILL, signal.SIGABRT):  # the machine's memory is full, or a library's
        return _too_much_memory(path)
    return f"{path} cannot be read, its reader broke down at it: check its content."
