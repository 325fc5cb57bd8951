import tracemalloc
from datetime import date
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core.errors import UserError
from retrieval.corpus.ingest import ingest
from retrieval.models import QaPair

pytestmark = pytest.mark.django_db

RAIN = {"question": "What is rain?", "answer": "Water from clouds."}
SNOW = {"question": "What is snow?", "answer": "Frozen water."}


def table(path: Path, *rows: dict[str, object]) -> Path:
    pq.write_table(pa.Table.from_pylist(list(rows)), path)
    return path


def test_pairs_come_from_parquet_with_their_ids_and_licenses(tmp_path: Path) -> None:
    path = table(tmp_path / "pairs.parquet", {"id": 7, "license": "CC0", **RAIN}, SNOW)
    result = ingest(path, "faq", license="MIT")
    assert (result.read, result.added) == (2, 2)
    rain, snow = QaPair.objects.order_by("question")
    assert (rain.source_id, rain.license, rain.answer) == ("7", "CC0", "Water from clouds.")
    assert (snow.source_id, snow.license) == (snow.pair_key, "MIT")
    again = ingest(path, "faq")
    assert (again.added, again.duplicates) == (0, 2)


def test_a_row_that_is_no_pair_is_refused_by_its_number(tmp_path: Path) -> None:
    path = table(tmp_path / "pairs.parquet", RAIN, {"question": None, "answer": "A"}, SNOW)
    result = ingest(path, "faq")
    assert (result.added, result.rejected) == (2, 1)
    assert result.rejects_path is not None
    assert '"line": 2, "reason": "there is no question' in result.rejects_path.read_text()


def test_a_text_that_is_not_utf8_costs_its_row_alone(tmp_path: Path) -> None:
    answers = pa.array([b"Water.", b"caf\xe9", b"Ice."]).cast(pa.binary())
    broken = pa.StringArray.from_buffers(3, *answers.buffers()[1:])
    questions = pa.array(["What is rain?", "What is tea?", "What is snow?"])
    columns = pa.Table.from_arrays([questions, broken], ["question", "answer"])
    pq.write_table(columns, tmp_path / "pairs.parquet")
    result = ingest(tmp_path / "pairs.parquet", "faq")
    assert (result.added, result.rejected) == (2, 1)
    assert result.rejects_path is not None
    assert "the row is not valid UTF-8" in result.rejects_path.read_text()


@pytest.mark.parametrize(
    ("values", "what"),
    [
        (pa.array([b"Water."], pa.binary()), "binary data"),
        (pa.array([1.5]), "a number"),
        (pa.array([Decimal("1.5")]), "a number"),
        (pa.array([date(2026, 1, 1)]), "a date"),
    ],
)
def test_a_column_that_is_no_text_is_called_what_it_is(
    values: pa.Array, what: str, tmp_path: Path
) -> None:
    path = tmp_path / "pairs.parquet"
    pq.write_table(pa.table({"question": ["What is rain?"], "answer": values}), path)
    with pytest.raises(UserError, match=f"line 1: the answer is not a text but {what} "):
        ingest(path, "faq")


def test_a_time_that_no_calendar_has_costs_its_row_alone(tmp_path: Path) -> None:
    asked = pa.array([0, 2**62, 1], pa.timestamp("us"))
    columns = {"question": ["What is rain?", "What is tea?", "What is snow?"], "asked": asked}
    pq.write_table(pa.table(columns | {"answer": ["Water."] * 3}), tmp_path / "pairs.parquet")
    result = ingest(tmp_path / "pairs.parquet", "faq")
    assert (result.added, result.rejected) == (2, 1)
    assert result.rejects_path is not None
    assert '"line": 2, "reason": "a date or time in the row is out of range' in (
        result.rejects_path.read_text()
    )


def test_a_file_that_lacks_a_column_or_is_no_parquet_is_refused(tmp_path: Path) -> None:
    path = table(tmp_path / "pairs.parquet", {"q": "Q?", "answer": "A"})
    with pytest.raises(UserError, match=r"question is missing here \(found: q, answer\)"):
        ingest(path, "faq")
    path.write_bytes(b"question,answer\nQ?,A\n")
    with pytest.raises(UserError, match="is not a whole Parquet file"):
        ingest(path, "faq")
    with pytest.raises(UserError, match="has no rows"):
        ingest(empty(path), "faq")
    whole = table(path, *([RAIN] * 3000)).read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UserError, match="is not a whole Parquet file"):
        ingest(path, "faq")
    assert not QaPair.objects.exists()


def empty(path: Path) -> Path:
    pq.write_table(pa.table({"question": pa.array([], "string")}), path)
    return path


def test_a_page_that_was_damaged_on_the_way_is_refused(tmp_path: Path) -> None:
    rows = [{"question": f"Q {number}?", "answer": "a" * 50} for number in range(2000)]
    path = tmp_path / "pairs.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path, write_page_checksum=True)
    content = bytearray(path.read_bytes())
    content[40:80] = b"\xff" * 40
    path.write_bytes(content)
    with pytest.raises(UserError, match="is not a whole Parquet file"):
        ingest(path, "faq")
    assert not QaPair.objects.exists()


def test_progress_adds_up_to_the_size_and_memory_stays_small(tmp_path: Path) -> None:
    path = tmp_path / "pairs.parquet"
    schema = pa.schema([("question", pa.string()), ("answer", pa.string())])
    with pq.ParquetWriter(path, schema) as writer:
        for part in range(8):  # 20 MB as texts
            rows = [{"question": f"Q {part} {n}?", "answer": "a" * 5000} for n in range(500)]
            writer.write_table(pa.Table.from_pylist(rows, schema))
    seen: list[int] = []
    tracemalloc.start()
    ingest(path, "faq", progress=seen.append)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sum(seen) == path.stat().st_size
    assert peak < 2000 * 5000 * 3 + 5_000_000
