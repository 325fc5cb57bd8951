"""Indexes that follow the pairs: shards kept and packed, graphs grown or built again."""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from core.errors import UserError
from core.progress import Progress, no_progress
from retrieval.corpus.withdraw import withdraw_pairs
from retrieval.index.choice import GIB, ON_GPU
from retrieval.index.open_index import open_index
from retrieval.index.versions import current_index
from retrieval.indexing import encode, plan
from retrieval.indexing.build import build_index
from retrieval.indexing.plan import AUTO, BuildOptions
from retrieval.models import IndexVersion, QaPair
from retrieval.vectors.types import Vectors, unpacked
from tests.retrieval.conftest import AddPairs
from tests.retrieval.encoders.keywords import KeywordEncoder
from tests.support.gpu_of_faiss import stand_in

pytestmark = pytest.mark.django_db

TOPICS, DIMENSION = 12, 24
CENTRES = np.random.default_rng(5).normal(size=(TOPICS, DIMENSION))
PAIRS = [(f"What is {n}?", f"{n % TOPICS} of them.") for n in range(700)]


class TopicEncoder(KeywordEncoder):
    """A pair lies near its topic; a question lies `between` all topics, or at its pair."""

    def __init__(self, *, between: bool = False) -> None:
        super().__init__("topics")
        self.dimension = DIMENSION
        self._between = between

    def encode_questions(
        self, questions: Sequence[str], progress: Progress = no_progress
    ) -> Vectors:
        if not self._between:
            numbers = [int(question.split()[-1].rstrip("?")) for question in questions]
            return self.encode_pairs([PAIRS[number] for number in numbers], progress)
        return _unit([CENTRES.sum(axis=0) + _noise(question) for question in questions])

    def encode_pairs(
        self, pairs: Sequence[tuple[str, str]], progress: Progress = no_progress
    ) -> Vectors:
        progress(len(pairs))
        return _unit([CENTRES[int(a.split()[0])] + _noise(q) for q, a in pairs])


def _noise(text: str) -> np.ndarray:
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")
    return np.random.default_rng(seed).normal(size=DIMENSION) / 5


def _unit(rows: list[np.ndarray]) -> Vectors:
    vectors = np.array(rows)
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


ENCODER = TopicEncoder()


def build(kind: str, encoder: Any = ENCODER, **options: Any) -> tuple[IndexVersion, int]:
    """And how many pairs were encoded."""
    seen: list[int] = []
    index = build_index(
        "unused",
        "QQA",
        "cuda" if kind in ON_GPU else AUTO,
        progress=seen.append,
        encoder=encoder,
        options=BuildOptions(kind=kind, **options),
    )
    return index, sum(seen)


def found(k: int = 30) -> list[tuple[list[str], list[float]]]:
    """Of some questions by the current index."""
    index = open_index(current_index())
    queries = ENCODER.encode_questions([question for question, _ in PAIRS[::70]])
    positions, scores = index.search(queries, k, index.excluded())
    rows = zip(positions, scores, strict=True)
    return [(unpacked(index.store.keys[row]), near.tolist()) for row, near in rows]


def by_exact_search(k: int = 30) -> list[tuple[list[str], list[float]]]:
    build("exact")
    return found(k)


def test_kinds_share_the_shards_and_find_the_same(add_pairs: AddPairs) -> None:
    add_pairs(PAIRS)
    exact, encoded = build("exact")
    expected = found()
    assert encoded == 700
    for kind in ("hnsw", "ivf"):
        index, encoded = build(kind)
        assert (index.kind, encoded, index.manifest["shards"]) == (
            kind,
            0,
            exact.manifest["shards"],
        )
        assert index.recall is not None
        assert index.recall >= 0.99
        assert found() == expected
    assert IndexVersion.objects.count() == 3


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch)
    monkeypatch.setattr("retrieval.indexing.build.chosen_device", str)
    monkeypatch.setattr(plan, "free_on_gpu", lambda: 4 * GIB)


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("kind", ["hnsw", "ivf", "ivf-gpu"])
def test_an_index_grows_by_the_pairs_that_come_and_loses_those_withdrawn(
    add_pairs: AddPairs, kind: str
) -> None:
    pairs = add_pairs(PAIRS[:600])
    before, _ = build(kind)
    add_pairs(PAIRS[600:640])
    withdraw_pairs([pair.pair_key for pair in pairs[:20]])
    after, encoded = build(kind)
    assert (encoded, after.pairs) == (40, 620)
    assert after.manifest["shards"][:1] == before.manifest["shards"]
    assert (
        after.manifest["built_over"]
        == before.manifest["built_over"]
        == {
            "rows": 600,
            "removed": 0,
        }
    )
    assert found() == by_exact_search()


@pytest.mark.parametrize("change", ["many come", "many go", "one is back"])
def test_an_index_is_built_again_where_it_cannot_grow(add_pairs: AddPairs, change: str) -> None:
    pairs = add_pairs(PAIRS[:500])
    withdraw_pairs([pairs[0].pair_key])
    build("hnsw")
    withdraw_pairs([pairs[1].pair_key])
    build("hnsw")  # the row of the second pair is removed
    if change == "many come":
        add_pairs(PAIRS[500:600])
        expected = {"rows": 598, "removed": 0}  # packed
    elif change == "many go":
        withdraw_pairs([pair.pair_key for pair in pairs[2:110]])
        expected = {"rows": 499, "removed": 109}
    else:
        withdraw_pairs([pairs[1].pair_key], restore=True)
        expected = {"rows": 499, "removed": 0}
    assert build("hnsw")[0].manifest["built_over"] == expected
    assert found() == by_exact_search()


def test_an_index_of_too_little_recall_is_refused_and_the_vectors_stay(
    add_pairs: AddPairs,
) -> None:
    """Tuned on the rows, which lie in clumps; the questions lie between these."""
    add_pairs(PAIRS)
    encoder = TopicEncoder(between=True)
    with pytest.raises(UserError) as refused:
        build("ivf", encoder)
    assert "The index of the kind ivf finds 0." in str(refused.value)
    assert "of the 30 nearest pairs of 500 questions, below the 0.99 requested" in str(
        refused.value
    )
    assert "lower --recall, or use --kind exact" in str(refused.value)
    assert not IndexVersion.objects.exists()
    index, encoded = build("ivf", encoder, recall=0.1)
    assert encoded == 0
    assert 0.1 <= index.recall < 0.99
    assert index.manifest["recall_measured"]["sample"] == 500


def test_small_shards_are_packed_and_what_they_came_from_is_left_out(
    add_pairs: AddPairs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encode, "SHARD_PAIRS", 16)
    for start in range(0, 100, 25):
        add_pairs(PAIRS[start : start + 25])
        index, encoded = build("exact")
        assert encoded == 25
        assert [shard["pairs"] for shard in index.manifest["shards"]] == [start + 25]
    pairs = QaPair.objects.all()
    expected = ENCODER.encode_pairs([(pair.question, pair.answer) for pair in pairs])
    opened = open_index(current_index())
    np.testing.assert_array_equal(
        opened.store.rows(opened.store.positions([pair.pair_key for pair in pairs])), expected
    )


def test_the_shards_do_not_change_what_is_found(
    add_pairs: AddPairs, monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Any
) -> None:
    add_pairs(PAIRS)
    build("exact")
    expected = found()
    IndexVersion.objects.all().delete()
    settings.INDEX_DIR = tmp_path / "elsewhere"
    monkeypatch.setattr(encode, "SHARD_PAIRS", 300)
    monkeypatch.setattr("retrieval.vectors.compact.ROWS", 50)  # 100 rows are not few then
    index, _ = build("exact")
    assert [shard["pairs"] for shard in index.manifest["shards"]] == [300, 300, 100]
    assert found() == expected
