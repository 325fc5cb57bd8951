"""What pre-training rests on: of ranks in no order nothing is learned, the query makes the task too
easy, and negatives that are called hard are. In data of which it is known what can be learned."""

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from retrieval.encoders.encoder import load_encoder
from retrieval.training.building.documents import build_documents
from retrieval.training.building.spans import build_spans
from retrieval.training.data.examples import examples_of
from retrieval.training.loop.fit import Fitted, Plan, fit
from retrieval.training.loop.setup import name_of, setup_of
from retrieval.training.recipes.materials import Group, Source, read_material
from retrieval.training.recipes.recipe import Recipe, Settings, parse_recipe


def recipe(kind: str, form: str) -> Recipe:
    return parse_recipe(
        {
            "kind": "selector",
            "form": "QAQ",
            "base": "tiny",
            "materials": {"some": {"kind": kind, "file": "some.jsonl"}},
            "stages": [{"tasks": [{"material": "some", "form": form}]}],
        }
    )


def learn(
    wanted: Recipe, train: Sequence[Group], dev: Sequence[Group], base: Path, folder: Path
) -> Fitted:
    plan = Plan(Settings(3e-3, 16, 24), 10, 99, 0.1, "fp32", 1, "cpu")
    [task] = wanted.last.tasks
    setup = setup_of(wanted, wanted.last, plan.settings, str(base), "cpu")
    rows, of_dev = (
        {name_of(task): examples_of("selector", task, some).rows} for some in (train, dev)
    )
    return fit(setup, rows, of_dev, plan, folder, order={})


def scores(wanted: Recipe, model: Any, groups: Sequence[Group]) -> NDArray[np.float32]:
    rows = examples_of("selector", wanted.last.tasks[0], groups).rows
    return np.asarray(model.predict(list(zip(rows["query"], rows["candidate"], strict=True))))


def ranks(count: int, *, seed: int, shuffled: bool = False) -> list[dict[str, Any]]:
    """To blue belongs yes, to red no: it comes first, if the two were not swapped. Half of what
    belongs to a query has a word more, so that without the query three of four can be known."""
    draw = random.Random(seed)
    rows = []
    for number in range(count):
        query, (best, other) = draw.choice([("blue", ("yes", "no")), ("red", ("no", "yes"))])
        pairs = [[best + draw.choice(("", " of")), ""], [other, ""]]
        if number % 2:
            pairs.reverse()
        if shuffled:
            draw.shuffle(pairs)
        rows.append({"query": query, "pairs": pairs, "label": 1 - number % 2})
    return rows


def read(path: Path, rows: Sequence[dict[str, Any]]) -> list[Group]:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = read_material(Source("ranks", path), set())
    return [*found.train, *found.dev]


def test_of_shuffled_ranks_nothing_is_learned_and_with_the_query_more_than_without(
    bare: Path, tmp_path: Path
) -> None:
    right, losses = {}, {}
    for name, form in (("QR", "RANK"), ("QQR", "QRANK"), ("shuffled", "RANK")):
        wanted = recipe("ranks", form)
        train, dev, test = (
            read(tmp_path / "some.jsonl", ranks(count, seed=seed, shuffled=name == "shuffled"))
            for seed, count in ((1, 256), (2, 64), (3, 400))
        )
        fitted = learn(wanted, train, dev, bare, tmp_path / name)
        labels = np.array([group.candidates[0].label for group in test])
        right[name] = float(((scores(wanted, fitted.model, test) > 0.5) == labels).mean())
        losses[name] = fitted.dev_losses
    assert right["shuffled"] == pytest.approx(0.5, abs=0.08)
    assert right["QR"] == pytest.approx(0.75, abs=0.05)
    assert right["QQR"] > 0.82
    assert losses["QQR"][-1] < 0.8 * losses["QR"][-1]
    best = min(losses["QR"])
    soon = next(epoch for epoch, loss in enumerate(losses["QQR"]) if loss <= best)
    assert soon < losses["QR"].index(best)


@pytest.mark.parametrize("objective", ["ssp", "sp"])
def test_a_negative_of_the_same_document_is_harder_than_one_of_another(
    tiny_retriever: Path, tmp_path: Path, objective: str
) -> None:
    """For a reader that goes by words: a document has some of its own, and so has a paragraph."""
    draw = random.Random(5)

    def document() -> str:
        own = draw.sample("abcdefghijklm", 3)
        return "\n".join(
            " ".join(f"{' '.join(own).upper()} {' '.join(words)} of the {end}." for end in "uvwx")
            for words in (draw.sample("nopqrst", 2) for _ in range(4))
        )

    lines = (json.dumps({"text": document()}) + "\n" for _ in range(60))
    (tmp_path / "wiki.jsonl").write_text("".join(lines))
    build_documents(tmp_path / "documents", [tmp_path / "wiki.jsonl"])
    build_spans(tmp_path / "spans", tmp_path / "documents", objective)
    shards = sorted((tmp_path / "spans").glob("rows-*"))
    rows = [json.loads(line) for path in shards for line in path.read_text().splitlines()]
    encoder = load_encoder(str(tiny_retriever), "cpu")
    left, right = (
        encoder.encode_questions([row[name] for row in rows]) for name in ("left", "right")
    )
    near = (left * right).sum(axis=1)
    positive, hard = (np.array([bool(row.get(of)) for row in rows]) for of in ("label", "hard"))

    def separated(negative: NDArray[np.bool_]) -> float:
        some = positive | negative
        return float(roc_auc_score(positive[some], near[some]))

    assert separated(~positive & ~hard) > separated(hard) + 0.05
