"""Rows for which a whole file is refused."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from core.errors import UserError


@dataclass(frozen=True)
class Rejected:
    line: int
    reason: str
    excerpt: str = ""


class BadRows(UserError):
    """All of them; the sentence names the first."""

    def __init__(self, path: Path, rows: Sequence[Rejected]) -> None:
        self.rows = tuple(rows)
        first, more = self.rows[0], len(self.rows) - 1
        others = f" ({more:,} more row{'s' * (more > 1)} cannot be used either)" if more else ""
        super().__init__(
            f"Line {first.line} of {path}: {first.reason}{others}; nothing was imported."
        )


@contextmanager
def known_as(path: Path, name: str) -> Iterator[None]:
    """The person who has sent a file does not know where it lies here."""
    try:
        yield
    except BadRows as error:
        raise BadRows(Path(name), error.rows) from error
    except UserError as error:
        raise UserError(str(error).replace(str(path), name)) from error
