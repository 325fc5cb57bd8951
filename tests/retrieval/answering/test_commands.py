"""`quorum ask` and `quorum model evaluate-answers`, with real models that a test can make."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from retrieval.encoders.lazy import load_encoder, load_selector
from retrieval.indexing.build import build_index
from retrieval.models import IndexVersion, QaPair
from tests.retrieval.answering.saved import selector_folder, training_folder
from tests.retrieval.conftest import AddPairs
from tests.retrieval.training import tiny
from tests.support.command_line import quorum

pytestmark = pytest.mark.django_db

PAIRS = [
    ("How do I bake bread?", "Of flour\x07 and water."),
    ("What is the capital of France?", "Paris"),
    ("How do I boil an egg?", "Ten minutes in water."),
]
QUIET = ("--device", "cpu", "--quiet")


@pytest.fixture
def index(add_pairs: AddPairs, tmp_path: Path, settings: Any) -> IndexVersion:
    """By a tiny model with random weights, in the form QQ."""
    add_pairs(PAIRS)
    model = str(tiny.retriever(tmp_path / "retriever"))
    settings.ENCODER_MODEL = model
    return build_index(model, "QQ", "cpu", encoder=load_encoder(model, "cpu"))


@pytest.fixture
def selector(tmp_path: Path) -> Path:
    return selector_folder(tmp_path / "chooses")


def by_selector(folder: Path, question: str) -> list[tuple[float, int]]:
    """The oracle: every pair of the database, scored by itself."""
    pairs = list(QaPair.objects.all())
    loaded = load_selector(folder, "cpu")
    scores = [loaded.score(question, [(pair.question, pair.answer)])[0] for pair in pairs]
    return sorted(zip(scores, [pair.pk for pair in pairs], strict=True), reverse=True)


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    quorum("ask", *arguments, "--device", "cpu", "--json")
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["answered"]
    return found


def test_a_question_is_answered_by_the_pair_that_the_selector_scores_best(
    index: IndexVersion, selector: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    question = "how do I make a loaf of bread"
    [report] = asked(capsys, question, "--selector", str(selector))
    wanted = by_selector(selector, question)
    rows = [report["answer"], *report["nearest"]]
    assert [row["pair_id"] for row in rows] == [pk for _, pk in wanted]
    assert [row["score"] for row in rows] == pytest.approx([score for score, _ in wanted], abs=1e-5)
    assert (report["selector"], report["threshold"], report["candidates"]) == ("chooses", None, 3)
    assert report["answer"]["source"] == "faq"


def test_the_selector_of_the_settings_answers_unless_none_is_wanted(
    index: IndexVersion, selector: Path, capsys: pytest.CaptureFixture[str], settings: Any
) -> None:
    settings.SELECTOR = str(selector)
    assert asked(capsys, "bread")[0]["selector"] == "chooses"
    [alone] = asked(capsys, "how do I bake bread?", "--no-selector")
    assert alone["selector"] is None
    assert alone["answer"]["question"] == "How do I bake bread?"
    assert (alone["answer"]["rank"], alone["answer"]["score"]) == (1, 1.0)


def test_below_the_threshold_there_is_no_answer_but_the_nearest(
    index: IndexVersion, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    training = training_folder(tmp_path / "trained", threshold=0.9999)
    selector_folder(training / "seed-2/model")
    [report] = asked(capsys, "bread", "--selector", str(training))
    assert (report["answer"], report["threshold"], len(report["nearest"])) == (None, 0.9999, 3)
    assert report["selector"] == "trained"
    [sure] = asked(capsys, "bread", "--selector", str(training), "--threshold", "0")
    assert (sure["threshold"], sure["answer"]) == (0, report["nearest"][0])


def test_people_read_the_answer_its_source_and_its_score(
    index: IndexVersion, capsys: pytest.CaptureFixture[str]
) -> None:
    quorum("ask", "how do I bake bread?", *QUIET)
    question, answer, to, source, score, second, third = capsys.readouterr().out.splitlines()
    pair = QaPair.objects.earliest("pk")
    assert question.split(maxsplit=1) == ["question", "how do I bake bread?"]
    assert answer.split(maxsplit=1) == ["answer", "Of flour? and water."]
    assert to.split(maxsplit=1) == ["to", "How do I bake bread?"]
    assert source.split(maxsplit=1) == ["source", f"faq 0, no licence known (pair {pair.pk})"]
    assert score.split(maxsplit=1) == ["score", "1.000000 (cosine)"]
    assert (second[:2], third[:2]) == ("2.", "3.")


def test_people_are_told_that_there_is_no_answer(
    index: IndexVersion, capsys: pytest.CaptureFixture[str]
) -> None:
    quorum("ask", "boil", "--threshold", "1", *QUIET)
    assert "none is sure enough, below 1 (cosine)" in capsys.readouterr().out
    quorum("ask", "xylophone", "--retrievers", "bm25", *QUIET)
    assert "none, no pair has a word of the question" in capsys.readouterr().out


def test_every_line_of_standard_input_is_answered(
    index: IndexVersion, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("capital of france\n\nboil an egg\n"))
    found = asked(capsys, "--retrievers", "dense,bm25", "-k", "2")
    assert [one["question"] for one in found] == ["capital of france", "boil an egg"]
    assert [one["candidates"] for one in found] == [2, 2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([" "], "no question"),
        (["why", "--threshold", "nan"], "--threshold cannot be nan"),
        (["why", "--threshold", "1.1"], "--threshold cannot be 1.1"),
        (["why", "--selector", "/nowhere"], "There is no selector '/nowhere'"),
        (["why", "-k", "0"], "ask for 1 to 3, not 0"),
        (["why", "--retrievers", "magic"], "There is no retriever 'magic'"),
    ],
)
def test_what_cannot_be_asked_is_refused(
    index: IndexVersion, arguments: list[str], message: str
) -> None:
    with pytest.raises(CommandError, match=message):
        quorum("ask", *arguments, *QUIET)


def test_a_folder_without_a_selector_is_refused(index: IndexVersion, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="holds no answer selector"):
        quorum("ask", "why", "--selector", str(tmp_path), *QUIET)


@pytest.fixture
def known(tmp_path: Path) -> Path:
    path = tmp_path / "known.jsonl"
    rows = [
        {"question": "what is the capital of france", "answers": ["Lutetia", "the Paris"]},
        {"question": "how do I boil an egg", "answers": ["in a pan"]},
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def test_a_system_is_scored_beside_each_ablation_asked_for(
    index: IndexVersion, selector: Path, known: Path, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    base, questions = (str(selector_folder(tmp_path / form, form)) for form in ("QAQ", "QQ"))
    quorum(
        *("model", "evaluate-answers", str(known), "--selector", str(selector), "--device", "cpu"),
        *("--without-neural", "--without-selector", "--json"),
        *("--without-dataset", index.path, base, "--without-answer", index.path, questions),
    )
    report = json.loads(capsys.readouterr().out)
    assert (report["questions"], report["in_the_database"], report["k"]) == (2, 2, 500)
    assert report["right"] == "normalised answer or alias match: a proxy for a judge"
    assert [(one["system"], one["selector"], one["retrievers"]) for one in report["systems"]] == [
        ("full", str(selector), ["dense"]),
        ("dataset", base, ["dense"]),
        ("neural", str(selector), ["bm25"]),
        ("selector", None, ["dense"]),
        ("answer", questions, ["dense"]),
    ]
    alone = report["systems"][3]
    # The questions are those of the database, so the retriever finds both; one answer is known.
    assert (alone["accuracy"]["value"], alone["answered"]) == (0.5, 1)
    full = report["systems"][0]
    expected = sum(
        QaPair.objects.get(pk=by_selector(selector, question)[0][1]).answer == answer
        for question, answer in [
            ("what is the capital of france", "Paris"),
            ("how do I boil an egg", "in a pan"),
        ]
    )
    assert full["accuracy"]["value"] == expected / 2
    assert alone["difference"]["value"] == 0.5 - expected / 2


def test_the_tuned_selector_does_not_stand_in_for_one_that_was_not_tuned(
    index: IndexVersion, selector: Path, known: Path
) -> None:
    same = str(selector / ".." / selector.name)
    with pytest.raises(CommandError, match="is the full system's own, or another seed of it"):
        quorum(
            *("model", "evaluate-answers", str(known), "--selector", str(selector), *QUIET),
            *("--without-dataset", index.path, same),
        )


def test_the_table_names_the_proxy_and_the_source_of_the_paper_s_figures(
    index: IndexVersion, known: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    quorum("model", "evaluate-answers", str(known), "--without-neural", *QUIET)
    head, full, words, blank, *notes = capsys.readouterr().out.splitlines()
    assert head.split()[:2] == ["system", "accuracy"]
    assert full.startswith("all of it  ")
    assert "50.0% [0.0%, 100.0%]" in full
    assert full.endswith("58.0 / 50.5 / 29.3")
    assert words.startswith("BM25 for the neural search  ")
    assert words.endswith("39.0 / 37.5 / 29.3")
    assert blank == ""
    text = " ".join(notes)
    assert "2 questions, 2 of them word for word in the database" in text
    assert "Right: normalised answer or alias match: a proxy for a judge." in text
    assert "QUADRo, Table 4: another database, other questions" in text
    assert "people judged the answers" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--without-selector"], "There is no selector to leave out"),
        (["--without-dataset", "magic", "x"], "There is no index 'magic'"),
        (["--selector", "/nowhere"], "There is no selector '/nowhere'"),
    ],
)
def test_an_evaluation_that_cannot_be_made_is_refused(
    index: IndexVersion, known: Path, arguments: list[str], message: str
) -> None:
    with pytest.raises(CommandError, match=message):
        quorum("model", "evaluate-answers", str(known), *arguments, *QUIET)
