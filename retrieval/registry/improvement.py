"""What a model has gained over the one in use before it, where the two can be compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path

from django.conf import settings

from retrieval.models import IndexVersion, TrainedModel
from retrieval.ranking.metrics import WAYS, Way
from retrieval.registry.card import figure_names, percent
from retrieval.registry.training_record import Figures, Training, parse_training


@dataclass(frozen=True)
class Gain:
    """A metric on test, from 0 to 1."""

    metric: str
    former: float
    value: float

    @property
    def difference(self) -> float:
        return self.value - self.former

    @property
    def words(self) -> str:
        return in_points(self.difference)

    @property
    def before(self) -> str:
        return percent(self.former)

    @property
    def now(self) -> str:
        return percent(self.value)


@dataclass(frozen=True)
class Improvement:
    former: str  # empty: there is none
    gains: tuple[Gain, ...] = ()
    note: str = ""  # why there are no gains


WITHOUT_SELECTOR = Improvement(
    "", note="There was no answer selector before it, and an untrained one ranks by chance."
)


@dataclass(frozen=True)
class ModelReport:
    """A registered model as people read of it."""

    model: TrainedModel
    training: Training
    improvement: Improvement
    in_use: bool

    @property
    def way(self) -> str:
        return short(self.training.way)

    @property
    def way_in_full(self) -> str:
        return WAYS[self.training.way]

    @property
    def test(self) -> list[tuple[str, str]]:
        """In percent, by metric: the best seed's, whose model is the one in use."""
        figures = self.training.best.test
        return [(name, percent(figures[name])) for name in figure_names(self.training)]

    @property
    def first(self) -> tuple[str, str]:
        return self.test[0] if self.test else ("", "")


@dataclass(frozen=True)
class _Index:
    """Of an index chosen again only the last time is known."""

    name: str  # of the model
    trained: int | None  # the registered one
    made: datetime
    chosen: datetime  # the last time

    def in_use_from(self, until: datetime) -> datetime:
        return self.chosen if self.chosen < until else self.made


class ModelReports:
    """Every registered model, and what the indexes were made with: read once."""

    @cached_property
    def models(self) -> list[TrainedModel]:
        return list(TrainedModel.objects.order_by("-pk"))

    @cached_property
    def _indexes(self) -> list[_Index]:
        """The one chosen last first."""
        chosen = IndexVersion.objects.order_by("-chosen_at", "-pk")
        rows = chosen.values_list("model", "trained", "created_at", "chosen_at")
        return [_Index(*row) for row in rows]

    def of(self, model: TrainedModel) -> ModelReport:
        training = parse_training(model.training)
        return ModelReport(
            model, training, self._improvement(model, training), self._is_in_use(model)
        )

    def _is_in_use(self, model: TrainedModel) -> bool:
        """By the index chosen last; a selector, by the setting."""
        if model.kind == TrainedModel.Kind.RETRIEVER:
            return bool(self._indexes) and self._indexes[0].trained == model.pk
        named = settings.SELECTOR
        places = (model.path, Path(settings.MODELS_DIR).resolve() / model.name)
        return bool(named) and (named == model.name or Path(named).resolve() in places)

    def _improvement(self, model: TrainedModel, training: Training) -> Improvement:
        if model.kind == TrainedModel.Kind.SELECTOR:
            return self._selector_improvement(model, training)
        former = self._in_use_before(model)
        if former is None or former.trained is None:
            return improvement_over_base(training, training.base if former is None else former.name)
        return _over_registered(
            training, next(one for one in self.models if one.pk == former.trained)
        )

    def _selector_improvement(self, model: TrainedModel, training: Training) -> Improvement:
        earlier = (one for one in self.models if one.kind == model.kind and one.pk < model.pk)
        if former := next(earlier, None):
            return _over_registered(training, former)
        return (
            improvement_over_base(training, training.base) if training.before else WITHOUT_SELECTOR
        )

    def _in_use_before(self, model: TrainedModel) -> _Index | None:
        """Before its first index; of a model that has none, before it was registered."""
        own = [index.made for index in self._indexes if index.trained == model.pk]
        until = min(own, default=model.created_at)
        earlier = [index for index in self._indexes if index.made < until]
        return max(earlier, key=lambda index: index.in_use_from(until), default=None)


def improvement(
    training: Training, former: Training, *, tuned_from_it: bool = False
) -> Improvement:
    """On the test split of one release, counted in one way; else a sentence says why not."""
    if (former.release_sha256, former.way) == (training.release_sha256, training.way):
        return _gains(former.name, training, former.best.test)
    if tuned_from_it and training.before is not None:
        if former.form == training.form:
            return _gains(former.name, training, training.before["test"])
        # Its training had the former model read what that was not trained for.
        return Improvement(
            former.name,
            note=f"{training.name} and {former.name} cannot be compared: one reads {training.form},"
            f" the other {former.form}, and they were tested on different releases.",
        )
    if former.way != training.way:
        return Improvement(
            former.name,
            note=f"{training.name} and {former.name} cannot be compared: one is counted the "
            f"{short(training.way)} way, the other the {short(former.way)} way.",
        )
    return Improvement(
        former.name,
        note=f"{training.name} and {former.name} cannot be compared: one was tested on the release "
        f"{training.release}, the other on {former.release}, which has different content.",
    )


def _over_registered(training: Training, former: TrainedModel) -> Improvement:
    tuned = training.base == former.name or _is_named(training.base, str(former.path))
    return improvement(training, parse_training(former.training), tuned_from_it=tuned)


def improvement_over_base(training: Training, former: str) -> Improvement:
    """Over what no training of ours is known of: its own base, as the training measured it."""
    if _is_named(training.base, former) and training.before is not None:
        return _gains(former, training, training.before["test"])
    return Improvement(
        former,
        note=f"{training.name} and {former} cannot be compared: {former} was not measured on the "
        f"release {training.release}.",
    )


def retriever_line(index: IndexVersion) -> str:
    """Of the model that the index was made with; empty where it was not trained here."""
    if index.trained is None:
        return ""
    report = ModelReports().of(index.trained)
    metric, value = report.first
    line = f"Retriever: {index.trained.name}"
    if metric:
        line += f", {metric} {value} ({report.way}) on test of {report.training.release}"
        if queries := report.training.queries.get("test"):
            line += f" ({queries:,} queries)"
    if index.form != report.training.form:
        line += f", trained for {report.training.form} and not for this index's {index.form}"
    return f"{line}{_over(report.improvement, metric)}"


def in_points(difference: float) -> str:
    """Of percent; a tiny loss is no gain of -0.0."""
    return f"{round(difference * 100, 1) + 0.0:+.1f}"


def short(way: Way) -> str:
    """Without what it means."""
    return WAYS[way].partition(" (")[0]


def _over(improvement: Improvement, metric: str) -> str:
    gain = next((one for one in improvement.gains if one.metric == metric), None)
    if gain is not None:
        return f", {gain.words} over {improvement.former}."
    return f". {improvement.note}" if improvement.note else "."


def _gains(former: str, training: Training, before: Figures) -> Improvement:
    after: Mapping[str, float | None] = training.best.test
    gains = []
    for name in figure_names(training):
        value, earlier = after[name], before.get(name)
        if value is not None and earlier is not None:
            gains.append(Gain(name, earlier, value))
    note = "" if gains else f"{training.name} and {former} have no metric in common."
    return Improvement(former, tuple(gains), note)


def _is_named(base: str, encoder: str) -> bool:
    """A folder may be named in several ways; a loaded model tells its whole path."""
    return encoder in (base, str(Path(base).resolve()))
