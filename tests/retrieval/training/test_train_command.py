"""`quorum model train`, whole: from a release on the disk to a model with its figures."""

import json
import os
import shutil
import signal
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from sentence_transformers import CrossEncoder

from core.command import Error
from core.errors import UserError
from retrieval.encoders.lazy import load_encoder, load_selector
from retrieval.registry.registry import digest_of_folder, resolve_either
from retrieval.registry.training_record import parse_training, read_training
from retrieval.training.data import teacher
from retrieval.training.preflight import TrainingRequest, checked_inputs
from retrieval.training.recipes.materials import Source
from retrieval.training.recipes.recipe import parse_recipe, read_recipe
from retrieval.training.result import claimed
from tests.retrieval.training.releases import LETTERS, release, write_manifest
from tests.support.command_line import quorum

pytestmark = pytest.mark.django_db

RETRIEVER = """
kind: retriever
form: {form}
base: {base}
loss: {loss}
hard_negatives: 2
learning_rate: [1.0e-2, 1.0e-9]
batch_size: 16
max_length: 24
epochs: 3
seeds: [1, 2]
"""
SELECTOR = """
kind: selector
form: {form}
base: {base}
learning_rate: 3.0e-3
batch_size: 32
max_length: 24
epochs: {epochs}
seeds: {seeds}
"""
DUPLICATES = "\n".join(
    ["question1\tquestion2\tis_duplicate"]
    + [
        f"{letter} {noise} {more}\t{letter} {noise} {'yes' if label else 'no'}\t{label}"
        for letter in LETTERS
        for noise in "qrstuv"
        for more in "ijkl"
        for label in (0, 1)
    ]
)


def recipe(folder: Path, text: str, **values: object) -> Path:
    path = folder / "recipe.yaml"
    path.write_text(text.format(**values))
    return path


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    return release(tmp_path / "demo-1")


@pytest.fixture
def short(tmp_path: Path, bare: Path) -> Path:
    """The recipe of a selector that is trained for one epoch."""
    return recipe(tmp_path, SELECTOR, form="QQ", epochs=1, seeds=1, base=bare)


def train(*words: object) -> dict[str, Any]:
    out = StringIO()
    quorum("model", "train", *map(str, words), "--json", "--device", "cpu", stdout=out)
    found: dict[str, Any] = json.loads(out.getvalue())
    return found


@pytest.mark.parametrize(
    ("form", "loss"),
    [("QQA", "multiple-negatives-ranking"), ("QQ", "online-contrastive")],
)
def test_a_retriever_is_trained_chosen_on_dev_and_better_than_before(
    tmp_path: Path, tiny_retriever: Path, data_dir: Path, demo: Path, form: str, loss: str
) -> None:
    path = recipe(tmp_path, RETRIEVER, form=form, base=tiny_retriever, loss=loss)
    found = train(path, "--release", demo, "--name", "mine")
    place = data_dir / "models" / "mine"
    report = parse_training(read_training(place))
    assert found["chosen"]["learning_rate"] == 1e-2  # the other one learns nothing
    assert [one["learning_rate"] for one in found["grid"]] == [1e-2, 1e-9]
    assert found["grid"][0]["dev_loss"] < found["grid"][1]["dev_loss"]
    if form == "QQA":  # by chance, the words of QQ alone lie well without any learning
        assert found["before"]["test"]["P@1"] < 0.5
    assert all(one["test"]["P@1"] > 0.8 for one in found["trainings"])
    assert [one["seed"] for one in found["trainings"]] == [1, 2]
    assert report.best.dev_loss == min(one.dev_loss for one in report.seeds)
    for one in report.seeds:
        assert digest_of_folder(place / one.model) == one.sha256
        assert load_encoder(str(place / one.model), "cpu").dimension == 32
    assert sorted(path.name for path in (place / "runs").iterdir()) == [
        f"{split}.{system}.run"
        for split in ("dev", "test")
        for system in ("before", "seed-1", "seed-2")
    ]
    assert {path.name for path in place.iterdir() if path.is_dir()} == {"runs", "grid-1", "seed-2"}


@pytest.mark.parametrize("form", ["QA", "QAQ"])
def test_a_selector_is_trained_by_what_its_form_reads(
    tmp_path: Path, bare: Path, data_dir: Path, demo: Path, form: str
) -> None:
    found = train(
        recipe(tmp_path, SELECTOR, form=form, epochs=4, seeds=1, base=bare), "--release", demo
    )
    place = data_dir / "models" / "recipe"  # by its file's name
    report = parse_training(read_training(place))
    assert found["before"] is None
    assert load_selector(place / report.best.model, "cpu").form == form
    precision = found["trainings"][0]["test"]["P@1"]
    if form == "QA":  # the answers tell nothing
        assert precision < 0.7
    else:
        assert precision > 0.9
        assert 0 <= found["threshold"] <= 1


def test_duplicate_questions_are_learned_first(tmp_path: Path, bare: Path, data_dir: Path) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text(DUPLICATES)
    folder = release(tmp_path / "demo-1", train=4)
    path = recipe(tmp_path, SELECTOR, form="QQ", epochs=10, seeds=1, base=bare)
    alone = train(path, "--release", folder, "--name", "alone")
    after = train(path, "--release", folder, "--name", "after", "--pairs", pairs)
    assert alone["first"] is None
    assert after["first"]["dev_loss"] < 0.3
    assert after["pairs"]["file"] == "pairs.tsv"
    report = {name: after["pairs"][name] for name in ("rows", "learned", "left_out")}
    assert report["learned"] < report["rows"]  # some tell when to stop
    assert report["left_out"] == 0
    best = [min(one["dev_loss"] for one in run["trainings"]) for run in (after, alone)]
    assert best[0] < best[1] / 2


def test_pairs_with_a_question_of_dev_or_test_are_left_out(
    tmp_path: Path, data_dir: Path, demo: Path, short: Path
) -> None:
    query = json.loads((demo / "test.jsonl").read_text().splitlines()[0])["query"]
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text(f"{DUPLICATES}\nanother\t{query.upper()}?\t1\n{query}\tanother\t1\n")
    found = train(short, "--release", demo, "--pairs", pairs)
    assert found["pairs"]["held_out"] == 2


def test_pairs_without_answers_teach_no_selector_that_reads_answers_alone(
    tmp_path: Path, bare: Path, data_dir: Path, demo: Path
) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text(DUPLICATES)
    path = recipe(tmp_path, SELECTOR, form="QA", epochs=1, seeds=1, base=bare)
    with pytest.raises(
        Error, match=r"The form QA reads answers alone, and .* nothing has an answer"
    ):
        train(path, "--release", demo, "--pairs", pairs)
    assert not (data_dir / "models").exists()


def test_asked_again_it_changes_nothing_and_asked_otherwise_it_refuses(
    tmp_path: Path, bare: Path, data_dir: Path, demo: Path, short: Path
) -> None:
    first = train(short, "--release", demo)
    place = data_dir / "models" / "recipe"
    before = digest_of_folder(place / first["trainings"][0]["model"])
    assert train(short, "--release", demo) == {**first, "unchanged": True}
    other = release(tmp_path / "demo-2", seed=2)
    with pytest.raises(Error, match="holds a model of another release: nothing was overwritten"):
        train(short, "--release", other)
    recipe(tmp_path, SELECTOR, form="QA", epochs=1, seeds=1, base=bare)
    with pytest.raises(Error, match="holds a model of another recipe: nothing was overwritten"):
        train(short, "--release", demo)
    assert digest_of_folder(place / first["trainings"][0]["model"]) == before


@pytest.mark.parametrize("split", ["train", "dev"])
def test_a_release_with_an_empty_split_is_refused(
    tmp_path: Path, data_dir: Path, short: Path, split: str
) -> None:
    folder = release(tmp_path / "demo-1", **{split: 0})
    with pytest.raises(Error, match=f"The split {split} of .* is empty: a training needs queries"):
        train(short, "--release", folder)
    assert not (data_dir / "models").exists()


def test_without_test_queries_the_figures_of_test_are_left_out(
    tmp_path: Path, data_dir: Path, short: Path
) -> None:
    folder = release(tmp_path / "demo-1", test=0)
    found = train(short, "--release", folder)
    assert found["trainings"][0]["test"] is None
    assert found["trainings"][0]["dev"]["P@1"] >= 0


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("manifest.json", None, "is not a complete release"),
        ("dev.jsonl", "{}\n", "is not a complete release .dev.jsonl"),
        ("test.jsonl", None, "is not a complete release"),
        ("train.jsonl", "", r"train.jsonl is not the file that manifest.json names"),
    ],
)
def test_a_broken_release_is_refused(
    data_dir: Path, demo: Path, short: Path, name: str, text: str | None, expected: str
) -> None:
    (demo / name).unlink()
    if text is not None:
        (demo / name).write_text(text)
    with pytest.raises(Error, match=expected):
        train(short, "--release", demo)


def test_a_broken_checkpoint_is_refused_by_name(
    tmp_path: Path, bare: Path, data_dir: Path, demo: Path
) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    for path in bare.iterdir():
        (broken / path.name).write_bytes(path.read_bytes()[:2_000])
    with pytest.raises(Error, match=r"The model '.*broken' cannot be loaded"):
        train(
            recipe(tmp_path, SELECTOR, form="QQ", epochs=1, seeds=1, base=broken),
            "--release",
            demo,
        )


@pytest.mark.parametrize(
    ("form", "changed", "expected"),
    [
        (SELECTOR, {"precision": "fp16"}, "A CPU does not compute in fp16"),
        (SELECTOR, {"max_length": 65}, "reads at most 64 tokens, not 65: name a smaller"),
        (RETRIEVER, {"max_length": 65}, "reads at most 64 tokens, not 65: name a smaller"),
        (
            RETRIEVER,
            {"batch_size": 64},
            r"has (\d+) that can be learned from: name a batch_size of at most \1 in",
        ),
    ],
)
def test_what_cannot_be_trained_is_told_before_it_is_begun(
    tmp_path: Path,
    bare: Path,
    tiny_retriever: Path,
    data_dir: Path,
    demo: Path,
    form: str,
    changed: dict[str, object],
    expected: str,
) -> None:
    base = bare if form == SELECTOR else tiny_retriever
    path = recipe(
        tmp_path,
        form,
        form="QQ",
        epochs=1,
        seeds=1,
        base=base,
        loss="binary-cross-entropy" if form == SELECTOR else "multiple-negatives-ranking",
    )
    path.write_text(yaml.safe_dump({**yaml.safe_load(path.read_text()), **changed}))
    with pytest.raises(Error, match=expected):
        train(path, "--release", demo)


def test_what_is_too_large_or_left_with_nothing_by_sets_is_told_before_it_is_begun(
    tmp_path: Path, tiny_retriever: Path, demo: Path
) -> None:
    rare = release(tmp_path / "rare-1")
    lines = [json.loads(line) for line in (rare / "train.jsonl").read_text().splitlines()]
    asked = lines[0]["query"]
    for line in lines:
        if line["query"] != asked:
            line["candidates"] = [one for one in line["candidates"] if not one["label"]]
    (rare / "train.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    write_manifest(rare)
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text(f"question1\tquestion2\tis_duplicate\n{asked}\tx\t1\n")
    sets = (Source("pairs", pairs),)
    of_release = {"material": "release", "objective": "mnr", "batch_size": [8, 4096]}
    for task, folder, measured, expected in (
        (of_release, demo, (), r"at most \d+ in the recipe, not 4,096"),
        (of_release, rare, sets, "without the questions of the sets are negative: there is"),
        ({"material": "pairs"}, demo, sets, "dev and test, and of the sets, has no positive row"),
    ):
        values = {"kind": "retriever", "form": "QQ", "base": str(tiny_retriever)}
        materials = {"pairs": {"kind": "pairs", "file": pairs.name}}
        stages = [{"tasks": [{"objective": "mnr", **task}], "batch_size": 8, "max_length": 24}]
        whole = parse_recipe({**values, "materials": materials, "stages": stages}, folder=tmp_path)
        with pytest.raises(UserError, match=expected):
            checked_inputs(TrainingRequest(whole, folder, "mine", None, "cpu", measured))


def test_dev_without_a_query_of_both_labels_has_nothing_to_rank(
    tmp_path: Path, tiny_retriever: Path, data_dir: Path
) -> None:
    folder = release(tmp_path / "demo-1", dev=2)
    lines = [json.loads(line) for line in (folder / "dev.jsonl").read_text().splitlines()]
    for label, line in enumerate(lines):
        for candidate in line["candidates"]:
            candidate["label"] = label
    (folder / "dev.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    write_manifest(folder)
    path = recipe(
        tmp_path, RETRIEVER, form="QQ", base=tiny_retriever, loss="multiple-negatives-ranking"
    )
    with pytest.raises(Error, match="leaves nothing for mnr in dev"):
        train(path, "--release", folder)


def test_nothing_that_any_dev_or_test_asks_is_learned_of_several_releases(
    tmp_path: Path, tiny_retriever: Path, demo: Path
) -> None:
    asked = {
        split: [json.loads(line)["query"] for line in path.read_text().splitlines()]
        for split in ("train", "dev", "test")
        for path in [demo / f"{split}.jsonl"]
    }
    other = release(tmp_path / "other-1", train=60, dev=16, test=16)
    shared = {
        "train": [asked["dev"][0], asked["test"][0]],
        "dev": [asked["test"][1], asked["train"][0]],
        "test": [asked["train"][1]],
    }
    for split, queries in shared.items():
        path = other / f"{split}.jsonl"
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for number, line in enumerate(lines):
            line["query"] = f"other {split} {number}"
        for line, query in zip(lines, queries, strict=False):
            line["query"] = query
        if split == "train":  # a candidate asks the same
            lines[2]["candidates"][0]["question"] = asked["test"][2]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    write_manifest(other)
    values = {"kind": "retriever", "form": "QQ", "base": str(tiny_retriever)}
    materials = {"wikiqa": {"kind": "release", "file": other.name}}
    tasks = [
        {"material": name, "objective": "mnr", "hard_negatives": 2, "batch_size": 4}
        for name in ("wikiqa", "release")
    ]
    stages = [{"tasks": [task], "max_length": 24} for task in tasks]
    whole = parse_recipe({**values, "materials": materials, "stages": stages}, folder=tmp_path)
    inputs = checked_inputs(TrainingRequest(whole, demo, "mine", None, "cpu"))
    [first, last] = [next(iter(stage.tasks.values())) for stage in inputs.stages]
    learned, stops = (
        {one.query for one in some} for some in (first.material.train, first.material.dev)
    )
    assert learned == {f"other train {number}" for number in range(3, 60)}
    assert stops == {asked["train"][0], *(f"other dev {number}" for number in range(2, 16))}
    assert {one.query for one in last.material.train} == {*asked["train"]} - {*asked["train"][:2]}
    assert {one.query for one in last.material.dev} == {*asked["dev"]}
    assert {"negative_1", "negative_2"} <= set(first.train.rows.column_names)
    assert inputs.facts["materials"]["wikiqa"]["held_out"] == 4
    twice = {**materials, "again": {"kind": "release", "file": other.name}}
    (tmp_path / "my.run").write_text("train-1 Q0 x 1 0.5 mine\n")
    hinton = {"distil-hinton": {"lambda": 0.5}}
    taught = {"material": "wikiqa", "objective": hinton, "teacher": f"{tmp_path}/my.run"}
    selector = {**values, "kind": "selector", "materials": materials}
    for changed, expected in (
        ({**values, "materials": twice, "stages": stages}, "again is the same as the material wik"),
        (
            {**selector, "stages": [{"tasks": [taught], "max_length": 24}], "form": "QA"},
            "can only teach the release, and is the",
        ),
    ):
        whole = parse_recipe(changed, folder=tmp_path)
        with pytest.raises(UserError, match=expected):
            checked_inputs(TrainingRequest(whole, demo, "mine", None, "cpu"))


def test_questions_that_train_lacks_are_not_trained_on(
    data_dir: Path, demo: Path, short: Path
) -> None:
    lines = [json.loads(line) for line in (demo / "train.jsonl").read_text().splitlines()]
    for candidate in (one for line in lines for one in line["candidates"]):
        candidate["question"] = ""
    (demo / "train.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    write_manifest(demo)
    with pytest.raises(Error, match=r"reads questions, and no candidate in train of .* has one"):
        train(short, "--release", demo)


def test_stages_materials_and_a_teacher_are_recorded_and_gone_on_with(
    tmp_path: Path,
    bare: Path,
    tiny_retriever: Path,
    data_dir: Path,
    demo: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "quora.tsv").write_text(DUPLICATES)
    path = tmp_path / "staged.yaml"
    whole = {
        "kind": "selector",
        "form": "QAQ",
        "base": str(bare),
        "learning_rate": 3e-3,
        "batch_size": 16,
        "max_length": 24,
        "epochs": 2,
        "seeds": [1, 2],
        "materials": {"quora": {"kind": "pairs", "file": "quora.tsv"}},
        "stages": [
            {"tasks": [{"material": "quora", "form": "QQ"}], "epochs": 1},
            {
                "tasks": [{"material": "quora"}, {"material": "release"}],
                "epochs": 1,
                "warmup": [0, 0.5],
            },
            {
                "tasks": [
                    {
                        "material": "release",
                        "objective": {"distil-hinton": {"lambda": [0, 0.9]}},
                        "teacher": str(tiny_retriever),
                    }
                ]
            },
        ],
    }
    path.write_text(yaml.safe_dump(whole))
    loaded: list[str] = []

    def spied(name: str, device: str) -> Any:
        loaded.append(name)
        return load_encoder(name, device)

    with monkeypatch.context() as patched:
        patched.setattr(teacher, "load_encoder", spied)
        found = train(path, "--release", demo)
    assert loaded == [str(tiny_retriever)]  # once, for train and dev and each combination
    quora = found["materials"]["quora"]
    assert quora["file"] == "quora.tsv"
    assert quora["learned"] > 0
    assert len(found["stages"]) == 2
    assert found["first"] == found["stages"][0]
    assert [one["distil-hinton lambda"] for one in found["grid"]] == [0, 0.9]
    assert found["stages"][1]["stage warmup"] in (0, 0.5)
    assert list(found["teachers"].values()) == [digest_of_folder(tiny_retriever)]
    place = data_dir / "models" / "staged"
    assert not list(place.glob("stage-*"))
    again, before = (read_recipe(one) for one in (place / "recipe.yaml", path))
    assert again.to_dict() == before.to_dict()
    assert [one.file for one in again.materials.values()] == [(tmp_path / "quora.tsv").resolve()]
    assert parse_training(read_training(place)).form == "QAQ"
    out = StringIO()
    quorum("model", "train", str(path), "--release", str(demo), stdout=out)
    said = out.getvalue()
    assert said.startswith("Trained before, unchanged: ")
    assert "distil-hinton lambda " in said
    assert f"\nquora: {quora['rows']} rows, learned as {quora['learned']} examples" in said
    for name in ("staged", str(place)):  # nobody has registered it
        with pytest.raises(UserError, match=f"{name} is a training, .*, such as .*/model"):
            resolve_either(name)
    (tmp_path / "quora.tsv").write_text(DUPLICATES + "\na\tb\t1\n")
    with pytest.raises(Error, match="holds a model of another material quora"):
        train(path, "--release", demo)


def test_texts_without_labels_are_enough_for_an_objective_on_tokens_and_a_mask_is_needed(
    tmp_path: Path, bare: Path, data_dir: Path, demo: Path
) -> None:
    lines = [line.rpartition("\t")[0] for line in DUPLICATES.splitlines()[1::2]]
    (tmp_path / "topics.tsv").write_text("\n".join(["question\ttopic", *lines]))
    path = recipe(tmp_path, SELECTOR, form="QQ", epochs=1, seeds=1, base=bare)
    whole = {
        **yaml.safe_load(path.read_text()),
        "materials": {"topics": {"kind": "topics", "file": "topics.tsv"}},
        "stages": [
            {"tasks": [{"material": "topics", "objective": "mlm"}]},
            {"tasks": [{"material": "release"}]},
        ],
    }
    path.write_text(yaml.safe_dump(whole))
    found = train(path, "--release", demo)
    assert found["materials"]["topics"]["learned"] > 100
    assert found["release"]["learned"] > 0
    path.write_text(yaml.safe_dump({**whole, "stages": whole["stages"][:1]}))
    out = StringIO()
    words = ["model", "train", str(path), "--release", str(demo), "--name", "alone"]
    quorum(*words, "--device", "cpu", stdout=out)
    assert f" measured on {demo.name}, " in out.getvalue().splitlines()[0]
    shutil.copytree(bare, tmp_path / "other")
    tokens = json.loads((tmp_path / "other" / "tokenizer_config.json").read_text())
    tokens.pop("mask_token")
    (tmp_path / "other" / "tokenizer_config.json").write_text(json.dumps(tokens))
    path.write_text(yaml.safe_dump({**whole, "base": str(tmp_path / "other")}))
    with pytest.raises(Error, match="The base has no transformer with a mask token, which mlm"):
        train(path, "--release", demo, "--name", "other")
    assert not (data_dir / "models" / "other").exists()


def test_scores_of_another_scale_are_told_before_they_are_learned(
    tmp_path: Path, data_dir: Path, demo: Path, short: Path
) -> None:
    rows = [f"a {n}\tb {n}\t{n / 60}" for n in range(60)]
    (tmp_path / "sim.tsv").write_text("\n".join(["sentence1\tsentence2\tscore", *rows]))
    scored = {
        "materials": {"sim": {"kind": "sts", "file": "sim.tsv"}},
        "stages": [{"tasks": [{"material": "sim"}, {"material": "release"}]}],
    }
    short.write_text(yaml.safe_dump(yaml.safe_load(short.read_text()) | scored))
    with pytest.raises(Error, match="is above 1, and scores go from 0 to 5"):
        train(short, "--release", demo)


def test_too_few_duplicate_questions_are_told_as_that(
    tmp_path: Path, data_dir: Path, demo: Path, short: Path
) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("\n".join(DUPLICATES.splitlines()[:2]))
    with pytest.raises(Error, match="has no row to tell when to stop, for which one first text"):
        train(short, "--release", demo, "--pairs", pairs)


def test_a_model_that_was_trained_without_other_sets_is_told_as_that(tmp_path: Path) -> None:
    asked = {"recipe": {}, "release": {"sha256": "1"}, "pairs": None, "device": "cpu"}
    assert claimed(tmp_path, asked) is None
    with pytest.raises(UserError, match="holds an unfinished training of other sets: nothing"):
        claimed(tmp_path, {**asked, "sets": {"sha256": ["2"]}})


def test_a_folder_with_other_things_in_it_is_left_as_it_is(
    data_dir: Path, demo: Path, short: Path
) -> None:
    place = data_dir / "models" / "recipe"
    (place / "1_Pooling").mkdir(parents=True)
    (place / "recipe.yaml").write_text("somebody's")
    with pytest.raises(Error, match=r"holds something other than a training .1_Pooling.: choose"):
        train(short, "--release", demo)
    assert (place / "recipe.yaml").read_text() == "somebody's"
    assert (place / "1_Pooling").is_dir()


def test_a_place_that_is_no_folder_is_refused_by_its_path(
    data_dir: Path, demo: Path, short: Path
) -> None:
    data_dir.mkdir()
    (data_dir / "models").write_text("no folder")
    with pytest.raises(Error, match=r"models/recipe cannot be used .Not a directory.: name"):
        train(short, "--release", demo)


def test_an_unfinished_training_is_not_overwritten_by_another(
    tmp_path: Path, bare: Path, data_dir: Path, demo: Path
) -> None:
    path = recipe(tmp_path, SELECTOR, form="QQ", epochs=1, seeds=1, base=bare)
    train(path, "--release", demo)
    place = data_dir / "models" / "recipe"
    (place / "training.json").unlink()  # as if it had been killed just before
    before = digest_of_folder(place / "grid-1")
    recipe(tmp_path, SELECTOR, form="QA", epochs=1, seeds=1, base=bare)
    with pytest.raises(Error, match="holds an unfinished training of another recipe: nothing"):
        train(path, "--release", demo)
    assert digest_of_folder(place / "grid-1") == before
    recipe(tmp_path, SELECTOR, form="QQ", epochs=1, seeds=1, base=bare)
    assert train(path, "--release", demo)["unchanged"] is False
    assert digest_of_folder(place / "grid-1") == before  # gone on with, not trained again


def test_a_model_is_not_named_as_its_base(tmp_path: Path, data_dir: Path, demo: Path) -> None:
    path = recipe(tmp_path, SELECTOR, form="QQ", epochs=1, seeds=1, base="tiny")
    with pytest.raises(Error, match="would have the name of its base, tiny: choose another name"):
        train(path, "--release", demo, "--name", "tiny")


def test_a_base_with_scores_of_its_own_gives_scores_from_0_to_1(
    tmp_path: Path, bare: Path, data_dir: Path, demo: Path
) -> None:
    """As the cross-encoders of ms-marco do, whose scores are logits."""
    base = tmp_path / "logits"
    CrossEncoder(
        str(bare), num_labels=1, device="cpu", activation_fn=torch.nn.Identity()
    ).save_pretrained(str(base), create_model_card=False)
    path = recipe(tmp_path, SELECTOR, form="QQ", epochs=4, seeds=1, base=base)
    found = train(path, "--release", demo)
    place = data_dir / "models" / "recipe"
    assert 0 <= found["threshold"] <= 1
    assert parse_training(read_training(place)).threshold == found["threshold"]


def test_a_selector_is_no_base_of_a_retriever(
    tmp_path: Path, data_dir: Path, demo: Path, short: Path
) -> None:
    train(short, "--release", demo)
    selector = data_dir / "models" / "recipe" / "grid-1" / "model"
    path = recipe(tmp_path, RETRIEVER, form="QQ", base=selector, loss="online-contrastive")
    with pytest.raises(Error, match="is an answer selector: name a retriever here"):
        train(path, "--release", demo, "--name", "other")


@pytest.mark.parametrize("name", ["", "Mine", "../mine", "a b", "-a", "a" * 101])
def test_a_name_that_is_none_is_refused(
    tmp_path: Path, bare: Path, data_dir: Path, demo: Path, name: str
) -> None:
    path = recipe(tmp_path, SELECTOR, form="QQ", epochs=1, seeds=1, base=bare).rename(
        tmp_path / "A b.yaml"
    )
    with pytest.raises(Error, match="cannot be a model's"):
        train(path, "--release", demo, f"--name={name}")


def test_killed_in_the_grid_it_goes_on_to_the_same_models(
    tmp_path: Path, tiny_retriever: Path, data_dir: Path, demo: Path
) -> None:
    path = recipe(
        tmp_path, RETRIEVER, form="QQ", base=tiny_retriever, loss="multiple-negatives-ranking"
    )
    undisturbed = train(path, "--release", demo, "--name", "a")
    script = f"""
import django, os, signal
os.environ.update(DJANGO_SETTINGS_MODULE="config.settings", QUORUM_DATA={str(data_dir)!r})
django.setup()
from django.core.management import call_command
call_command("migrate", "retrieval", verbosity=0)
from pathlib import Path
from retrieval.training.recipes.recipe import read_recipe
from retrieval.training.preflight import TrainingRequest
from retrieval.training.run import Watch, train
steps = 0
def step(count):
    global steps
    steps += count
    if steps == 45:
        os.kill(os.getpid(), signal.SIGKILL)
train(TrainingRequest(read_recipe(Path({str(path)!r})), Path({str(demo)!r}), "b", None, "cpu"),
      Watch(step=step))
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=Path(__file__).parents[3],
        env={name: value for name, value in os.environ.items() if not name.startswith("QUORUM_")},
    )
    assert done.returncode == -signal.SIGKILL, done.stderr[-2000:]
    assert (data_dir / "models" / "b" / "grid-1" / "fitted.json").is_file()
    assert not (data_dir / "models" / "b" / "training.json").exists()
    resumed = train(path, "--release", demo, "--name", "b")
    assert resumed["trainings"] == undisturbed["trainings"]  # to the byte of each model
    assert resumed["grid"] == undisturbed["grid"]


def test_what_is_printed_tells_what_was_learned(
    tmp_path: Path, tiny_retriever: Path, data_dir: Path
) -> None:
    folder = release(tmp_path / "demo-1", test=0)
    path = recipe(
        tmp_path, RETRIEVER, form="QQ", base=tiny_retriever, loss="multiple-negatives-ranking"
    )
    out = StringIO()
    quorum("model", "train", str(path), "--release", str(folder), "--device", "cpu", stdout=out)
    lines = out.getvalue().splitlines()
    assert lines[0].startswith("Trained: retriever QQ from ")
    assert "learning rate 0.01, batches of 16, 24 tokens (the best of 2), 2 seeds" in lines[0]
    assert lines.pop(1) == (
        "Left out of the recipe: patience from QUADRo's appendix B; warmup, threshold_by from "
        "Quorum; weight_decay, accumulation, precision from sentence-transformers; pooling "
        "from the base."
    )
    assert lines[1].split() == ["dev,", "16", "queries", "P@1", "MAP", "MRR", "Hit@5", "Hit@10"]
    assert [line.split()[0] for line in lines[2:5]] == ["before", "seed", "seed"]
    assert lines[5] == "test: no queries"
