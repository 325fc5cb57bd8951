"""The history of an account, imported from what its requester has kept of it."""

import json
import tracemalloc
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from hypothesis import given
from hypothesis import strategies as st

from annotation.models import PastRecord, Worker
from annotation.pipeline.history.import_history import Imported, import_history
from annotation.pipeline.history.read import files_in
from annotation.pipeline.history.records import moment_of, records_of
from core.errors import UserError
from core.files.rows import RowFault
from tests.support.threads import together

pytestmark = pytest.mark.django_db
FILES = files_in([Path(__file__).parent / "files"])
Kind = PastRecord.Kind

ASSIGNMENT = {"HITId": "H1", "AssignmentId": "S1", "WorkerId": "AEVE"}


def everything() -> list[Any]:
    """All that is stored, without the keys of rows."""
    rows = PastRecord.objects.select_related("worker", "part_of").order_by("crowd", "kind", "key")
    return [
        (
            one.crowd, one.kind, one.key, one.worker and (one.worker.crowd, one.worker.worker_id),
            one.part_of and one.part_of.key, one.title, one.batch, one.status, one.cents, one.at,
            one.fields,
        )
        for one in rows
    ]  # fmt: skip


def record(kind: Kind, key: str) -> PastRecord:
    return PastRecord.objects.select_related("worker", "part_of").get(kind=kind, key=key)


def write(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def imported(*files: Path) -> list[Imported]:
    return [import_history(file) for file in files]


def test_each_file_says_what_it_says_of_workers_hits_answers_and_money() -> None:
    assert [one.faults for one in imported(*FILES)] == [[]] * 8
    hit = record(Kind.HIT, "3HIT1")
    assert (hit.title, hit.batch) == ("Do two questions mean the same?", "BatchId:4012;")
    assert hit.cents == 15
    assert hit.fields["Input.question"] == ["How do I boil an egg?"]
    assert {
        one.key: (str(one.worker), one.status, one.part_of and one.part_of.key)
        for one in PastRecord.objects.filter(kind=Kind.ASSIGNMENT, crowd="mturk")
    } == {
        "3ASG1": ("AADA", "approved", "3HIT1"),
        "3ASG2": ("ABOB", "rejected", "3HIT1"),
        "3ASG3": ("AADA", "approved", "3HIT2"),  # submitted, says the older file
        "3ASG4": ("AEVE", "approved", "3HIT3"),
    }
    first = record(Kind.ASSIGNMENT, "3ASG1")
    assert str(first.at) == "2019-06-17 18:31:00+00:00"
    assert first.fields["Answer.why"] == ['same\nwords, "eggs"']
    assert record(Kind.ASSIGNMENT, "3ASG4").fields["Answer.label"] == ["No"]
    bonus = PastRecord.objects.get(kind=Kind.BONUS)
    assert (bonus.cents, bonus.part_of, str(bonus.worker)) == (150, first, "AADA")
    blocked = {one.key for one in PastRecord.objects.filter(kind=Kind.WORKER, status="blocked")}
    assert blocked == {"ABOB", "AEVE"}
    assert record(Kind.WORKER, "AEVE").fields["Reason of the block"] == ["Answers by a script"]
    assert record(Kind.WORKER, "AADA").fields["CURRENT-Egg expert"] == ["90"]
    assert record(Kind.WORKER, "AADA").fields["Qualification 3QUAL"] == ["90"]
    assert record(Kind.QUALIFICATION, "3QUAL").title == "Egg expert"


def test_the_same_thing_in_a_table_and_in_a_dump_is_said_once() -> None:
    imported(*FILES)
    both = record(Kind.ASSIGNMENT, "3ASG3")
    assert both.fields["AssignmentStatus"] == ["Approved", "Submitted"]
    assert both.fields["SubmitTime"] == ["2019-06-17T18:41:00+00:00"]
    assert both.fields["Answer.same"] == ["Yes"]
    assert record(Kind.HIT, "3HIT2").fields["Reward"] == ["0.15"]


def test_turkle_counts_from_one_in_each_of_its_sites(tmp_path: Path) -> None:
    results = next(file for file in FILES if file.name.startswith("turkle"))
    other = tmp_path / "other.csv"
    other.write_text(results.read_text().replace("2022", "2024").replace("grace", "joan"))
    imported(results, other)
    workers = Worker.objects.filter(crowd="turkle").values_list("worker_id", flat=True)
    assert set(workers) == {"grace", "joan"}
    assert PastRecord.objects.filter(kind=Kind.ASSIGNMENT, crowd="turkle").count() == 2


def test_a_second_import_changes_nothing() -> None:
    imported(*FILES)
    before = everything()
    again = imported(*FILES)
    assert everything() == before
    assert {(*one.new, *one.changed) for one in again} == {()}
    assert [one.rows for one in again] == [3, 2, 2, 1, 1, 2, 2, 1]


def test_the_order_of_files_does_not_matter() -> None:
    seen = []
    for files in [FILES, FILES[::-1], *list(permutations(FILES[:3]))[1:5]]:
        with transaction.atomic():
            imported(*files, *[file for file in FILES if file not in files])
            seen.append(everything())
            transaction.set_rollback(True)
    assert seen[1:] == seen[:-1]


IDS = st.sampled_from(["1", "2"])
STATUSES = st.sampled_from(["Submitted", "Approved", "Rejected", "Unknown", ""])
TEXTS = st.sampled_from(["", "a", "b", "=1+1", "é", "9", "10"])
ROWS = st.one_of(
    st.fixed_dictionaries(
        {"HITId": IDS, "AssignmentId": IDS, "WorkerId": IDS, "AssignmentStatus": STATUSES,
         "Answer.a": TEXTS, "Title": TEXTS, "Reward": st.sampled_from(["", "$0.15", "0.2"])}
    ),
    st.fixed_dictionaries({"HITId": IDS, "HITTypeId": TEXTS, "Reward": st.just("0.3")}),
    st.fixed_dictionaries({"AssignmentId": IDS, "WorkerId": IDS, "BonusAmount": st.just("1")}),
    st.fixed_dictionaries({"WorkerId": IDS, "Reason": TEXTS}),
    st.fixed_dictionaries({"Worker ID": IDS, "CURRENT BLOCK STATUS": TEXTS}),
)  # fmt: skip


@pytest.mark.hypothesis
@given(rows=st.lists(ROWS, min_size=1, max_size=6), data=st.data())
def test_rows_mean_the_same_in_any_order_and_any_number_of_files(
    rows: list[dict[str, str]], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("history")
    mixed = data.draw(st.permutations([*rows, *rows]))
    cut = data.draw(st.integers(0, len(mixed)))
    parts = [part for part in (mixed[:cut], mixed[cut:]) if part]
    files = [write(folder / f"{number}.jsonl", *part) for number, part in enumerate(parts)]
    with transaction.atomic():
        imported(write(folder / "all.jsonl", *rows))
        whole = everything()
        imported(*files)
        assert everything() == whole
        PastRecord.objects.filter(kind=Kind.BONUS).delete()
        PastRecord.objects.filter(kind=Kind.ASSIGNMENT).delete()
        PastRecord.objects.all().delete()
        imported(*files)
        assert everything() == whole
        transaction.set_rollback(True)


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ({**ASSIGNMENT, "WorkerId": ""}, "there is no WorkerId"),
        ({**ASSIGNMENT, "WorkerId": "A" * 65}, "the worker's id has 65 characters, more than 64"),
        ({**ASSIGNMENT, "HITId": "H" * 256}, "the id has 256 characters, more than 255"),
        ({**ASSIGNMENT, "Reward": "$0.155"}, "the Reward is not an amount in dollars and cents"),
        ({**ASSIGNMENT, "Reward": "-1"}, "the Reward is not an amount in dollars and cents"),
        ({**ASSIGNMENT, "Reward": "nan"}, "the Reward is not an amount in dollars and cents"),
        ({**ASSIGNMENT, "Reward": "1e9"}, "the Reward is not an amount in dollars and cents"),
        ({**ASSIGNMENT, "Answer.a": "a\0b"}, "the Answer.a has a NUL character"),
        ({**ASSIGNMENT, "Answer.a": "\ud800"}, "the Answer.a has half a character"),
        ({**ASSIGNMENT, "Answer": "<a>"}, "the Answer cannot be read: "),
        (
            {**ASSIGNMENT, "Answer.a": "a" * 1_000_001},
            "the Answer.a has 1,000,001 characters, more than 1,000,000",
        ),
        ({**ASSIGNMENT, **{str(one): "" for one in range(2000)}}, "it has 2,003 fields"),
    ],
)
def test_a_bad_row_says_why(row: dict[str, object], fault: str) -> None:
    with pytest.raises(RowFault, match=f"^{fault}"):
        records_of(row)


def test_bad_rows_are_counted_and_named_and_the_others_kept(tmp_path: Path) -> None:
    table = tmp_path / "results.csv"
    head = "HITId,AssignmentId,WorkerId,Reward,Answer.a\n"
    table.write_bytes(head.encode() + b"H1,S1,AEVE,$1,fine\nH1,S2,AEVE,free,\nH1,S3,AEVE,1,\xe9\n")
    done = import_history(table)
    assert (done.rows, done.faulty, done.new) == (3, 2, {"hit": 1, "assignment": 1})
    assert done.faults == [
        f"Line 3 of {table}: the Reward is not an amount in dollars and cents.",
        f"Line 4 of {table}: the row is not valid UTF-8 (save the file as UTF-8).",
    ]
    dump = write(tmp_path / "dump.json", [1, {"a": 1}, ASSIGNMENT])
    assert import_history(dump).faults == [
        f"Record 1 of {dump}: it is not an object but a text.",  # numbers stay as written
        f"Record 2 of {dump}: it is no HIT, assignment, worker, block, qualification or bonus.",
    ]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("template.html", b"<p>${question}</p>", "is a template, not work that was done"),
        ("input.csv", b"question\nWhy?\n", "has no column 'HITId' or 'WorkerId' or"),
        ("other.json", b'[{"question": "Why?"}]', "has no history of Mechanical Turk or Turkle"),
        ("ids.csv", b"HITId\nH1\n", "has no history of Mechanical Turk or Turkle"),
        ("empty.csv", b"", "has no rows"),
        ("empty.json", b" \n", "has no rows"),
        ("none.json", b"[]", "has no rows: there is nothing to import of a list that is empty"),
        ("none.jsonl", b'{"WorkerBlocks": [], "NumResults": 0}', "of a list that is empty"),
        ("wide.csv", "HITId,HITTypeId\nH,T\n".encode("utf-16"), "is in UTF-16 or UTF-32"),
        ("cut.json", b'[{"HITId": "H", "HITTypeId": "T"},', "ends within a list, after 1 records"),
        ("cut.jsonl", b'{"HITId": "H", "HITTypeId": "T"}\n{"H', "Record 2 of .* is not JSON"),
        ("deep.json", b"[" * 100_000, "Record 1 of .* is not JSON"),
        ("notes.txt", b"HITId", "has an unknown type"),
        ("twice.csv", b"HITId,HITId\nH,H\n", "has two columns 'HITId'"),
    ],
)
def test_a_file_that_is_none_is_refused_in_a_sentence_and_leaves_nothing(
    tmp_path: Path, name: str, content: bytes, sentence: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(UserError, match=sentence):
        import_history(path)
    assert not PastRecord.objects.exists()


def test_tables_with_semicolons_or_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    table, dump = tmp_path / "a.csv", tmp_path / "a.json"
    table.write_text("HITId;AssignmentId;WorkerId\nH1;S1;AEVE\n", encoding="utf-8-sig")
    dump.write_text(json.dumps([ASSIGNMENT]), encoding="utf-8-sig")
    assert [one.new for one in imported(table, dump)] == [{"hit": 1, "assignment": 1}, {}]


def test_an_import_that_is_killed_leaves_nothing(tmp_path: Path) -> None:
    rows = [{**ASSIGNMENT, "AssignmentId": f"S{one}"} for one in range(20_000)]
    path, seen = write(tmp_path / "many.jsonl", *rows), []

    def stop(increment: int) -> None:
        seen.append(increment)
        if PastRecord.objects.exists():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_history(path, stop)
    assert not PastRecord.objects.exists()
    assert 0 < sum(seen) < path.stat().st_size


@pytest.mark.concurrent
@pytest.mark.django_db(transaction=True)
def test_imports_at_the_same_time_lose_nothing_of_each_other(tmp_path: Path) -> None:
    rows = [[{"HITId": f"H{one}", "HITTypeId": name} for one in range(900)] for name in "ab"]
    files = [write(tmp_path / f"{number}.jsonl", *some) for number, some in enumerate(rows)]
    together(*(partial(import_history, file) for file in files))
    types = [one.fields["HITTypeId"] for one in PastRecord.objects.all()]
    assert types == [["a", "b"]] * 900


def test_progress_counts_the_bytes_of_the_file(tmp_path: Path) -> None:
    for file in FILES:
        seen: list[int] = []
        import_history(file, seen.append)
        assert sum(seen) == file.stat().st_size


@pytest.mark.parametrize("name", ["many.json", "many.csv"])
def test_a_long_file_is_read_in_little_memory(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, seen = tmp_path / name, []
    with path.open("w") as file:
        file.writelines(_long(name))
    count = "annotation.pipeline.history.import_history._store"
    monkeypatch.setattr(count, lambda records, imported: seen.append(len(records)))
    tracemalloc.start()
    try:
        assert import_history(path).rows == 50_000
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert sum(seen) == 100_000
    assert most < 10_000_000 < path.stat().st_size


def _long(name: str) -> Iterator[str]:
    """Of 50,000 assignments: a list on one line, or a table."""
    keys: Sequence[str] = ["HITId", "AssignmentId", "WorkerId", "Answer.a"]
    is_json = name.endswith(".json")
    yield "[" if is_json else ",".join(keys) + "\n"
    for one in range(50_000):
        row = [f"H{one // 5}", f"S{one}", f"A{one % 99}", "a long answer " * 30]
        text = json.dumps(dict(zip(keys, row, strict=True))) if is_json else ",".join(row) + "\n"
        yield ", " + text if is_json and one else text
    yield "]" if is_json else ""


@pytest.mark.hypothesis
@given(st.text() | st.from_regex(r"\A\w{3} \w{3} \d\d [\d:]{5,8} [A-Z]{1,4} -?\d{1,5}\Z"))
def test_any_text_is_a_time_or_none(text: str) -> None:
    moment = moment_of(text)
    assert moment is None or moment_of(moment.isoformat()) == moment
