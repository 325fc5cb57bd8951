"""Small files that unfold to far more cost seconds and megabytes, and are told in a sentence."""

import gzip
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core.errors import UserError
from core.files import read_apart
from core.files import rows as files
from core.progress import no_progress
from retrieval.corpus import pair_reader
from retrieval.corpus.ingest import ingest
from retrieval.corpus.sources.parquet import parquet_rows, unpacked_bytes
from retrieval.corpus.uploads import require_moderate
from retrieval.models import QaPair

STATUS = Path("/proc/self/status")
pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(not STATUS.is_file(), reason="needs Linux's /proc"),
]
MEGABYTES = 300  # more than before, at most


def peak_kilobytes() -> int:
    [line] = [one for one in STATUS.read_text().splitlines() if one.startswith("VmHWM:")]
    return int(line.split()[1])


@pytest.fixture(autouse=True)
def _little_memory() -> Iterator[None]:
    """The peak since the test began: other tests of the process may have needed more."""
    Path("/proc/self/clear_refs").write_text("5")
    before = peak_kilobytes()
    yield
    assert peak_kilobytes() - before < MEGABYTES * 1000


def one_text_often(path: Path, *, megabytes: int, count: int, says_so: bool) -> Path:
    """`says_so`: the file tells Arrow that there is one text."""
    text = pa.DictionaryArray.from_arrays(
        pa.array([0] * count, pa.int32()), ["x" * 10**6 * megabytes]
    )
    table = pa.table({"question": ["What is rain?"] * count, "answer": text})
    pq.write_table(table, path, compression="zstd", store_schema=says_so)
    return path


@pytest.mark.parametrize("says_so", [True, False])
def test_a_text_that_a_file_has_once_and_refers_to_often(tmp_path: Path, says_so: bool) -> None:
    """Less than 10 KB that are 160 GB of answers."""
    bomb = one_text_often(tmp_path / "bomb.parquet", megabytes=8, count=20_000, says_so=says_so)
    assert bomb.stat().st_size < 10_000
    too_much = "bomb.parquet takes more than 1,000 MB of memory to read"
    expected = "unpacks to more than 100,000,000" if says_so else too_much
    with pytest.raises(UserError, match=expected):
        require_moderate(bomb, no_progress)
    with pytest.raises(UserError, match=too_much):
        ingest(bomb, "faq")


def test_a_list_of_many_values(tmp_path: Path) -> None:
    many = pa.array([False] * 20_000_000)
    lists = pa.ListArray.from_arrays(pa.array([0, len(many)], pa.int32()), many)
    path = tmp_path / "bomb.parquet"
    pq.write_table(pa.table({"question": ["a"], "answer": ["b"], "more": lists}), path)
    del many, lists
    with pytest.raises(UserError, match="unpacks to more than"):
        require_moderate(path, no_progress)


def test_what_no_count_foresees_ends_at_the_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few bytes of JSON become many objects: of a file that passes every other check."""
    monkeypatch.setattr(read_apart, "MOST_MEMORY", 300_000_000)
    path = tmp_path / "bomb.json.gz"
    lists = b"[" + b"[]," * 9_000_000 + b"[]]"
    path.write_bytes(gzip.compress(b'[{"question": "a", "answer": "b", "id": ' + lists + b"}]"))
    require_moderate(path, no_progress)
    with pytest.raises(UserError, match=r"bomb.json.gz takes more than 300 MB of memory to read"):
        ingest(path, "faq", format="nq-open")
    assert not QaPair.objects.exists()


@pytest.mark.parametrize("name", ["fair.parquet", "fair.jsonl.gz", "fair.csv"])
def test_a_fair_file_needs_a_fraction_of_the_memory_that_it_may_have(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_apart, "MOST_MEMORY", read_apart.MOST_MEMORY // 4)
    count, answer = 1_200, "long " * 8_000
    path = tmp_path / name
    questions = [f"question {number}" for number in range(count)]
    if name.endswith(".parquet"):
        pq.write_table(pa.table({"question": questions, "answer": [answer] * count}), path)
    elif name.endswith(".csv"):
        path.write_text("question,answer\n" + "".join(f"{one},{answer}\n" for one in questions))
    else:
        rows = (f'{{"question": "{one}", "answer": "{answer}"}}\n' for one in questions)
        path.write_bytes(gzip.compress("".join(rows).encode(), 1))
    assert ingest(path, "faq").added == count


def test_what_a_text_file_unfolds_to_is_counted_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "fair.parquet"
    pq.write_table(pa.table({"question": ["how"] * 10, "answer": ["so", "not"] * 5}), path)
    assert unpacked_bytes(path, 10**9) == 10 * 3 + 5 * 2 + 5 * 3
    require_moderate(path, no_progress)
    rows = list(parquet_rows(path, no_progress))
    assert [row.fields for row in rows[:2]] == [
        {"question": "how", "answer": "so"},
        {"question": "how", "answer": "not"},
    ]


def test_line_ends_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_BLANK", 1_000)
    path = tmp_path / "bomb.jsonl.gz"
    path.write_bytes(gzip.compress(b"\n" * 50_000_000))
    require_moderate(path, no_progress)
    with pytest.raises(UserError, match=r"Line 1,001 of .* more than 1,000 blank lines"):
        ingest(path, "faq")


def test_rows_of_which_none_can_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair_reader, "MOST_REFUSED", 1_000)
    path = tmp_path / "bomb.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"question": "a", "answer": "b"}\n' + b"{}\n" * 2_000_000))
    with pytest.raises(
        UserError, match=r"1,000 rows of .* in a row cannot be used, the last .* 1,001"
    ):
        ingest(path, "faq")
    assert not QaPair.objects.exists()
