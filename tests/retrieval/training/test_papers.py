"""Every recipe that comes with Quorum, with a tiny model and tiny materials, from its first stage
to its figures."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from retrieval.training.recipes.recipe import read_recipe
from tests.retrieval.training.releases import LETTERS, release
from tests.retrieval.training.test_train_command import train
from tests.support.examples import cases

pytestmark = pytest.mark.django_db
FOLDER = Path(__file__).parents[3] / "recipes"
RECIPES = set(FOLDER.rglob("*.yaml")) - set(FOLDER.glob("experiments/*/*"))
EVERY = sorted(path.relative_to(FOLDER).as_posix() for path in RECIPES)
SOME = (
    "as2/electra/ssp.yaml",
    "as2/sp-mlm.yaml",
    "qbert/rr.yaml",
    "reranking/gabburo-qr.yaml",
    "reranking/rts.yaml",
    "reranking/teacher.yaml",
)
TINY = {"learning_rate": 1e-3, "batch_size": 4, "max_length": 24, "epochs": 1}


def rows(kind: str) -> list[dict[str, Any]]:
    """Of as many first texts that one in ten of them is dev's, and both labels are in each part."""
    words = [f"{one} {other} {more}" for one in LETTERS for other in LETTERS for more in "ij"]
    pairs = [(word, f"{word} {'yes' if place % 2 else 'no'}") for place, word in enumerate(words)]
    columns = {
        "pairs": ("question1", "question2", "is_duplicate", "answer2"),
        "positives": ("anchor", "positive"),
        "topics": ("question", "topic"),
        "sentences": ("question", "sentence", "label"),
        "spans": ("left", "right", "label"),
        "sts": ("sentence1", "sentence2", "score"),
    }
    if kind == "ranks":
        return [
            {"query": one, "pairs": [[other, "a"], ["b", "c"]], "label": place % 2}
            for place, (one, other) in enumerate(pairs)
        ]
    most = 5 if kind == "sts" else 1
    return [
        dict(zip(columns[kind], (one, other, most * (place % 2), other), strict=False))
        for place, (one, other) in enumerate(pairs)
    ]


def made_tiny(path: Path, folder: Path, base: Path, teacher: Path) -> Path:
    values = yaml.safe_load(path.read_text())
    values |= {**TINY, "base": str(base), "seeds": 1}
    for name, source in values.get("materials", {}).items():
        source["file"] = f"{name}.jsonl"
        lines = (json.dumps(row) + "\n" for row in rows(source["kind"]))
        (folder / source["file"]).write_text("".join(lines))
    for stage in values.get("stages", []):
        for name in (*TINY, "max_steps", "warmup"):
            stage.pop(name, None)
        for task in stage["tasks"]:
            if "teacher" in task:
                task["teacher"] = str(teacher)
            if isinstance(task.get("objective"), dict) and "distil-hinton" in task["objective"]:
                task["objective"] = {"distil-hinton": {"lambda": 0.5}}
    tiny = folder / path.name
    tiny.write_text(yaml.safe_dump(values))
    return tiny


@pytest.mark.hypothesis
@pytest.mark.parametrize("name", cases(EVERY, SOME))
def test_a_recipe_runs_from_its_first_stage_to_its_figures(
    tmp_path: Path, bare: Path, tiny_retriever: Path, data_dir: Path, name: str
) -> None:
    wanted = read_recipe(FOLDER / name)
    base = bare if wanted.kind == "selector" else tiny_retriever
    path = made_tiny(FOLDER / name, tmp_path, base, tiny_retriever)
    found = train(path, "--release", release(tmp_path / "demo-1", train=12))
    assert found["recipe"]["form"] == wanted.form
    earlier = found.get("stages") or [one for one in [found["first"]] if one]
    assert len(earlier) == len(wanted.stages) - 1
    assert set(found.get("materials", {})) == set(wanted.materials)
    assert found["trainings"][0]["test"]["P@1"] is not None
