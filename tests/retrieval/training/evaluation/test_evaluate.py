"""What the base ranks is measured before it is tuned, where it ranks at all."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file
from sentence_transformers import CrossEncoder

from retrieval.encoders.cross_encoder.load import new_selector, save_selector
from retrieval.ranking.records import QueryRecord
from retrieval.ranking.runs import ScoredQuery
from retrieval.training.data.release_splits import read_release
from retrieval.training.evaluation import evaluate
from retrieval.training.evaluation.evaluate import Evaluation
from retrieval.training.loop.grid import Trained
from retrieval.training.recipes.recipe import Recipe, Settings, parse_recipe
from tests.retrieval.training import tiny
from tests.retrieval.training.releases import release


def recipe(kind: str, form: str) -> Recipe:
    return parse_recipe(
        {"kind": kind, "form": form, "base": "told apart from what it is loaded by"}
    )


def measured(folder: Path, base: Path, expected: Recipe, model: Path) -> Evaluation:
    """One training from the base to the model in `model`/model."""
    trained = Trained(model, Settings(1e-3, 8, 24), 1, 0.5, 1)
    found = read_release(release(folder / "demo-1"))
    return evaluate.evaluate(expected, str(base), [trained], found, folder, "cpu")


@pytest.fixture
def selector(tmp_path: Path, bare: Path) -> Path:
    """Untrained, but saved with a head: the same as after a training, for who looks."""
    folder = tmp_path / "first"
    save_selector(new_selector(str(bare), "cpu", max_length=24), folder / "model", "QQ")
    return folder


def test_a_base_without_a_head_is_not_measured(tmp_path: Path, bare: Path, selector: Path) -> None:
    found = measured(tmp_path, bare, recipe("selector", "QQ"), selector)
    assert found.before is None
    assert not list((tmp_path / "runs").glob("*.before.run"))


def test_its_threshold_is_chosen_by_what_the_recipe_says(
    tmp_path: Path, bare: Path, selector: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluate, "choose_threshold", lambda _, by: SimpleNamespace(value=by))
    wanted = replace(recipe("selector", "QQ"), threshold_by="precision")
    assert measured(tmp_path, bare, wanted, selector).threshold == "precision"


def test_a_retrievers_threshold_is_a_cosine_as_searches_tell_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That of a text with itself may come out a little above 1."""
    folder = tmp_path / "first"
    tiny.retriever(folder / "model")

    def scored(_: object, __: str, records: list[QueryRecord]) -> Iterator[ScoredQuery]:
        for record in records:
            yield record.id, [(one.id, 1.0000001 * (one.label or 0)) for one in record.candidates]

    monkeypatch.setattr(evaluate, "score_with_encoder", scored)
    assert measured(tmp_path, folder / "model", recipe("retriever", "QQ"), folder).threshold == 1


def test_a_selector_that_another_is_tuned_from_is_measured_as_any_selector(
    tmp_path: Path, selector: Path
) -> None:
    """The tuned one is the base itself here: what is found of both is the same."""
    found = measured(tmp_path, selector / "model", recipe("selector", "QQ"), selector)
    assert found.before is not None
    figures = dict(found.of_seeds[1])
    del figures["sha256"]
    assert found.before == figures
    runs = {path.name for path in (tmp_path / "runs").iterdir()}
    assert {"dev.before.run", "test.before.run"} <= runs


def test_a_cross_encoder_from_elsewhere_is_measured_in_the_recipes_form(
    tmp_path: Path, bare: Path, selector: Path
) -> None:
    CrossEncoder(str(bare), num_labels=1, device="cpu").save_pretrained(
        str(tmp_path / "elsewhere"), create_model_card=False
    )
    found = measured(tmp_path, tmp_path / "elsewhere", recipe("selector", "QAQ"), selector)
    assert found.before is not None
    assert found.before["test"].keys() == found.of_seeds[1]["test"].keys()


def test_a_head_for_several_classes_is_replaced_and_not_measured(
    tmp_path: Path, bare: Path, selector: Path
) -> None:
    """As one of NLI; what lies under the head is kept."""
    folder = tmp_path / "elsewhere"
    CrossEncoder(str(bare), num_labels=3, device="cpu").save_pretrained(
        str(folder), create_model_card=False
    )
    model = new_selector(str(folder), "cpu", max_length=24)
    weights, own = (load_file(one / "model.safetensors") for one in (folder, bare))
    kept = {name.removeprefix("bert."): value for name, value in weights.items()}
    assert all(torch.equal(kept[name], value) for name, value in own.items() if name in kept)
    found = dict(model.model.named_parameters())
    assert torch.equal(
        found["bert.encoder.layer.0.output.dense.weight"],
        weights["bert.encoder.layer.0.output.dense.weight"],
    )
    assert found["classifier.weight"].shape[0] == 1
    assert measured(tmp_path, folder, recipe("selector", "QAQ"), selector).before is None


def test_a_retrievers_base_is_always_measured(tmp_path: Path, tiny_retriever: Path) -> None:
    folder = tmp_path / "first"
    folder.mkdir()
    (folder / "model").symlink_to(tiny_retriever)
    found = measured(tmp_path, tiny_retriever, recipe("retriever", "QQ"), folder)
    assert found.before is not None
