import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.db import IntegrityError

from retrieval import encode
from retrieval.build import build_index
from retrieval.errors import UserError
from retrieval.models import Candidate, IndexVersion, QaPair, QuerySet
from retrieval.querysets import load_queries, sample_queries
from retrieval.search import current_index, pair_vectors, retrieve
from retrieval.store.folder import MANIFEST, REMOVED, store_folder
from retrieval.store.shards import Identity
from retrieval.vectors import Vectors
from tests.retrieval.conftest import AddPairs
from tests.retrieval.keywords import KeywordEncoder

pytestmark = pytest.mark.django_db

WORDS = ["rain", "snow", "hail", "sun", "wind", "fog", "ice", "frost", "cloud", "storm"]
KEYWORDS = KeywordEncoder(" ".join(WORDS))
PAIRS = [
    (f"What is {a} and {b}, version {n}?", f"It is {b} {b}.")
    for n in range(2)
    for a in WORDS
    for b in WORDS
]


def build(form: str = "QQA", encoder: Any = KEYWORDS, **options: Any) -> IndexVersion:
    return build_index("unused", form, "cpu", encoder=encoder, **options)


def candidates(query_set: QuerySet) -> list[tuple[str, int, str, float]]:
    found = Candidate.objects.filter(query__query_set=query_set).order_by("query__key", "rank")
    return list(found.values_list("query__key", "rank", "pair__pair_key", "score"))


def user_queries(folder: Path, *texts: str, name: str = "mine") -> QuerySet:
    path = folder / f"{name}.txt"
    path.write_text("\n".join(texts))
    return load_queries(name, path)


# building


def test_an_index_holds_every_pair_and_says_what_it_was_made_of(
    add_pairs: AddPairs, data_dir: Path
) -> None:
    add_pairs(PAIRS)
    seen: list[int] = []
    index = build(progress=seen.append)
    assert (index.model, index.form, index.pairs, index.dimension) == ("keywords", "QQA", 200, 11)
    assert sum(seen) == 200
    assert index.manifest["versions"].keys() >= {"keywords"}
    version = data_dir / "index" / "versions" / index.path
    assert sorted(path.name for path in version.iterdir()) == [MANIFEST, REMOVED]
    assert current_index() == index


def test_an_unchanged_index_is_not_built_again(add_pairs: AddPairs) -> None:
    add_pairs(PAIRS)
    index = build()
    seen: list[int] = []
    assert build(progress=seen.append) == index
    assert (seen, IndexVersion.objects.count()) == ([], 1)


def test_the_index_asked_for_last_is_the_current_one(add_pairs: AddPairs) -> None:
    add_pairs(PAIRS)
    together = build("QQA")
    alone = build("QQ")
    assert current_index() == alone
    assert build("QQA") == together
    assert current_index() == together


def test_the_form_decides_what_is_encoded(add_pairs: AddPairs) -> None:
    [pair] = add_pairs([("What is rain?", "A kind of snow.")])
    build("QQ")
    [alone] = pair_vectors([pair.pk])
    build("QQA")
    [together] = pair_vectors([pair.pk])
    np.testing.assert_array_equal(alone, KEYWORDS.encode_questions(["rain"])[0])
    np.testing.assert_array_equal(together, KEYWORDS.encode_questions(["rain snow"])[0])


def test_an_unknown_form_and_an_empty_database_are_refused() -> None:
    with pytest.raises(UserError, match="There is no form 'AQ': choose QQA or QQ"):
        build("AQ")
    with pytest.raises(UserError, match=r"holds no q/a pairs: add some by `manage.py ingest"):
        build()


@pytest.mark.parametrize("where", ["model", "setting"])
@pytest.mark.parametrize("name", ["/m" * 151, "/m\udcff"])
def test_a_model_whose_name_cannot_be_recorded_is_refused_before_it_encodes(
    add_pairs: AddPairs, settings: Any, where: str, name: str
) -> None:
    add_pairs(PAIRS)
    encoder = KeywordEncoder("rain")
    if where == "model":
        encoder.name = name
    else:
        settings.ENCODER_MODEL = name
    seen: list[int] = []
    with pytest.raises(UserError, match="at most 300 characters in UTF-8: move it to a shorter"):
        build_index("unused", "QQ", progress=seen.append, encoder=encoder)
    assert not seen
    assert not IndexVersion.objects.exists()


def test_more_pairs_than_one_shard_are_all_encoded(
    add_pairs: AddPairs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encode, "SHARD_PAIRS", 64)
    count = 2 * 64 + 1
    pairs = add_pairs((f"What is rain {n}?", "Snow.") for n in range(count))
    assert build().pairs == count
    assert pair_vectors([pairs[-1].pk, pairs[0].pk]).shape == (2, 11)


class Interrupted(Exception):
    pass


def test_a_build_that_fails_leaves_nothing_and_the_next_one_works(
    add_pairs: AddPairs, data_dir: Path
) -> None:
    add_pairs(PAIRS)
    old = build("QQ")

    def stop(increment: int) -> None:
        raise Interrupted

    with pytest.raises(Interrupted):
        build(progress=stop)
    assert IndexVersion.objects.count() == 1
    assert {p.name for p in (data_dir / "index" / "versions").iterdir()} == {old.path}
    assert current_index() == old
    assert build().form == "QQA"


def test_pairs_that_change_during_a_build_are_noticed(
    add_pairs: AddPairs, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_pairs(PAIRS)

    monkeypatch.setattr(encode, "SHARD_PAIRS", 64)

    def meddle(increment: int) -> None:
        QaPair.objects.order_by("pair_key").last().delete()  # type: ignore[union-attr]

    with pytest.raises(UserError, match="changed while the index was made"):
        build(progress=meddle)
    assert not IndexVersion.objects.exists()


def test_two_builds_at_once_are_refused(add_pairs: AddPairs) -> None:
    add_pairs(PAIRS)

    def build_too(increment: int) -> None:
        build("QQ")

    with pytest.raises(UserError, match="is being built already"):
        build(progress=build_too)


# noticing change


def test_without_an_index_the_user_is_told_to_make_one() -> None:
    with pytest.raises(UserError, match=r"There is no index yet: run `manage.py index`"):
        current_index()


def test_pairs_added_or_removed_are_noticed(add_pairs: AddPairs) -> None:
    added = add_pairs(PAIRS)
    build()
    [new] = add_pairs([("What is new?", "This.")])
    with pytest.raises(UserError, match=r"\(200 then, 201 now\): run `manage.py index"):
        current_index()
    new.delete()
    current_index()
    added[0].delete()
    add_pairs([("What is new?", "That.")], source="other")
    with pytest.raises(UserError, match=r"\(200 then, 200 now\)"):
        current_index()


def test_a_changed_setting_is_noticed_and_an_explicit_model_is_not_a_change(
    add_pairs: AddPairs, settings: Any
) -> None:
    add_pairs(PAIRS)
    settings.ENCODER_MODEL = "one"
    build()  # of a model that is not the setting's
    current_index()
    settings.ENCODER_MODEL = "two"
    with pytest.raises(UserError, match="encoder setting changed from one to two"):
        current_index()
    build()
    current_index()


def file_of(kind: str, index: IndexVersion, data_dir: Path) -> Path:
    if kind in (MANIFEST, REMOVED):
        return data_dir / "index" / "versions" / index.path / kind
    [shard] = index.manifest["shards"]
    folder = store_folder(data_dir / "index", Identity(**index.manifest["store"]))
    return folder / f"{shard['name']}.{kind}"


@pytest.mark.parametrize("kind", [MANIFEST, REMOVED, "keys.npy", "vectors.npy"])
@pytest.mark.parametrize("damage", ["missing", "truncated", "flipped", "foreign"])
def test_a_damaged_file_is_refused_by_name_and_built_again(
    add_pairs: AddPairs, data_dir: Path, kind: str, damage: str
) -> None:
    add_pairs(PAIRS)
    index = build()
    path = file_of(kind, index, data_dir)
    content = bytearray(path.read_bytes())
    if damage == "missing":
        path.unlink()
    elif damage == "truncated":
        path.write_bytes(content[:-1])
    elif damage == "flipped":
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    else:
        other = build("QQ")
        path.write_bytes(file_of(kind, other, data_dir).read_bytes())
        IndexVersion.objects.filter(pk=other.pk).delete()
        if path.read_bytes() == content:
            return  # both forms hold the same pairs: their keys are the same file
    with pytest.raises(UserError) as refused:
        current_index()
    assert path.name in str(refused.value)
    assert "run `manage.py index --model keywords --form QQA`" in str(refused.value)
    assert build() == index
    assert current_index() == index


def test_a_missing_folder_is_noticed(add_pairs: AddPairs, settings: Any, tmp_path: Path) -> None:
    add_pairs(PAIRS)
    build()
    settings.INDEX_DIR = tmp_path / "elsewhere"
    with pytest.raises(UserError, match=r"manifest\.json is missing"):
        current_index()


# retrieving


def brute_force(query_set: QuerySet, k: int, form: str) -> list[tuple[str, int, str, float]]:
    held_out = set(query_set.queries.values_list("question_key", flat=True))
    pairs = QaPair.objects.exclude(question_key__in=held_out).order_by("pair_key")
    texts = [p.question if form == "QQ" else f"{p.question} {p.answer}" for p in pairs]
    vectors = KEYWORDS.encode_questions(texts).astype(np.float64)
    expected = []
    for query in query_set.queries.order_by("key"):
        cosines = vectors @ KEYWORDS.encode_questions([query.text])[0].astype(np.float64)
        ranked = sorted(
            (-round(float(cosine), 6), pair.pair_key)
            for cosine, pair in zip(cosines, pairs, strict=True)
        )
        for rank, (minus, key) in enumerate(ranked[:k], 1):
            expected.append((query.key, rank, key, min(1.0, -minus)))
    return expected


@pytest.mark.parametrize("form", ["QQA", "QQ"])
@pytest.mark.parametrize("k", [1, 13, 140])
def test_candidates_are_the_nearest_pairs_by_brute_force(
    add_pairs: AddPairs, form: str, k: int
) -> None:
    add_pairs(PAIRS)
    build(form)
    query_set = sample_queries("held out", 60, 3)
    seen: list[int] = []
    assert retrieve(query_set, k=k, encoder=KEYWORDS, progress=seen.append) == 60 * k
    assert candidates(query_set) == brute_force(query_set, k, form)
    assert sum(seen) == 60


def test_no_held_out_question_is_a_candidate_of_any_query_in_any_copy(
    add_pairs: AddPairs, tmp_path: Path
) -> None:
    add_pairs(PAIRS)
    add_pairs([("What is rain?", "Drops."), ("WHAT IS RAIN", "Wet."), ("What's rain?", "Water.")])
    build()
    query_set = user_queries(tmp_path, "what is rain?!", "Will snow turn into rain?")
    retrieve(query_set, k=201, encoder=KEYWORDS)
    found = set(Candidate.objects.values_list("pair__question", flat=True))
    assert "What's rain?" in found
    assert not found & {"What is rain?", "WHAT IS RAIN"}


def test_queries_held_out_by_another_set_stay_candidates(add_pairs: AddPairs) -> None:
    add_pairs(PAIRS)
    build()
    first, second = sample_queries("first", 5, 1), sample_queries("second", 5, 1)
    retrieve(first, k=195, encoder=KEYWORDS)
    keys = set(Candidate.objects.filter(query__query_set=first).values_list("pair__question_key"))
    assert keys >= set(second.queries.values_list("question_key"))


def test_another_order_of_rows_gives_the_same_candidates(add_pairs: AddPairs) -> None:
    def retrieved(pairs: list[tuple[str, str]]) -> tuple[Any, Any]:
        Candidate.objects.all().delete()
        QuerySet.objects.all().delete()
        IndexVersion.objects.all().delete()
        QaPair.objects.all().delete()
        add_pairs(pairs)
        index = build()
        query_set = sample_queries("held out", 20, 3)
        retrieve(query_set, k=30, encoder=KEYWORDS)
        return index.manifest, candidates(query_set)

    first = retrieved(PAIRS)
    assert retrieved(random.Random(4).sample(PAIRS, len(PAIRS))) == first
    assert retrieved(PAIRS[::-1]) == first


def test_retrieving_again_only_counts(add_pairs: AddPairs) -> None:
    add_pairs(PAIRS)
    index = build()
    query_set = sample_queries("held out", 4, 3)
    retrieve(query_set, k=30, encoder=KEYWORDS)
    before = list(Candidate.objects.values_list("pk", flat=True))
    add_pairs([("What is new?", "This.")])
    assert retrieve(QuerySet.objects.get(), k=30, encoder=KEYWORDS) == 120
    assert list(Candidate.objects.values_list("pk", flat=True)) == before
    assert query_set.retrieved_with == index


def test_retrieving_again_with_another_index_or_number_is_refused(add_pairs: AddPairs) -> None:
    add_pairs(PAIRS)
    build()
    query_set = sample_queries("held out", 4, 3)
    retrieve(query_set, k=30, encoder=KEYWORDS)
    with pytest.raises(UserError, match="already has 120 candidates instead of 40"):
        retrieve(query_set, k=10, encoder=KEYWORDS)
    build("QQ")
    with pytest.raises(UserError, match="were retrieved with another index"):
        retrieve(query_set, k=30, encoder=KEYWORDS)
    assert Candidate.objects.count() == 120


def test_fewer_candidates_than_asked_for_is_refused_with_the_numbers(
    add_pairs: AddPairs,
) -> None:
    add_pairs(PAIRS)
    build()
    query_set = sample_queries("held out", 171, 3)
    first = query_set.queries.order_by("question_key")[0]
    with pytest.raises(UserError) as refused:
        retrieve(query_set, k=30, encoder=KEYWORDS)
    assert f"Query {first.key} ({first.text!r}) has only 29 candidates of 30" in str(refused.value)
    assert "200 pairs, 171 of them with held-out questions" in str(refused.value)
    assert not Candidate.objects.exists()
    query_set.refresh_from_db()
    assert query_set.retrieved_with is None


def test_a_model_that_changed_under_its_name_is_noticed(add_pairs: AddPairs) -> None:
    add_pairs(PAIRS)
    build()
    query_set = sample_queries("held out", 4, 3)
    changed = KeywordEncoder("rain snow", name="keywords")
    with pytest.raises(UserError, match="The model keywords is not the one that the index was"):
        retrieve(query_set, k=30, encoder=changed)
    assert not Candidate.objects.exists()


class FailingEncoder(KeywordEncoder):
    """Serves the first step of queries and breaks at the second."""

    calls = 0

    def encode_questions(self, questions: Any) -> Vectors:
        self.calls += 1
        if self.calls > 1:
            raise Interrupted
        return super().encode_questions(questions)


def test_a_retrieval_that_stops_half_way_leaves_nothing(
    add_pairs: AddPairs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("retrieval.search.QUERIES_PER_STEP", 3)
    add_pairs(PAIRS)
    build()
    query_set = sample_queries("held out", 8, 3)
    with pytest.raises(Interrupted):
        retrieve(query_set, k=30, encoder=FailingEncoder(" ".join(WORDS)))
    assert not Candidate.objects.exists()
    assert retrieve(query_set, k=30, encoder=KEYWORDS) == 240
    assert candidates(query_set) == brute_force(query_set, 30, "QQA")


def test_a_retrieval_overtaken_by_another_process_writes_nothing(add_pairs: AddPairs) -> None:
    add_pairs(PAIRS)
    index = build()
    query_set = sample_queries("held out", 4, 3)

    def overtake(increment: int) -> None:
        QuerySet.objects.update(retrieved_with=index)

    with pytest.raises(UserError, match="Another process has just retrieved"):
        retrieve(query_set, k=30, encoder=KEYWORDS, progress=overtake)
    assert not Candidate.objects.exists()


# vectors of pairs


def test_vectors_of_pairs_come_in_the_order_asked_for(add_pairs: AddPairs) -> None:
    pairs = add_pairs(PAIRS)
    build("QQ")
    asked = [pairs[7], pairs[199], pairs[7], pairs[0]]
    vectors = pair_vectors([pair.pk for pair in asked])
    wanted = KEYWORDS.encode_questions([pair.question for pair in asked])
    np.testing.assert_array_equal(vectors, wanted)
    assert vectors.dtype == np.float32
    assert pair_vectors([]).shape == (0, 11)


def test_vectors_of_unknown_pairs_are_refused_by_id(add_pairs: AddPairs) -> None:
    [pair] = add_pairs([("What is rain?", "Wet.")])
    build()
    with pytest.raises(UserError, match=r"no q/a pairs with the ids \[990, 991\]"):
        pair_vectors([991, pair.pk, 990])


# constraints


def repeated(**changes: Any) -> Callable[[Candidate], Candidate]:
    def copy(candidate: Candidate) -> Candidate:
        values = {
            "query": candidate.query,
            "pair": candidate.pair,
            "rank": candidate.rank,
            "score": 0.5,
        }
        return Candidate(**(values | changes))

    return copy


@pytest.mark.parametrize(
    "change", [repeated(rank=99), repeated(rank=0), repeated(score=1.5), repeated(score=-2)]
)
def test_the_database_refuses_impossible_candidates(
    add_pairs: AddPairs, change: Callable[[Candidate], Candidate]
) -> None:
    add_pairs(PAIRS)
    build()
    query_set = sample_queries("held out", 1, 3)
    retrieve(query_set, k=2, encoder=KEYWORDS)
    candidate = change(Candidate.objects.get(rank=1))
    with pytest.raises(IntegrityError):
        candidate.save()
