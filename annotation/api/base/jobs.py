"""Long work: asked for, answered with the address of its progress, and looked at there."""

from typing import Any

from django.db.models import Q, QuerySet
from django.urls import reverse
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.access.roles import visible_campaigns
from annotation.api.base.access import user_of
from annotation.api.base.idempotency import Done
from core.rest.openapi import operation
from core.rest.pagination import NewestPages, page
from core.rest.parsing import query
from retrieval.models import Job

TAG = "jobs"


class JobRow(serializers.Serializer[Job]):
    id = serializers.IntegerField(source="pk")
    kind = serializers.CharField()
    subject = serializers.CharField(help_text="the campaign, or what else the job is for")
    state = serializers.ChoiceField(choices=Job.State.choices)
    stage = serializers.CharField(help_text="the current stage")
    done = serializers.IntegerField(help_text="steps of `total` done in this stage")
    total = serializers.IntegerField(allow_null=True, help_text="null: not known")
    result = serializers.DictField(allow_null=True, help_text="the job's result, once it is done")
    error = serializers.CharField(help_text="why the job failed, in one sentence")
    requested_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)


class JobFilter(serializers.Serializer[dict[str, Any]]):
    subject = serializers.CharField(required=False, max_length=100)
    state = serializers.ChoiceField(required=False, choices=Job.State.choices)


ROW = {
    "id": 31,
    "kind": "publish",
    "subject": "faq",
    "state": "running",
    "stage": "publishing HITs",
    "done": 120,
    "total": 600,
    "result": None,
    "error": "",
    "requested_at": "2026-11-22T10:00:00Z",
    "ended_at": None,
}


def address_of_job(job: Job) -> str:
    return reverse("api-job", args=[job.pk])


def accepted(job: Job) -> Done:
    """Its answer says where the work can be watched."""
    return Done(202, JobRow(job).data, address_of_job(job))


def visible_jobs(request: Request) -> QuerySet[Job]:
    """Those that the reader asked for, those of campaigns that they see; the staff sees all."""
    user = user_of(request)
    if user.is_staff or user.is_superuser:
        return Job.objects.all()
    names = visible_campaigns(user).values("name")
    return Job.objects.filter(Q(requested_by=user) | Q(subject__in=names))


class Jobs(APIView):
    pagination_class = NewestPages

    @operation(
        "job_list",
        "List jobs, newest first",
        tag=TAG,
        parameters=[JobFilter],
        answers={200: JobRow(many=True)},
        example=ROW,
    )
    def get(self, request: Request) -> Response:
        jobs = visible_jobs(request).filter(**query(request, JobFilter))
        return page(self, jobs, JobRow, pages=NewestPages)


class OneJob(APIView):
    @operation(
        "job_read",
        "Show a job's progress and result",
        tag=TAG,
        answers={200: JobRow},
        example=ROW,
        refusals=[404],
    )
    def get(self, request: Request, pk: int) -> Response:
        return Response(JobRow(get_object_or_404(visible_jobs(request), pk=pk)).data)
