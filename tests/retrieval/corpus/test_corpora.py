"""Two corpora on one installation: nothing of one is in the other."""

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation.analytics.campaign.corpus import corpus_of
from annotation.models import Campaign
from annotation.pipeline.controls.negatives import draw_for
from annotation.pipeline.setup.create import new_campaign
from annotation.protocol.policy.policy import Policy
from core.errors import UserError
from retrieval.corpus.corpora import (
    add_source,
    corpora,
    corpus_named,
    create_corpus,
    remove_corpus,
    remove_source,
)
from retrieval.corpus.withdraw import withdraw_pairs
from retrieval.index.versions import current_index
from retrieval.indexing.prune import pruning
from retrieval.models import IndexVersion, QaPair, QuerySet
from retrieval.models.corpus import name_of
from retrieval.query_sets.held_out import draw_queries
from retrieval.search.retrieve import retrieve
from retrieval.search.search_session import Searcher
from tests.retrieval.commands.weather import KEYWORDS, WORDS, build
from tests.retrieval.conftest import AddPairs
from tests.support.query_sets import sample_queries

pytestmark = pytest.mark.django_db
SOURCES = ("a", "b", "c", "d")
TAKEN = st.sets(st.sampled_from(SOURCES), min_size=1)


def fill(add_pairs: AddPairs, source: str, count: int = 8) -> list[QaPair]:
    """Some questions are in every source, with another answer."""
    pairs = [
        (f"What is {WORDS[n]}, {source if n % 2 else ''}?", f"{source} {n}") for n in range(count)
    ]
    return add_pairs(pairs, source=source)


def campaign_over(query_set: QuerySet, seed: int) -> Campaign:
    return new_campaign(query_set, policy=Policy(), seed=seed, text="Same meaning, same answer?")


def found(searcher: Searcher) -> set[str]:
    hits = searcher.search("What is snow?", searcher.findable())
    return {QaPair.objects.get(pk=hit.pair_id).source for hit in hits}


@settings(
    max_examples=12,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
)
@given(one=TAKEN, other=TAKEN, seed=st.integers(0, 99), late=st.sampled_from(SOURCES))
def test_nothing_of_other_sources_is_sampled_found_drawn_stated_or_counted(
    add_pairs: AddPairs, one: set[str], other: set[str], seed: int, late: str
) -> None:
    """By brute force over the pairs; afterwards all is as it was."""
    with transaction.atomic():
        for source in SOURCES:
            fill(add_pairs, source)
            QaPair.objects.filter(source=source).update(license=f"licence of {source}")
        made = {name: create_corpus(name, sorted(of)) for name, of in (("x", one), ("y", other))}
        for name, of in (("x", one), ("y", other)):
            corpus = made[name]
            index = build(corpus=corpus)
            assert index.pairs == 8 * len(of)
            query_set = sample_queries(f"of {name}", 2, seed, corpus)
            there = QaPair.objects.filter(source__in=of)
            texts = set(there.values_list("question", flat=True))
            assert {query.text for query in query_set.queries.all()} <= texts
            keys = query_set.queries.values_list("question_key", flat=True)
            retrieve(query_set, k=3, encoder=KEYWORDS)
            pairs = QaPair.objects.filter(candidacies__query__query_set=query_set)
            assert set(pairs.values_list("source", flat=True)) <= of
            assert not pairs.filter(question_key__in=keys).exists()
            campaign = campaign_over(query_set, seed)
            negatives = draw_for(campaign, ["n1", "n2", "n3"])
            assert {negative.answer.split()[0] for negative in negatives} <= of
            assert {text for one in negatives for text in (one.query, one.question)} <= texts
            stated = {source: [f"licence of {source}"] for source in sorted(of)}
            assert corpus_of(campaign).licences == stated
            left = there.exclude(question_key__in=keys).count()
            searcher = Searcher(index, encoder=KEYWORDS)
            assert (searcher.findable(), found(searcher)) == (8 * len(of), of)
            assert left <= searcher.findable()
        add_pairs([("What is new?", "This.")], source=late)
        for name, of in (("x", one), ("y", other)):
            now = current_index(made[name])
            assert Searcher(now, encoder=KEYWORDS).pairs_not_indexed() == (late in of)
            if late in of:
                with pytest.raises(UserError, match=f"changed since .* --corpus {name}"):
                    current_index(made[name], fresh=True)
            else:
                assert current_index(made[name], fresh=True) == now
        transaction.set_rollback(True)


def test_vectors_are_shared_and_indexes_are_not(add_pairs: AddPairs) -> None:
    fill(add_pairs, "a")
    fill(add_pairs, "b")
    coffee = create_corpus("coffee", ["a"])
    encoded: list[int] = []
    whole = build(progress=encoded.append)
    small = build(corpus=coffee, progress=encoded.append)
    assert (sum(encoded), whole.pairs, small.pairs) == (16, 16, 8)
    assert (current_index(), current_index(coffee)) == (whole, small)
    assert build(corpus=coffee) == small
    assert {one.pk for one in pruning().kept} == {whole.pk, small.pk}
    assert [(one.corpus, one.sources, one.indexed) for one in corpora()] == [
        ("all", ["a", "b"], 16),
        ("coffee", ["a"], 8),
    ]


def test_a_source_that_leaves_is_not_found_and_one_that_joins_is_missed(
    add_pairs: AddPairs,
) -> None:
    for source in ("a", "b", "c"):
        fill(add_pairs, source)
    coffee = create_corpus("coffee", ["a", "b"])
    searcher = Searcher(build(corpus=coffee), encoder=KEYWORDS)
    assert (found(searcher), searcher.pairs_not_indexed()) == ({"a", "b"}, 0)
    remove_source(coffee, "b")
    assert (found(searcher), searcher.pairs_not_indexed()) == ({"a"}, 0)
    assert add_source(coffee, "c")
    assert (found(searcher), searcher.pairs_not_indexed()) == ({"a"}, 8)
    withdraw_pairs([QaPair.objects.filter(source="c")[0].pair_key])
    assert searcher.pairs_not_indexed() == 7
    with pytest.raises(UserError, match="changed since"):
        current_index(coffee, fresh=True)


def test_corpora_that_share_no_source_do_not_take_each_others_questions(
    add_pairs: AddPairs,
) -> None:
    for source in ("a", "b"):
        fill(add_pairs, source)
    one, other = create_corpus("one", ["a"]), create_corpus("other", ["b"])
    asked = sample_queries("all of one", 8, 1, one)
    assert {
        query.question_key for query in sample_queries("of other", 8, 1, other).queries.all()
    } & {query.question_key for query in asked.queries.all()}
    with pytest.raises(UserError, match="the corpus one holds only 0 distinct"):
        draw_queries(1, 1, corpus=one)
    with pytest.raises(UserError, match="the database holds only 0 distinct"):
        draw_queries(1, 1)


def test_what_is_wrong_with_a_corpus_is_said(add_pairs: AddPairs) -> None:
    fill(add_pairs, "a")
    assert (corpus_named("all"), name_of(None)) == (None, "all")
    coffee = create_corpus("coffee", ["a"])
    with pytest.raises(UserError, match="There is a corpus 'coffee' already"):
        create_corpus("coffee")
    for name in ("all", "", "a b", "x" * 61):
        with pytest.raises(UserError, match=r"already|cannot name a corpus"):
            create_corpus(name)
    with pytest.raises(UserError, match=r"no corpus 'tea'; there are: all, coffee"):
        corpus_named("tea")
    with pytest.raises(UserError, match="no q/a pairs of a source 'nowhere'"):
        add_source(coffee, "nowhere")
    with pytest.raises(UserError, match="no index of the corpus coffee yet"):
        current_index(coffee)
    with pytest.raises(UserError, match="has no source 'b'"):
        remove_source(coffee, "b")
    sample_queries("beans", 1, 1, coffee)
    with pytest.raises(UserError, match="has the campaigns beans: it stays"):
        remove_corpus(coffee)
    QuerySet.objects.all().delete()
    build(corpus=coffee)
    remove_corpus(coffee)
    assert not IndexVersion.objects.exists()
    assert QaPair.objects.count() == 8
