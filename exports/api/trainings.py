"""Trainings, scores and experiments for programs: what there is to run, and jobs that run it."""

from typing import Any

from django.db import transaction
from django.urls import reverse
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.access.audit_log import by_api
from annotation.api.base.access import require, user_of
from annotation.api.base.idempotency import Done, once
from annotation.api.base.jobs import ROW as JOB
from annotation.api.base.jobs import JobRow
from annotation.jobs.tasks import run_job, soon
from core.rest.fields import Text, Whole
from core.rest.openapi import key_header, operation
from core.rest.pagination import NewestPages, page
from core.rest.parsing import body
from exports.experiments.training_requests import (
    KINDS,
    LONGEST_NAME,
    SPLITS,
    WantedTraining,
    cancel_training,
    experiments,
    recipes,
    resume_training,
    start_training,
    trainings_for,
)
from retrieval.api.access import MayViewCorpus
from retrieval.models import Job
from retrieval.web.access import TRAIN

TAG = "trainings"
NEEDS = f"Requires the permission `{TRAIN}` for your account."
MOST_NUMBER = 2**31 - 1


class TrainingSent(serializers.Serializer[dict[str, Any]]):
    kind = serializers.ChoiceField(choices=list(KINDS))
    of = Text(max_length=LONGEST_NAME, help_text="the recipe, registered model, or experiment")
    campaign = serializers.SlugField(max_length=60, help_text="of the release")
    number = Whole(min_value=1, max_value=MOST_NUMBER, help_text="of the release")
    name = Text(
        max_length=60, required=False, help_text="of the model that a training makes; else `of`"
    )
    split = serializers.ChoiceField(
        choices=list(SPLITS), default=WantedTraining.split, help_text="that a model scores"
    )
    size = Text(max_length=20, default=WantedTraining.size, help_text="of an experiment")
    judge = serializers.SlugField(
        max_length=60,
        required=False,
        help_text="campaign whose people judged the answers of an experiment",
    )


class RecipesAnswer(serializers.Serializer[dict[str, Any]]):
    recipes = serializers.ListField(child=serializers.CharField())
    experiments = serializers.DictField(
        child=serializers.ListField(child=serializers.CharField()), help_text="with their sizes"
    )


SENT = {"kind": "train", "of": "retriever-qqa", "campaign": "faq", "number": 1}
ROW = {**JOB, "kind": "train", "subject": "retriever-qqa", "stage": "Learning the release"}
QUEUED = {**ROW, "state": "queued", "stage": "", "done": 0, "total": None}


class Recipes(APIView):
    permission_classes = [MayViewCorpus]

    @operation(
        "recipe_list",
        "List the recipes and experiments that you can run",
        tag=TAG,
        answers={200: RecipesAnswer},
        example={
            "recipes": ["retriever-qqa"],
            "experiments": {"qbert/qbert-2": ["tiny", "cpu", "paper"]},
        },
    )
    def get(self, request: Request) -> Response:
        return Response({"recipes": recipes(), "experiments": experiments()})


class Trainings(APIView):
    permission_classes = [MayViewCorpus]
    pagination_class = NewestPages

    @operation(
        "training_list",
        "List trainings, scores, and experiments, newest first",
        tag=TAG,
        description="Your own; staff sees all.",
        answers={200: JobRow(many=True)},
        example=ROW,
    )
    def get(self, request: Request) -> Response:
        return page(self, trainings_for(user_of(request)), JobRow, pages=NewestPages)

    @operation(
        "training_create",
        "Train a model, score one, or run an experiment",
        tag=TAG,
        description=f"The answer is a job; its address is in `Location`. {NEEDS}",
        request=TrainingSent,
        sent=SENT,
        answers={202: JobRow},
        example=QUEUED,
        refusals=[409, 422],
        parameters=[key_header(required=True)],
    )
    def post(self, request: Request) -> Response:
        require(request, TRAIN)
        wanted = WantedTraining(**body(request, TrainingSent))
        by = by_api(user_of(request))
        return once(request, lambda: _begun(start_training(wanted, by=by)))


class OneTraining(APIView):
    permission_classes = [MayViewCorpus]

    @operation(
        "training_read",
        "Show a training's progress and result",
        tag=TAG,
        answers={200: JobRow},
        example=ROW,
        refusals=[404],
    )
    def get(self, request: Request, pk: int) -> Response:
        return Response(JobRow(_one(request, pk)).data)


class CancelTraining(APIView):
    permission_classes = [MayViewCorpus]

    @operation(
        "training_cancel",
        "Cancel a training; its work so far is kept",
        tag=TAG,
        description=f"One that has ended is refused. {NEEDS}",
        answers={200: JobRow},
        example={**ROW, "state": "failed", "error": "Cancelled by ada."},
        refusals=[404, 422],
    )
    def post(self, request: Request, pk: int) -> Response:
        require(request, TRAIN)
        job = _one(request, pk)
        cancel_training(job, by=by_api(user_of(request)))
        job.refresh_from_db()
        return Response(JobRow(job).data)


class ResumeTraining(APIView):
    permission_classes = [MayViewCorpus]

    @operation(
        "training_resume",
        "Resume a training that was stopped",
        tag=TAG,
        description=f"The answer is a new job, which continues the other one. {NEEDS}",
        answers={202: JobRow},
        example=QUEUED,
        refusals=[404, 422],
    )
    def post(self, request: Request, pk: int) -> Response:
        require(request, TRAIN)
        job = _one(request, pk)
        with transaction.atomic():
            done = _begun(resume_training(job, by=by_api(user_of(request))))
        return Response(done.data, done.status, headers={"Location": done.location})


def _begun(job: Job) -> Done:
    soon(run_job, job.pk)
    return Done(202, JobRow(job).data, reverse("api-training", args=[job.pk]))


def _one(request: Request, pk: int) -> Job:
    return get_object_or_404(trainings_for(user_of(request)), pk=pk)
