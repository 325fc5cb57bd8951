"""Which selector a name means, and the threshold that its training chose."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.errors import UserError
from retrieval.answering.load_selector import (
    NamedSelector,
    find_selector,
    retrievers_threshold,
)
from retrieval.models import IndexVersion
from retrieval.registry.registry import register
from tests.retrieval.answering.saved import training_folder
from tests.retrieval.registry.trainings import SELECTOR, trained, values, write

pytestmark = pytest.mark.django_db


def test_a_training_means_its_best_model_with_the_threshold(tmp_path: Path) -> None:
    folder = training_folder(tmp_path)
    best = NamedSelector(folder.name, folder / "seed-2/model", 0.37)
    assert find_selector(str(folder)) == best
    assert find_selector(str(folder / "seed-2/model")) == best


def test_a_registered_name_means_its_model_with_the_threshold() -> None:
    model = register(trained("faq-qaq", **SELECTOR))
    assert find_selector("faq-qaq") == NamedSelector("faq-qaq", model.path, 0.37)
    (model.path / "config.json").write_bytes(b"[]")
    with pytest.raises(UserError, match="The model faq-qaq has changed since it was registered"):
        find_selector("faq-qaq")


def test_a_registered_selectors_folders_mean_it_too(settings: Any) -> None:
    model = register(trained("faq-qaq", **SELECTOR))
    for named in (model.path, Path(settings.MODELS_DIR) / "faq-qaq"):
        assert find_selector(str(named)) == NamedSelector("faq-qaq", model.path, 0.37)


def test_the_threshold_of_a_registered_selector_is_the_one_it_was_registered_with() -> None:
    folder = trained("faq-qaq", **SELECTOR)
    model = register(folder)
    write(folder, {**values(folder, "faq-qaq"), **SELECTOR, "threshold": 0.01})
    assert find_selector("faq-qaq").threshold == 0.37
    write(folder, "broken")
    assert find_selector("faq-qaq") == NamedSelector("faq-qaq", model.path, 0.37)


def test_a_registered_retriever_is_no_selector_however_it_is_named(settings: Any) -> None:
    model = register(trained("faq-qqa"))
    for named in ("faq-qqa", str(model.path), f"{settings.MODELS_DIR}/faq-qqa"):
        with pytest.raises(UserError, match="faq-qqa is a retriever: name an answer selector here"):
            find_selector(named)


def test_another_model_of_a_training_has_no_threshold(tmp_path: Path) -> None:
    folder = training_folder(tmp_path) / "seed-1/model"
    assert find_selector(str(folder)) == NamedSelector("model", folder, None)


def test_a_folder_that_no_training_made_has_no_threshold(tmp_path: Path) -> None:
    assert find_selector(str(tmp_path)) == NamedSelector(tmp_path.name, tmp_path, None)


def test_a_training_that_found_no_threshold_has_none(tmp_path: Path) -> None:
    folder = training_folder(tmp_path, threshold=None)
    assert find_selector(str(folder)).threshold is None


def test_an_index_has_the_threshold_of_its_retriever_if_that_was_trained_on_its_form() -> None:
    def found(**facts: Any) -> float | None:
        return retrievers_threshold(IndexVersion(**facts))

    folder = trained("near", threshold=0.6)
    best = str((folder / "seed-3" / "model").resolve())
    assert found(model=best, form="QQA") == 0.6
    assert found(model=best, form="QQ") is None
    assert found(model=str(folder / "seed-1" / "model"), form="QQA") is None
    assert found(model="an-installed-one", form="QQA") is None
    registered = register(folder)
    assert found(model=best, form="QQA", trained=registered) == 0.6
    assert found(model=best, form="QQ", trained=registered) is None


@pytest.mark.parametrize(
    "changed",
    [{"best": 9}, {"trainings": None}, {"threshold": "high"}, {"trainings": [1]}],
)
def test_a_broken_record_is_refused_by_name(tmp_path: Path, changed: dict[str, object]) -> None:
    folder = training_folder(tmp_path, **changed)
    with pytest.raises(UserError, match=r"training\.json is not what a training leaves: "):
        find_selector(str(folder))


def test_a_record_that_leads_out_of_its_folder_is_refused(tmp_path: Path) -> None:
    folder = training_folder(tmp_path)
    report = json.loads((folder / "training.json").read_text())
    report["trainings"][1]["model"] = "../../elsewhere"
    write(folder, report)
    with pytest.raises(UserError, match="must be a folder inside the training's"):
        find_selector(str(folder))


def test_what_is_no_json_is_refused(tmp_path: Path) -> None:
    (training_folder(tmp_path) / "training.json").write_bytes(b"\xff{")
    with pytest.raises(UserError, match="is no JSON in UTF-8"):
        find_selector(str(tmp_path))


def test_a_retriever_is_no_selector(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds a retriever and no answer selector"):
        find_selector(str(training_folder(tmp_path, kind="retriever", form="QQA", threshold=None)))


def test_a_selector_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="There is no selector '/nowhere'"):
        find_selector("/nowhere")
