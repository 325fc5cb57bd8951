"""What each loss is given, row by row."""

from collections.abc import Sequence

import pytest

from core.errors import UserError
from retrieval.ranking.records import CandidateRecord, QueryRecord
from retrieval.training.data.duplicates import Duplicate
from retrieval.training.data.examples import of_duplicates, of_release
from retrieval.training.recipe import Recipe, parse_recipe


def recipe(kind: str, form: str, **values: object) -> Recipe:
    return parse_recipe({"kind": kind, "form": form, "base": "tiny", **values})


def query(name: str, labels: Sequence[int]) -> QueryRecord:
    candidates = [
        CandidateRecord(f"{name}{rank}", f"q{rank}", f"a{rank}", rank, 0.5, label, 2, 0)
        for rank, label in enumerate(labels, 1)
    ]
    return QueryRecord(name, f"t {name}", candidates)


RELEASE = [query("x", [0, 1, 0, 1, 0]), query("y", [1, 1]), query("z", [0, 0])]


def test_a_positive_stands_beside_the_next_of_its_querys_hardest_negatives() -> None:
    found = of_release(recipe("retriever", "QQ", hard_negatives=2), RELEASE)
    assert found.rows.to_list() == [
        {"anchor": "t x", "positive": "q2", "negative_1": "q1", "negative_2": "q3"},
        {"anchor": "t x", "positive": "q4", "negative_1": "q5", "negative_2": "q1"},
    ]
    assert found.left_out == 2  # y has no negative, z no positive


def test_without_hard_negatives_every_positive_is_learned_from() -> None:
    found = of_release(recipe("retriever", "QQ", hard_negatives=0), RELEASE)
    assert found.rows["positive"][:] == ["q2", "q4", "q1", "q2"]
    assert found.left_out == 1


def test_with_answers_a_candidate_is_question_and_answer() -> None:
    found = of_release(recipe("retriever", "QQA"), RELEASE)
    assert found.rows[0] == {
        "anchor": "t x",
        "positive": ["q2", "a2"],
        "negative_1": ["q1", "a1"],
    }


@pytest.mark.parametrize(
    ("form", "candidate"),
    [("QQ", ["q1"]), ("QA", ["a1"]), ("QQA", ["q1", "a1"]), ("QAQ", ["a1", "q1"])],
)
def test_a_selector_is_given_every_candidate_with_its_label(
    form: str, candidate: list[str]
) -> None:
    found = of_release(recipe("selector", form), RELEASE)
    assert found.rows[0] == {"query": "t x", "candidate": candidate, "label": 0.0}
    assert found.rows["label"][:] == [0, 1, 0, 1, 0, 1, 1, 0, 0]
    assert found.left_out == 0


def test_contrast_is_given_every_candidate_with_its_label() -> None:
    found = of_release(recipe("retriever", "QQA", loss="online-contrastive"), RELEASE)
    assert found.rows[1] == {"query": "t x", "candidate": ["q2", "a2"], "label": 1.0}
    assert len(found.rows) == 9


def test_of_duplicates_the_ranking_loss_takes_those_that_are() -> None:
    pairs = [Duplicate("a", "b", "", 1), Duplicate("c", "d", "e", 0), Duplicate("f", "g", "h", 1)]
    ranking = of_duplicates(recipe("retriever", "QQA"), pairs)
    assert ranking.rows.to_list() == [
        {"anchor": "a", "positive": ["b", ""]},
        {"anchor": "f", "positive": ["g", "h"]},
    ]
    assert ranking.left_out == 1
    labelled = of_duplicates(recipe("selector", "QAQ"), pairs)
    assert labelled.rows["candidate"][:] == [["", "b"], ["e", "d"], ["h", "g"]]
    assert labelled.rows["label"][:] == [1.0, 0.0, 1.0]


def test_answers_alone_are_learned_of_pairs_that_have_one() -> None:
    pairs = [Duplicate("a", "b", "", 1), Duplicate("c", "d", "e", 0), Duplicate("f", "g", "h", 1)]
    found = of_duplicates(recipe("selector", "QA"), pairs)
    assert found.rows["query"][:] == ["c", "f"]
    assert found.rows["candidate"][:] == [["e"], ["h"]]
    assert found.left_out == 1


def test_answers_alone_are_not_learned_of_pairs_without_any() -> None:
    with pytest.raises(UserError, match=r"^The form QA reads .* none has an answer2: .*\.$"):
        of_duplicates(recipe("selector", "QA"), [Duplicate("a", "b", "", 1)])
    assert len(of_duplicates(recipe("selector", "QA"), []).rows) == 0
