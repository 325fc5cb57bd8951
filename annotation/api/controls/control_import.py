"""Many controls at once into the pool, or drafts into a campaign: all of them, or none."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.access.audit_log import Actor, by_api
from annotation.access.roles import CHANGE_CONTROLS
from annotation.api.base.access import campaign_of, require, user_of
from annotation.api.base.idempotency import Done, once
from annotation.api.base.inline_rows import as_file
from annotation.api.controls.controls import SENT, TAG
from annotation.models import Control
from annotation.operations.pool import add_controls_of, add_drafts_of
from annotation.pipeline.controls.controls import MOST_CHARACTERS
from annotation.pipeline.controls.import_controls import SHIPPED, Imported
from annotation.protocol.policy.tasks import PAPER_TASK, TASKS, TaskType
from core.rest.fields import Flag, Text
from core.rest.openapi import key_header, operation
from core.rest.parsing import body

MOST = 2000
EITHER = "Say which controls: either `controls` or `shipped`."


class TextsSent(serializers.Serializer[dict[str, Any]]):
    query = Text(max_length=MOST_CHARACTERS)
    question = Text(
        max_length=MOST_CHARACTERS, required=False, help_text="not needed for the task `answer`"
    )
    answer = Text(max_length=MOST_CHARACTERS)


class ControlsSent(serializers.Serializer[dict[str, Any]]):
    controls = serializers.ListField(
        child=TextsSent(), min_length=1, max_length=MOST, required=False
    )
    task = serializers.ChoiceField(
        choices=list(TASKS),
        default=PAPER_TASK.name,
        help_text="the controls are for campaigns of this task",
    )
    shipped = Flag(default=False, help_text="the controls that come with Quorum")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("controls" in attrs) == attrs["shipped"]:
            raise ValidationError(EITHER)
        return attrs


class ImportedAnswer(serializers.Serializer[dict[str, Any]]):
    read = serializers.IntegerField()
    added = serializers.IntegerField(help_text="new controls; the pool already had the others")
    pool = serializers.IntegerField(help_text="controls in use")


class ImportControls(APIView):
    @operation(
        "control_import",
        "Import controls into the pool",
        tag=TAG,
        description="If a row is no valid control, none is imported, and `errors` lists each. "
        "Controls that the pool has, or that were retired, are skipped. "
        f"Requires the permission `{CHANGE_CONTROLS}` for your account.",
        request=ControlsSent,
        sent={"controls": [SENT]},
        answers={200: ImportedAnswer},
        example={"read": 1, "added": 1, "pool": 81},
        refusals=[409, 422],
        parameters=[key_header(required=True)],
    )
    def post(self, request: Request) -> Response:
        require(request, CHANGE_CONTROLS)
        wanted = body(request, ControlsSent)
        by = by_api(user_of(request))

        def execute() -> Done:
            return Done(
                200, asdict(_imported(by, wanted.get("controls", ()), TASKS[wanted["task"]]))
            )

        return once(request, execute)


def _imported(by: Actor, controls: Sequence[Mapping[str, str]], task: TaskType) -> Imported:
    """Without any: those that come with Quorum."""
    if not controls:
        return add_controls_of(by, SHIPPED, SHIPPED.name, task)
    with as_file(controls, "controls") as path:
        return add_controls_of(by, path, path.name, task)


class DraftSent(serializers.Serializer[dict[str, Any]]):
    kind = serializers.ChoiceField(choices=Control.Kind.choices)
    query = Text(max_length=MOST_CHARACTERS, help_text="one of the campaign's")
    question = Text(max_length=MOST_CHARACTERS)
    answer = Text(
        max_length=MOST_CHARACTERS,
        required=False,
        help_text="of a positive, the query's own if it is left out",
    )


class DraftsSent(serializers.Serializer[dict[str, Any]]):
    drafts = serializers.ListField(child=DraftSent(), min_length=1, max_length=MOST)


class ImportedDraftsAnswer(serializers.Serializer[dict[str, Any]]):
    read = serializers.IntegerField()
    added = serializers.IntegerField(help_text="the rest was drafted before")
    open = serializers.IntegerField(help_text="drafts that wait for a person now")


class ImportControlDrafts(APIView):
    @operation(
        "control_draft_import",
        "Import drafts of a campaign's own controls, such as a model's paraphrases",
        tag=TAG,
        description="A person confirms each. If one is not valid, none is imported, and `errors` "
        f"lists each. Requires the permission `{CHANGE_CONTROLS}`.",
        request=DraftsSent,
        sent={"drafts": [{"kind": "positive", **SENT}]},
        answers={200: ImportedDraftsAnswer},
        example={"read": 1, "added": 1, "open": 12},
        refusals=[404, 409, 422],
        parameters=[key_header(required=True)],
    )
    def post(self, request: Request, name: str) -> Response:
        campaign = campaign_of(request, name, CHANGE_CONTROLS)
        wanted = body(request, DraftsSent)
        by = by_api(user_of(request))

        def execute() -> Done:
            with as_file(wanted["drafts"], "drafts") as path:
                return Done(200, asdict(add_drafts_of(by, campaign, path, path.name)))

        return once(request, execute)
