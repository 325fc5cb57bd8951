"""Asking for trainings, scores and experiments. Light: every page of the site loads it.

A training that is stopped, by whatever, goes on where it was when the same is asked for again: its
folder in MODELS_DIR holds what was learned so far.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, get_args

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import QuerySet

from annotation.access.audit_log import Actor, logged
from annotation.access.roles import DOWNLOAD, SEE_VOTES, campaigns_where
from annotation.models import Campaign
from annotation.protocol.policy.tasks import ANSWER
from core.errors import UserError
from exports.experiments.experiment import Experiment, read_experiment
from exports.experiments.sizes import NO_ANSWERS, SIZES
from exports.layout.files import SPLIT_FILES
from exports.models import Release
from retrieval.jobs.queue import cancel, request
from retrieval.models import Job
from retrieval.registry.names import require_own_name, require_untaken
from retrieval.registry.registry import model_named
from retrieval.training.recipes.recipe import read_recipe

Kind = Literal["train", "score", "experiment"]
KINDS: tuple[Kind, ...] = get_args(Kind)
SHIPPED = settings.BASE_DIR / "recipes"
EXPERIMENTS = "experiments"
LONGEST_NAME = 60  # of a recipe or an experiment
LONGEST_SUBJECT = 100  # of a job
PLOTS: Mapping[str, str] = {
    "figures": "The figures of each system, with intervals",
    "hit": "Hit@k of each system",
}
SPLITS = tuple(name.removesuffix(".jsonl") for name in SPLIT_FILES)


@dataclass(frozen=True)
class WantedTraining:
    kind: Kind
    of: str  # a recipe's name, a registered model's, or an experiment's
    campaign: str
    number: int  # of its release
    name: str = ""  # of the model that a training makes; else its recipe's
    split: str = "test"  # that a model scores
    size: str = "cpu"  # of an experiment
    judge: str = ""  # a campaign whose people judged an experiment's answers

    @property
    def model(self) -> str:
        return self.name or self.of.rpartition("/")[2]

    @property
    def release(self) -> str:
        return f"{self.campaign}-{self.number}"

    @property
    def subject(self) -> str:
        """Of its job: the same is not done twice at once."""
        if self.kind == "train":
            return self.model
        what = self.split if self.kind == "score" else self.size
        subject = f"{self.of}, {what}, on {self.release}"
        if len(subject) <= LONGEST_SUBJECT:
            return subject
        digest = sha256(subject.encode()).hexdigest()[:8]
        return f"{subject[: LONGEST_SUBJECT - len(digest) - 1]} {digest}"


def recipes() -> list[str]:
    """Names of the recipes that Quorum ships, and of the site's own."""
    return list(_recipes())


def experiments() -> dict[str, list[str]]:
    """With their sizes: the usual ones of a file with a fault, which whoever runs it is told."""
    by_name = {}
    for name, path in _experiments().items():
        try:
            sizes = _read(path).sizes
        except UserError:
            sizes = SIZES
        by_name[name] = list(sizes)
    return by_name


def _recipes() -> dict[str, Path]:
    files = _files().items()
    return {name: path for name, path in files if not name.startswith(f"{EXPERIMENTS}/")}


def _experiments() -> dict[str, Path]:
    beginning = f"{EXPERIMENTS}/"
    files = _files().items()
    return {
        name.removeprefix(beginning): path for name, path in files if name.startswith(beginning)
    }


def _files() -> dict[str, Path]:
    """Recipes and experiments by their names; the site's own stand before Quorum's."""
    files = _shipped() | _below(settings.DATA_DIR / "recipes")
    return dict(sorted(files.items()))


@cache  # changes with the code alone
def _shipped() -> dict[str, Path]:
    return _below(SHIPPED)


def _below(folder: Path) -> dict[str, Path]:
    files = (path for path in folder.rglob("*.yaml") if path.is_file())
    named = {path.relative_to(folder).with_suffix("").as_posix(): path for path in files}
    return {
        name: path
        for name, path in named.items()
        if name.isprintable() and len(name.removeprefix(f"{EXPERIMENTS}/")) <= LONGEST_NAME
    }


def _read(path: Path) -> Experiment:
    return _as_it_is(path, path.stat().st_mtime_ns if path.is_file() else 0)


@lru_cache(maxsize=1_000)  # a page asks all of them
def _as_it_is(path: Path, changed: int) -> Experiment:
    return read_experiment(path)


def releases_for(user: User) -> QuerySet[Release]:
    """Those that the person may train on: what a model has learned, its releases have told it."""
    mine = campaigns_where(user, DOWNLOAD)
    rows = Release.objects.filter(campaign__in=mine).select_related("campaign")
    return rows.defer("stats", "changes").order_by("-pk")


def judges_for(user: User) -> QuerySet[Campaign]:
    """Those where people judge answers, of which the person may know the labels."""
    of_answers = campaigns_where(user, SEE_VOTES).filter(policy_data__task=ANSWER.name)
    return of_answers.order_by("name")


def start_training(wanted: WantedTraining, *, by: Actor) -> Job:
    """UserError where it cannot be done, or is under way."""
    assert by.user is not None
    with logged(by, wanted.kind, subject=wanted.subject) as entry:
        entry.details = asdict(wanted)
        return _request(wanted, by.user)


def cancel_training(job: Job, *, by: Actor) -> None:
    with logged(by, "cancel-training", subject=job.subject, kind=job.kind):
        cancel(job, by=by.name)


def resume_training(job: Job, *, by: Actor) -> Job:
    """The same once more; UserError where it is under way, or was done to its end."""
    if job.state != Job.State.FAILED:
        raise UserError("Only a training that was stopped can be resumed.")
    return start_training(WantedTraining(**job.arguments), by=by)


def trainings_for(user: User) -> QuerySet[Job]:
    """One's own; the staff sees all."""
    jobs = Job.objects.filter(kind__in=KINDS).select_related("requested_by").order_by("-pk")
    return jobs if user.is_staff else jobs.filter(requested_by=user)


def _request(wanted: WantedTraining, by: User) -> Job:
    release = releases_for(by).filter(campaign__name=wanted.campaign, number=wanted.number)
    if not release.exists():
        raise UserError(f"There is no release {wanted.release} that you may download: choose one.")
    _CHECKS[wanted.kind](wanted)
    if wanted.judge and not judges_for(by).filter(name=wanted.judge).exists():
        raise UserError(
            f"There is no campaign {wanted.judge} of the task `answer` whose labels you may see."
        )
    return request(wanted.kind, wanted.subject, asdict(wanted), by=by)


def _check_training(wanted: WantedTraining) -> None:
    recipe = read_recipe(recipe_file(wanted.of))
    require_own_name(wanted.model, recipe.base)
    require_untaken(wanted.model)


def _check_score(wanted: WantedTraining) -> None:
    model_named(wanted.of)
    if wanted.split not in SPLITS:
        raise UserError(f"There is no split {wanted.split!r}: choose {', '.join(SPLITS)}.")


def _check_experiment(wanted: WantedTraining) -> None:
    experiment = _read(experiment_file(wanted.of))
    experiment.settings(wanted.size)
    if wanted.judge and not experiment.questions:
        raise UserError(NO_ANSWERS.format(wanted.of))
    for system in experiment.systems:
        if system.recipe is not None:
            read_recipe(system.recipe)


def recipe_file(name: str) -> Path:
    return _file(name, _recipes(), "recipe")


def experiment_file(name: str) -> Path:
    return _file(name, _experiments(), "experiment")


def _file(name: str, known: Mapping[str, Path], what: str) -> Path:
    if name not in known:
        raise UserError(f"There is no {what} {name!r}: choose one of {', '.join(known)}.")
    return known[name]


_CHECKS: Mapping[str, Callable[[WantedTraining], None]] = {
    "train": _check_training,
    "score": _check_score,
    "experiment": _check_experiment,
}


def _report(job: Job) -> Mapping[str, Any]:
    """Empty unless it is an experiment that is done."""
    return (job.result or {}).get("report", {}) if job.kind == "experiment" else {}


def answers_of(job: Job) -> Path | None:
    """The file for people to judge."""
    name = _report(job).get("answers")
    return settings.DATA_DIR / EXPERIMENTS / name if name else None


def plots_of(job: Job) -> Mapping[str, str]:
    """Names of files, by what they show."""
    report = _report(job)
    of_before = {"hit": report["plot"]} if report.get("plot") else {}  # one alone
    plots: Mapping[str, str] = report.get("plots", of_before)
    return plots


def plot_of(job: Job, name: str, theme: str) -> Path | None:
    """`theme`: light or dark."""
    plots = plots_of(job)
    if name not in plots:
        return None
    path: Path = settings.DATA_DIR / EXPERIMENTS / plots[name]
    return path.with_name(f"{path.stem}-dark.svg") if theme == "dark" else path
