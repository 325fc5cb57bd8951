"""What a check of a release's folder found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pyarrow as pa

from core.errors import UserError

# What a file that somebody damaged can make of code that reads it: the first four have bases of
# their own, LookupError is KeyError, and so on. A mistake of ours would be named just like that.
DAMAGE = (
    UserError,
    pa.ArrowException,
    OSError,
    MemoryError,
    RecursionError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
)
NAMED = 20  # differences of one kind: a damaged file has one a line
SHOWN = 120  # characters of a text that may be as long as a file


@dataclass
class Findings:
    unchecked: list[str] = field(default_factory=list)
    checked: int = 0  # how many checks of files, labels and figures were made
    unreadable: set[str] = field(default_factory=set)  # files that nothing can be made of
    _named: dict[str, list[str]] = field(default_factory=dict)
    _numbers: Counter[str] = field(default_factory=Counter)

    def differ(self, kind: str, difference: str) -> None:
        """`kind`: the file and what is wrong with it; the first few of a kind are named."""
        named = self._named.setdefault(kind, [])
        self._numbers[kind] += 1
        if len(named) < NAMED:
            named.append(difference)

    def damage(self, name: str, difference: str) -> None:
        self.unreadable.add(name)
        self.differ(name, difference)

    @contextmanager
    def reading(self, what: str) -> Iterator[None]:
        """A damaged file is a difference, whatever it does to those who read it."""
        try:
            yield
        except KeyError as error:
            self.damage(what, f"{what}: {quote(error)} is missing")
        except DAMAGE as error:
            self.damage(what, f"{what}: cannot be read ({type(error).__name__}: {quote(error)})")

    def differences(self) -> Iterator[str]:
        for kind, named in self._named.items():
            yield from named
            if more := self._numbers[kind] - len(named):
                yield f"{kind}: {more:,} more like these"


def quote(value: object) -> str:
    """As it stands in a JSON file, cut where it is long."""
    text = str(value) if isinstance(value, Exception) else repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
