"""The best share against a plain sort of everything in memory."""

import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from core.errors import UserError
from core.text.clean import pair_key
from retrieval.corpus.ingest import IngestResult, ingest
from retrieval.corpus.pair_reader import BATCH
from retrieval.corpus.sources import top_share
from retrieval.corpus.sources.top_share import KeptShare, TopShare, selection, share_of
from retrieval.models import QaPair
from tests.retrieval.corpus.sources.shapes import jsonl, write
from tests.support.examples import examples

HALF = TopShare(Fraction(1, 2), field="score")
SCORES = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([0.0, -0.0, 1.0, -1.0])
KEYS = st.binary(min_size=32, max_size=32).map(bytes.hex) | st.integers(0, 300).map(
    "{:064x}".format
)


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.tuples(SCORES, KEYS), min_size=1, max_size=40, unique_by=lambda row: row[1]),
    share=st.fractions(Fraction(1, 50), 1),
    at_once=st.integers(1, 9),
)
@example(rows=[(0.0, "f" * 64), (-0.0, "0" * 64)], share=Fraction(1, 2), at_once=2)
def test_exactly_the_best_are_kept_and_of_equal_ones_the_first_by_key(
    tmp_path: Path, rows: list[tuple[float, str]], share: Fraction, at_once: int
) -> None:
    count = math.ceil(len(rows) * share)
    wanted = sorted(rows, key=lambda row: (-row[0], row[1]))[:count]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(top_share, "RECORDS_AT_ONCE", at_once)
        parts = [rows[start : start + at_once] for start in range(0, len(rows), at_once)]
        scored = [([s for s, _ in part], [k for _, k in part]) for part in parts]
        with selection(scored, path=tmp_path, share=share, folder=tmp_path) as chosen:
            kept = [flag for _, keys in scored for flag in chosen.keeps(keys)]
    assert {key for (_, key), flag in zip(rows, kept, strict=True) if flag} == {
        key for _, key in wanted
    }
    assert chosen.result == KeptShare(float(share), len(rows), count, wanted[-1][0])


@pytest.mark.parametrize(
    ("text", "share"),
    [("10%", Fraction(1, 10)), ("0.1", Fraction(1, 10)), (" 12.5 %", Fraction(1, 8)), ("1", 1)],
)
def test_a_share_is_a_percentage_or_a_fraction(text: str, share: Fraction) -> None:
    assert share_of(text) == share


@pytest.mark.parametrize("text", ["", "%", "ten", "0", "-1%", "101%", "2", "1/0", "nan", "inf%"])
def test_what_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(UserError, match=r"is not a share: write it as 10% or 0\.1|must be greater"):
        share_of(text)


def counts(result: IngestResult) -> tuple[int, int, int, int]:
    return result.read, result.added, result.duplicates, result.rejected


def row(number: int, score: object) -> dict[str, object]:
    return {"question": f"Question {number}?", "answer": "Yes.", "score": score}


@pytest.mark.django_db
def test_the_best_half_of_a_file_is_added(tmp_path: Path) -> None:
    rows = [row(number, score) for number, score in enumerate([3, 0.5, "9", -2.0, 3, 1e3])]
    result = ingest(write(tmp_path, "pairs.jsonl", jsonl(*rows)), "faq", best=HALF)
    tied = min([0, 4], key=lambda number: pair_key(f"Question {number}?", "Yes."))
    assert set(QaPair.objects.values_list("question", flat=True)) == {
        f"Question {number}?" for number in (2, 5, tied)
    }
    assert counts(result) == (6, 3, 0, 0)
    assert result.skipped == {"not among the best": 3}
    assert result.best == KeptShare(0.5, 6, 3, 3.0)


@pytest.mark.django_db
def test_a_share_is_rounded_up_and_the_same_file_twice_adds_nothing(tmp_path: Path) -> None:
    path = write(tmp_path, "pairs.jsonl", jsonl(*(row(number, number) for number in range(7))))
    tenth = TopShare(Fraction(1, 10), field="score")
    assert counts(ingest(path, "faq", best=tenth)) == (7, 1, 0, 0)
    assert QaPair.objects.get().question == "Question 6?"
    assert counts(ingest(path, "faq", best=tenth)) == (7, 0, 1, 0)


@pytest.mark.django_db
def test_the_share_is_of_the_pairs_that_can_be_used(tmp_path: Path) -> None:
    """A row without a score is refused, and so it makes no room for a worse one."""
    scores = [None, "high", True, [1], float("nan"), float("inf"), "1e999", 10**400, 4, 5]
    path = write(tmp_path, "pairs.jsonl", jsonl(*map(row, range(10), scores), {"score": 1}))
    result = ingest(path, "faq", best=HALF)
    assert counts(result) == (11, 1, 0, 9)
    assert QaPair.objects.get().question == "Question 9?"
    assert result.best == KeptShare(0.5, 2, 1, 5.0)
    assert result.rejects_path is not None
    rejects = result.rejects_path.read_text()
    assert rejects.count("the score is not a number") == 7
    assert rejects.count("there is no score") == 1


@pytest.mark.django_db
def test_batches_change_nothing(tmp_path: Path) -> None:
    """Ranks of the scores are shuffled over three batches; every second pair is better."""
    size = 2 * BATCH + 10
    order = np.random.default_rng(7).permutation(size)
    path = write(tmp_path, "pairs.jsonl", jsonl(*(row(int(n), float(n)) for n in order)))
    ingest(path, "faq", best=HALF)
    found = set(QaPair.objects.values_list("question", flat=True))
    assert found == {f"Question {number}?" for number in range(size // 2, size)}


@pytest.mark.django_db
def test_a_file_without_one_score_is_refused(tmp_path: Path, data_dir: Path) -> None:
    path = write(tmp_path, "pairs.jsonl", jsonl(row(1, None)))
    with pytest.raises(UserError, match=r"no row of .* can be used and has a score"):
        ingest(path, "faq", best=HALF)
    assert not QaPair.objects.exists()
    assert list(data_dir.iterdir()) == []


class Lengths:
    """The longer answer is the better one; `after` the first file is read, it is changed."""

    def __init__(self, changed: Path | None = None) -> None:
        self._changed = changed

    def scores(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        if self._changed:
            write(self._changed.parent, self._changed.name, jsonl(row(9, 1), row(8, 1)))
        return np.array([len(answer) for _, answer in pairs], np.float64)


@pytest.mark.django_db
def test_a_model_may_give_the_scores(tmp_path: Path) -> None:
    rows = [{"question": "Q?", "answer": "x" * length} for length in (3, 8, 5, 1)]
    path = write(tmp_path, "pairs.jsonl", jsonl(*rows))
    result = ingest(path, "faq", best=TopShare(Fraction(1, 2), scorer=Lengths()))
    assert sorted(QaPair.objects.values_list("answer", flat=True)) == ["x" * 5, "x" * 8]
    assert result.best == KeptShare(0.5, 4, 2, 5.0)


@pytest.mark.django_db
def test_a_file_that_changes_between_the_two_readings_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "pairs.jsonl", jsonl(row(1, 1), row(2, 2)))
    with pytest.raises(UserError, match="changed while it was read: run the command again"):
        ingest(path, "faq", best=TopShare(Fraction(1, 2), scorer=Lengths(path)))
    assert not QaPair.objects.exists()


@pytest.mark.django_db
def test_scores_come_with_a_format_s_own_records(tmp_path: Path) -> None:
    """Of PAQ the passage's, of QuoraQP the one that stands beside each answer."""
    paq = [{"question": f"q{n}", "answer": "a", "passage_score": -float(n)} for n in range(4)]
    by_passage = TopShare(Fraction(1, 4), field="passage_score")
    path = write(tmp_path, "paq.jsonl", jsonl(*paq))
    assert counts(ingest(path, "paq", format="paq", best=by_passage)) == (4, 1, 0, 0)
    assert QaPair.objects.get().question == "q0"
    quora = (
        b"id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\tanswer1\tanswer2\tscore1\tscore2\n"
        b"0\t1\t2\tHow?\tWhy?\t0\tSo.\tThus.\t0.1\t0.7\n"
    )
    path = write(tmp_path, "quora.tsv", quora)
    assert ingest(path, "quora", format="quoraqp", best=HALF).added == 1
    assert QaPair.objects.get(source="quora").question == "Why?"
