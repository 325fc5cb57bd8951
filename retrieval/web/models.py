"""The models that were trained here: what each has gained, and which are in use."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from core.frame import framed
from retrieval.models import TrainedModel
from retrieval.registry.card import (
    SPLITS,
    before,
    figure_names,
    of_the_best,
    over_seeds,
    percent,
    values_in_words,
)
from retrieval.registry.improvement import ModelReports
from retrieval.registry.training_record import Training
from retrieval.web.access import database_page

SHOWN = 100


@require_safe
@database_page()
def models(request: HttpRequest) -> HttpResponse:
    reports = ModelReports()
    context = {
        "models": [reports.of(one) for one in reports.models[:SHOWN]],
        "more": len(reports.models) > SHOWN,
        "shown": SHOWN,
    }
    return framed(request, "retrieval/models.html", context, title="Models")


@require_safe
@database_page()
def model(request: HttpRequest, name: str) -> HttpResponse:
    one = get_object_or_404(TrainedModel, name=name.replace("\0", ""))
    report = ModelReports().of(one)
    training = report.training
    context = {
        "one": report,
        "rows": _rows(training),
        "chosen": values_in_words(training.chosen),
        "recipe": values_in_words(training.recipe),
        "versions": values_in_words(training.versions),
        "beside": {name: values_in_words(of) for name, of in training.beside.items()},
    }
    return framed(request, "retrieval/model.html", context, title=f"Model {one.name}")


def _rows(training: Training) -> list[tuple[str, ...]]:
    """Split, metric, the base's, over seeds, the best seed's."""
    return [
        (
            split,
            name,
            percent(before(training, split, name)),
            over_seeds(training, split, name),
            percent(of_the_best(training, split, name)),
        )
        for split in SPLITS
        for name in figure_names(training)
    ]
