"""What every kind promises whose rows lie in an engine, on real engines."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from core.errors import UserError
from retrieval.index import tuning
from retrieval.index.exact.exact import ExactIndex
from retrieval.index.open_index import OpenIndex, open_index
from retrieval.index.port import rounding_error
from retrieval.index.recall import measure
from retrieval.index.rescore import nearest
from retrieval.indexing.build import build_index
from retrieval.indexing.plan import BuildOptions
from retrieval.indexing.prune import prune
from tests.retrieval.conftest import AddPairs
from tests.retrieval.encoders.keywords import KeywordEncoder
from tests.retrieval.index.approximate.engines import (
    DIMENSION,
    Engine,
    MakeStore,
    none_of,
    same_ranking,
    unit_vectors,
)
from tests.retrieval.index.stores import true_scores
from tests.support.examples import examples

WORDS = ["rain", "snow", "hail", "sun", "wind", "fog"]
KEYWORDS = KeywordEncoder(" ".join(WORDS))


# finding


def test_it_ranks_as_the_exact_search_does(engine: Engine, make_store: MakeStore) -> None:
    store = make_store(1500, 1, 700)
    index = engine.index.build(store, {"ef_search": 400})
    same_ranking(index, store, none_of(store))


def test_the_nearest_come_first_with_their_scores(engine: Engine, make_store: MakeStore) -> None:
    store = make_store(200, 100)
    queries = unit_vectors(7, 3)
    found = engine.index.build(store, {"ef_search": 400}).search(queries, 20, none_of(store))
    assert (found.positions.dtype, found.scores.dtype) == (np.int64, np.float32)
    assert (np.diff(found.scores, axis=1) <= 0).all()
    true = true_scores(store, queries, found.positions)
    # pgvector rounds the numbers of a query to 16 bits too.
    assert np.abs(true - found.scores).max() <= rounding_error(DIMENSION) + 2**-11


def test_no_query_and_no_row_find_nothing(engine: Engine, make_store: MakeStore) -> None:
    store, empty = make_store(20), make_store()
    found = engine.index.build(store, {}).search(unit_vectors(0, 1), 4, none_of(store))
    assert (found.positions.shape, found.scores.shape) == ((0, 4), (0, 4))
    found = engine.index.build(empty, {}).search(unit_vectors(2, 1), 3, none_of(empty))
    assert found.positions.tolist() == [[-1] * 3] * 2


def test_the_graph_is_what_is_searched(engine: Engine, make_store: MakeStore) -> None:
    """With the least step it misses rows that a comparison with every row finds."""
    store = make_store(2000)
    index = engine.index.build(store, {"m": 2, "ef_construction": 4, "ef_search": 1})
    queries = unit_vectors(50, 7)
    found = index.search(queries, 10, none_of(store)).positions
    exact = ExactIndex(store).search(queries, 10, none_of(store)).positions
    shared = sum(len(set(a) & set(b)) for a, b in zip(found.tolist(), exact.tolist(), strict=True))
    assert 0 < shared < found.size


def test_it_is_tuned_to_the_recall_asked_for(
    engine: Engine, make_store: MakeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, "TUNED_ON", 40)  # rows
    store = make_store(500)
    queries, found, efforts = unit_vectors(40, 5), [], []
    for wanted in (0.1, 0.99):
        little = {"m": 2, "ef_construction": 4, "recall": wanted}
        index = engine.index.build(store, little)
        recall = measure(index, store, queries, np.full(40, -1), none_of(store))
        found.append(recall.value)
        efforts.append(int(str(index.parameters["ef_search"])))
    assert efforts[0] < efforts[1]
    assert found[0] < found[1]


def test_all_but_a_few_rows_excluded_exactly_those_are_found(
    engine: Engine, make_store: MakeStore
) -> None:
    """The nearest rows are excluded: a scan that stopped at them would find nothing."""
    store = make_store(1200)
    index = engine.index.build(store, {"ef_search": 10})
    excluded = np.ones(len(store), np.bool_)
    excluded[5:1200:40] = False
    same_ranking(index, store, excluded, k=30)
    found = index.search(unit_vectors(3, 7), 50, excluded)
    assert (found.positions[:, 30:] == -1).all()
    assert np.isneginf(found.scores[:, 30:]).all()


def test_what_is_excluded_holds_for_one_search_alone(engine: Engine, make_store: MakeStore) -> None:
    store = make_store(300)
    index = engine.index.build(store, {})
    [query] = store.rows(np.array([17]))
    excluded = none_of(store)
    excluded[17] = True
    for mask, first in [(none_of(store), True), (excluded, False), (none_of(store), True)]:
        found = index.search(query[None], 1, mask).positions
        assert (found[0, 0] == 17) is np.bool_(first)
    excluded[:] = True
    assert (index.search(query[None], 3, excluded).positions == -1).all()


def test_more_rows_than_a_graph_gives_at_once_are_found(
    engine: Engine, make_store: MakeStore
) -> None:
    store = make_store(1300)
    index = engine.index.build(store, {})
    same_ranking(index, store, none_of(store), k=1200)


@hypothesis_settings(
    max_examples=examples(10),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    excluded=st.sets(st.integers(0, 399), max_size=395), k=st.integers(1, 5), q=st.integers(1, 3)
)
def test_exactly_k_come_back_and_none_is_excluded(
    engine: Engine, make_store: MakeStore, excluded: set[int], k: int, q: int
) -> None:
    store = make_store(400)
    index = engine.index.build(store, {"ef_search": 5})
    mask = none_of(store)
    mask[list(excluded)] = True
    positions, scores = nearest(index, store, unit_vectors(q, 3), k, mask)
    assert positions.shape == scores.shape == (q, k)
    assert all(len(set(row)) == k and not mask[row].any() for row in positions.tolist())
    assert (np.diff(scores, axis=1) <= 0).all()


# changing


def test_added_rows_are_found_and_removed_ones_are_not(
    engine: Engine, make_store: MakeStore
) -> None:
    smaller, larger = make_store(600), make_store(600, 300)
    index = engine.index.build(smaller, {"ef_search": 400})
    index.add(larger)
    same_ranking(index, larger, none_of(larger))
    index.remove(np.arange(0, 900, 3))
    left_out = none_of(larger)
    left_out[::3] = True
    same_ranking(index, larger, left_out)
    found = index.search(unit_vectors(20, 7), 30, none_of(larger)).positions
    assert (found[:, 0] >= 0).all()
    assert not left_out[found].any()


def test_an_older_version_goes_on_beside_one_that_added_rows(
    engine: Engine, make_store: MakeStore, tmp_path: Path
) -> None:
    smaller, larger = make_store(300), make_store(300, 200)
    older = engine.index.build(smaller, {"ef_search": 400})
    older.save(tmp_path)
    newer = engine.index.load(tmp_path, smaller, older.parameters)
    newer.add(larger)
    older = engine.index.load(tmp_path, smaller, older.parameters)
    same_ranking(older, smaller, none_of(smaller))
    same_ranking(newer, larger, none_of(larger))


def test_versions_that_add_different_rows_do_not_meet_in_one_table(
    engine: Engine, make_store: MakeStore
) -> None:
    first = engine.index.build(make_store(300), {"ef_search": 400})
    second = engine.index.build(make_store(300), {"ef_search": 400})
    one, other = make_store(300, 200, seeds=(0, 1)), make_store(300, 200, seeds=(0, 2))
    first.add(one)
    second.add(other)
    assert list(engine.tables().values()).count(500) == 2
    same_ranking(first, one, none_of(one))
    same_ranking(second, other, none_of(other))


# keeping


def test_a_dropped_table_leaves_no_trace_and_can_be_made_again(
    engine: Engine, make_store: MakeStore
) -> None:
    kept, old = (
        str(engine.index.build(make_store(size), {}).parameters["table"]) for size in (30, 20)
    )
    for _ in range(2):  # killed in between, it is done again
        engine.index.drop({old})
        assert engine.tables() == {kept: 30}
    index = engine.index.build(make_store(20), {})
    assert index.parameters["table"] == old
    same_ranking(index, make_store(20), none_of(make_store(20)), k=5)


def test_an_index_is_built_searched_lost_made_again_and_pruned(
    engine: Engine, add_pairs: AddPairs
) -> None:
    add_pairs((f"What is {a} and {b}?", "It is so.") for a in WORDS for b in WORDS)
    asked = KEYWORDS.encode_questions(["rain and snow", "fog"])

    def build(kind: str) -> OpenIndex:
        options = BuildOptions(kind=kind)
        return open_index(build_index("unused", "QQ", encoder=KEYWORDS, options=options))

    exact, ours = build("exact"), build(engine.index.kind)
    expected = exact.search(asked, 10, exact.excluded())
    np.testing.assert_array_equal(ours.search(asked, 10, ours.excluded()), expected)
    [table] = engine.tables()
    engine.lose(table)
    with pytest.raises(UserError, match=f"{table} .*run `quorum index build` to load them again"):
        open_index(ours.version)
    again = build(engine.index.kind)
    np.testing.assert_array_equal(again.search(asked, 10, again.excluded()), expected)
    build("exact")
    prune(dry_run=False)
    assert engine.tables() == {}


def test_an_index_that_finds_too_little_is_refused(
    engine: Engine, add_pairs: AddPairs, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_pairs((f"What is {a} and {b}?", "It is so.") for a in WORDS for b in WORDS)
    monkeypatch.setattr(engine.index, "_nearest", lambda *_: None)
    options = BuildOptions(kind=engine.index.kind)
    with pytest.raises(UserError, match=r"finds 0.0000 of the .* below the 0.99 requested"):
        build_index("unused", "QQ", encoder=KEYWORDS, options=options)
