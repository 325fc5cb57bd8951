"""What a teacher reads of a task's examples, and what it says of them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from sentence_transformers import CrossEncoder

from core.errors import UserError
from retrieval.encoders.cross_encoder.load import new_selector, save_selector
from retrieval.encoders.encoder import load_encoder
from retrieval.training.data.examples import examples_of
from retrieval.training.data.teacher import load_teacher, with_teacher
from retrieval.training.recipes.materials import Candidate, Group, of_release
from retrieval.training.recipes.recipe import Task, parse_recipe
from tests.retrieval.training import tiny
from tests.retrieval.training.data.test_examples import RELEASE

pytestmark = pytest.mark.django_db
TEXTS = [
    Group("bake bread", (Candidate("make a loaf", "make a loaf", 1),)),
    Group("boil egg", (Candidate("ten minutes", "ten minutes", 0),)),
]
PAIRS = [Group("bake bread", (Candidate("make a loaf", "flour of water", 1),))]


def task(kind: str = "spans", form: str = "QQ") -> Task:
    values = {
        "kind": "selector",
        "form": "QAQ",
        "base": "tiny",
        "materials": {"some": {"kind": kind, "file": "some.tsv"}},
        "stages": [
            {
                "tasks": [
                    {
                        "material": "some",
                        "form": form,
                        "objective": "distil-gabburo",
                        "teacher": "teacher",
                    }
                ]
            }
        ],
    }
    [one] = parse_recipe(values).last.tasks
    return one


def scores(name: Path | str, groups: Sequence[Group], of: Task | None = None) -> list[float]:
    wanted = of or task()
    examples = examples_of("selector", wanted, groups)
    taught = with_teacher(load_teacher(str(name), "cpu"), wanted, examples, groups)
    labels: list[list[float]] = taught.rows["label"][:]
    assert [label for label, _ in labels] == examples.rows["label"][:]
    return [score for _, score in labels]


def cosines(model: Path, pairs: Sequence[tuple[str, str | tuple[str, str]]]) -> list[float]:
    encoder: Any = load_encoder(str(model), "cpu")
    queries = encoder.encode_questions([query for query, _ in pairs])
    theirs = encoder.encode_questions([other for _, other in pairs])  # or pairs of texts
    return [max(0.0, float(one)) for one in (queries * theirs).sum(axis=1)]


def test_a_retriever_reads_one_text_once_and_a_question_with_its_answer(
    tiny_retriever: Path,
) -> None:
    once = cosines(tiny_retriever, [("bake bread", "make a loaf"), ("boil egg", "ten minutes")])
    assert scores(tiny_retriever, TEXTS) == pytest.approx(once, abs=1e-5)
    both = cosines(tiny_retriever, [("bake bread", ("make a loaf", "flour of water"))])
    assert scores(tiny_retriever, PAIRS, task("pairs")) == pytest.approx(both, abs=1e-5)


def test_a_selector_reads_its_own_form_and_one_text_once(bare: Path, tmp_path: Path) -> None:
    model = new_selector(str(bare), "cpu")
    save_selector(model, tmp_path / "own", "QAQ")
    model.eval()
    read = [("bake bread", ["make a loaf"]), ("boil egg", ["ten minutes"])]
    assert scores(tmp_path / "own", TEXTS) == pytest.approx(model.predict(read).tolist(), abs=1e-5)
    own = model.predict([("bake bread", ["flour of water", "make a loaf"])]).tolist()
    assert scores(tmp_path / "own", PAIRS, task("pairs", "QQ")) == pytest.approx(own, abs=1e-5)


def test_a_foreign_cross_encoder_reads_what_the_student_reads(tmp_path: Path) -> None:
    folder = tiny.cross_encoder(tmp_path / "foreign")
    model = CrossEncoder(str(folder), device="cpu")
    own = model.predict([("bake bread", "flour of water")]).tolist()
    assert scores(folder, PAIRS, task("pairs", "QA")) == pytest.approx(own, abs=1e-5)


def test_a_run_scores_the_release_by_its_ids(tmp_path: Path) -> None:
    groups = of_release(RELEASE, ()).train
    lines = [
        f"{group.id} Q0 {one.id} 1 {0.1 * place - 0.2} mine\n"
        for group in groups
        for place, one in enumerate(group.candidates)
    ]
    (tmp_path / "train.run").write_text("".join(lines))
    (tmp_path / "dev.run").write_text("other Q0 o1 1 0.5 mine\n")
    flat = parse_recipe(
        {
            "kind": "selector",
            "form": "QA",
            "base": "b",
            "objective": "distil-gabburo",
            "teacher": "t",
        }
    )
    expected = [0, 0, 0, 0.1, 0.2, 0, 0, 0, 0]
    for name in ("{split}.run", "train.run"):
        found = scores(tmp_path / name, groups, flat.last.tasks[0])
        assert found == pytest.approx(expected, abs=1e-6)


def test_a_run_that_cannot_teach_is_refused(tmp_path: Path) -> None:
    run = tmp_path / "mine.run"
    run.write_text("x Q0 x1 1 0.5 mine\n")
    with pytest.raises(UserError, match=r"mine.run has no score of the candidate '' of the query"):
        scores(run, TEXTS)
    run.write_text("x Q0 x1 1 17.5 mine\n")
    with pytest.raises(UserError, match=r"mine.run has scores above 1, and a teacher's are from 0"):
        load_teacher(str(run), "cpu")


def test_there_is_no_teacher_of_a_wrong_name() -> None:
    with pytest.raises(UserError, match="There is no teacher 'nobody': name a registered model, a"):
        load_teacher("nobody", "cpu")
