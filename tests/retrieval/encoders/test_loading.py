"""A checkpoint that is broken is refused in one sentence, whichever of its files it is."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from core.errors import UserError
from retrieval.encoders import loading
from retrieval.encoders.cross_encoder import load as load_module
from retrieval.encoders.cross_encoder.load import new_selector
from retrieval.encoders.loading import load_model
from tests.retrieval.training import tiny

OF_ANY = [
    ("config.json", "null"),
    ("config.json", "[]"),
    ("config_sentence_transformers.json", "[]"),
    ("tokenizer_config.json", "[]"),
    ("tokenizer_config.json", "null"),
    ("tokenizer.json", "{}"),
]
OF_RETRIEVERS = [
    ("1_Pooling/config.json", "{}"),
    ("1_Pooling/config.json", "[]"),
    ("2_Normalize/config.json", "[]"),
    ("modules.json", "1"),
    ("modules.json", '[{"idx": 0, "name": "0", "path": "", "type": "no.such.Module"}]'),
    ("sentence_bert_config.json", "1"),
]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.retriever(tmp_path_factory.mktemp("whole") / "tiny")


def spoiled(whole: Path, folder: Path, name: str, text: str) -> Path:
    shutil.copytree(whole, folder)
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    return folder


def require_refused(load: Any, folder: Path) -> None:
    with pytest.raises(UserError) as refused:
        load(str(folder), "cpu")
    report = str(refused.value)
    assert report.startswith(f"The model '{folder}' cannot be loaded (")
    assert "\n" not in report


@pytest.mark.parametrize(("name", "text"), [*OF_ANY, *OF_RETRIEVERS])
def test_a_retriever_with_a_broken_file_is_refused(
    whole: Path, tmp_path: Path, name: str, text: str
) -> None:
    require_refused(load_model, spoiled(whole, tmp_path / "broken", name, text))


@pytest.mark.parametrize(("name", "text"), OF_ANY)
def test_a_selectors_base_with_a_broken_file_is_refused(
    whole: Path, tmp_path: Path, name: str, text: str
) -> None:
    require_refused(new_selector, spoiled(whole, tmp_path / "broken", name, text))


@pytest.mark.parametrize("load", [load_model, new_selector])
def test_a_size_that_is_no_number_is_refused(whole: Path, tmp_path: Path, load: Any) -> None:
    config = json.loads((whole / "config.json").read_text())
    text = json.dumps({**config, "hidden_size": "abc"})
    require_refused(load, spoiled(whole, tmp_path / "broken", "config.json", text))


def test_a_name_that_nothing_has_is_told_so_without_talk_of_a_network() -> None:
    with pytest.raises(UserError) as refused:
        load_model("no-such-model", "cpu")
    assert str(refused.value).startswith(
        "The model 'no-such-model' cannot be loaded (there is no package, folder or fetched model "
        "of that name): enter a registered"
    )


def test_a_package_that_is_there_without_its_weights_is_not_called_missing(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "packed_model"
    shutil.copytree(whole, package / "model")
    (package / "__init__.py").touch()
    (package / "model" / "model.safetensors").unlink()
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UserError) as refused:
        load_model("packed-model", "cpu")
    assert "The model 'packed-model' cannot be loaded" in str(refused.value)
    assert "there is no package" not in str(refused.value)


@pytest.mark.parametrize("load", [load_model, new_selector])
def test_memory_that_ends_while_a_model_is_loaded_is_told_as_that(
    whole: Path, monkeypatch: pytest.MonkeyPatch, load: Any
) -> None:
    error: Exception
    for error in (MemoryError(), torch.OutOfMemoryError("CUDA out of memory.")):

        def ended(*_: object, error: Exception = error, **__: object) -> None:
            raise error

        monkeypatch.setattr(loading, "SentenceTransformer", ended)
        monkeypatch.setattr(load_module, "SelectorModel", ended)
        with pytest.raises(UserError, match=r"^There is not enough memory to load the model '"):
            load(str(whole), "cpu")


@pytest.mark.parametrize("classes", [1, 3])
def test_a_cross_encoder_is_not_read_as_an_encoder(tmp_path: Path, classes: int) -> None:
    folder = tiny.cross_encoder(tmp_path / "ce", classes=classes)
    with pytest.raises(UserError, match=r"ce is a cross-encoder, which reads two texts as one"):
        load_model(str(folder), "cpu")
