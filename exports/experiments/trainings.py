"""Trainings, scores and experiments: what a worker does of them. It loads matplotlib, and torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings

from core.files.work_folder import abandoned, working_folder
from exports.delivery.storage import fetch
from exports.evaluation.evaluate import evaluate
from exports.evaluation.score_model import ScoreRequest, queries_of, score
from exports.evaluation.systems import BASELINES
from exports.experiments.experiment import read_experiment
from exports.experiments.run import run_experiment
from exports.experiments.table import text
from exports.experiments.training import best
from exports.experiments.training_requests import (
    PLOTS,
    Kind,
    WantedTraining,
    experiment_file,
    recipe_file,
)
from exports.layout.files import ARCHIVE_SUFFIX
from exports.models import Release
from retrieval.jobs.queue import Handler, Result, Watch
from retrieval.models import Job
from retrieval.registry.registry import register
from retrieval.training.lazy import train_model
from retrieval.training.recipes.recipe import read_recipe
from retrieval.vectors.checksums import sha256_of


@contextmanager
def _fetched(wanted: WantedTraining, job: Job) -> Iterator[Path]:
    """The release's files on this machine, for as long as the job wants them."""
    place: Path = settings.DATA_DIR / "fetched"
    for _ in abandoned(place):  # of workers that were killed
        pass
    release = Release.objects.get(campaign__name=wanted.campaign, number=wanted.number)
    files = release.files.select_related("release").exclude(path__endswith=ARCHIVE_SUFFIX)
    with working_folder(place / f"job-{job.pk}") as work:
        fetch(files, work / wanted.release)
        yield work / wanted.release


class _Stages:
    """A training tells what begins, and each of its steps."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self.begin("reading the release", 0)

    def begin(self, words: str, steps: int) -> None:
        self._count = self._watch.stage(words[:100], steps or None)

    def step(self, number: int = 1) -> None:
        self._count(number)


def _train(wanted: WantedTraining, release: Path, stages: _Stages) -> Result:
    trained = train_model(
        read_recipe(recipe_file(wanted.of)),
        release=release,
        name=wanted.model,
        pairs=None,
        device=settings.ENCODER_DEVICE,
        begin=stages.begin,
        step=stages.step,
    )
    register(Path(settings.MODELS_DIR) / wanted.model)
    return {
        "model": wanted.model,
        "recipe": wanted.of,
        "release": wanted.release,
        "seeds": len(trained["trainings"]),
        **_plain(best(trained)["test"]),
    }


def _score(wanted: WantedTraining, release: Path, stages: _Stages) -> Result:
    device = settings.ENCODER_DEVICE
    asked = ScoreRequest(wanted.of, release, wanted.split, form=None, device=device)
    run = release.with_name("model.run")
    stages.begin("scoring", queries_of(release, wanted.split))
    made = score(asked, run, stages.step)
    stages.begin("measuring the run", 0)
    measured: Any = evaluate(run, release, split=wanted.split, against=BASELINES[0], way="qrc")
    figures = {name: one["value"] for name, one in measured["metrics"].items()}
    return {
        "model": wanted.of,
        "form": made["form"],
        "release": wanted.release,
        "split": wanted.split,
        **_plain(figures),
        "measured": {name: measured[name] for name in ("metrics", "difference", "against")},
    }


def _experiment_run(wanted: WantedTraining, release: Path, stages: _Stages) -> Result:
    file = experiment_file(wanted.of)
    folder = sha256_of(file)[:8]  # what an edited file makes leaves the reports of before
    result = run_experiment(
        read_experiment(file),
        release,
        settings.DATA_DIR / "experiments" / folder,
        size=wanted.size,
        device=settings.ENCODER_DEVICE,
        begin=stages.begin,
        step=stages.step,
        judge=wanted.judge,
    )
    report = Path(result["report"])
    plots = {name: report.with_name(f"{report.stem}-{name}.svg") for name in PLOTS}
    return {
        "experiment": wanted.of,
        "size": wanted.size,
        "release": wanted.release,
        "report": {
            "title": result["title"],
            "text": text(result),
            "plots": {
                name: f"{folder}/{path.name}" for name, path in plots.items() if path.is_file()
            },
            "answers": f"{folder}/{result['file']}" if "file" in result else "",
        },
    }


def _plain(figures: Mapping[str, Any] | None) -> dict[str, object]:
    return {name: value for name, value in (figures or {}).items() if isinstance(value, float)}


_RUNS: Mapping[Kind, Callable[[WantedTraining, Path, _Stages], Result]] = {
    "train": _train,
    "score": _score,
    "experiment": _experiment_run,
}


def handler_of(kind: Kind) -> Handler:
    def handle(job: Job, watch: Watch) -> Result:
        wanted = WantedTraining(**job.arguments)
        stages = _Stages(watch)
        with _fetched(wanted, job) as release:
            return _RUNS[kind](wanted, release, stages)

    return handle
