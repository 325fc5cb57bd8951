from annotation.protocol.labels.control_drafts import (
    MOST_OF_ONE_ANSWER,
    OF_EACH_KIND,
    Draft,
    Pair,
    Ranked,
    draft,
)
from annotation.protocol.labels.rewordings import Style

STYLE = Style.of(["How can I stay dry?"] * 2)
QUERY = "How do I grow tomatoes?"


def numbered(what: str, count: int) -> list[Pair]:
    return [Pair(f"{what} {number}?", f"{what} answer {number}") for number in range(count)]


def drafts(
    ranked: Ranked, kind: str, answers: dict[str, int] | None = None
) -> list[tuple[str, str, str]]:
    found = draft(ranked, STYLE, answers or {})
    return [(one.origin, one.question, one.answer) for one in found if one.kind == kind]


def test_positives_have_the_query_s_own_answer() -> None:
    """A near copy below the candidates, and the query in other words."""
    below = [*numbered("soil", 9), Pair("Growing tomatoes, how?", "Water them.")]
    ranked = Ranked(QUERY, "Water them.", numbered("seed", 3), below)
    assert drafts(ranked, "positive")[:2] == [
        ("copy", "Growing tomatoes, how?", "Water them."),
        ("rewording", "How can I grow tomatoes?", "Water them."),
    ]


def test_where_the_corpus_has_too_few_words_for_a_query_others_are_used() -> None:
    """After its own: a control that comes back is told at once."""
    ranked = Ranked(QUERY, "Water them.", numbered("seed", 3), numbered("soil", 9))
    found = drafts(ranked, "positive")
    assert len(found) == OF_EACH_KIND
    assert found[0][1] == "How can I grow tomatoes?"


def test_an_answer_that_many_questions_share_makes_no_copy() -> None:
    below = [Pair("Are cats green?", "No.")]
    ranked = Ranked("Is it far?", "No.", numbered("seed", 3), below)
    many = {"No.": MOST_OF_ONE_ANSWER + 1}
    assert ("copy", "Are cats green?", "No.") in drafts(ranked, "positive", {"No.": 2})
    assert ("copy", "Are cats green?", "No.") not in drafts(ranked, "positive", many)


def test_without_an_answer_there_is_no_positive() -> None:
    assert drafts(Ranked(QUERY, " ", numbered("seed", 3), numbered("soil", 9)), "positive") == []


def test_negatives_are_from_ranks_far_below_the_candidates() -> None:
    """Of 2 candidates, the ranks 13 to 16."""
    ranked = Ranked(QUERY, "Water them.", numbered("seed", 2), numbered("soil", 30))
    assert [question for _, question, _ in drafts(ranked, "negative")] == [
        "soil 10?", "soil 11?", "soil 12?", "soil 13?",
    ]  # fmt: skip


def test_of_a_small_corpus_the_last_quarter_serves() -> None:
    ranked = Ranked(QUERY, "Water them.", numbered("seed", 30), numbered("soil", 6))
    assert [question for _, question, _ in drafts(ranked, "negative")] == ["soil 4?", "soil 5?"]


def test_a_negative_has_other_words_and_another_answer_than_what_is_near() -> None:
    seeds = numbered("seed", 2)
    below = [
        *numbered("soil", 9),
        Pair("How can I grow tomatoes then?", "Patience."),  # the query's words
        Pair("What is a seed bed?", seeds[0].answer),  # a candidate's answer
        Pair("What is a spade?", "A tool."),
    ]
    assert drafts(Ranked(QUERY, "Water them.", seeds, below), "negative") == [
        ("rank", "What is a spade?", "A tool.")
    ]


def test_what_a_candidate_shows_is_not_drafted_and_nothing_twice() -> None:
    candidates = [Pair("How can I grow tomatoes?", "Sun.")]
    shown = drafts(Ranked(QUERY, "Water them.", candidates, []), "positive")
    assert "How can I grow tomatoes?" not in {question for _, question, _ in shown}
    below = numbered("soil", 4) + [Pair("What is a spade?", "A tool.")] * 2
    found = drafts(Ranked(QUERY, "Water them.", numbered("seed", 9), below), "negative")
    assert found == [("rank", "What is a spade?", "A tool.")]


def test_there_are_eight_of_each_kind_at_most() -> None:
    ranked = Ranked(QUERY, "Water them.", numbered("seed", 20), numbered("soil", 200))
    assert len(drafts(ranked, "negative")) == OF_EACH_KIND == 8


def test_a_draft_says_where_it_is_from() -> None:
    (first, *_) = draft(Ranked(QUERY, "Water them.", numbered("seed", 2), []), STYLE, {})
    assert first == Draft("positive", "rewording", "How can I grow tomatoes?", "Water them.")
