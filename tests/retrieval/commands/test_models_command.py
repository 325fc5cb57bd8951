"""`quorum model`, and an index made with a registered model by its name."""

import json
import shutil
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Transformer
from sentence_transformers.sentence_transformer.modules import Pooling
from transformers import BertConfig, BertModel

from annotation.models import AuditEntry
from core.command import Error
from core.errors import UserError
from retrieval.encoders.bundled import bundled_folder
from retrieval.encoders.selector import FORM_FILE
from retrieval.index.versions import current_index
from retrieval.indexing.build import build_index
from retrieval.jobs.handlers import HANDLERS, IndexRequest, request_index
from retrieval.jobs.queue import run
from retrieval.models import IndexVersion, TrainedModel
from retrieval.ranking.fusion import ALONE
from retrieval.registry.registry import digest_of_folder, register
from retrieval.search.retrieve import retrieve
from retrieval.web.search_runner import find
from tests.retrieval.conftest import AddPairs
from tests.retrieval.encoders.keywords import KeywordEncoder
from tests.retrieval.registry.trainings import BASE, SELECTOR, trained, values, write
from tests.support.command_line import quorum
from tests.support.query_sets import sample_queries

pytestmark = pytest.mark.django_db

PAIRS = [(f"Which of {n} things is it?", f"The thing of {n}.") for n in range(12)]


def models(step: str, *options: str) -> Any:
    out = StringIO()
    quorum("model", step, "--json", *options, stdout=out)
    return json.loads(out.getvalue())


def words(step: str, *options: str) -> str:
    out = StringIO()
    quorum("model", step, "--quiet", *options, stdout=out)
    return out.getvalue().rstrip()


# register


def test_registering_is_told_and_logged_once() -> None:
    folder = trained("faq-qqa")
    facts = models("register", str(folder))
    assert facts == {
        "name": "faq-qqa",
        "kind": "retriever",
        "form": "QQA",
        "release": "faq-1",
        "sha256": digest_of_folder(folder / "seed-3" / "model"),
        "unchanged": False,
    }
    assert models("register", str(folder))["unchanged"]
    [entry] = AuditEntry.objects.all()
    assert (entry.verb, entry.subject) == ("register model", "faq-qqa")
    assert entry.details["sha256"] == facts["sha256"]
    assert "unchanged  yes" in words("register", str(folder))


def test_what_cannot_be_registered_ends_with_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(Error, match=r"holds no training\.json") as refused:
        words("register", str(tmp_path))
    assert refused.value.returncode == 2


def test_an_operation_that_cannot_be_logged_is_not_done(settings: Any) -> None:
    settings.AUDIT_LOG = "tests.annotation.access.test_log_entries.no_room"
    with pytest.raises(RuntimeError, match="no room"):
        models("register", str(trained("faq-qqa")))
    assert not TrainedModel.objects.exists()


# list, show, card


def test_the_list_says_which_is_in_use(add_pairs: AddPairs) -> None:
    assert words("list") == "There are no models yet: train one with `quorum model train`."
    add_pairs(PAIRS[:1])
    first = register(trained("first"))
    register(trained("second"))
    name = str(first.path)
    build_index(name, "QQA", encoder=KeywordEncoder("rain", name=name))
    assert [(row["name"], row["in_use"]) for row in models("list")["models"]] == [
        ("second", False), ("first", True),
    ]  # fmt: skip
    assert words("list").splitlines()[1] == (
        f"first  in use: yes  retriever QQA from {BASE}; on test of faq-1 (QRC): P@1 48.0, "
        "MAP 40.0, MRR 50.0, Hit@5 60.0, Hit@10 70.0"
    )


def test_one_is_shown_with_its_improvement() -> None:
    model = register(trained("faq-qqa"))
    facts = models("show", "faq-qqa")
    assert (facts["former"], facts["note"], facts["seeds"]) == (BASE, "", 3)
    assert facts["improvement"]["P@1"] == pytest.approx(0.093)
    assert facts["over_seeds"]["P@1"] == "46.0 ± 2.0"
    assert facts["sha256"] == model.sha256
    said = words("show", "faq-qqa")
    assert f"P@1 48.0 (seeds: 46.0 ± 2.0), +9.3 over {BASE}" in said
    assert "release sha256" in said


def test_one_without_a_lift_is_shown_with_the_reason() -> None:
    register(trained("faq-qaq", **SELECTOR))
    said = words("show", "faq-qaq")
    assert said.endswith(
        "There was no answer selector before it, and an untrained one ranks by chance."
    )
    assert "P@1 48.0 (seeds: 46.0 ± 2.0)\n" in said
    assert "threshold       0.37" in said


def test_the_card_is_printed_as_it_lies_beside_the_training() -> None:
    folder = trained("faq-qqa")
    register(folder)
    text = (folder / "card.md").read_text(encoding="utf-8")
    assert words("card", "faq-qqa") == text.rstrip()
    assert models("card", "faq-qqa") == {"name": "faq-qqa", "card": text}


@pytest.mark.parametrize("step", ["show", "card", "verify"])
def test_a_name_that_nobody_registered_is_refused(step: str) -> None:
    with pytest.raises(Error, match="There is no registered model 'nobody'"):
        words(step, "nobody")


# verify


def test_models_as_they_were_registered_are_sound() -> None:
    assert words("verify") == "0 models read, all as registered"
    register(trained("first"))
    assert words("verify") == "1 model read, all as registered"
    assert models("verify", "first") == {"models": 1, "damaged": []}


def test_each_damaged_model_is_named_and_the_exit_status_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("first", "second", "third"):
        register(trained(name))
    for name in ("first", "third"):
        (TrainedModel.objects.get(name=name).path / "config.json").write_bytes(b"[]")
    with pytest.raises(Error, match="2 models are not as registered") as refusal:
        quorum("model", "verify", "--quiet")
    assert refusal.value.returncode == 2
    third, first = capsys.readouterr().out.strip().splitlines()
    assert third.startswith("The model third has changed since it was registered: ")
    assert first.startswith("The model first has changed since it was registered: ")
    with pytest.raises(Error, match="1 model is not as registered"):
        models("verify", "first")


# the next index


@pytest.fixture(scope="session")
def small_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A transformer of random weights with the real tokenizer, as a training saves it."""
    folder = tmp_path_factory.mktemp("small")
    torch.manual_seed(1)
    config = BertConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64
    )
    BertModel(config).save_pretrained(folder / "bert")
    real = SentenceTransformer(str(bundled_folder(BASE)), device="cpu")
    real.tokenizer.save_pretrained(folder / "bert")
    modules = [Transformer(str(folder / "bert"), max_seq_length=64), Pooling(32)]
    SentenceTransformer(modules=modules, device="cpu").save(str(folder / "model"))
    return folder / "model"


@pytest.fixture
def tuned(small_model: Path, add_pairs: AddPairs) -> TrainedModel:
    add_pairs(PAIRS)
    folder = trained("faq-qqa")
    shutil.rmtree(folder / "seed-3" / "model")
    shutil.copytree(small_model, folder / "seed-3" / "model")
    write(folder, values(folder, "faq-qqa"))
    return register(folder)


def index(*options: str) -> Any:
    out = StringIO()
    options = (*options, "--device", "cpu", "--precision", "fp32")
    quorum("index", "build", "--json", *options, stdout=out)
    return json.loads(out.getvalue())


@pytest.mark.slow
def test_a_registered_model_is_the_retriever_of_the_next_campaign(tuned: TrainedModel) -> None:
    facts = index("--model", "faq-qqa")
    assert (facts["model"], facts["pairs"], facts["dimension"]) == ("faq-qqa", 12, 32)
    version = current_index()
    assert (version.trained, version.model) == (tuned, str(tuned.path))
    queries = sample_queries("faq", 2, 1)
    assert retrieve(queries, k=5, device="cpu") == 10
    assert queries.retrieved_with == version
    assert len(find("Which of 3 things is it?", ALONE).results) == 12
    assert index("--model", "faq-qqa")["unchanged"]


@pytest.mark.slow
def test_an_index_has_the_form_that_its_model_was_trained_for(tuned: TrainedModel) -> None:
    """By its name or by its folder, registered or not; unless another one is said."""
    assert index("--model", "faq-qqa")["form"] == "QQA"
    assert index("--model", "faq-qqa", "--form", "QQ")["form"] == "QQ"
    report = json.loads((tuned.path.parents[1] / "training.json").read_text())
    write(tuned.path.parents[1], report | {"form": "QQ"})
    tuned.form = "QQ"
    tuned.save()
    assert index("--model", str(tuned.path))["form"] == "QQ"
    IndexVersion.objects.update(trained=None)
    tuned.delete()
    assert index("--model", str(tuned.path))["form"] == "QQ"
    assert index()["form"] == "QQA"


@pytest.mark.slow
def test_an_index_of_another_form_than_its_models_says_so(tuned: TrainedModel) -> None:
    assert index("--model", "faq-qqa")["note"] is None
    note = index("--model", "faq-qqa", "--form", "QQ")["note"]
    assert note == "the model was trained for QQA and not for QQ"


@pytest.mark.slow
def test_a_broken_record_beside_a_model_ends_no_index_that_is_built(tuned: TrainedModel) -> None:
    IndexVersion.objects.update(trained=None)
    tuned.delete()
    (tuned.path.parents[1] / "training.json").write_text("{")
    with pytest.raises(Error, match=r"training.json is not what a training leaves"):
        index("--model", str(tuned.path))
    assert not IndexVersion.objects.exists()
    facts = index("--model", str(tuned.path), "--form", "QQ")
    assert (facts["form"], facts["note"]) == ("QQ", None)


@pytest.mark.slow
def test_vectors_are_told_by_the_models_name(tuned: TrainedModel) -> None:
    index("--model", "faq-qqa")
    out = StringIO()
    quorum("index", "list", "--json", stdout=out)
    (store,) = json.loads(out.getvalue())["stores"]
    assert (store["model"], store["loaded_by"]) == ("faq-qqa", str(tuned.path))


@pytest.mark.slow
def test_the_setting_may_name_a_registered_model(tuned: TrainedModel, settings: Any) -> None:
    settings.ENCODER_MODEL, settings.ENCODER_DEVICE = "faq-qqa", "cpu"
    job = request_index(IndexRequest(words=False), by=None)
    run(job.pk, "here", HANDLERS)
    job.refresh_from_db()
    assert (job.state, job.error) == ("done", "")
    version = current_index()
    assert (version.trained, version.model_setting) == (tuned, "faq-qqa")
    settings.ENCODER_MODEL = BASE
    with pytest.raises(UserError, match=f"changed from faq-qqa to {BASE} since the index was made"):
        current_index()


@pytest.mark.slow
def test_an_index_that_is_asked_for_may_name_a_registered_model(tuned: TrainedModel) -> None:
    job = request_index(IndexRequest(model="faq-qqa", words=False), by=None)
    run(job.pk, "here", HANDLERS)
    assert current_index().trained == tuned


def test_an_index_by_another_model_is_not_asked_for() -> None:
    register(trained("faq-qaq", **SELECTOR))
    for name, fault in (("faq-qaq", "is an answer selector"), ("nobody", "no registered model")):
        with pytest.raises(UserError, match=fault):
            request_index(IndexRequest(model=name), by=None)


@pytest.mark.slow
def test_a_model_that_changed_makes_no_index_and_no_search(tuned: TrainedModel) -> None:
    index("--model", "faq-qqa")
    config = tuned.path / "modules.json"
    config.write_bytes(config.read_bytes() + b"\n")
    for use in (
        lambda: index("--model", "faq-qqa"),
        lambda: retrieve(sample_queries("faq", 2, 1), k=5, device="cpu"),
        lambda: find("Which of 3 things is it?", ALONE),
    ):
        with pytest.raises((UserError, Error), match="The model faq-qqa has changed since it was"):
            use()
    assert IndexVersion.objects.count() == 1


def test_a_selector_makes_no_index(add_pairs: AddPairs) -> None:
    add_pairs(PAIRS)
    register(trained("faq-qaq", **SELECTOR))
    with pytest.raises(Error, match="The model faq-qaq is an answer selector: name a retriever"):
        index("--model", "faq-qaq")
    assert not IndexVersion.objects.exists()


def test_a_selector_that_nobody_registered_makes_no_index(add_pairs: AddPairs) -> None:
    add_pairs(PAIRS)
    model = trained("faq-qaq", **SELECTOR) / "seed-3" / "model"
    (model / FORM_FILE).write_text('{"form": "QAQ"}')
    with pytest.raises(Error, match="is an answer selector: name a retriever"):
        index("--model", str(model))
    assert not IndexVersion.objects.exists()
