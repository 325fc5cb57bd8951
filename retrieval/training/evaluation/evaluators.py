"""What a model makes of a material, by the measure of its kind. Import it through lazy.py: torch.

    sts                        Pearson's and Spearman's correlation with people's scores
    topics                     accuracy: the nearest of all topics is the question's own
    positives                  accuracy@k: the positive is among the k nearest of all texts, or of
                               the file's first so many
    pairs, sentences, spans    accuracy, precision, recall, F1 at a threshold, and ROC-AUC
    sentences                  also accuracy@1: the best of a question's own sentences is right
    ranks                      as pairs, of whole ranks; the threshold is 0.5 if none is chosen

With a threshold, the nearest text counts only from that score on; a question without any positive
is answered rightly by nothing. Thresholds are chosen on another file, by F1, accuracy or precision.
All figures are also measured on draws of the rows, the same for every model: how sure the
difference of two models is. Of positives and sentences, whole questions are drawn.
"""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from core.errors import UserError
from core.text.clean import question_key
from retrieval.answering.threshold import TopAnswer, top_answer
from retrieval.encoders.cross_encoder.load import load_selector
from retrieval.encoders.encoder import load_encoder
from retrieval.encoders.selector import is_selector
from retrieval.ranking.bootstrap import REPLICATES, SEED, Values, roc_auc
from retrieval.ranking.thresholds import By, best_threshold
from retrieval.registry.registry import resolve_either, trained_form, training_at
from retrieval.training.data.examples import read
from retrieval.training.recipes.materials import RANK_FORMS, Group, Source, read_whole
from retrieval.vectors.types import Vectors

DEPTHS = (1, 3, 5)  # QBERT's
DECIMALS = 4
EVEN = 0.5
DRAWN = 2_000_000  # rows, at once
CELLS = 20_000_000  # of anchors and texts, compared at once
Scores = NDArray[np.float64]
Labels = NDArray[np.bool_]
Rows = NDArray[np.int64]
Drawn = Mapping[str, Values]  # each figure, a number a draw; NaN where undefined
T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True)
class Measured:
    figures: Mapping[str, float | None]
    rows: int
    threshold: float | None
    drawn: Drawn


@dataclass(frozen=True)
class _Asked:
    dev: Sequence[Group] | None  # where a threshold is chosen
    by: By
    among: int | None


@dataclass(frozen=True)
class _Scored:
    units: int  # of which some are drawn: rows, or whole questions
    figures: Callable[[Rows], Drawn]  # of the units in these places, a row a draw
    threshold: float | None = None


class Model:
    """A retriever compares two texts by the cosine of their vectors, a selector reads both."""

    def __init__(self, name: str, device: str) -> None:
        model = resolve_either(name)
        self._selector = load_selector(Path(model), device) if is_selector(Path(model)) else None
        self._encoder = None if self._selector else load_encoder(model, device)
        self._name, self._form = model, trained_form(model)

    def scores(self, triplets: Sequence[tuple[str, str, str]]) -> Scores:
        """Of a text, and a question with its answer; a text alone stands for both of these."""
        if self._selector is not None:
            return np.asarray(self._selector.score_all(list(triplets)), np.float64)
        assert self._encoder is not None
        ones = _each_once(self.vectors, [one for one, *_ in triplets])
        pairs = [(question, answer) for _, question, answer in triplets]
        if self._form == "QQA" and any(question != answer for question, answer in pairs):
            others = _each_once(self._encoder.encode_pairs, pairs)
        else:
            others = _each_once(self.vectors, [question for question, _ in pairs])
        cosines: Scores = np.einsum("ij,ij->i", ones, others, dtype=np.float64)
        return cosines

    def rank_scores(self, groups: Sequence[Group]) -> Scores:
        """Of whole ranks. UserError of a retriever: it reads two texts."""
        if self._selector is None:
            raise UserError("A rank is read as a whole: name an answer selector.")
        form = _rank_form(self._name)
        inputs = [read("selector", form, one.query, one.candidates[0]) for one in groups]
        return np.asarray(self._selector.score_inputs(inputs), np.float64)

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """UserError of a selector: it would read each text beside each other one."""
        if self._encoder is None:
            raise UserError(
                "An answer selector cannot look for the nearest of many texts: name a retriever."
            )
        return self._encoder.encode_questions(texts)


def _rank_form(model: str) -> str:
    """In which its training read ranks last."""
    training = training_at(Path(model).resolve())
    stages = training.recipe.get("stages", ()) if training else ()
    try:
        forms = [task["form"] for stage in stages for task in stage["tasks"]]
    except (KeyError, TypeError):  # a record that others wrote
        forms = []
    return next((form for form in reversed(forms) if form in RANK_FORMS), RANK_FORMS[0])


def _each_once(encode: Callable[[list[T]], Vectors], texts: Sequence[T]) -> Vectors:
    place = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    return encode(list(place))[[place[text] for text in texts]]


def measure(
    model: Model,
    source: Source,
    *,
    dev: Path | None = None,
    by: By = "f1",
    among: int | None = None,
    draws: bool = True,
) -> Measured:
    """`among`: so many texts to look for positives in; None: all. Draws of many rows take minutes:
    whoever compares nothing goes without them. UserError where nothing can be measured by the
    file's kind."""
    if among is not None and source.kind != "positives":
        raise UserError(f"There is no corpus to cut for {source.kind}: leave --among out.")
    if dev is not None and source.kind in ("sts", "topics"):
        raise UserError(f"No threshold is used for {source.kind}: leave --dev out.")
    groups = read_whole(source)
    others = None if dev is None else read_whole(Source(source.kind, dev))
    scored = MEASURES[source.kind](model, groups, _Asked(others, by, among))
    with np.errstate(invalid="ignore"):  # 0 / 0 is NaN: undefined
        every = scored.figures(np.arange(scored.units)[np.newaxis])
        drawn = _drawn(scored) if draws else {}
    figures = {name: _rounded(one.item()) for name, one in every.items()}
    return Measured(figures, len(groups), scored.threshold, drawn)


def _drawn(scored: _Scored) -> Drawn:
    random = np.random.RandomState(SEED)
    at_once = max(1, DRAWN // scored.units)
    parts = [
        scored.figures(random.randint(0, scored.units, (min(at_once, left), scored.units)))
        for left in range(REPLICATES, 0, -at_once)
    ]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _sts(model: Model, groups: Sequence[Group], _: _Asked) -> _Scored:
    texts = [(group.query, group.candidates[0].question) for group in groups]
    said = np.array([group.candidates[0].label for group in groups])
    scores = model.scores([(one, other, other) for one, other in texts])
    if min(np.ptp(said), np.ptp(scores)) == 0:
        raise UserError("All scores are the same: there is no correlation to measure.")

    def correlations(rows: Rows) -> Drawn:
        ranks = (stats.rankdata(one[rows], axis=-1) for one in (said, scores))
        return {"Pearson": _pearson(said[rows], scores[rows]), "Spearman": _pearson(*ranks)}

    return _Scored(len(groups), correlations)


def _pearson(one: Values, other: Values) -> Values:
    one, other = (values - values.mean(axis=-1, keepdims=True) for values in (one, other))
    correlation: Values = (one * other).sum(-1) / np.sqrt((one**2).sum(-1) * (other**2).sum(-1))
    return correlation


def _topics(model: Model, groups: Sequence[Group], _: _Asked) -> _Scored:
    right = _Nearest(model, groups, None).among(1)
    return _Scored(len(right), lambda rows: {"Accuracy": right[rows].mean(axis=-1)})


def _positives(model: Model, groups: Sequence[Group], asked: _Asked) -> _Scored:
    nearest = _Nearest(model, groups, asked.among)
    threshold = None
    if asked.dev is not None:
        threshold = _Nearest(model, asked.dev, asked.among).best_threshold(asked.by)
    right = {f"Accuracy@{k}": nearest.among(k) for k in DEPTHS if k <= nearest.best.shape[1]}
    of_answers = _of_answers(nearest.tops(), threshold)
    return _Scored(
        len(nearest.scores),
        lambda rows: {
            **{name: one[rows].mean(axis=-1) for name, one in right.items()},
            **of_answers(rows),
        },
        threshold,
    )


def _pairs(
    model: Model, groups: Sequence[Group], asked: _Asked, *, usual: float | None = None
) -> _Scored:
    """`usual`: the threshold where none is chosen."""
    labels, scores = _judged(model, groups)
    threshold = usual if asked.dev is None else best_threshold(*_judged(model, asked.dev), asked.by)
    of_rows = _of_rows(labels, scores, threshold, np.arange(len(labels)))
    return _Scored(len(labels), of_rows, threshold)


def _sentences(model: Model, groups: Sequence[Group], asked: _Asked) -> _Scored:
    """A question's sentences stand in a row each, anywhere."""
    labels, scores = _judged(model, groups)
    threshold = None if asked.dev is None else best_threshold(*_judged(model, asked.dev), asked.by)
    numbers: dict[str, int] = {}
    own = np.array([numbers.setdefault(question_key(one.query), len(numbers)) for one in groups])
    places = np.split(np.argsort(own, kind="stable"), np.cumsum(np.bincount(own))[:-1])
    best = [top_answer(scores[rows].tolist(), labels[rows].tolist()) for rows in places]
    of_rows, of_answers = _of_rows(labels, scores, threshold, own), _of_answers(best, threshold)
    return _Scored(len(best), lambda rows: {**of_rows(rows), **of_answers(rows)}, threshold)


def _judged(model: Model, groups: Sequence[Group]) -> tuple[Labels, Scores]:
    if groups[0].candidates[0].rank:
        first = np.array([group.candidates[0].label >= EVEN for group in groups])
        return first, model.rank_scores(groups)
    every = [(group.query, one) for group in groups for one in group.candidates]
    answered = any(one.answer for _, one in every)
    texts = [
        (query, one.question, one.answer if answered else one.question) for query, one in every
    ]
    labels = np.array([one.label >= EVEN for _, one in every])
    return labels, model.scores(texts)


def _of_rows(
    labels: Labels, scores: Scores, threshold: float | None, own: Rows
) -> Callable[[Rows], Drawn]:
    """`own`: the unit of each row."""
    taken = np.zeros_like(labels) if threshold is None else scores >= threshold
    every, right, both, hits, positives = (
        np.bincount(own, one)
        for one in (np.ones(len(own)), labels == taken, labels & taken, taken, labels)
    )

    def figures(drawn: Rows) -> Drawn:
        times = np.array([np.bincount(one, minlength=len(every)) for one in drawn], float)
        area = {"ROC-AUC": roc_auc(labels, scores, times[:, own])}
        if threshold is None:
            return area
        return {
            "Accuracy": (times @ right) / (times @ every),
            "Precision": (times @ both) / (times @ hits),
            "Recall": (times @ both) / (times @ positives),
            "F1": 2 * (times @ both) / (times @ (hits + positives)),
            **area,
        }

    return figures


def _of_answers(best: Sequence[TopAnswer], threshold: float | None) -> Callable[[Rows], Drawn]:
    """Of what is nearest to each question, and of that or nothing, where it is not near enough."""
    right = np.array([one.right for one in best])
    if threshold is None:
        return lambda rows: {"Accuracy@1": right[rows].mean(axis=-1)}
    answerable = np.array([one.answerable for one in best])
    answered = np.array([one.score >= threshold for one in best])
    or_none = np.where(answered, right, ~answerable)
    both, either = right & answered, answered.astype(int) + answerable
    return lambda rows: {
        "Accuracy@1": right[rows].mean(axis=-1),
        "Accuracy@1, or none": or_none[rows].mean(axis=-1),
        "F1, or none": 2 * both[rows].sum(axis=-1) / either[rows].sum(axis=-1),
    }


class _Nearest:
    """Each anchor beside all distinct texts of the file; what equals the anchor is no answer."""

    def __init__(self, model: Model, groups: Sequence[Group], among: int | None) -> None:
        texts = dict.fromkeys(one.question for group in groups for one in group.candidates)
        place = {text: number for number, text in enumerate(list(texts)[:among])}
        positives: dict[str, set[str]] = {}
        for group in groups:
            own = {one.question for one in group.candidates if one.label >= 0.5}
            positives.setdefault(group.query, set()).update(own)
        # By the places of their positives; without those whose positives were all cut off.
        asked = {
            anchor: {place[text] for text in own if text in place}
            for anchor, own in positives.items()
            if not own or any(text in place for text in own)
        }
        if not asked:
            raise UserError("No text has its positive among so few: raise --among.")
        self._own = list(asked.values())
        self.best, self.scores = self._search(model, list(asked), place)

    def _search(
        self, model: Model, anchors: Sequence[str], place: Mapping[str, int]
    ) -> tuple[Rows, Scores]:
        depth = min(max(DEPTHS), len(place))
        texts, asked = model.vectors(list(place)), model.vectors(anchors)
        best = np.empty((len(anchors), depth), np.int64)
        scores = np.empty((len(anchors), depth), np.float64)
        rows = max(1, CELLS // len(place))
        for start in range(0, len(anchors), rows):
            cosines = (asked[start : start + rows] @ texts.T).astype(np.float64)
            for row, anchor in enumerate(anchors[start : start + rows]):
                if anchor in place:
                    cosines[row, place[anchor]] = -np.inf
            order = np.argsort(-cosines, axis=1, kind="stable")[:, :depth]
            best[start : start + rows] = order
            scores[start : start + rows] = np.take_along_axis(cosines, order, axis=1)
        return best, scores

    def best_threshold(self, by: By) -> float:
        """By which the nearest text is the right one."""
        right = np.array([one.right for one in self.tops()])
        return best_threshold(right, self.scores[:, 0], by)

    def tops(self) -> list[TopAnswer]:
        return [
            TopAnswer(score, right=place in own, answerable=bool(own))
            for own, place, score in zip(
                self._own, self.best[:, 0].tolist(), self.scores[:, 0].tolist(), strict=True
            )
        ]

    def among(self, k: int) -> Labels:
        every = zip(self._own, self.best.tolist(), strict=True)
        return np.array([bool(own & set(best[:k])) for own, best in every])


MEASURES: Mapping[str, Callable[[Model, Sequence[Group], _Asked], _Scored]] = {
    "sts": _sts,
    "topics": _topics,
    "positives": _positives,
    "pairs": _pairs,
    "spans": _pairs,
    "sentences": _sentences,
    "ranks": partial(_pairs, usual=EVEN),
}


def _rounded(value: float) -> float | None:
    return None if math.isnan(value) else round(float(value), DECIMALS)
