"""What simulated workers know."""

import json
from pathlib import Path

import pytest

from annotation.crowd.simulated.knowledge import read_gold
from core.errors import UserError


def write(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_label_may_be_written_as_a_decimal(tmp_path: Path) -> None:
    pairs = write(tmp_path / "gold.jsonl", {"query": "a", "question": "b", "label": 1.0})
    assert read_gold([pairs]).label("a", "b") == 1


def test_gold_files_hold_meanings_or_pairs(tmp_path: Path) -> None:
    meanings = write(
        tmp_path / "meanings.jsonl",
        {"question": "Why is the sky blue?", "meaning": "sky"},
        {"question": "why's the sky blue", "meaning": "sky"},
        {"question": "Why are sunsets red?", "meaning": "sunset"},
    )
    pairs = write(
        tmp_path / "pairs.jsonl",
        {"id": "p1", "query": "Legs of a spider?", "question": "How many legs?", "answer": "8"},
        {"query": "Legs of a crab?", "question": "How many legs?", "label": 0},
    )
    gold = read_gold([meanings, pairs])
    assert gold.label("WHY is the sky  blue", "why's the sky blue?") == 1
    assert gold.label("Why is the sky blue?", "Why are sunsets red?") == 0
    assert gold.label("legs of a spider", "how many legs") == 1
    assert gold.label("how many legs", "legs of a spider") == 1
    assert gold.label("legs of a crab", "how many legs") == 0
    assert gold.label("legs of a crab", "Why is the sky blue?") is None


@pytest.mark.parametrize(
    ("rows", "fault"),
    [
        (
            [{"question": "a", "meaning": "x"}, {"question": "A?", "meaning": "y"}],
            "another meaning",
        ),
        ([{"query": "a", "question": "b"}, {"query": "a", "question": "b", "label": 0}], "another"),
        ([{}, {"question": "a"}], "a row holds question and meaning, or"),
        ([{}, {"query": "a", "question": "b", "label": 2}], "the label must be 1 or 0, not 2"),
        ([{}, {"query": "a", "question": "b", "label": True}], "the label must be 1 or 0"),
        ([{}, {"question": 7, "meaning": "x"}], "the question is not a text"),
        ([{}, {"meaning": "x"}], "there is no question"),
    ],
)
def test_a_bad_gold_row_is_refused_with_its_line(
    tmp_path: Path, rows: list[dict[str, object]], fault: str
) -> None:
    rows = [row or {"question": "fine", "meaning": "fine"} for row in rows]
    path = write(tmp_path / "gold.jsonl", *rows)
    with pytest.raises(UserError, match=fault) as refusal:
        read_gold([path])
    assert f"Line 2 of the gold file {path}" in str(refusal.value)
