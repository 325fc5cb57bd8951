import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import UserError
from core.text.clean import question_key
from retrieval.training.data.duplicates import Duplicate, read_duplicates

QUORA = Path(__file__).parents[5] / "shared/data/pairs/qqp/qqp_first10k_with_qids.tsv.gz"


def written(folder: Path, *rows: str, header: str = "question1\tquestion2\tis_duplicate") -> Path:
    path = folder / "pairs.tsv"
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def test_rows_are_read_with_their_label_and_answer(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl.gz"
    rows = '{"question1": " a  b ", "question2": "c", "label": 1, "answer2": "d"}\n'
    path.write_bytes(gzip.compress(rows.encode()))
    found = read_duplicates(path, set())
    assert [*found.train, *found.dev] == [Duplicate("a b", "c", "d", 1)]


def test_a_question_of_the_releases_dev_or_test_is_never_learned_from(tmp_path: Path) -> None:
    path = written(tmp_path, "How?\tb\t1", "c\tHOW\t0", "d\te\t1")
    found = read_duplicates(path, {question_key("how")})
    assert [pair.query for pair in [*found.train, *found.dev]] == ["d"]
    assert found.held_out == 2


@given(
    pairs=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(0, 1)), min_size=1)
)
def test_no_question_of_dev_is_in_a_pair_of_train(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[int, int, int]]
) -> None:
    rows = [f"question {one}\tquestion {other}\t{label}" for one, other, label in pairs]
    found = read_duplicates(written(tmp_path_factory.mktemp("pairs"), *rows), set())
    keys = [
        {question_key(text) for pair in some for text in (pair.query, pair.question)}
        for some in (found.train, found.dev)
    ]
    assert not keys[0] & keys[1]
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
        read_duplicates(written(tmp_path, row), set())


def test_a_file_of_other_columns_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="question1"):
        read_duplicates(written(tmp_path, "a\tb\t1", header="left\tright\tsame"), set())


def test_quoras_own_file_is_read_as_it_is() -> None:
    if not QUORA.is_file():
        pytest.skip("the shared data is not here")
    found = read_duplicates(QUORA, set())
    pairs = [*found.train, *found.dev]
    assert len(found.dev) > 900
    assert len(pairs) > 9_000
    assert 0.3 < sum(pair.label for pair in pairs) / len(pairs) < 0.45
