"""Files that were sent, imported by a worker: the counts, the rejected rows, cut-offs."""

import gzip
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from core.errors import UserError
from core.progress import Progress
from retrieval.corpus import uploads
from retrieval.corpus.uploads import folder_of
from retrieval.corpus.withdraw import withdraw_source
from retrieval.jobs import import_files
from retrieval.jobs.handlers import HANDLERS
from retrieval.jobs.queue import Watch, run
from retrieval.models import Job, QaPair
from tests.retrieval.corpus.sources.shapes import SHAPES, jsonl
from tests.retrieval.jobs.run_jobs import facts, sent, worked

pytestmark = [pytest.mark.django_db, pytest.mark.concurrent]

TEN = jsonl(*({"question": f"Q {n}?", "answer": "A b.", "score": n} for n in range(10)))
HALF_GOOD = b"question,answer\nWhy?,So.\nWhy?\n,Nothing.\n\xff,Bytes.\nHow?,Thus.\n"
HALF_GOOD_REASONS = [
    (3, "the row has 1 column, the header 2"),
    (4, "the question is empty"),
    (5, "the row is not valid UTF-8 (save the file as UTF-8)"),
]


def stored() -> set[tuple[str, str, str, str]]:
    return set(QaPair.objects.values_list("question", "answer", "source", "license"))


@pytest.mark.parametrize("format", sorted(SHAPES))
def test_a_source_in_its_published_format_is_imported(format: str) -> None:
    shape = SHAPES[format]
    job = worked(sent({shape.name: shape.content}, source=format, format=format))
    assert job.state == Job.State.DONE, job.error
    assert {(question, answer) for question, answer, _ in shape.pairs} == {
        (question, answer) for question, answer, *_ in stored()
    }
    [report] = facts(job)
    assert (report["added"], report["skipped"]) == (len(shape.pairs), shape.skipped)
    assert {license for *_, license in stored()} == {shape.license}


def test_rows_that_cannot_be_used_are_kept_with_their_line_and_the_reason() -> None:
    job = worked(sent({"half.csv": HALF_GOOD}))
    [report] = facts(job)
    assert (report["read"], report["added"], report["rejected"]) == (5, 2, 3)
    lines = (
        import_files.rejected_path(folder_of(job.arguments["folder"]), 1).read_text().splitlines()
    )
    assert [(row["line"], row["reason"]) for row in map(json.loads, lines)] == HALF_GOOD_REASONS


def test_of_very_many_rejected_rows_the_first_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_files, "MOST_REJECTED", 2)
    job = worked(sent({"half.csv": HALF_GOOD}))
    assert facts(job)[0]["rejected"] == 3
    kept = import_files.rejected_path(folder_of(job.arguments["folder"]), 1).read_text()
    assert len(kept.splitlines()) == 2


def test_what_is_there_already_is_counted_as_a_duplicate_and_stays_withdrawn() -> None:
    worked(sent({"ten.jsonl": TEN}))
    withdraw_source("s")
    [report] = facts(worked(sent({"ten.jsonl": TEN})))
    assert (report["added"], report["duplicates"], report["withdrawn"]) == (0, 10, 10)


def test_the_best_share_by_a_column_is_kept() -> None:
    job = worked(sent({"ten.jsonl": TEN}, share="20%", score_field="score"))
    [report] = facts(job)
    assert report["best"] == {"share": 0.2, "pairs": 10, "kept": 2, "threshold": 8.0}
    assert {question for question, *_ in stored()} == {"Q 8?", "Q 9?"}


def test_several_files_are_summed_and_a_wrong_one_does_not_undo_those_before_it() -> None:
    more = jsonl({"question": "More?", "answer": "Yes."})
    job = worked(sent({"ten.jsonl": TEN, "more.jsonl": more, "both.jsonl": TEN + more}))
    assert job.result is not None
    sums = {name: job.result[name] for name in import_files.SUMS}
    nothing = dict.fromkeys(["withdrawn", "elsewhere", "rejected"], 0)
    assert sums == {"read": 22, "added": 11, "duplicates": 11, **nothing}
    wrong = sent({"new.jsonl": jsonl({"question": "N?", "answer": "O."}), "w.csv": b"a,b\n1,2\n"})
    wrong = worked(wrong)
    assert wrong.state == Job.State.FAILED
    assert wrong.error == (
        "w.csv has no column 'question' and no column 'answer': name them in its first line, which "
        "is: a, b. Files imported before it: 1."
    )
    assert QaPair.objects.filter(question="N?").exists()


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.csv", b"question,answer\n,\n", "none of the 1 rows of a.csv can be used; line 2: the"),
        ("a.csv", "question,answer\né,é\n".encode("latin-1"), "the row is not valid UTF-8"),
        ("a.jsonl.gz", gzip.compress(TEN)[:-9], "a.jsonl.gz is not a whole gzip file"),
        ("a.parquet", b"PAR1 and no more", "a.parquet is not a whole Parquet file"),
    ],
)
def test_a_file_that_cannot_be_used_leaves_nothing_but_a_sentence(
    name: str, content: bytes, sentence: str
) -> None:
    job = worked(sent({name: content}))
    assert job.state == Job.State.FAILED
    assert sentence in job.error
    assert "/" not in job.error  # no place of ours
    assert not stored()
    assert not (folder_of(job.arguments["folder"]) / job.arguments["files"][0]["stored"]).exists()


def test_a_file_is_removed_when_its_job_is_done() -> None:
    job = worked(sent({"half.csv": HALF_GOOD}))
    left = [path.name for path in folder_of(job.arguments["folder"]).iterdir()]
    assert left == ["rejected-1.jsonl"]


def test_a_file_that_the_worker_does_not_find_is_told() -> None:
    job = sent({"ten.jsonl": TEN})
    (folder_of(job.arguments["folder"]) / "1.jsonl").unlink()
    assert worked(job).error.startswith("ten.jsonl is not where the worker looks for it")


def test_a_disk_that_is_full_when_the_rows_are_written_is_told() -> None:
    job = sent({"half.csv": HALF_GOOD})
    folder = folder_of(job.arguments["folder"])
    (folder / "rejected-1.jsonl.unfinished").symlink_to("/dev/full")
    assert worked(job).error.startswith("The site's disk is full")
    assert not stored()


def test_what_unpacks_to_far_more_than_a_text_is_not_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(uploads, "LEAST_UNPACKED", 10_000)
    bomb = gzip.compress(b"question,answer\n" + b"a,b\n" * 1_000_000)
    job = worked(sent({"bomb.csv.gz": bomb}))
    assert f"bomb.csv.gz has {len(bomb):,} bytes and unpacks to more than" in job.error
    fair = gzip.compress(TEN)
    assert worked(sent({"ten.jsonl.gz": fair})).state == Job.State.DONE


def test_two_imports_into_one_source_wait_for_each_other() -> None:
    first = sent({"ten.jsonl": TEN})
    with pytest.raises(UserError, match="already running for source s"):
        sent({"ten.jsonl": TEN})
    sent({"ten.jsonl": TEN}, source="another")
    worked(first)
    sent({"ten.jsonl": TEN})


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        ({"source": " \t "}, "The source needs a name"),
        ({"format": "xml"}, "There is no format 'xml'"),
        ({"share": "10%"}, "Choose how pairs are ranked"),
        ({"share": "10%", "score_field": "s", "by_encoder": True}, "Choose how pairs are ranked"),
        ({"score_field": "s"}, "Enter the share of pairs"),
        ({"share": "much", "score_field": "s"}, "'much' is not a share"),
        ({"license": "x" * 301}, "The license must have at most 300 characters"),
    ],
)
def test_what_no_import_can_be_told_is_refused_before_it_waits(
    wanted: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(UserError, match=sentence):
        sent({"ten.jsonl": TEN}, **wanted)
    assert not Job.objects.exists()


def test_the_bytes_read_are_told_stage_by_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    report: dict[str, list[int | None]] = {}
    whole = Watch.stage

    def stage(self: Watch, name: str, total: int | None = None) -> Progress:
        count = whole(self, name, total)
        report[name] = [total, 0]

        def counted(increment: int) -> None:
            report[name][1] += increment  # type: ignore[operator]
            count(increment)

        return counted

    monkeypatch.setattr(Watch, "stage", stage)
    packed = gzip.compress(TEN)
    worked(sent({"ten.jsonl.gz": packed}))
    assert report == {
        f"{doing} ten.jsonl.gz": [len(packed), len(packed)]
        for doing in ("unpacking", "reading", "adding the pairs of")
    }


def killed_at(job: Job, moment: str) -> None:
    """The worker's process is killed half-way through the pairs, or when they are all written."""
    connection.close()
    if child := os.fork():
        assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
        Job.objects.filter(pk=job.pk).update(beat_at=None)  # a minute later
        return

    def kill(*args: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def killing(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        inserted = sql.startswith("INSERT INTO retrieval_qapair")
        if moment == "half-way" and inserted and QaPair.objects.exists():
            kill()
        return execute(sql, params, many, context)

    try:
        if moment == "written":
            import_files._remove = kill
        with connection.execute_wrapper(killing):
            run(job.pk, "killed", HANDLERS)
    finally:
        os._exit(1)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("moment", ["half-way", "written"])
def test_an_import_that_is_killed_and_taken_up_again_says_and_leaves_the_same(
    moment: str,
) -> None:
    rows = [{"question": f"Question {n}?", "answer": "A."} for n in range(3_000)]
    content = jsonl(*rows, {"question": "", "answer": "A."}, rows[0])
    undisturbed = worked(sent({"many.jsonl": content}))
    expected = stored()
    QaPair.objects.all().delete()
    Job.objects.all().delete()

    job = sent({"many.jsonl": content})
    killed_at(job, moment)
    assert QaPair.objects.count() == (3_000 if moment == "written" else 0)
    again = worked(job)
    assert again.state == Job.State.DONE
    assert again.result == undisturbed.result
    assert again.attempts == 2
    assert stored() == expected
    assert not Path(folder_of(job.arguments["folder"]), "1.jsonl").exists()
