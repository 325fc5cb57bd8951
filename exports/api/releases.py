"""Releases: the list, one with its files, and the building of the next one."""

from typing import Any

from django.db.models import QuerySet
from django.urls import reverse
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.access.audit_log import by_api, record
from annotation.access.roles import BUILD, DOWNLOAD, campaigns_where
from annotation.api.base.access import MayDownload, campaign_of, require, user_of
from annotation.api.base.idempotency import Done, once
from annotation.models import Campaign
from annotation.protocol.estimates.certificate import LEAST_CERTIFIED, MOST_CERTIFIED
from core.rest.fields import Flag
from core.rest.openapi import key_header, operation
from core.rest.pagination import NewestPages, page
from core.rest.parsing import body, query
from exports.building.options import Options
from exports.building.requests import WORDS, request_build, thousandths
from exports.delivery.signed_links import link
from exports.models import Build, Release, ReleaseFile
from exports.statistics.text_table import without_metrics

TAG = "releases"


class ReleaseRow(serializers.Serializer[Release]):
    campaign = serializers.CharField(source="campaign.name")
    number = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField(help_text="the account; empty: a command")
    manifest_sha256 = serializers.CharField()
    options = serializers.DictField()


class FileRow(serializers.Serializer[ReleaseFile]):
    path = serializers.CharField(help_text="path inside the release's folder")
    bytes = serializers.IntegerField()
    sha256 = serializers.CharField()
    link = serializers.SerializerMethodField(
        help_text="a link that works for one hour without signing in: do not share it"
    )

    def get_link(self, file: ReleaseFile) -> str:
        return link(file, self.context["user"])


class ReleaseRead(ReleaseRow):
    stats = serializers.DictField(help_text="the figures of the dataset card")
    changes = serializers.DictField(allow_null=True, help_text="changes since the previous release")
    warnings = serializers.SerializerMethodField(
        help_text="where no metric can be computed: on a split without queries or positives"
    )
    files = serializers.SerializerMethodField()

    def get_warnings(self, release: Release) -> list[str]:
        splits = release.stats.get("splits")
        warning = without_metrics(splits) if splits else None
        return [warning] if warning else []

    def get_files(self, release: Release) -> list[dict[str, Any]]:
        rows = release.files.order_by("path")
        return [dict(FileRow(row, context=self.context).data) for row in rows]


class ReleaseFilter(serializers.Serializer[dict[str, Any]]):
    campaign = serializers.SlugField(required=False, max_length=60)


class BuildOptions(serializers.Serializer[dict[str, Any]]):
    split = serializers.ChoiceField(
        choices=sorted(WORDS),
        required=False,
        help_text="auto: as in the previous release, otherwise by clusters of near-duplicates",
    )
    judgments = Flag(default=True, help_text="include individual judgments (pseudonymised)")
    partial = Flag(
        default=False, help_text="allow an incomplete campaign; open triplets are omitted"
    )  # type: ignore[assignment]
    certify = serializers.FloatField(
        required=False,
        min_value=LEAST_CERTIFIED,
        max_value=MOST_CERTIFIED,
        help_text="certify that at most this share of the labels is wrong, or build nothing",
    )


class BuildRow(serializers.Serializer[Build]):
    id = serializers.IntegerField(source="pk")
    campaign = serializers.CharField(source="subject")
    state = serializers.ChoiceField(choices=Build.State.choices)
    stage = serializers.CharField(help_text="the current stage")
    done = serializers.SerializerMethodField(help_text="progress in thousandths")
    error = serializers.CharField()
    release = serializers.SerializerMethodField(help_text="the release's number, once it is built")
    unchanged = serializers.BooleanField(
        help_text="whether the previous release already has the same content"
    )
    requested_at = serializers.DateTimeField()

    def get_done(self, build: Build) -> int:
        return thousandths(build)

    def get_release(self, build: Build) -> int | None:
        return (build.result or {}).get("release")


ROW = {
    "campaign": "faq",
    "number": 2,
    "created_at": "2026-11-22T10:00:00Z",
    "created_by": "ada",
    "manifest_sha256": "0" * 64,
    "options": {"partial": False, "split": "clusters", "judgments": True},
}
FILE = {
    "path": "faq-2.tar.zst",
    "bytes": 1_048_576,
    "sha256": "0" * 64,
    "link": "/releases/SIGNED/faq-2.tar.zst",
}
BUILD_ROW = {
    "id": 5,
    "campaign": "faq",
    "state": "running",
    "stage": "writing the formats",
    "done": 420,
    "error": "",
    "release": None,
    "unchanged": False,
    "requested_at": "2026-11-22T10:00:00Z",
}


def downloadable(request: Request, name: str) -> Campaign:
    """One that the reader may download from; seen without that right it is refused, else absent."""
    campaign = campaigns_where(user_of(request), DOWNLOAD).filter(name=name).first()
    return campaign or campaign_of(request, name, DOWNLOAD)


class Releases(APIView):
    permission_classes = [MayDownload]
    pagination_class = NewestPages

    @operation(
        "release_list",
        "List the releases that you can download, newest first",
        tag=TAG,
        parameters=[ReleaseFilter],
        answers={200: ReleaseRow(many=True)},
        example=ROW,
    )
    def get(self, request: Request) -> Response:
        mine = campaigns_where(user_of(request), DOWNLOAD)
        if name := query(request, ReleaseFilter).get("campaign"):
            mine = mine.filter(name=name)
        rows: QuerySet[Release] = Release.objects.filter(campaign__in=mine).defer("stats")
        return page(self, rows.select_related("campaign"), ReleaseRow, pages=NewestPages)


class OneRelease(APIView):
    permission_classes = [MayDownload]

    @operation(
        "release_read",
        "Show a release, with a link to each of its files",
        tag=TAG,
        answers={200: ReleaseRead},
        example={**ROW, "stats": {}, "changes": None, "warnings": [], "files": [FILE]},
        refusals=[404],
    )
    def get(self, request: Request, name: str, number: int) -> Response:
        rows = Release.objects.select_related("campaign")
        release = get_object_or_404(rows, campaign=downloadable(request, name), number=number)
        return Response(ReleaseRead(release, context={"user": user_of(request)}).data)


class Builds(APIView):
    permission_classes = [MayDownload]
    pagination_class = NewestPages

    @operation(
        "build_list",
        "List the builds of a campaign's releases, newest first",
        tag=TAG,
        answers={200: BuildRow(many=True)},
        example=BUILD_ROW,
        refusals=[404],
    )
    def get(self, request: Request, name: str) -> Response:
        rows = Build.objects.filter(subject=downloadable(request, name).name)
        return page(self, rows, BuildRow, pages=NewestPages)

    @operation(
        "build_create",
        "Build the next release",
        tag=TAG,
        description="The answer is a job; its address is in `Location`. "
        "Requires the permission `exports.add_build`.",
        request=BuildOptions,
        sent={"judgments": True, "partial": False},
        answers={202: BuildRow},
        example={**BUILD_ROW, "state": "queued", "stage": "", "done": 0},
        refusals=[404, 409, 422],
        parameters=[key_header(required=True)],
    )
    def post(self, request: Request, name: str) -> Response:
        campaign = downloadable(request, name)
        require(request, BUILD, campaign)
        wanted = body(request, BuildOptions)

        def execute() -> Done:
            options = Options.from_dict({"split": _way(campaign), **wanted})
            by = by_api(user_of(request))
            build = request_build(campaign, options=options, by=by.user)
            record(by, "build-release", campaign=campaign, details=build.options)
            location = reverse("api-build", args=[campaign.name, build.pk])
            return Done(202, BuildRow(build).data, location)

        return once(request, execute)


class OneBuild(APIView):
    permission_classes = [MayDownload]

    @operation(
        "build_read",
        "Show a build's progress",
        tag=TAG,
        answers={200: BuildRow},
        example=BUILD_ROW,
        refusals=[404],
    )
    def get(self, request: Request, name: str, pk: int) -> Response:
        build = get_object_or_404(Build, subject=downloadable(request, name).name, pk=pk)
        return Response(BuildRow(build).data)


def _way(campaign: Campaign) -> str:
    """Of the release before: a published query keeps its split."""
    last = campaign.releases.order_by("number").last()
    return str(last.options["split"]) if last else Options.split
