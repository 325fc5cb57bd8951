"""One question: found, chosen, and answered or not."""

import pytest

from core.errors import UserError
from retrieval.answering.answer import KEPT, Answerer
from retrieval.corpus.withdraw import withdraw_pairs
from retrieval.models import QaPair, TrainedModel
from retrieval.search.search_session import Searcher
from tests.retrieval.answering.overlap import OverlapSelector
from tests.retrieval.commands.weather import KEYWORDS, PAIRS, build
from tests.retrieval.conftest import AddPairs

pytestmark = pytest.mark.django_db

# The retriever knows rain alone, the selector reads every word.
RAIN = [
    ("What is rain?", "Water."),
    ("Does rain fall upwards, or rain fall never?", "No."),
    ("How is rain measured in millimetres?", "By a gauge."),
]


def searcher(form: str = "QQ") -> Searcher:
    return Searcher(build(form), encoder=KEYWORDS)


def test_the_selector_chooses_among_what_the_retriever_found(add_pairs: AddPairs) -> None:
    pairs = add_pairs(RAIN)
    answered = Answerer(searcher(), OverlapSelector()).answer("how is rain measured")
    assert answered.answer is not None
    assert (answered.answer.pair, answered.answer.score) == (pairs[2], 1.0)
    assert [(one.pair, one.score) for one in answered.nearest] == [
        (pairs[0], 0.5),  # is, rain
        (pairs[1], 0.25),  # rain
    ]
    assert {one.rank for one in answered.ranked} == {1, 2, 3}
    assert (answered.candidates, answered.selector) == (3, "overlap")


def test_a_selector_that_reads_answers_finds_words_there(add_pairs: AddPairs) -> None:
    add_pairs(RAIN)
    asked = searcher()
    reads_both = Answerer(asked, OverlapSelector("QQA")).answer("by gauge")
    assert reads_both.best
    assert (reads_both.best.pair.answer, reads_both.best.score) == ("By a gauge.", 1.0)
    questions_alone = Answerer(asked, OverlapSelector("QQ")).answer("by gauge")
    assert questions_alone.best
    assert questions_alone.best.score == 0


def test_without_a_selector_the_retriever_s_order_and_cosines_stay(add_pairs: AddPairs) -> None:
    add_pairs(PAIRS)
    asked = searcher()
    answered = Answerer(asked).answer("rain and snow", 30)
    hits = asked.search("rain and snow", 30)[:KEPT]
    assert [(one.pair.pk, one.score, one.rank) for one in answered.ranked] == [
        (hit.pair_id, hit.score, hit.rank) for hit in hits
    ]
    assert answered.selector is None


def test_a_retriever_that_was_trained_here_answers_from_its_threshold_on(
    add_pairs: AddPairs,
) -> None:
    add_pairs(RAIN)
    asked, question = searcher(), "how is hail measured"
    asked.version.trained = TrainedModel(kind="retriever", form="QQ", threshold=0.9)
    alone = Answerer(asked).answer(question)
    assert (alone.threshold, alone.abstained) == (0.9, True)
    assert Answerer(asked, threshold=0.0).answer(question).answer == alone.best
    together = Answerer(asked, retrievers=["dense", "bm25"]).answer(question)
    chosen = Answerer(asked, OverlapSelector()).answer(question)
    assert (together.threshold, chosen.threshold) == (None, None)


def test_equal_scores_stay_in_the_retriever_s_order(add_pairs: AddPairs) -> None:
    add_pairs(PAIRS)
    answered = Answerer(searcher(), OverlapSelector("QQ")).answer("unheard words", 30)
    assert [one.rank for one in answered.ranked] == list(range(1, KEPT + 1))


def test_the_selector_reads_the_k_that_were_found_and_no_more(add_pairs: AddPairs) -> None:
    add_pairs(PAIRS)
    asked = searcher()
    found = {hit.pair_id for hit in asked.search("rain, version 1", 7)}
    answered = Answerer(asked, OverlapSelector()).answer("rain, version 1", 7)
    assert answered.candidates == 7
    assert {one.pair.pk for one in answered.ranked} <= found


def test_a_database_smaller_than_k_is_used_whole(add_pairs: AddPairs) -> None:
    add_pairs(RAIN)
    assert Answerer(searcher()).answer("rain", 500).candidates == len(RAIN)


def test_a_score_at_the_threshold_is_an_answer_and_one_below_is_none(add_pairs: AddPairs) -> None:
    pairs = add_pairs(RAIN)
    asked, question = searcher(), "how is hail measured"
    at = Answerer(asked, OverlapSelector(), threshold=0.75).answer(question)
    assert (at.abstained, at.answer) == (False, at.best)
    above = Answerer(asked, OverlapSelector(), threshold=0.76).answer(question)
    assert (above.abstained, above.answer) == (True, None)
    assert above.best is not None
    assert above.best.pair == pairs[2]
    assert above.nearest == above.ranked


def test_without_a_threshold_even_a_bad_pair_is_the_answer(add_pairs: AddPairs) -> None:
    add_pairs(RAIN)
    answered = Answerer(searcher(), OverlapSelector()).answer("xylophone")
    assert answered.best
    assert (answered.abstained, answered.best.score) == (False, 0)


def test_where_no_pair_has_a_word_bm25_finds_nothing_to_answer_with(add_pairs: AddPairs) -> None:
    add_pairs(RAIN)
    answerer = Answerer(searcher(), OverlapSelector(), retrievers=["bm25"])
    nothing = answerer.answer("xylophone")
    assert (nothing.best, nothing.abstained, nothing.ranked, nothing.candidates) == (
        None, True, (), 0,
    )  # fmt: skip
    some = answerer.answer("millimetres")
    assert (some.candidates, some.abstained) == (1, False)


def test_a_withdrawn_pair_is_no_answer_from_then_on(add_pairs: AddPairs) -> None:
    pairs = add_pairs(RAIN)
    answerer = Answerer(searcher(), OverlapSelector())
    question = "how is rain measured"
    found = answerer.candidates(question)
    withdraw_pairs([pairs[2].pair_key])
    for answered in (answerer.answer(question), answerer.select(question, found)):
        assert pairs[2] not in [one.pair for one in answered.ranked]
        assert answered.best
        assert answered.best.pair == pairs[0]


def test_where_all_pairs_are_withdrawn_the_refusal_says_what_to_do(add_pairs: AddPairs) -> None:
    pairs = add_pairs(RAIN)
    answerer = Answerer(searcher())
    withdraw_pairs([pair.pair_key for pair in pairs])
    with pytest.raises(UserError, match="No pair is left to answer with"):
        answerer.answer("rain")


def test_no_candidates_at_all_cannot_be_asked_for(add_pairs: AddPairs) -> None:
    add_pairs(RAIN)
    with pytest.raises(UserError, match="ask for 1 to 3, not 0"):
        Answerer(searcher()).answer("rain", 0)


def test_a_question_is_cleaned_as_a_pair_is(add_pairs: AddPairs) -> None:
    add_pairs(RAIN)
    answerer = Answerer(searcher(), OverlapSelector())
    assert answerer.answer(" how is\nra\0in measured") == answerer.answer("how is rain measured")


def test_a_broken_selector_is_named(add_pairs: AddPairs) -> None:
    class Broken(OverlapSelector):
        def score_all(self, triplets: object) -> list[float]:
            return [float("nan")] * QaPair.objects.count()

    add_pairs(RAIN)
    with pytest.raises(UserError, match="The selector broken gives scores that are not numbers"):
        Answerer(searcher(), Broken(name="broken")).answer("rain")
