from functools import partial
from pathlib import Path

import pytest

from annotation.models import Control
from annotation.pipeline.controls.import_controls import Imported, import_controls
from annotation.protocol.policy.policy import Policy
from core.errors import UserError
from tests.support.threads import together
from tests.worlds.small_campaign import write_rows

pytestmark = [pytest.mark.django_db, pytest.mark.concurrent]


def test_own_controls_join_the_pool(db: None, tmp_path: Path) -> None:
    path = tmp_path / "controls.csv"
    path.write_text("query,question,answer\nhow old is ada,the age of ada,Ten.\n")
    assert import_controls(path) == Imported(read=1, added=1, pool=1)
    control = Control.objects.get()
    assert (control.kind, control.campaign, control.expected) == ("positive", None, 1)
    assert (control.query, control.question, control.answer) == (
        "how old is ada",
        "the age of ada",
        "Ten.",
    )


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ({"query": "how old is ada", "question": "", "answer": "Ten."}, "Line 2"),
        ({"query": "How old is ada?", "question": "how old is ada", "answer": "1"}, "same text"),
        ({"query": "how old is ada", "question": "the age of ada", "answer": ""}, "answer"),
        ({"query": "x" * 2001, "question": "the age of ada", "answer": "Ten."}, "Line 2"),
    ],
)
def test_one_bad_control_refuses_the_file(
    db: None, tmp_path: Path, row: dict[str, str], fault: str
) -> None:
    good = {"query": "how tall is bob", "question": "the height of bob", "answer": "Tall."}
    path = write_rows(tmp_path / "controls.jsonl", [good, row])
    with pytest.raises(UserError, match=fault):
        import_controls(path)
    assert not Control.objects.exists()


def test_controls_already_in_the_pool_are_not_added_again(db: None, tmp_path: Path) -> None:
    path = tmp_path / "controls.csv"
    rows = ["query,question,answer", *(f"how many {x},number of {x},Ten." for x in "abcb")]
    path.write_text("\n".join(rows))
    assert import_controls(path) == Imported(read=4, added=3, pool=3)
    path.write_text("\n".join([*rows, "how many d,number of d,Ten."]))
    assert import_controls(path) == Imported(read=5, added=1, pool=4)


def test_the_shipped_pool_serves_the_paper_s_policy(db: None) -> None:
    assert import_controls().pool >= Policy().control_pool_size


@pytest.mark.django_db(transaction=True)
def test_files_in_opposite_orders_do_not_wait_for_each_other_for_ever(tmp_path: Path) -> None:
    rows = [
        {"query": f"how many {number}", "question": f"number of {number}", "answer": "Ten."}
        for number in range(1500)
    ]
    files = [write_rows(tmp_path / f"{step}.jsonl", rows[::step]) for step in (1, -1)]
    found = together(*(partial(import_controls, path) for path in files))
    assert sum(one.added for one in found) == Control.objects.count() == 1500


@pytest.mark.django_db(transaction=True)
def test_files_that_come_at_once_add_each_control_once_and_count_their_own(tmp_path: Path) -> None:
    def file(name: str, letters: str) -> Path:
        rows = (
            {"query": f"how many {letter}", "question": f"number of {letter}", "answer": "Ten."}
            for letter in letters
        )
        return write_rows(tmp_path / f"{name}.jsonl", list(rows))

    files = [file("some", "abc"), file("more", "abcde"), file("most", "abcdef")]
    found = together(*(partial(import_controls, path) for path in files))
    assert Control.objects.count() == 6 == sum(one.added for one in found)
    assert [one.read for one in found] == [3, 5, 6]
    assert max(one.pool for one in found) == 6
