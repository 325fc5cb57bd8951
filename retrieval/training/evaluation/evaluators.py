"""What a model makes of a material, by the measure of its kind. Import it through lazy.py: torch.

    sts                        Pearson's and Spearman's correlation with people's scores
    topics                     accuracy: the nearest of all topics is the question's own
    positives                  accuracy@k: the positive is among the k nearest of all texts, or of
                               the file's first so many
    pairs, sentences, spans    accuracy, precision, recall, F1 at a threshold, and ROC-AUC
    sentences                  also accuracy@1: the best of a question's own sentences is right

With a threshold, the nearest text counts only from that score on; a question without any positive
is answered rightly by nothing. Thresholds are chosen on another file, by F1, accuracy or precision.
Correlations and accuracy without a threshold are also measured on draws of the rows, the same for
every model: how sure the difference of two models is.
"""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn import metrics

from core.errors import UserError
from core.text.clean import question_key
from retrieval.answering.threshold import TopAnswer, top_answer
from retrieval.encoders.cross_encoder.load import load_selector
from retrieval.encoders.encoder import load_encoder
from retrieval.encoders.selector import is_selector
from retrieval.ranking.bootstrap import REPLICATES, SEED, Values
from retrieval.ranking.thresholds import By, best_threshold
from retrieval.registry.registry import resolve_either, trained_form
from retrieval.training.recipes.materials import Group, Source, read_whole
from retrieval.vectors.types import Vectors

DEPTHS = (1, 3, 5)  # QBERT's
DECIMALS = 4
AT_ONCE = 50  # draws of rows
CELLS = 20_000_000  # of anchors and texts, compared at once
Scores = NDArray[np.float64]
Rows = NDArray[np.int64]
Figures = dict[str, float | None]
T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True)
class Measured:
    figures: Figures
    rows: int
    threshold: float | None
    drawn: Mapping[str, Values] = field(default_factory=dict)  # a figure on each draw of the rows


class Model:
    """A retriever compares two texts by the cosine of their vectors, a selector reads both."""

    def __init__(self, name: str, device: str) -> None:
        model = resolve_either(name)
        self._selector = load_selector(Path(model), device) if is_selector(Path(model)) else None
        self._encoder = None if self._selector else load_encoder(model, device)
        self._form = trained_form(model)

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

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """UserError of a selector: it would read each text beside each other one."""
        if self._encoder is None:
            raise UserError(
                "An answer selector cannot look for the nearest of many texts: name a retriever."
            )
        return self._encoder.encode_questions(texts)


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
) -> Measured:
    """`among`: so many texts to look for positives in; None: all. UserError where nothing can be
    measured by the file's kind."""
    if among is not None and source.kind != "positives":
        raise UserError(f"There is no corpus to cut for {source.kind}: leave --among out.")
    if dev is not None and source.kind in ("sts", "topics"):
        raise UserError(f"No threshold is used for {source.kind}: leave --dev out.")
    groups = read_whole(source)
    if source.kind == "sts":
        said, scores = _graded(model, groups)
        correlations = {
            name: _rounded(one.item()) for name, one in _correlations(said, scores).items()
        }
        drawn = _drawn(len(groups), lambda rows: _correlations(said[rows], scores[rows]))
        return Measured(correlations, len(groups), None, drawn)
    others = None if dev is None else read_whole(Source(source.kind, dev))
    if source.kind in ("topics", "positives"):
        nearest = _Nearest(model, groups, among)
        threshold = None if others is None else _Nearest(model, others, among).best_threshold(by)
        figures = nearest.figures(source.kind, threshold)
        right = nearest.right(source.kind)
        drawn = _drawn(
            len(nearest.scores),
            lambda rows: {name: one[rows].mean(axis=-1) for name, one in right.items()},
        )
        return Measured(figures, len(groups), threshold, drawn)
    labels, scores = _judged(model, groups)
    threshold = None if others is None else best_threshold(*_judged(model, others), by)
    figures = _of_pairs(labels, scores, threshold)
    if source.kind == "sentences":
        figures |= _of_answers(_best_of_each(groups, labels, scores), threshold)
    return Measured(figures, len(labels), threshold)


def _best_of_each(
    groups: Sequence[Group], labels: NDArray[np.bool_], scores: Scores
) -> list[TopAnswer]:
    """Of each question's sentences, which stand in a row each."""
    own: dict[str, list[int]] = {}
    for place, group in enumerate(groups):
        own.setdefault(question_key(group.query), []).append(place)
    return [top_answer(scores[rows].tolist(), labels[rows].tolist()) for rows in own.values()]


def _of_answers(best: Sequence[TopAnswer], threshold: float | None) -> Figures:
    """Of what is nearest to each question, and of that or nothing, where it is not near enough."""
    figures: Figures = {"Accuracy@1": _rounded(np.mean([one.right for one in best]).item())}
    if threshold is None:
        return figures
    answered = [one for one in best if one.score >= threshold]
    right = sum(one.right for one in answered)
    rightly_none = sum(not one.answerable for one in best if one.score < threshold)
    either = len(answered) + sum(one.answerable for one in best)
    return figures | {
        "Accuracy@1, or none": _rounded((right + rightly_none) / len(best)),
        "F1, or none": _rounded(2 * right / either) if either else None,
    }


def _drawn(rows: int, figures_of: Callable[[Rows], Mapping[str, Values]]) -> dict[str, Values]:
    """Each figure on REPLICATES draws; `figures_of` some of them, a row a draw."""
    random = np.random.RandomState(SEED)
    parts = [
        figures_of(random.randint(0, rows, (AT_ONCE, rows))) for _ in range(REPLICATES // AT_ONCE)
    ]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _graded(model: Model, groups: Sequence[Group]) -> tuple[Scores, Scores]:
    """What people said, and the model."""
    texts = [(group.query, group.candidates[0].question) for group in groups]
    said = np.array([group.candidates[0].label for group in groups])
    scores = model.scores([(one, other, other) for one, other in texts])
    if min(np.ptp(said), np.ptp(scores)) == 0:
        raise UserError("All scores are the same: there is no correlation to measure.")
    return said, scores


def _correlations(said: Scores, scores: Scores) -> dict[str, Values]:
    """Along the last axis."""
    ranks = (stats.rankdata(one, axis=-1) for one in (said, scores))
    return {"Pearson": _pearson(said, scores), "Spearman": _pearson(*ranks)}


def _pearson(one: Values, other: Values) -> Values:
    one, other = (values - values.mean(axis=-1, keepdims=True) for values in (one, other))
    with np.errstate(invalid="ignore"):  # where all are the same it is undefined
        correlation: Values = (one * other).sum(-1) / np.sqrt((one**2).sum(-1) * (other**2).sum(-1))
    return correlation


def _judged(model: Model, groups: Sequence[Group]) -> tuple[NDArray[np.bool_], Scores]:
    every = [(group.query, one) for group in groups for one in group.candidates]
    answered = any(one.answer for _, one in every)
    texts = [
        (query, one.question, one.answer if answered else one.question) for query, one in every
    ]
    labels = np.array([one.label >= 0.5 for _, one in every])
    return labels, model.scores(texts)


def _of_pairs(labels: NDArray[np.bool_], scores: Scores, threshold: float | None) -> Figures:
    figures: Figures = {}
    if threshold is not None:
        taken = scores >= threshold
        figures = {
            "Accuracy": _rounded(metrics.accuracy_score(labels, taken)),
            "Precision": _rounded(metrics.precision_score(labels, taken, zero_division=math.nan)),
            "Recall": _rounded(metrics.recall_score(labels, taken, zero_division=math.nan)),
            "F1": _rounded(metrics.f1_score(labels, taken, zero_division=math.nan)),
        }
    both = 0 < labels.sum() < len(labels)
    figures["ROC-AUC"] = _rounded(metrics.roc_auc_score(labels, scores)) if both else None
    return figures


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
    ) -> tuple[NDArray[np.int64], Scores]:
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

    def figures(self, kind: str, threshold: float | None) -> Figures:
        figures = {name: _rounded(right.mean()) for name, right in self.right(kind).items()}
        return figures if kind == "topics" else figures | _of_answers(self._tops(), threshold)

    def right(self, kind: str) -> dict[str, NDArray[np.bool_]]:
        """Of each anchor, by the names of the figures."""
        if kind == "topics":
            return {"Accuracy": self._among(1)}
        return {f"Accuracy@{k}": self._among(k) for k in DEPTHS if k <= self.best.shape[1]}

    def best_threshold(self, by: By) -> float:
        """By which the nearest text is the right one."""
        right = np.array([one.right for one in self._tops()])
        return best_threshold(right, self.scores[:, 0], by)

    def _tops(self) -> list[TopAnswer]:
        return [
            TopAnswer(score, right=place in own, answerable=bool(own))
            for own, place, score in zip(
                self._own, self.best[:, 0].tolist(), self.scores[:, 0].tolist(), strict=True
            )
        ]

    def _among(self, k: int) -> NDArray[np.bool_]:
        every = zip(self._own, self.best.tolist(), strict=True)
        return np.array([bool(own & set(best[:k])) for own, best in every])


def _rounded(value: float) -> float | None:
    return None if math.isnan(value) else round(float(value), DECIMALS)
