"""What a command prints: colour and tables on a terminal, aligned plain text in a pipe."""

import sys
from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text


class Facts:
    """One line for each entry that has a value."""

    def __init__(self, facts: Mapping[str, object]) -> None:
        self._lines = {
            key.replace("_", " "): in_words(value)
            for key, value in facts.items()
            if value is not None
        }

    def __str__(self) -> str:
        width = max(map(len, self._lines), default=0)
        return "\n".join(f"{key:<{width}}  {value}" for key, value in self._lines.items())

    def __rich__(self) -> Table:
        grid = Table.grid(padding=(0, 2))
        for key, value in self._lines.items():
            grid.add_row(Text(key, "cyan"), Text(value))
        return grid


class Rows:
    """A table; columns from the second on are set right where `numbers` says so."""

    def __init__(
        self, head: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: bool = False
    ) -> None:
        self._head = head
        self._rows = [[harmless(cell) for cell in row] for row in rows]
        self._numbers = numbers

    def __str__(self) -> str:
        lines = [list(self._head), *self._rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(self._aligned(line, widths) for line in lines)

    def _aligned(self, cells: Sequence[str], widths: Sequence[int]) -> str:
        first, *rest = zip(cells, widths, strict=True)
        align = str.rjust if self._numbers else str.ljust
        padded = [str.ljust(*first), *(align(cell, width) for cell, width in rest)]
        return "  ".join(padded).rstrip()

    def __rich__(self) -> Table:
        table = Table(header_style="bold", border_style="dim")
        for place, name in enumerate(self._head):
            table.add_column(name, justify="right" if self._numbers and place else "left")
        for row in self._rows:
            table.add_row(*map(Text, row))
        return table


Block = str | Facts | Rows
Rendered = Block | Sequence[Block]


def show(rendered: Rendered) -> None:
    """On standard output."""
    blocks = [rendered] if isinstance(rendered, Block) else rendered
    terminal = Console() if sys.stdout.isatty() else None
    for block in blocks:
        if terminal is None or isinstance(block, str):
            print(block)
        else:
            terminal.print(block)


def in_words(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return harmless(str(value))


def harmless(text: str) -> str:
    """Texts of a crowd or of a file may hold anything: none of it moves the cursor."""
    return "".join(sign if sign.isprintable() or sign == "\n" else "?" for sign in text)
