"""What each loss is given, row by row."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from core.errors import UserError
from retrieval.ranking.records import CandidateRecord, QueryRecord
from retrieval.training.data.examples import Examples, examples_of, require_texts
from retrieval.training.recipes.materials import Candidate, Group, Material, of_release
from retrieval.training.recipes.recipe import Recipe, Task, parse_recipe, with_pairs


def recipe(kind: str, form: str, **values: object) -> Recipe:
    return parse_recipe({"kind": kind, "form": form, "base": "tiny", **values})


def query(name: str, labels: Sequence[int]) -> QueryRecord:
    candidates = [
        CandidateRecord(f"{name}{rank}", f"q{rank}", f"a{rank}", rank, 0.5, label, 2, 0)
        for rank, label in enumerate(labels, 1)
    ]
    return QueryRecord(name, f"t {name}", candidates)


RELEASE = [query("x", [0, 1, 0, 1, 0]), query("y", [1, 1]), query("z", [0, 0])]
PAIRS = [
    Group(one, (Candidate(other, answer, label),))
    for one, other, answer, label in [("a", "b", "", 1), ("c", "d", "e", 0), ("f", "g", "h", 1)]
]


def learned(recipe: Recipe) -> Examples:
    return examples_of(recipe.kind, recipe.last.tasks[0], of_release(RELEASE, ()).train)


def of_pairs(recipe: Recipe, pairs: Sequence[Group] = PAIRS) -> Examples:
    [task] = with_pairs(recipe, Path("pairs.tsv")).stages[0].tasks
    return examples_of(recipe.kind, task, pairs)


def test_a_positive_stands_beside_the_next_of_its_querys_hardest_negatives() -> None:
    found = learned(recipe("retriever", "QQ", hard_negatives=2))
    assert found.rows.to_list() == [
        {"anchor": "t x", "positive": "q2", "negative_1": "q1", "negative_2": "q3"},
        {"anchor": "t x", "positive": "q4", "negative_1": "q5", "negative_2": "q1"},
    ]
    assert found.left_out == 2  # y has no negative, z no positive


def test_without_hard_negatives_every_positive_is_learned_from() -> None:
    found = learned(recipe("retriever", "QQ", hard_negatives=0))
    assert found.rows["positive"][:] == ["q2", "q4", "q1", "q2"]
    assert found.left_out == 1


def test_with_answers_a_candidate_is_question_and_answer() -> None:
    found = learned(recipe("retriever", "QQA"))
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
    found = learned(recipe("selector", form))
    assert found.rows[0] == {"query": "t x", "candidate": candidate, "label": 0.0}
    assert found.rows["label"][:] == [0, 1, 0, 1, 0, 1, 1, 0, 0]
    assert found.left_out == 0


def test_contrast_is_given_every_candidate_with_its_label() -> None:
    found = learned(recipe("retriever", "QQA", loss="online-contrastive"))
    assert found.rows[1] == {"query": "t x", "candidate": ["q2", "a2"], "label": 1.0}
    assert len(found.rows) == 9


def test_of_duplicates_the_ranking_loss_takes_those_that_are() -> None:
    ranking = of_pairs(recipe("retriever", "QQA"))
    assert ranking.rows.to_list() == [
        {"anchor": "a", "positive": ["b", ""]},
        {"anchor": "f", "positive": ["g", "h"]},
    ]
    assert ranking.left_out == 1
    labelled = of_pairs(recipe("selector", "QAQ"))
    assert labelled.rows["candidate"][:] == [["", "b"], ["e", "d"], ["h", "g"]]
    assert labelled.rows["label"][:] == [1.0, 0.0, 1.0]


def test_answers_alone_are_learned_of_pairs_that_have_one() -> None:
    found = of_pairs(recipe("selector", "QA"))
    assert found.rows["query"][:] == ["c", "f"]
    assert found.rows["candidate"][:] == [["e"], ["h"]]
    assert found.left_out == 1


def test_answers_alone_are_not_learned_of_pairs_without_any() -> None:
    with pytest.raises(
        UserError, match=r"^The form QA reads .* nothing has an answer .answer2 of pairs.: .*\.$"
    ):
        of_pairs(recipe("selector", "QA"), PAIRS[:1])
    assert len(of_pairs(recipe("selector", "QA"), []).rows) == 0


BOTH, ANSWERS, QUESTIONS = ("q", "a"), ("", "a"), ("q", "")


@pytest.mark.parametrize(
    ("kind", "form", "train", "dev", "expected"),
    [
        ("selector", "QAQ", ANSWERS, BOTH, "questions, and no .* in train of demo .* name QA in"),
        ("selector", "QQ", ANSWERS, ANSWERS, "questions, and no .* name QA in the recipe"),
        ("selector", "QQA", BOTH, QUESTIONS, "answers, and no .* in dev of demo .* name QQ in"),
        ("selector", "QA", ANSWERS, ANSWERS, None),
        ("retriever", "QQA", ANSWERS, BOTH, "in train of demo .* train on a release that has"),
        ("retriever", "QQ", ANSWERS, ANSWERS, "questions, and no .* name QQA in the recipe"),
        ("retriever", "QQA", ANSWERS, ANSWERS, None),
        ("retriever", "QQA", QUESTIONS, QUESTIONS, "answers, and no .* name QQ in the recipe"),
    ],
)
def test_a_form_that_reads_what_no_candidate_of_a_release_has_is_refused(
    kind: str, form: str, train: tuple[str, str], dev: tuple[str, str], expected: str | None
) -> None:
    sides = ([Group("tea", (Candidate(*texts, 1.0),))] for texts in (train, dev))
    asked = kind, recipe(kind, form).last.tasks[0], Material(*sides), "demo"
    if expected is None:
        require_texts(*asked)
        return
    with pytest.raises(UserError, match=rf"^The form {form} reads .*{expected}.*\.$"):
        require_texts(*asked)


def test_the_negative_of_a_file_is_a_hard_negative_and_a_row_without_one_is_left_out() -> None:
    """As of a release: one such row does not take the others' negatives away."""
    values: dict[str, Any] = {
        "kind": "retriever",
        "form": "QQ",
        "base": "tiny",
        "materials": {"nli": {"kind": "positives", "file": "nli.tsv"}},
    }

    def task_of(**own: object) -> Task:
        stages = [{"tasks": [{"material": "nli", **own}]}]
        return parse_recipe({**values, "stages": stages}).last.tasks[0]

    task = task_of()
    both = [Group(a, (Candidate(b, b, 1), Candidate(c, c, 0))) for a, b, c in ("abc", "def")]
    assert examples_of("retriever", task, both).rows.to_list() == [
        {"anchor": "a", "positive": "b", "negative_1": "c"},
        {"anchor": "d", "positive": "e", "negative_1": "f"},
    ]
    some = [*both, Group("g", (Candidate("h", "h", 1),))]
    found = examples_of("retriever", task, some)
    assert found.rows.to_list() == examples_of("retriever", task, both).rows.to_list()
    assert found.left_out == 1
    plain = examples_of("retriever", task_of(hard_negatives=0), some)
    assert plain.rows["positive"][:] == ["b", "e", "h"]
    assert plain.rows.column_names == ["anchor", "positive"]
    none = examples_of("retriever", task, some[2:])
    assert (len(none.rows), none.left_out) == (1, 0)


@pytest.mark.parametrize(
    ("form", "first", "others"),
    [
        ("RANK", "q1 a1", ["q2 a2", "q3"]),
        ("QRANK", "t", ["q1 a1", "q2 a2", "q3"]),
    ],
)
def test_a_rank_is_one_example_with_or_without_its_query(
    form: str, first: str, others: list[str]
) -> None:
    values = {
        "kind": "selector",
        "form": "QAQ",
        "base": "tiny",
        "materials": {"qrp": {"kind": "ranks", "file": "qrp.jsonl"}},
        "stages": [{"tasks": [{"material": "qrp", "form": form}]}],
    }
    [task] = parse_recipe(values).last.tasks
    rank = ("q1 a1", "q2 a2", "q3")
    group = Group("t", (Candidate("q1", "a1", 1, rank), Candidate("q2", "a2", 0, rank)))
    assert examples_of("selector", task, [group]).rows.to_list() == [
        {"query": first, "candidate": others, "label": 1.0}
    ]
