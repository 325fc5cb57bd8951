"""`make bench-models` at a tiny size, with a model of two layers."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from pytest_django import Settings

from benchmarks import folders
from benchmarks.models import __main__ as models
from benchmarks.models import data, qbert, reranking, speed
from benchmarks.models.splits import Size
from benchmarks.models.systems import STUDENT, Place, Trainings, fewer_layers
from tests.support.stack import StackHere


@pytest.fixture
def place(db: None, tmp_path: Path, settings: Settings, tiny_encoder: str) -> Place:
    settings.DATA_DIR = tmp_path / "WORK"
    settings.MODELS_DIR = settings.DATA_DIR / "models"
    size = Size(
        30,
        corpus=60,
        depths=(30, 30),
        sentences=(12, 4),
        transferred=40,
        pairs=60,
        ranks=80,
        shots=2,
        learned=80,
        measured=40,
        retriever=tiny_encoder,
    )
    trainings = Trainings(
        seeds=(1,),
        epochs=1,
        batch_size=4,
        rank_steps=4,
        rank_length=32,
        task_epochs=1,
        student_epochs=1,
    )
    bases = {"Tiny": tiny_encoder, STUDENT: fewer_layers(tiny_encoder, tmp_path / STUDENT)}
    return Place(StackHere(settings.DATA_DIR), size, trainings, "cpu", bases)


@pytest.mark.parametrize("part", sorted(data.NEEDED.keys() - {qbert.PART, models.SPEED}))
def test_each_dataset_has_positives_in_every_split(part: str, place: Place, tmp_path: Path) -> None:
    counts = data.write_dataset(part, place.size, tmp_path / part, "cpu")
    assert all(counts[split]["positives"] for split in ("train", "dev", "test"))


BESIDE_PLAIN = {
    "answers": {"Tiny QAQ selector": 4},
    "duplicates": {"Tiny QQ tuned": 2},
    "students": {"MiniLM-3 QQ selector": 4},
    "wikiqa": {"Tiny QA selector": 2},
}


@pytest.mark.parametrize("part", list(BESIDE_PLAIN))
def test_systems_are_trained_and_compared(part: str, place: Place) -> None:
    if part == "wikiqa":  # the quickest one: a second seed
        place = replace(place, trainings=replace(place.trainings, seeds=(1, 2)))
    assert models._measure(part, place, small=False)
    kept = json.loads((folders.RESULTS / "models.json").read_text())[part]
    assert kept["dataset"]["test"]["positives"]
    assert kept["compared"]["systems"]
    beside = {name: len(one["systems"]) for name, one in kept["beside_plain"].items()}
    assert beside == BESIDE_PLAIN[part]
    assert kept["beside_bm25"]["against"] == kept["best"]["beside_bm25"]["against"] == "bm25"
    runs = [one["runs"] for one in kept["best"]["beside_first"]["systems"]]
    assert {len(of) for of in runs} == {1}
    for training in kept["trainings"]:
        best = min(training["trainings"], key=lambda one: one["dev_loss"])
        wanted = f"models/{training['name']}/runs/test.seed-{best['seed']}.run"
        assert training["name"].endswith("-ranks") or any(one.endswith(wanted) for [one] in runs)


def test_one_encoder_of_several_tasks_is_measured_beside_what_it_started_from(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = {name: qbert.SYSTEMS[name] for name in ("qe", "rr")}
    monkeypatch.setattr(qbert, "SYSTEMS", some)
    assert models._measure(qbert.PART, place, small=False)
    kept = json.loads((folders.RESULTS / "models.json").read_text())[qbert.PART]
    found = kept["compared"]
    assert found["notes"][0].startswith("The recipes' own settings, trained from")
    materials = [one["materials"].keys() for one in kept["trainings"]]
    assert sorted(map(len, materials)) == [1, len(qbert.KINDS)]
    sets = {one["name"]: one["systems"] for one in found["sets"]}
    assert list(sets) == [
        "BANKING77",
        "BANKING77, questions",
        "CLINC150",
        "CLINC150, questions",
        "STS-B",
    ]
    for name, figure in (("CLINC150", "Accuracy"), ("STS-B", "Spearman")):
        baseline, *others = (one["figures"][figure]["difference"] for one in sets[name])
        assert baseline is None
        assert all(one["low"] <= one["value"] <= one["high"] for one in others)
    assert [one["name"] for one in found["systems"]] == ["baseline", *some]


def test_speed(tmp_path: Path, tiny_encoder: str) -> None:
    scale = speed.Scale(8, dev=4, scored=6, selected=5, rounds=1, base=tiny_encoder)
    found = speed.measured(tmp_path / "speed", "cpu", scale)
    assert len(found["ways"]) == 5
    assert "training a selector: ours" in speed.in_words(found)
    selecting = reranking.measured("cpu", scale)
    assert "5 candidates of one question: QQ" in reranking.in_words(selecting)
