from pathlib import Path

import pytest

from annotation.models import Control
from annotation.pipeline.import_controls import Imported, import_controls
from annotation.protocol.policy import Policy
from retrieval.errors import UserError
from tests.small_campaign import write_rows

pytestmark = pytest.mark.django_db


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
