"""Every recipe, on a tiny model: what it reads, token for token; that it learns what its texts
tell and nothing by lot; that after a reload, or a kill, its scores are the same."""

import json
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sklearn.metrics import roc_auc_score

from core.progress import Progress
from retrieval.encoders.cross_encoder.load import load_selector, new_selector
from retrieval.encoders.encoder import load_encoder
from retrieval.encoders.score_candidates import score_with_encoder
from retrieval.ranking.input_forms import FORMS, parts
from retrieval.ranking.records import CandidateRecord, QueryRecord
from retrieval.training.data.examples import examples_of
from retrieval.training.loop.fit import Fitted, Plan
from retrieval.training.loop.setup import save
from retrieval.training.recipes.materials import Source, read_whole
from retrieval.training.recipes.objectives import OBJECTIVES, parse_objective
from retrieval.training.recipes.recipe import Recipe, Settings, Task, parse_recipe
from tests.retrieval.training.alone import examples, fit_alone, setup
from tests.retrieval.training.killing import killed
from tests.support.examples import cases

RECIPES = [
    pytest.param(
        parse_recipe(
            {"kind": kind, "form": form, "base": "tiny", "objective": name}
            | ({"hard_negatives": 2} if one.ranked else {})
        ),
        id=f"{kind}-{form}-{name}",
    )
    for name, one in OBJECTIVES.items()
    if not one.needs_teacher and not one.on_tokens
    for kind in one.kinds
    for form in FORMS[kind]
]
every_recipe = pytest.mark.parametrize("recipe", RECIPES)
# Those that train for long: a retriever and a selector in `make test`.
long_recipes = pytest.mark.parametrize("recipe", cases(RECIPES, (RECIPES[0], RECIPES[-1])))
LETTERS = "abcdefghijklmnopqrst"
RATES = {"retriever": 5e-3, "selector": 3e-3}


@pytest.fixture
def base(bare: Path, tiny_retriever: Path) -> Callable[[Recipe], Path]:
    return lambda recipe: bare if recipe.kind == "selector" else tiny_retriever


def queries(
    count: int, *, seed: int, shown_by: str = "question", by_lot: bool = False
) -> list[QueryRecord]:
    """Of four candidates, those fit whose question, or whose answer, says yes; or by lot any."""
    draw = random.Random(f"{seed}/{shown_by}")
    found = []
    for number in range(count):
        labels = [1, 0, 0, 1]
        words = ["yes" if label else "no" for label in labels]
        if by_lot:
            draw.shuffle(labels)
        candidates = []
        for rank, (label, word) in enumerate(zip(labels, words, strict=True), 1):
            texts = {name: " ".join(draw.choices(LETTERS, k=3)) for name in ("question", "answer")}
            texts[shown_by] += f" {word}"
            place = f"{seed}-{number}-{rank}"
            candidates.append(
                CandidateRecord(
                    id=place, rank=rank, score=None, label=label, yes=label, no=1 - label, **texts
                )
            )
        query = " ".join(draw.choices(LETTERS, k=3))
        found.append(QueryRecord(f"{seed}-{number}", query, candidates))
    return found


def shown_by(recipe: Recipe) -> str:
    """By the answer wherever the form reads it."""
    return "answer" if "A" in recipe.form else "question"


def plan(recipe: Recipe, *, epochs: int) -> Plan:
    return Plan(Settings(RATES[recipe.kind], 16, 32), epochs, 9, 0.1, "fp32", 1, "cpu")


def trained(
    recipe: Recipe,
    base: Path,
    folder: Path,
    *,
    epochs: int,
    rows: int = 96,
    by_lot: bool = False,
    **options: Any,
) -> Fitted:
    train, dev = (
        examples(recipe, queries(count, seed=seed, shown_by=shown_by(recipe), by_lot=by_lot)).rows
        for count, seed in ((rows, 1), (rows // 3, 2))
    )
    the_plan = plan(recipe, epochs=epochs)
    made = setup(recipe, base, the_plan.settings.max_length)
    return fit_alone(made, train, dev, the_plan, folder, **options)


def scores(recipe: Recipe, model: Any, records: Sequence[QueryRecord]) -> list[float]:
    """By the library alone."""
    rows = [
        (record.query, list(parts(recipe.form, candidate.question, candidate.answer)))
        for record in records
        for candidate in record.candidates
    ]
    if recipe.kind == "selector":
        return [float(score) for score in model.predict(rows)]
    read = [tuple(texts) if len(texts) > 1 else texts[0] for _, texts in rows]
    ours = model.encode([query for query, _ in rows], normalize_embeddings=True)
    theirs = model.encode(read, normalize_embeddings=True)
    return [float(score) for score in (ours * theirs).sum(axis=1)]


def auc(recipe: Recipe, model: Any, records: Sequence[QueryRecord]) -> float:
    labels = [candidate.label for record in records for candidate in record.candidates]
    return float(roc_auc_score(labels, scores(recipe, model, records)))


READ = {
    ("retriever", "QQ"): {"[CLS] tea [SEP]", "[CLS] make a loaf [SEP]", "[CLS] egg [SEP]"},
    ("retriever", "QQA"): {
        "[CLS] tea [SEP]",
        "[CLS] make a loaf [SEP] flour of water [SEP]",
        "[CLS] egg [SEP] ten minutes [SEP]",
    },
    ("selector", "QQ"): {"[CLS] tea [SEP] make a loaf [SEP]", "[CLS] tea [SEP] egg [SEP]"},
    ("selector", "QA"): {
        "[CLS] tea [SEP] flour of water [SEP]",
        "[CLS] tea [SEP] ten minutes [SEP]",
    },
    ("selector", "QQA"): {
        "[CLS] tea [SEP] make a loaf [SEP] flour of water [SEP]",
        "[CLS] tea [SEP] egg [SEP] ten minutes [SEP]",
    },
    ("selector", "QAQ"): {
        "[CLS] tea [SEP] flour of water [SEP] make a loaf [SEP]",
        "[CLS] tea [SEP] ten minutes [SEP] egg [SEP]",
    },
}


@every_recipe
def test_the_model_is_given_these_tokens_while_it_learns(
    recipe: Recipe, base: Callable[[Recipe], Path], tmp_path: Path
) -> None:
    texts = (("make a loaf", "flour of water", 1), ("egg", "ten minutes", 0))
    candidates = [
        CandidateRecord(str(rank), question, answer, rank, None, label, label, 1 - label)
        for rank, (question, answer, label) in enumerate(texts)
    ]
    rows = examples(recipe, [QueryRecord("1", "tea", candidates)]).rows
    made = setup(recipe, base(recipe), 32)
    model = made.make_model()
    seen = set()

    def look(module: Any, given: tuple[dict[str, Any]]) -> None:
        (features,) = given
        if not module.training:  # the library tries a model out, with a sentence of its own
            return
        for row in features["input_ids"].tolist():
            seen.add(" ".join(model.tokenizer.convert_ids_to_tokens(row)).replace(" [PAD]", ""))

    first = model[0] if recipe.kind == "retriever" else model
    first.register_forward_pre_hook(look)
    watched = replace(made, make_model=lambda: model)
    fit_alone(watched, rows, rows, plan(recipe, epochs=1), tmp_path / "a")
    assert seen == READ[recipe.kind, recipe.form]


RANK = [["boil egg", "ten minutes"], ["make a loaf", "flour"], ["red", ""]]
OF_PAIRS = {"question1": "tea", "question2": "egg", "answer2": "water", "label": 1}
OF_MATERIALS = [
    ("pairs", "QQ", OF_PAIRS, "[CLS] tea [SEP] egg [SEP]"),
    ("pairs", "QA", OF_PAIRS, "[CLS] tea [SEP] water [SEP]"),
    ("pairs", "QQA", OF_PAIRS, "[CLS] tea [SEP] egg [SEP] water [SEP]"),
    ("pairs", "QAQ", OF_PAIRS, "[CLS] tea [SEP] water [SEP] egg [SEP]"),
    ("positives", "QQ", {"anchor": "tea", "positive": "egg"}, "[CLS] tea [SEP] egg [SEP]"),
    ("topics", "QQ", {"question": "tea", "topic": "egg"}, "[CLS] tea [SEP] egg [SEP]"),
    (
        "sentences",
        "QQ",
        {"question": "tea", "sentence": "boil egg", "label": 1},
        "[CLS] tea [SEP] boil egg [SEP]",
    ),
    ("spans", "QQ", {"left": "tea", "right": "egg", "label": 1}, "[CLS] tea [SEP] egg [SEP]"),
    (
        "sts",
        "QQ",
        {"sentence1": "tea", "sentence2": "egg", "score": 3},
        "[CLS] tea [SEP] egg [SEP]",
    ),
    (
        "ranks",
        "RANK",
        {"query": "tea", "pairs": RANK, "label": 1},
        "[CLS] boil egg ten minutes [SEP] make a loaf flour [SEP] red [SEP]",
    ),
    (
        "ranks",
        "QRANK",
        {"query": "tea", "pairs": RANK, "label": 1},
        "[CLS] tea [SEP] boil egg ten minutes [SEP] make a loaf flour [SEP] red [SEP]",
    ),
]


@pytest.mark.parametrize(("kind", "form", "row", "expected"), OF_MATERIALS)
def test_a_selector_is_given_these_tokens_of_each_material(
    bare: Path, tmp_path: Path, kind: str, form: str, row: dict[str, Any], expected: str
) -> None:
    (tmp_path / "some.jsonl").write_text(json.dumps(row) + "\n")
    [group] = read_whole(Source(kind, tmp_path / "some.jsonl"))
    task = Task("some", form, parse_objective("selector", "binary"))
    [one] = examples_of("selector", task, [group]).rows
    model = new_selector(str(bare), "cpu", max_length=32)
    [ids] = model.preprocess([(one["query"], one["candidate"])])["input_ids"].tolist()
    assert " ".join(model.tokenizer.convert_ids_to_tokens(ids)) == expected


@pytest.mark.hypothesis
@long_recipes
def test_what_its_texts_tell_is_learned_and_what_is_drawn_by_lot_is_not(
    recipe: Recipe, base: Callable[[Recipe], Path], tmp_path: Path
) -> None:
    report = queries(100, seed=3, shown_by=shown_by(recipe))
    learned = trained(recipe, base(recipe), tmp_path / "a", epochs=6)
    by_lot = trained(recipe, base(recipe), tmp_path / "b", epochs=6, by_lot=True)
    assert auc(recipe, learned.model, report) > 0.95
    # Of the ranking loss something stays: any question fits beside any positive here; and the
    # half of the symmetric one that asks whose a positive is stays whole.
    share = 0.9 if recipe.last.tasks[0].objective == "mnr-symmetric" else 0.8
    assert learned.dev_loss < share * by_lot.dev_loss
    if recipe.kind == "selector":
        assert by_lot.dev_loss > 0.999 * math.log(2)  # who says 0.5 of each errs by so much


@every_recipe
def test_a_reloaded_model_gives_the_same_scores(
    recipe: Recipe, base: Callable[[Recipe], Path], tmp_path: Path
) -> None:
    model = trained(recipe, base(recipe), tmp_path / "a", epochs=1, rows=24).model
    records = queries(6, seed=4, shown_by=shown_by(recipe))
    save(recipe, model, tmp_path / "model")
    if recipe.kind == "selector":
        loaded = load_selector(tmp_path / "model", "cpu")
        rows = [
            (record.query, one.question, one.answer)
            for record in records
            for one in record.candidates
        ]
        again = loaded.score_all(rows)
    else:
        encoder = load_encoder(str(tmp_path / "model"), "cpu")
        found = score_with_encoder(encoder, recipe.form, records)
        again = [
            dict(of)[one.id]
            for (_, of), record in zip(found, records, strict=True)
            for one in record.candidates
        ]
    assert again == pytest.approx(scores(recipe, model, records), abs=1e-5)


@pytest.mark.hypothesis
@long_recipes
def test_after_a_kill_it_goes_on_to_the_same_scores(
    recipe: Recipe, base: Callable[[Recipe], Path], tmp_path: Path
) -> None:
    undisturbed = trained(recipe, base(recipe), tmp_path / "a", epochs=3)
    steps: list[int] = []
    rows = 192 if recipe.last.tasks[0].is_ranked else 384
    after = 2 * rows // 16 + 3  # in the third epoch

    def begun(progress: Progress) -> object:
        return trained(recipe, base(recipe), tmp_path / "b", epochs=3, progress=progress)

    killed(begun, after=after)
    resumed = trained(recipe, base(recipe), tmp_path / "b", epochs=3, progress=steps.append)
    assert 0 < sum(steps) <= rows // 16 + 1  # of the last epoch alone
    records = queries(6, seed=4, shown_by=shown_by(recipe))
    assert scores(recipe, resumed.model, records) == scores(recipe, undisturbed.model, records)
    assert resumed.dev_losses == undisturbed.dev_losses
