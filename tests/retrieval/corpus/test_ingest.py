import csv
import gzip
import io
import json
import re
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.errors import UserError
from core.text.clean import clean_text, normalise_question
from retrieval.corpus.ingest import IngestResult, ingest
from retrieval.corpus.pair_reader import BATCH, MAX_ANSWER, MAX_QUESTION
from retrieval.models import QaPair
from tests.support.examples import examples

pytestmark = pytest.mark.django_db

RAIN = {"question": "What is rain?", "answer": "Water from clouds."}
SNOW = {"question": "What is snow?", "answer": "Frozen water."}


def jsonl(*rows: Any) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def write(folder: Path, content: bytes, name: str = "pairs.jsonl") -> Path:
    path = folder / name
    path.write_bytes(gzip.compress(content, mtime=0) if name.endswith(".gz") else content)
    return path


def counts(result: IngestResult) -> tuple[int, int, int, int]:
    return result.read, result.added, result.duplicates, result.rejected


def rejects(result: IngestResult) -> list[tuple[int, str]]:
    assert result.rejects_path is not None
    lines = result.rejects_path.read_text(encoding="utf-8").splitlines()
    return [(entry["line"], entry["reason"]) for entry in map(json.loads, lines)]


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("jsonl", jsonl({"id": 7, "license": "CC0", **RAIN}, {"extra": [1], **SNOW})),
        (
            "csv",
            b"id,question,answer,license\r\n7,What is rain?,Water from clouds.,CC0\r\n"
            b',What is snow?,"Frozen\nwater.",\r\n',
        ),
        (
            "tsv",
            b"answer\tquestion\tid\tlicense\tscore\n"
            b"Water from clouds.\tWhat is rain?\t7\tCC0\t1\n"
            b"Frozen water.\tWhat is snow?\t\t\t2\n",
        ),
    ],
)
def test_pairs_come_from_every_format(
    tmp_path: Path, kind: str, content: bytes, packed: str
) -> None:
    path = write(tmp_path, content, f"pairs.{kind}{packed}")
    assert counts(ingest(path, "faq", license="MIT")) == (2, 2, 0, 0)
    rain, snow = QaPair.objects.order_by("question")
    assert (rain.question, rain.answer) == ("What is rain?", "Water from clouds.")
    assert (rain.source, rain.source_id, rain.license) == ("faq", "7", "CC0")
    assert (snow.question, snow.answer, snow.license) == ("What is snow?", "Frozen water.", "MIT")
    assert snow.source_id == snow.pair_key
    assert rain.created_at is not None


def test_a_byte_order_mark_is_no_part_of_the_first_column(tmp_path: Path) -> None:
    path = write(tmp_path, b"\xef\xbb\xbfquestion,answer\nWhat is rain?,Water\n", "pairs.csv")
    assert counts(ingest(path, "faq")) == (1, 1, 0, 0)
    path = write(tmp_path, b"\xef\xbb\xbf" + jsonl(SNOW))
    assert counts(ingest(path, "faq")) == (1, 1, 0, 0)


def test_the_same_file_twice_adds_nothing(tmp_path: Path) -> None:
    path = write(tmp_path, jsonl({"id": "1", **RAIN}, SNOW, {"id": "3"}))
    first = ingest(path, "faq")
    second = ingest(path, "faq")
    assert counts(first) == (3, 2, 0, 1)
    assert counts(second) == (3, 0, 2, 1)
    assert first.rejects_path == second.rejects_path


def test_an_identical_pair_under_another_id_or_source_is_a_duplicate(tmp_path: Path) -> None:
    ingest(write(tmp_path, jsonl({"id": "1", **RAIN})), "faq")
    again = write(tmp_path, jsonl({"id": "2", **RAIN}, RAIN, SNOW, {"id": "9", **SNOW}))
    assert counts(ingest(again, "faq")) == (4, 1, 3, 0)
    assert counts(ingest(again, "forum")) == (4, 0, 4, 0)


def test_the_same_question_with_another_answer_is_another_pair(tmp_path: Path) -> None:
    other = {"question": "what is RAIN", "answer": "Wet."}
    assert counts(ingest(write(tmp_path, jsonl(RAIN, other)), "faq")) == (2, 2, 0, 0)
    assert QaPair.objects.values("question_key").distinct().count() == 1


def test_an_id_that_stands_for_another_text_is_refused(tmp_path: Path) -> None:
    result = ingest(write(tmp_path, jsonl({"id": 1, **RAIN}, {"id": "1", **SNOW})), "faq")
    assert counts(result) == (2, 1, 0, 1)
    reason = "the id '1' of faq already belongs to another text"
    assert rejects(result) == [(2, reason)]
    result = ingest(write(tmp_path, jsonl({"id": 1, **SNOW}, RAIN)), "faq")
    assert counts(result) == (2, 0, 1, 1)
    assert rejects(result) == [(1, reason)]
    assert counts(ingest(write(tmp_path, jsonl({"id": 1, **SNOW})), "forum")) == (1, 1, 0, 0)


def test_what_is_a_duplicate_does_not_depend_on_where_a_batch_ends(tmp_path: Path) -> None:
    filler = [{"question": f"Question {n}?", "answer": "Yes."} for n in range(BATCH - 2)]
    rows = [{"id": "a", **RAIN}, *filler, {"id": "b", **RAIN}, {"id": "b", **SNOW}]
    result = ingest(write(tmp_path, jsonl(*rows)), "faq")
    assert counts(result) == (len(rows), len(rows) - 1, 1, 0)
    QaPair.objects.all().delete()
    result = ingest(write(tmp_path, jsonl(*rows[1:])), "forum")
    assert counts(result) == (len(rows) - 1, len(rows) - 2, 0, 1)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{oops", "the line is not JSON: Expecting property name enclosed in double quotes at 2"),
        (b"[1, 2]", "the line is not an object but a list"),
        (b'"text"', "the line is not an object but a text"),
        (b"null", "the line is not an object but null"),
        (
            b"[" * 100_000,
            "the line is JSON that cannot be read: its lists and objects lie too deep in another",
        ),
        (
            b'{"question": ' + b"1" * 5000 + b"}",
            "the line is JSON that cannot be read: a number in it has more than 4,300 digits",
        ),
        (b'{"answer": "A", "q": 1}', "there is no question (columns found: answer, q)"),
        (b'{"question": "Q?"}', "there is no answer (columns found: question)"),
        (b'{"question": null, "answer": "A"}', "there is no question (columns found: question,"),
        (b'{"question": "", "answer": "A"}', "the question is empty"),
        (b'{"question": "Q?", "answer": " \\n\\u0000"}', "the answer is empty"),
        (b'{"question": "\\u0007", "answer": "A"}', "the question is empty"),
        (b'{"question": "?!?", "answer": "A"}', "the question has only punctuation"),
        (b'{"question": 5, "answer": "A"}', "the question is not a text but a number"),
        (b'{"question": "Q?", "answer": ["A"]}', "the answer is not a text but a list"),
        (b'{"question": "Q?", "answer": true}', "the answer is not a text but true or false"),
        (b'{"question": "Q?", "answer": "A", "id": {}}', "the id is not a text but an object"),
        (b'{"question": "Q?", "answer": "A", "id": 1.5}', "the id is not a text but a number"),
        (
            b'{"question": "Q?", "answer": "A", "id": "' + b"i" * 201 + b'"}',
            "the id has 201 characters, more than 200",
        ),
        (
            b'{"question": "Q?", "answer": "A", "license": "' + b"l" * 301 + b'"}',
            "the license has 301 characters, more than 300",
        ),
        (b'{"question": "caf\xe9?", "answer": "A"}', "the row is not valid UTF-8"),
        (b'{"question": "Q?", "answer": "\\ud800"}', "the row is not valid UTF-8"),
        (
            b'{"question": "' + b"why " * 25_000 + b'", "answer": "A"}',
            "the question has 99,999 characters, more than 10,000",
        ),
        (
            b'{"question": "Q?", "answer": "' + b"a" * 50_001 + b'"}',
            "the answer has 50,001 characters, more than 50,000",
        ),
    ],
)
def test_a_row_that_cannot_be_used_is_refused_by_its_line(
    tmp_path: Path, line: bytes, reason: str
) -> None:
    result = ingest(write(tmp_path, jsonl(RAIN) + b"\n" + line + b"\n" + jsonl(SNOW)), "faq")
    assert counts(result) == (3, 2, 0, 1)
    [(number, found)] = rejects(result)
    assert number == 3
    assert found.startswith(reason)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (b"only one", "the row has 1 column, the header 2"),
        (b"a,b,c", "the row has 3 columns, the header 2 (put a text with , in quotes)"),
        (b'"broken"quote,b', 'text follows a closing quote (write a quote inside a text as "")'),
        (b'"' + b"x" * 200_000 + b'",b', "a field has more than 131,072 characters"),
        (b'Q?,"open\nWhat?,"A"', "a quote opens here and ends in line 5, before other text"),
        (b"x" * 100_000 + b",b", "the question has 100,000 characters, more than 10,000"),
        (b"caf\xe9,b", "the row is not valid UTF-8 (save the file as UTF-8)"),
        (b"a\rb,c", "it contains a CR that does not end a line"),
        (b",b", "the question is empty"),
        (b"Q?,\x00", "the answer is empty"),
    ],
)
def test_a_csv_row_that_cannot_be_used_is_refused_by_its_line(
    tmp_path: Path, row: bytes, reason: str
) -> None:
    content = b'question,answer\n"What\nis rain?",Water\n' + row + b"\nWhat is snow?,Ice\n"
    result = ingest(write(tmp_path, content, "pairs.csv"), "faq")
    assert counts(result) == (3, 2, 0, 1)
    [(number, found)] = rejects(result)
    assert number == 4
    assert found.startswith(reason)


def test_a_quote_that_never_closes_is_refused_with_what_was_read_before_it(
    tmp_path: Path,
) -> None:
    content = b'question,answer\nWhat is rain?,Water\n"What is snow?,Ice\nWhat is hail?,Ice\n'
    result = ingest(write(tmp_path, content, "pairs.csv"), "faq")
    assert counts(result) == (2, 1, 0, 1)
    lost = "a quote opens here and never closes: lines 3 to 4 are not read"
    assert rejects(result) == [(3, lost)]
    assert result.first_rejected == f"line 3: {lost}"


def test_a_quote_that_does_not_close_in_time_is_named_with_the_line_where_it_opened(
    tmp_path: Path,
) -> None:
    content = b'question,answer\nWhat is rain?,"Water\n' + b"x,y\n" * 40_000
    result = ingest(write(tmp_path, content, "pairs.csv"), "faq")
    assert result.first_rejected == (
        "line 2: a quote opens here and does not close within 131,072 characters: "
        "lines 2 to 32769 are not read"
    )


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("pairs.csv", 'question;answer\nWhat is rain?;"Water; falling, wet"\n'),
        ("pairs.csv", '"question";"answer"\n"What is rain?";"Water; falling, wet"\n'),
        ("pairs.csv", "question\tanswer\nWhat is rain?\tWater; falling, wet\n"),
        ("pairs.tsv", 'answer,question\n"Water; falling, wet",What is rain?\n'),
    ],
)
def test_the_header_says_what_separates_the_columns(
    tmp_path: Path, name: str, content: str
) -> None:
    assert counts(ingest(write(tmp_path, content.encode(), name), "faq")) == (1, 1, 0, 0)
    assert QaPair.objects.get().answer == "Water; falling, wet"


@pytest.mark.parametrize("size", [MAX_QUESTION, MAX_ANSWER])
def test_texts_of_just_the_greatest_length_are_taken(tmp_path: Path, size: int) -> None:
    field = "question" if size == MAX_QUESTION else "answer"
    path = write(tmp_path, jsonl({**RAIN, field: "x" * size}))
    assert counts(ingest(path, "faq")) == (1, 1, 0, 0)


def test_html_is_stored_as_it_is_and_control_characters_are_not(tmp_path: Path) -> None:
    row = {"question": "What is <script>alert(1)</script>\x1b?", "answer": "A\x00 &amp;\r\nB"}
    ingest(write(tmp_path, jsonl(row)), "faq")
    pair = QaPair.objects.get()
    assert pair.question == "What is <script>alert(1)</script>?"
    assert pair.answer == "A &amp; B"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("pairs.jsonl", b"", "(0 bytes) has no rows: name a file that has some."),
        ("pairs.jsonl", b"\n \n\n", "(4 bytes) has no rows"),
        ("pairs.csv", b"question,answer\n", "has no rows"),
        ("pairs.csv", b"", "(0 bytes) has no rows"),
        ("pairs.jsonl.gz", b"", "has no rows"),
        (
            "pairs.xlsx",
            b"x",
            "has an unknown type: its name must end in .jsonl, .csv, .tsv, in one of "
            "these with .gz, or in .parquet.",
        ),
        ("pairs.xlsx", b"PK\x03\x04\x14\x00", "is a zip archive or an Excel workbook: unpack it"),
        ("pairs.csv", b"PK\x03\x04" + b"\x00" * 99, "is a zip archive or an Excel workbook"),
        ("pairs.csv", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "is not a text file: name the file"),
        ("pairs.jsonl", b"SQLite format 3\x00" + b"\x00\x01" * 40, "is not a text file"),
        ("pairs.csv", b"<!DOCTYPE html><p>Sign in", "is a web page, not a file of data"),
        ("pairs.csv", b"PAR1....PAR1", "is Parquet: rename it to end in .parquet"),
        ("pairs.jsonl", b"[" + jsonl(RAIN)[:-1] + b"]", "is one JSON list: write each object on"),
        ("pairs.jsonl", b"[\n" + jsonl(RAIN) + b"]\n", "is one JSON list: write each object on"),
        ("pairs.txt", b"x", "has an unknown type"),
        ("pairs", b"x", "has an unknown type"),
        (
            "pairs.csv",
            b"q,a\n1,2\n",
            "has no column 'question' and no column 'answer': name them in its first line, which "
            "is: q, a.",
        ),
        ("pairs.csv", b"question,a\n1,2\n", "has no column 'answer': name it in its first line"),
        ("pairs.csv", b"question,answer,question\n", "has two columns 'question': rename one."),
        ("pairs.csv", b"question,answer,id,,,ID\n", "has two columns 'id': rename one."),
        ("pairs.csv", b'"question"x,answer\n', "): correct the first line."),
        ("pairs.csv", b"question,answer\rQ?,A\r", "has the line ends of old Macs (CR): save it"),
        ("pairs.jsonl", jsonl(RAIN, SNOW).replace(b"\n", b"\r"), "the line ends of old Macs (CR)"),
        (
            "pairs.csv",
            b"question\ranswer\n",
            "(it contains a CR that does not end a line): correct",
        ),
        ("pairs.csv", b"question,answer\ncaf\xe9?,A\n", "not valid UTF-8 (save the file as UTF-8)"),
        ("pairs.csv.gz", bytes(900), "begins with zero bytes alone, as a file that was cut off"),
        ("pairs.csv", "question,answer\nQ?,A\n".encode("utf-16"), "is in UTF-16 or UTF-32"),
        ("pairs.csv", "question,answer\nQ?,A\n".encode("utf-16-le"), "is in UTF-16 or UTF-32"),
        ("pairs.jsonl", jsonl(RAIN).decode().encode("utf-32"), "is in UTF-16 or UTF-32"),
        ("pairs.jsonl", gzip.compress(jsonl(RAIN), mtime=0), "rename it to end in .gz"),
        ("pairs.jsonl", b"x" * 10_000_001, "is longer than 10,000,000 bytes"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    path = write(tmp_path, content, name)
    with pytest.raises(UserError) as refusal:
        ingest(path, "faq")
    assert message in str(refusal.value)
    assert str(path) in str(refusal.value)
    assert not QaPair.objects.exists()


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"There is no file .*nowhere\.csv: check the path\."):
        ingest(tmp_path / "nowhere.csv", "faq")
    with pytest.raises(UserError, match="There is no file"):
        ingest(tmp_path / ("long" * 100 + ".csv"), "faq")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(UserError, match="is not a file but a folder"):
        ingest(tmp_path / "folder.csv", "faq")


@pytest.mark.parametrize("damage", ["cut", "not gzip", "flipped"])
def test_a_damaged_gzip_file_adds_nothing(tmp_path: Path, data_dir: Path, damage: str) -> None:
    rows = [{"question": f"Question {n}?", "answer": "A" * (n % 97)} for n in range(9000)]
    content = bytearray(gzip.compress(jsonl({"id": "broken"}, *rows), mtime=0))
    if damage == "cut":
        content = content[: len(content) // 2]
    elif damage == "flipped":
        content[-5] ^= 255
    else:
        content = bytearray(jsonl(RAIN))
    path = tmp_path / "pairs.jsonl.gz"
    path.write_bytes(content)
    reason = "is not compressed by gzip: remove" if damage == "not gzip" else "is not a whole gzip"
    with pytest.raises(UserError, match=reason):
        ingest(path, "faq")
    assert not QaPair.objects.exists()
    assert not [*data_dir.rglob("*.jsonl*")]


def test_a_file_without_one_usable_row_is_refused_with_the_first_reason(tmp_path: Path) -> None:
    path = write(tmp_path, jsonl({"q": "What?", "a": "That."}, 5))
    with pytest.raises(UserError) as refusal:
        ingest(path, "faq")
    assert "none of the 2 rows of" in str(refusal.value)
    assert "line 1: there is no question (columns found: q, a)" in str(refusal.value)
    named = re.search(r"all of them are in (.*)\)", str(refusal.value))
    assert named
    assert len(Path(named[1]).read_text().splitlines()) == 2
    assert not QaPair.objects.exists()


def test_the_rejects_file_of_a_corrected_file_goes_away(tmp_path: Path) -> None:
    result = ingest(write(tmp_path, jsonl(RAIN, {})), "faq")
    assert result.rejects_path is not None
    assert result.rejects_path.exists()
    result_after = ingest(write(tmp_path, jsonl(RAIN)), "faq")
    assert result_after.rejects_path is None
    assert not result.rejects_path.exists()


@pytest.mark.parametrize("source", ["", " ", "\x00", "s" * 101, "s\udcff"])
def test_a_source_needs_a_name(tmp_path: Path, source: str) -> None:
    with pytest.raises(UserError, match="The source needs a name"):
        ingest(write(tmp_path, jsonl(RAIN)), source)


@pytest.mark.parametrize("license", ["l" * 301, "CC\udcff"])
def test_a_license_can_be_stored(tmp_path: Path, license: str) -> None:
    with pytest.raises(UserError, match="The license must have at most 300 characters, in UTF-8"):
        ingest(write(tmp_path, jsonl(RAIN)), "faq", license=license)


def test_a_file_whose_name_is_not_utf8_has_a_rejects_file_that_can_be_printed(
    tmp_path: Path,
) -> None:
    result = ingest(write(tmp_path, jsonl(RAIN, {}), "caf\udce9.jsonl"), "faq")
    assert str(result.rejects_path).isprintable()
    assert rejects(result)[0][0] == 2


def test_progress_adds_up_to_the_size_of_the_file(tmp_path: Path) -> None:
    rows = [{"question": f"Question {n}?", "answer": "Yes."} for n in range(2500)]
    for name in ("pairs.jsonl", "pairs.jsonl.gz"):
        seen: list[int] = []
        path = write(tmp_path, jsonl(*rows), name)
        ingest(path, name, progress=seen.append)
        assert sum(seen) == path.stat().st_size


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    answer = "a" * 5000
    lines = (json.dumps({"question": f"Q {n}?", "answer": answer}) + "\n" for n in range(8000))
    path = tmp_path / "pairs.jsonl.gz"
    with gzip.open(path, "wt", compresslevel=1) as file:
        file.writelines(lines)  # 40 MB
    tracemalloc.start()
    ingest(path, "faq")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5000 * BATCH * 3 + 5_000_000


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=8), kind=st.sampled_from("jct"))
def test_what_goes_in_is_what_is_stored(
    tmp_path: Path, rows: list[tuple[str, str]], kind: str
) -> None:
    QaPair.objects.all().delete()
    rows = [("Is it so?", "Yes."), *rows]
    if kind == "j":
        path = write(tmp_path, jsonl(*({"question": q, "answer": a} for q, a in rows)))
    else:
        buffer = io.StringIO(newline="")
        table = csv.writer(buffer, delimiter="," if kind == "c" else "\t")
        table.writerows([("question", "answer"), *rows])
        path = write(tmp_path, buffer.getvalue().encode(), f"pairs.{kind}sv")
    ingest(path, "faq")
    clean = {(clean_text(q), clean_text(a)) for q, a in rows}
    stored = set(QaPair.objects.values_list("question", "answer"))
    assert stored == {(q, a) for q, a in clean if normalise_question(q) and a}
