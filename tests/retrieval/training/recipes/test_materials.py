import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from core.errors import UserError
from core.text.clean import question_key
from retrieval.training.recipes.materials import (
    Candidate,
    Group,
    Material,
    Source,
    parse_materials,
    read_material,
)

QUORA = Path(__file__).parents[5] / "shared/data/pairs/qqp/qqp_first10k_with_qids.tsv.gz"


def written(folder: Path, *rows: str, header: str = "question1\tquestion2\tis_duplicate") -> Path:
    path = folder / "pairs.tsv"
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def read_pairs(path: Path, held_out: set[str]) -> Material:
    return read_material(Source("pairs", path), held_out)


def test_a_file_may_lie_in_the_data_folder_wherever_that_is(
    tmp_path: Path, settings: Settings
) -> None:
    settings.DATA_DIR = tmp_path
    given = {"qrp": {"kind": "ranks", "file": "$QUORUM_DATA/materials/qrp"}}
    found = parse_materials(given, Path("/recipes"))
    assert found["qrp"].file == tmp_path / "materials" / "qrp"


def test_rows_are_read_with_their_label_and_answer(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl.gz"
    rows = '{"question1": " a  b ", "question2": "c", "label": 1, "answer2": "d"}\n'
    path.write_bytes(gzip.compress(rows.encode()))
    found = read_pairs(path, set())
    assert [*found.train, *found.dev] == [Group("a b", (Candidate("c", "d", 1),))]


def test_a_question_of_the_releases_dev_or_test_is_never_learned_from(tmp_path: Path) -> None:
    path = written(tmp_path, "How?\tb\t1", "c\tHOW\t0", "d\te\t1")
    found = read_pairs(path, {question_key("how")})
    assert [pair.query for pair in [*found.train, *found.dev]] == ["d"]
    assert found.held_out == 2


@given(
    pairs=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(0, 1)), min_size=1)
)
def test_no_question_of_dev_is_in_a_pair_of_train(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[int, int, int]]
) -> None:
    rows = [f"question {one}\tquestion {other}\t{label}" for one, other, label in pairs]
    found = read_pairs(written(tmp_path_factory.mktemp("pairs"), *rows), set())
    keys = [
        {question_key(text) for one in some for text in (one.query, one.candidates[0].question)}
        for some in (found.train, found.dev)
    ]
    assert not keys[0] & keys[1]
    assert len(found.train) + len(found.dev) + found.beside_dev == len(pairs)
    assert all(int(question_key(pair.query), 16) % 10 == 0 for pair in found.dev)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("a\tb\tmaybe", "Line 2 of .*: the is_duplicate is not a number"),
        ("a\tb\t2", "Line 2 of .*: the is_duplicate is 2, and must be 0 or 1"),
        ("a\t\t1", "Line 2 of .*: .*question2"),
        ("\tb\t1", "Line 2 of .*: .*question1"),
    ],
)
def test_a_wrong_row_is_told_by_its_line(tmp_path: Path, row: str, expected: str) -> None:
    with pytest.raises(UserError, match=expected):
        read_pairs(written(tmp_path, row), set())


def test_a_file_of_other_columns_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="question1"):
        read_pairs(written(tmp_path, "a\tb\t1", header="left\tright\tsame"), set())


def test_quoras_own_file_is_read_as_it_is() -> None:
    if not QUORA.is_file():
        pytest.skip("the shared data is not here")
    found = read_pairs(QUORA, set())
    pairs = [*found.train, *found.dev]
    assert len(found.dev) > 900
    assert len(pairs) > 9_000
    assert 0.3 < sum(pair.candidates[0].label for pair in pairs) / len(pairs) < 0.45


@pytest.mark.parametrize(
    ("kind", "line", "expected"),
    [
        (
            "positives",
            {"anchor": "a", "positive": "b", "negative": "c"},
            Group("a", (Candidate("b", "b", 1), Candidate("c", "c", 0))),
        ),
        ("positives", {"anchor": "a", "positive": "b"}, Group("a", (Candidate("b", "b", 1),))),
        ("topics", {"question": "a", "topic": "b"}, Group("a", (Candidate("b", "b", 1),))),
        (
            "sentences",
            {"question": "a", "sentence": "b", "label": 0},
            Group("a", (Candidate("b", "b", 0),)),
        ),
        ("spans", {"left": "a", "right": "b", "label": 1}, Group("a", (Candidate("b", "b", 1),))),
        (
            "sts",
            {"sentence1": "a", "sentence2": "b", "score": 4},
            Group("a", (Candidate("b", "b", 0.8),)),
        ),
        (
            "ranks",
            {"query": "a", "pairs": [["b", "c"], ["d", ""]], "label": 1},
            Group("a", (Candidate("b", "c", 1, ("b c", "d")), Candidate("d", "", 0, ("b c", "d")))),
        ),
    ],
)
def test_each_kind_is_read_by_its_columns(
    tmp_path: Path, kind: str, line: dict[str, object], expected: Group
) -> None:
    path = tmp_path / "material.jsonl"
    path.write_text(json.dumps(line) + "\n")
    found = read_material(Source(kind, path), set())
    assert [*found.train, *found.dev] == [expected]


@pytest.mark.parametrize(
    ("kind", "line", "expected"),
    [
        (
            "sts",
            {"sentence1": "a", "sentence2": "b", "score": 6},
            "the score is 6, and must be from",
        ),
        ("spans", {"left": "a", "right": "b", "label": 2}, "the label is 2, and must be 0 or 1"),
        ("topics", {"question": "a", "topic": " "}, "the topic is empty"),
        ("ranks", {"query": "a", "pairs": [["b", "c"]], "label": 1}, "pairs must be a list of two"),
        ("ranks", {"query": "a", "pairs": "b", "label": 1}, "pairs must be a list of two"),
    ],
)
def test_a_wrong_row_of_any_kind_is_named_by_its_line(
    tmp_path: Path, kind: str, line: dict[str, object], expected: str
) -> None:
    path = tmp_path / "material.jsonl"
    path.write_text(json.dumps(line) + "\n")
    with pytest.raises(UserError, match=rf"^Line 1 of .*: {expected}"):
        read_material(Source(kind, path), set())


def test_no_rank_holds_a_question_of_dev_or_test(tmp_path: Path) -> None:
    path = tmp_path / "ranks.jsonl"
    path.write_text('{"query": "a", "pairs": [["b", "c"], ["How?", "d"]], "label": 1}\n')
    found = read_material(Source("ranks", path), {question_key("how")})
    assert (found.held_out, found.train, found.dev) == (1, [], [])
