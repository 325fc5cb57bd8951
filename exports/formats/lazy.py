"""How a release is loaded, for pages: pyarrow comes with the first page that shows it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from exports.formats.format import Snippet
    from exports.formats.loading_code import Group


def groups(paths: Iterable[str]) -> list[Group]:
    from exports.formats import loading_code  # noqa: PLC0415

    return loading_code.groups(paths)


def snippets(folder_name: str) -> list[Snippet]:
    from exports.formats import loading_code  # noqa: PLC0415

    return loading_code.snippets(folder_name)
