"""Rows come in order and whole, whoever fetches them, and what goes wrong is not lost."""

from collections.abc import Iterator
from itertools import islice

import pytest

from exports.extract.ahead import ahead

pytestmark = [pytest.mark.django_db, pytest.mark.concurrent]


@pytest.mark.parametrize("count", [0, 1, 3, 4, 7])
def test_rows_come_in_parts(count: int) -> None:
    parts = list(ahead(iter(range(count)), 3))
    assert [row for part in parts for row in part] == list(range(count))
    assert all(len(part) == 3 for part in parts[:-1])


def breaking(after: int) -> Iterator[int]:
    yield from range(after)
    raise ConnectionError("the server has gone")


@pytest.mark.parametrize("after", [0, 2, 5])
def test_a_fault_comes_after_the_parts_before_it(after: int) -> None:
    rows: list[int] = []
    with pytest.raises(ConnectionError, match="gone"):
        rows.extend(row for part in ahead(breaking(after), 2) for row in part)
    assert rows == list(range(after // 2 * 2))


def test_a_reader_may_stop_early() -> None:
    parts = ahead(iter(range(100)), 10)
    assert list(islice(parts, 2)) == [list(range(10)), list(range(10, 20))]
    parts.close()  # type: ignore[attr-defined]
