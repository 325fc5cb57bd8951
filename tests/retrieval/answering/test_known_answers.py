"""Files of questions whose answers are known."""

import gzip
import json
from pathlib import Path

import pytest

from core.errors import UserError
from retrieval.answering.known_answers import KnownQuestion, in_the_database, read_known
from tests.retrieval.conftest import AddPairs


def test_a_file_is_read_and_cleaned(tmp_path: Path) -> None:
    path = tmp_path / "known.jsonl.gz"
    rows = [
        {"question": " who is  Bach? ", "answers": ["J. S. Bach", " ", "Bach\0"], "id": 7},
        {"question": "why?", "answers": ["so"]},
    ]
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    assert read_known(path) == [
        KnownQuestion("who is Bach?", ("J. S. Bach", "Bach")),
        KnownQuestion("why?", ("so",)),
    ]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("{", "Line 2 of .*: the line is not JSON"),
        ('{"answers": ["so"]}', "there is no question"),
        ('{"question": " ", "answers": ["so"]}', "the question is empty"),
        ('{"question": "why?"}', "the answers are no list of texts"),
        ('{"question": "why?", "answers": "so"}', "the answers are no list of texts"),
        ('{"question": "why?", "answers": [1]}', "the answers are no list of texts"),
        ('{"question": "why?", "answers": [" "]}', "there is no answer"),
        ('{"question": "why?", "answers": ["\\ud800"]}', "there is no answer in UTF-8"),
    ],
)
def test_a_row_that_cannot_be_used_is_named(tmp_path: Path, row: str, expected: str) -> None:
    path = tmp_path / "known.jsonl"
    path.write_text(f'{{"question": "how?", "answers": ["so"]}}\n{row}\n')
    with pytest.raises(UserError, match=expected):
        read_known(path)


def test_a_file_that_is_empty_or_not_there_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "known.jsonl"
    with pytest.raises(UserError, match=r"known\.jsonl"):
        read_known(path)
    path.touch()
    with pytest.raises(UserError, match="has no rows"):
        read_known(path)


def test_questions_that_stand_in_the_database_are_counted(add_pairs: AddPairs) -> None:
    add_pairs([("What is rain?", "Water."), ("What is rain?", "Wet.")])
    asked = [KnownQuestion(text, ("Water",)) for text in ("what is RAIN", "rain", "what is rain?")]
    assert in_the_database(asked) == 2
