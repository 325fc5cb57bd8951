"""Each measure of a material, against a computation by hand or by brute force."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from sklearn import metrics

from core.command import Error
from core.errors import UserError
from retrieval.encoders.cross_encoder.load import load_selector
from retrieval.ranking.bootstrap import REPLICATES, SEED
from retrieval.training.evaluation import evaluators
from retrieval.training.evaluation.evaluators import Model, measure
from retrieval.training.recipes.materials import KINDS, Source, read_whole
from tests.retrieval.answering.saved import selector_folder, training_folder
from tests.support.command_line import quorum

pytestmark = pytest.mark.django_db
WORDS = [
    "how",
    "do",
    "i",
    "bake",
    "bread",
    "make",
    "loaf",
    "of",
    "what",
    "is",
    "the",
    "capital",
    "france",
    "paris",
    "flour",
    "boil",
    "egg",
]


def written(path: Path, kind: str, rows: list[dict[str, Any]]) -> Source:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return Source(kind, path)


@pytest.fixture
def model(tiny_retriever: Path) -> Model:
    return Model(str(tiny_retriever), "cpu")


def cosines(model: Model, ones: list[str], others: list[str]) -> NDArray[np.float64]:
    return np.asarray(model.vectors(ones) @ model.vectors(others).T, np.float64)


def test_correlations_are_those_of_the_cosines_with_what_people_said(
    tmp_path: Path, model: Model
) -> None:
    rows = [
        {"sentence1": one, "sentence2": other, "score": number % 6}
        for number, (one, other) in enumerate(pairwise(WORDS))
    ]
    found = measure(model, written(tmp_path / "sts.jsonl", "sts", rows)).figures
    scores, said = np.diag(cosines(model, WORDS[:-1], WORDS[1:])), [row["score"] for row in rows]
    assert found["Pearson"] == pytest.approx(stats.pearsonr(scores, said).statistic, abs=1e-4)
    assert found["Spearman"] == pytest.approx(stats.spearmanr(scores, said).statistic, abs=1e-4)


def test_draws_of_the_rows_are_measured_like_all_of_them(tmp_path: Path, model: Model) -> None:
    pairs = list(pairwise(WORDS))
    said = np.arange(len(pairs)) % 6
    rows = [
        {"sentence1": one, "sentence2": other, "score": int(score)}
        for (one, other), score in zip(pairs, said, strict=True)
    ]
    found = measure(model, written(tmp_path / "sts.jsonl", "sts", rows)).drawn
    scores = np.diag(cosines(model, WORDS[:-1], WORDS[1:]))
    draw = np.random.RandomState(SEED).randint(0, len(said), len(said))
    for name, correlation in (("Pearson", stats.pearsonr), ("Spearman", stats.spearmanr)):
        assert len(found[name]) == REPLICATES
        expected = correlation(scores[draw], said[draw]).statistic
        assert found[name][0] == pytest.approx(expected, abs=1e-4)
    topics = [{"question": one, "topic": other} for one, other in pairs[:3]]
    accuracy = measure(model, written(tmp_path / "topics.jsonl", "topics", topics)).drawn
    assert set(np.round(accuracy["Accuracy"] * 3, 6)) <= {0, 1, 2, 3}  # of three rows, or fewer


def test_a_question_is_of_the_nearest_of_all_topics(tmp_path: Path, model: Model) -> None:
    topics, asked = ["bread", "paris", "egg"], WORDS[:4] + WORDS[8:13]
    rows = [
        {"question": question, "topic": topics[number % 3]} for number, question in enumerate(asked)
    ]
    found = measure(model, written(tmp_path / "topics.jsonl", "topics", rows))
    nearest = cosines(model, asked, topics).argmax(axis=1)
    right = [place == number % 3 for number, place in enumerate(nearest)]
    assert found.figures == {"Accuracy": pytest.approx(np.mean(right), abs=1e-4)}


def test_the_positive_is_looked_for_among_all_texts_of_the_file(
    tmp_path: Path, model: Model
) -> None:
    anchors, texts = WORDS[:8], WORDS[8:16]
    rows = [{"anchor": one, "positive": other} for one, other in zip(anchors, texts, strict=True)]
    found = measure(model, written(tmp_path / "a.jsonl", "positives", rows)).figures
    order = np.argsort(-cosines(model, anchors, texts), axis=1, kind="stable")
    for k in (1, 3, 5):
        right = [number in order[number, :k] for number in range(len(anchors))]
        assert found[f"Accuracy@{k}"] == pytest.approx(np.mean(right), abs=1e-4)


def test_what_equals_the_anchor_is_no_answer_to_it(tmp_path: Path, model: Model) -> None:
    rows = [{"anchor": "bread", "positive": "loaf"}, {"anchor": "loaf", "positive": "bread"}]
    source = written(tmp_path / "a.jsonl", "positives", rows)
    found = measure(model, source, dev=source.file, by="accuracy")
    assert found.figures["Accuracy@1"] == 1  # the other word is all that is left
    assert found.threshold is not None
    assert found.figures["Accuracy@1, or none"] is not None


def test_a_corpus_may_be_cut_to_its_first_texts(tmp_path: Path, model: Model) -> None:
    anchors, texts = WORDS[:8], WORDS[8:16]
    rows = [{"anchor": one, "positive": other} for one, other in zip(anchors, texts, strict=True)]
    source = written(tmp_path / "a.jsonl", "positives", rows)
    found = measure(model, source, among=4).figures
    nearest = cosines(model, anchors[:4], texts[:4]).argmax(axis=1)
    assert found["Accuracy@1"] == pytest.approx(np.mean(nearest == np.arange(4)), abs=1e-4)
    assert "Accuracy@5" not in found
    with pytest.raises(UserError, match="no corpus to cut for pairs: leave --among out"):
        measure(model, Source("pairs", source.file), among=4)


def test_the_best_of_a_question_s_own_sentences_counts_or_none_of_them(
    tmp_path: Path, model: Model
) -> None:
    """A question's rows may stand anywhere; the second question has no answer."""
    rows = [
        {"question": question, "sentence": sentence, "label": label}
        for question, sentence, label in (
            ("bake", "bread", 1), ("boil", "egg", 0), ("bake", "paris", 0), ("boil", "france", 0),
            ("make", "loaf", 0), ("make", "capital", 1),
        )
    ]  # fmt: skip
    source = written(tmp_path / "s.jsonl", "sentences", rows)
    found = measure(model, source, dev=source.file, by="precision")
    places = {"bake": (0, 2), "boil": (1, 3), "make": (4, 5)}
    texts = [(str(row["question"]), str(row["sentence"])) for row in rows]
    scores = model.scores([(question, sentence, sentence) for question, sentence in texts])
    best = {name: max(rows, key=lambda row: scores[row]) for name, rows in places.items()}
    right = {name: rows[place]["label"] == 1 for name, place in best.items()}
    answered = {name: scores[place] >= found.threshold for name, place in best.items()}
    none = not answered["boil"]
    hits = sum(right[name] and answered[name] for name in right)
    assert found.figures["Accuracy@1"] == pytest.approx(sum(right.values()) / 3, abs=1e-4)
    assert found.figures["Accuracy@1, or none"] == pytest.approx((hits + none) / 3, abs=1e-4)
    f1 = 2 * hits / (sum(answered.values()) + 2)
    assert found.figures["F1, or none"] == pytest.approx(f1, abs=1e-4)
    draw = np.random.RandomState(SEED).randint(0, 3, 3)
    drawn = [list(places)[question] for question in draw]  # with all sentences of each
    assert found.drawn["Accuracy@1"][0] == pytest.approx(np.mean([right[name] for name in drawn]))
    taken = [scores[row] >= found.threshold for name in drawn for row in places[name]]
    labels = [rows[row]["label"] == 1 for name in drawn for row in places[name]]
    assert found.drawn["Accuracy"][0] == pytest.approx(np.mean(np.equal(taken, labels)))


def test_pairs_are_measured_at_the_threshold_of_another_file(tmp_path: Path, model: Model) -> None:
    def rows(words: list[str]) -> list[dict[str, Any]]:
        return [
            {"question1": one, "question2": other, "label": number % 2}
            for number, (one, other) in enumerate(pairwise(words))
        ]

    test = written(tmp_path / "test.jsonl", "pairs", rows(WORDS))
    dev = written(tmp_path / "dev.jsonl", "pairs", rows(WORDS[::-1]))
    found = measure(model, test, dev=dev.file)
    labels = np.array([number % 2 == 1 for number in range(len(WORDS) - 1)])
    scores = model.scores([(one, other, other) for one, other in pairwise(WORDS)])
    assert found.threshold is not None
    taken, auc = scores >= found.threshold, metrics.roc_auc_score(labels, scores)
    assert found.figures["F1"] == pytest.approx(metrics.f1_score(labels, taken), abs=1e-4)
    assert found.figures["ROC-AUC"] == pytest.approx(auc, abs=1e-4)
    assert list(measure(model, test).figures) == ["ROC-AUC"]  # without a threshold
    draw = np.random.RandomState(SEED).randint(0, len(labels), len(labels))
    for name, figure in (
        ("Accuracy", metrics.accuracy_score),
        ("Precision", metrics.precision_score),
        ("Recall", metrics.recall_score),
        ("F1", metrics.f1_score),
    ):
        assert found.drawn[name][0] == pytest.approx(figure(labels[draw], taken[draw]))
    auc = metrics.roc_auc_score(labels[draw], scores[draw])
    assert found.drawn["ROC-AUC"][0] == pytest.approx(auc)
    assert {len(drawn) for drawn in found.drawn.values()} == {REPLICATES}


def test_what_is_undefined_is_none_on_all_rows_and_no_number_on_a_draw(
    tmp_path: Path, model: Model
) -> None:
    rows = [{"question1": "bake", "question2": "bread", "label": 1}] * 2
    found = measure(model, written(tmp_path / "pairs.jsonl", "pairs", rows))
    assert found.figures == {"ROC-AUC": None}
    assert np.isnan(found.drawn["ROC-AUC"]).all()


def test_a_selector_measures_pairs_and_looks_for_nothing(tmp_path: Path) -> None:
    selector = Model(str(selector_folder(tmp_path / "selector", "QQ")), "cpu")
    rows = [{"left": "a", "right": "b", "label": 1}, {"left": "c", "right": "d", "label": 0}]
    found = measure(selector, written(tmp_path / "s.jsonl", "spans", rows))
    first, second = selector.scores([("a", "b", "b"), ("c", "d", "d")])
    assert found.figures["ROC-AUC"] == (0.5 if first == second else float(first > second))
    topics = written(tmp_path / "t.jsonl", "topics", [{"question": "a", "topic": "b"}])
    with pytest.raises(UserError, match="cannot look for the nearest of many texts"):
        measure(selector, topics)


@pytest.mark.parametrize("form", ["RANK", "QRANK", None, "no record of ours"])
def test_a_selector_tells_of_whole_ranks_which_are_as_they_were_made(
    tmp_path: Path, form: str | None
) -> None:
    """As its training read them last; without one, without the query."""
    training = tmp_path / "training"
    if form:
        of_task = ({"material": "some", "form": one} for one in ("RANK", form, "QAQ"))
        stages = [{"tasks": [task]} for task in of_task] if form.endswith("RANK") else 3
        training_folder(training, recipe={"stages": stages})
    folder = selector_folder(training / "seed-2" / "model", "QAQ")
    selector = Model(str(folder), "cpu")
    rows: list[dict[str, Any]] = [
        {"query": query, "pairs": [[one, "a"], [other, "b"]], "label": number % 2}
        for number, (query, one, other) in enumerate(
            zip(WORDS[:8], WORDS[1:9], WORDS[8:16], strict=True)
        )
    ]
    found = measure(selector, written(tmp_path / "ranks.jsonl", "ranks", rows))
    network = load_selector(folder, "cpu")._model
    texts = [
        [*([row["query"]] if form == "QRANK" else []), *(" ".join(pair) for pair in row["pairs"])]
        for row in rows
    ]
    scores = network.predict([(first, others) for first, *others in texts])
    labels = np.array([row["label"] == 1 for row in rows])
    assert found.threshold == 0.5
    assert found.figures["Accuracy"] == pytest.approx(np.mean((scores >= 0.5) == labels), abs=1e-4)
    assert found.figures["ROC-AUC"] == pytest.approx(
        metrics.roc_auc_score(labels, scores), abs=1e-4
    )
    source = Source("ranks", tmp_path / "ranks.jsonl")
    tuned = measure(selector, source, dev=source.file)
    assert tuned.threshold in scores
    assert (tuned.figures["F1"] or 0) >= (found.figures["F1"] or 0)


def test_a_retriever_reads_no_ranks(tmp_path: Path, model: Model) -> None:
    rows = [{"query": "a", "pairs": [["b", ""], ["c", ""]], "label": 1}]
    with pytest.raises(UserError, match="read as a whole: name an answer selector"):
        measure(model, written(tmp_path / "ranks.jsonl", "ranks", rows))


def test_every_kind_is_measured_by_the_figures_that_it_is_said_to_have(
    tmp_path: Path, model: Model
) -> None:
    """An experiment takes a paper's figures of these names."""
    assert set(evaluators.MEASURES) == set(KINDS)
    for kind, columns in (
        ("sts", ("sentence1", "sentence2", "score")),
        ("topics", ("question", "topic")),
        ("positives", ("anchor", "positive")),
        ("pairs", ("question1", "question2", "label")),
        ("spans", ("left", "right", "label")),
        ("sentences", ("question", "sentence", "label")),
    ):
        texts = zip(WORDS[:8], WORDS[8:16], [0, 1] * 4, strict=True)
        rows = [dict(zip(columns, row, strict=False)) for row in texts]
        source = written(tmp_path / f"{kind}.jsonl", kind, rows)
        found = measure(model, source, dev=None if kind in ("sts", "topics") else source.file)
        assert set(found.figures) == set(found.drawn) == set(KINDS[kind].figures)


def test_a_selector_that_reads_answers_is_measured_with_them(tmp_path: Path) -> None:
    selector = Model(str(selector_folder(tmp_path / "selector", "QAQ")), "cpu")
    answers = ("boil egg", "flour", "", "paris")
    rows = [
        {"question1": "how", "question2": "bake", "answer2": answer, "label": (number + 1) % 2}
        for number, answer in enumerate(answers)
    ]
    labels, scores = evaluators._judged(
        selector, read_whole(written(tmp_path / "pairs.jsonl", "pairs", rows))
    )
    assert labels.tolist() == [True, False, True, False]
    assert scores == pytest.approx(
        selector.scores([("how", "bake", answer) for answer in answers]), abs=1e-6
    )
    assert len(set(scores)) == 4


def test_the_command_prints_the_figures(
    tmp_path: Path, tiny_retriever: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {"sentence1": "a", "sentence2": "b", "score": 1},
        {"sentence1": "c", "sentence2": "c", "score": 5},
    ]
    file = written(tmp_path / "sts.jsonl", "sts", rows).file
    words = ["--kind", "sts", "--model", str(tiny_retriever), "--device", "cpu"]
    quorum("material", "measure", str(file), *words)
    assert "Pearson" in capsys.readouterr().out
    file.write_text("")
    with pytest.raises(Error, match="has no rows"):
        quorum("material", "measure", str(file), *words)
