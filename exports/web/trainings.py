"""Trainings, scores and experiments: the list, the form that asks for one, and each by itself."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.db import transaction
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import path
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access.audit_log import by_page
from annotation.jobs.tasks import run_job, soon
from annotation.web.base.guards import refuse_account
from annotation.web.base.layout import page
from core.errors import UserError
from exports.experiments.training_requests import (
    KINDS,
    PLOTS,
    SPLITS,
    Kind,
    WantedTraining,
    answers_of,
    cancel_training,
    experiments,
    judges_for,
    plot_of,
    plots_of,
    recipes,
    releases_for,
    resume_training,
    start_training,
    trainings_for,
)
from exports.models import Release
from exports.web.files import OF_PLOTS
from retrieval.models import Job, TrainedModel
from retrieval.web.access import TRAIN, database_page

SHOWN = 50
MOST_RELEASES = 200
Releases = Mapping[str, Release]  # by campaign and number


def _choice(label: str, names: Iterable[str], **more: Any) -> forms.ChoiceField:
    return forms.ChoiceField(label=label, choices=[(name, name) for name in names], **more)


def _models() -> forms.ChoiceField:
    names = list(TrainedModel.objects.order_by("name").values_list("name", flat=True))
    help_text = "" if names else "There is no model yet. Train one first."
    return _choice("Model", names, help_text=help_text)


def _sizes() -> list[str]:
    return list({size: None for sizes in experiments().values() for size in sizes})


OF: Mapping[Kind, Callable[[], forms.ChoiceField]] = {
    "train": lambda: _choice("Recipe", recipes()),
    "score": _models,
    "experiment": lambda: _choice("Experiment", experiments()),
}
MORE: Mapping[Kind, Callable[[Iterable[str]], dict[str, forms.Field]]] = {
    "train": lambda _: {
        "name": forms.CharField(
            label="Name of the model",
            required=False,
            max_length=60,
            help_text="Without one, the recipe's name.",
        )
    },
    "score": lambda _: {"split": _choice("Split", SPLITS, initial="test")},
    "experiment": lambda judges: {
        "size": _choice("Size", _sizes(), initial="cpu"),
        "judge": forms.ChoiceField(
            label="Answers are right by",
            choices=[("", "known answers"), *((name, f"people of {name}") for name in judges)],
            required=False,
            help_text="Only for experiments that measure answers.",
        ),
    },
}
TITLES: Mapping[Kind, str] = {
    "train": "Train a model",
    "score": "Score a model",
    "experiment": "Run an experiment",
}


class TrainingForm(forms.Form):
    """What one of the three is asked with."""

    def __init__(
        self, kind: Kind, releases: Releases, judges: Iterable[str], data: Any = None
    ) -> None:
        super().__init__(data, prefix=kind)
        self.kind, self.title, self._releases = kind, TITLES[kind], releases
        self.fields["of"] = OF[kind]()
        help_text = "" if releases else "There is no release yet that you can download."
        self.fields["release"] = _choice("Release", releases, help_text=help_text)
        self.fields |= MORE[kind](judges)

    def wanted(self) -> WantedTraining:
        said = dict(self.cleaned_data)
        of, release = said.pop("of"), self._releases[said.pop("release")]
        return WantedTraining(self.kind, of, release.campaign.name, release.number, **said)


@require_http_methods(["GET", "HEAD", "POST"])
@database_page()
def trainings(request: HttpRequest) -> HttpResponse:
    user = cast(User, request.user)
    may_train = user.has_perm(TRAIN)
    if request.method == "POST" and not may_train:
        return refuse_account(request, TRAIN)
    asked = request.POST.get("kind", "")
    newest = releases_for(user)[:MOST_RELEASES] if may_train else []
    releases = {f"{one.campaign}-{one.number}": one for one in newest}
    judges = judges_for(user).values_list("name", flat=True)[:MOST_RELEASES]
    some = {
        kind: TrainingForm(kind, releases, judges, request.POST if kind == asked else None)
        for kind in KINDS
        if may_train
    }
    form = next((one for kind, one in some.items() if kind == asked), None)
    if form and form.is_valid():
        try:
            with transaction.atomic():
                job = start_training(form.wanted(), by=by_page(user))
                soon(run_job, job.pk)
            return redirect("training", job.pk)
        except UserError as error:
            form.add_error(None, str(error))
    jobs = list(trainings_for(user)[: SHOWN + 1])
    context = {
        "jobs": jobs[:SHOWN],
        "more": len(jobs) > SHOWN,
        "shown": SHOWN,
        "forms": some.values(),
        "asked": asked,
    }
    status = 422 if request.method == "POST" else 200
    return page(request, "exports/trainings.html", context, title="Trainings", status=status)


@require_safe
@database_page()
def training(request: HttpRequest, pk: int) -> HttpResponse:
    job = _job(request, pk)
    context = {
        "job": job,
        "report": (job.result or {}).get("report"),
        "plots": [(name, PLOTS[name]) for name in plots_of(job)],
        "measured": _measured(job),
        "may_train": request.user.has_perm(TRAIN),
        "was_stopped": job.state == Job.State.FAILED,
    }
    return page(request, "exports/training.html", context, title=job.title)


def _measured(job: Job) -> dict[str, Any] | None:
    """Of a score, with a row for each metric."""
    measured = (job.result or {}).get("measured")
    if measured is None:
        return None
    differences = measured["difference"]
    rows = [(name, one, differences[name]) for name, one in measured["metrics"].items()]
    return {**measured, "rows": rows}


@require_POST
@database_page(TRAIN)
def cancel(request: HttpRequest, pk: int) -> HttpResponse:
    job = _job(request, pk)
    try:
        cancel_training(job, by=by_page(cast(User, request.user)))
    except UserError as error:
        messages.error(request, str(error))
    return redirect("training", job.pk)


@require_POST
@database_page(TRAIN)
def resume(request: HttpRequest, pk: int) -> HttpResponse:
    job = _job(request, pk)
    try:
        with transaction.atomic():
            again = resume_training(job, by=by_page(cast(User, request.user)))
            soon(run_job, again.pk)
    except UserError as error:
        messages.error(request, str(error))
        return redirect("training", job.pk)
    return redirect("training", again.pk)


@require_safe
@database_page()
def training_plot(request: HttpRequest, pk: int, plot: str, theme: str) -> HttpResponseBase:
    response = _file(plot_of(_job(request, pk), plot, theme), content_type="image/svg+xml")
    response["Content-Security-Policy"] = OF_PLOTS
    response["X-Content-Type-Options"] = "nosniff"
    return response


@require_safe
@database_page()
def training_answers(request: HttpRequest, pk: int) -> HttpResponseBase:
    return _file(answers_of(_job(request, pk)), as_attachment=True)


def _file(path: Path | None, **said: Any) -> FileResponse:
    if path is None or not path.is_file():
        raise Http404
    return FileResponse(path.open("rb"), **said)


def _job(request: HttpRequest, pk: int) -> Job:
    return get_object_or_404(trainings_for(cast(User, request.user)), pk=pk)


# Among the pages of the q/a database.
urlpatterns = [
    path("trainings", trainings, name="trainings"),
    path("trainings/<int:pk>", training, name="training"),
    path("trainings/<int:pk>/cancel", cancel, name="cancel-training"),
    path("trainings/<int:pk>/resume", resume, name="resume-training"),
    path("trainings/<int:pk>/answers.jsonl", training_answers, name="training-answers"),
    path("trainings/<int:pk>/<slug:plot>/<slug:theme>.svg", training_plot, name="training-plot"),
]
