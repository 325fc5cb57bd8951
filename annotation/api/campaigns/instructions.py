"""The wording that annotators read: its versions, and the next one."""

from typing import Any

from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.access.audit_log import by_api
from annotation.access.roles import WRITE_INSTRUCTIONS
from annotation.api.base.access import campaign_of, user_of
from annotation.api.base.idempotency import Done, once
from annotation.models import Instructions
from annotation.operations.instructions import save_instructions
from annotation.pipeline.setup.instructions import MOST_CHARACTERS, Added, Overtaken
from core.rest.fields import Text, Whole
from core.rest.openapi import key_header, operation
from core.rest.pagination import NewestPages, page
from core.rest.parsing import body
from core.rest.problems import Refusal

TAG = "campaigns"
MOST_VERSIONS = 2**31 - 1
OVERTAKEN = "Version {} was saved meanwhile: read it, then send yours with `based_on` {}."


class InstructionsRow(serializers.Serializer[Instructions]):
    version = serializers.IntegerField()
    author = serializers.CharField()
    created_at = serializers.DateTimeField()


class InstructionsRead(InstructionsRow):
    text = serializers.CharField(help_text="in Markdown")


class NewInstructions(serializers.Serializer[dict[str, Any]]):
    text = Text(max_length=MOST_CHARACTERS, trim_whitespace=False, help_text="in Markdown")
    based_on = Whole(
        min_value=1, max_value=MOST_VERSIONS, help_text="the version that this one is based on"
    )


class AddedAnswer(serializers.Serializer[Added]):
    version = serializers.IntegerField()
    changed_hits = serializers.IntegerField(
        help_text="HITs that are not published yet and take this version"
    )
    kept_hits = serializers.IntegerField(
        help_text="HITs that keep the version they were published with"
    )


ROW = {"version": 2, "author": "ada", "created_at": "2026-11-22T10:00:00Z"}


class Versions(APIView):
    pagination_class = NewestPages

    @operation(
        "instructions_list",
        "List the versions of a campaign's instructions, newest first",
        tag=TAG,
        answers={200: InstructionsRow(many=True)},
        example=ROW,
        refusals=[404],
    )
    def get(self, request: Request, name: str) -> Response:
        versions = campaign_of(request, name).instructions.defer("text")
        return page(self, versions, InstructionsRow, pages=NewestPages)

    @operation(
        "instructions_create",
        "Save the next version of the instructions",
        tag=TAG,
        description="HITs that are not published yet take it. Answers 409 if somebody has "
        f"saved another version since `based_on`. Requires the permission `{WRITE_INSTRUCTIONS}`.",
        request=NewInstructions,
        sent={"text": "# What to do\n\nRead both questions.", "based_on": 1},
        answers={201: AddedAnswer},
        example={"version": 2, "changed_hits": 600, "kept_hits": 0},
        refusals=[404, 409, 422],
        parameters=[key_header(required=True)],
    )
    def post(self, request: Request, name: str) -> Response:
        campaign = campaign_of(request, name, WRITE_INSTRUCTIONS)
        sent = body(request, NewInstructions)

        def execute() -> Done:
            by = by_api(user_of(request))
            try:
                added = save_instructions(by, campaign, sent["text"], based_on=sent["based_on"])
            except Overtaken as error:
                newest = error.newest.version
                raise Refusal(409, OVERTAKEN.format(newest, newest)) from error
            location = f"/api/v1/campaigns/{campaign}/instructions/{added.version}"
            return Done(201, AddedAnswer(added).data, location)

        return once(request, execute)


class OneVersion(APIView):
    @operation(
        "instructions_read",
        "Show a version of the instructions",
        tag=TAG,
        answers={200: InstructionsRead},
        example={**ROW, "text": "# What to do\n\nRead both questions."},
        refusals=[404],
    )
    def get(self, request: Request, name: str, version: int) -> Response:
        versions = campaign_of(request, name).instructions
        return Response(InstructionsRead(get_object_or_404(versions, version=version)).data)
