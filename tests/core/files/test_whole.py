from collections.abc import Iterator
from pathlib import Path

import pytest

from core.files.whole import write_whole


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_whole(path, [b"one"])
    write_whole(path, [b"two", b"three"])
    assert path.read_bytes() == b"twothree"
    assert list(tmp_path.iterdir()) == [path]


def test_a_write_that_ends_half_way_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_whole(path, [b"one"])

    def content() -> Iterator[bytes]:
        yield b"two"
        raise ValueError("of the third")

    with pytest.raises(ValueError, match="of the third"):
        write_whole(path, content())
    assert path.read_bytes() == b"one"
    assert list(tmp_path.iterdir()) == [path]
