"""Many labels of experts at once: all of them, or none."""

from dataclasses import asdict
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.access.audit_log import Actor, by_api
from annotation.access.roles import RUN
from annotation.api.base.access import campaign_of, user_of
from annotation.api.base.idempotency import Done, once
from annotation.api.base.inline_rows import as_file
from annotation.api.experts.experts import TAG
from annotation.models import Campaign
from annotation.operations.gold import add_gold_of
from annotation.pipeline.gold.gold_file import MAX_EXPERT, MAX_NOTE
from annotation.pipeline.gold.import_gold import EXPERT
from core.rest.fields import Flag, Text, Whole
from core.rest.openapi import key_header, operation
from core.rest.parsing import body
from retrieval.corpus.pair_reader import MAX_ANSWER, MAX_QUESTION

MOST = 2000


class LabelSent(serializers.Serializer[dict[str, Any]]):
    query = Text(max_length=MAX_QUESTION)
    question = Text(max_length=MAX_QUESTION)
    label = Whole(  # type: ignore[assignment]
        min_value=0, max_value=1, help_text="1: equivalent; 0: not equivalent"
    )
    answer = Text(
        max_length=MAX_ANSWER, required=False, help_text="distinguishes pairs that share a question"
    )
    expert = Text(max_length=MAX_EXPERT, required=False)
    note = Text(max_length=MAX_NOTE, required=False, allow_blank=True)


class LabelsSent(serializers.Serializer[dict[str, Any]]):
    labels = serializers.ListField(child=LabelSent(), min_length=1, max_length=MOST)
    expert = Text(
        max_length=MAX_EXPERT,
        default=EXPERT,
        help_text="the expert's name, for labels that name none",
    )
    replace = Flag(default=False, help_text="replace labels that the same expert gave before")


class ImportedLabels(serializers.Serializer[dict[str, Any]]):
    rows = serializers.IntegerField()
    labels_new = serializers.IntegerField()
    labels_unchanged = serializers.IntegerField()
    labels_changed = serializers.IntegerField()
    rows_without_triplet = serializers.IntegerField(
        help_text="labels that match no triplet of the campaign"
    )
    first_lines_without = serializers.ListField(
        child=serializers.IntegerField(), help_text="the first such rows, counted from 1"
    )


class ImportExpertLabels(APIView):
    @operation(
        "expert_label_import",
        "Import labels that experts gave elsewhere",
        tag=TAG,
        description="The labels are kept beside the votes and never count as one. If a label "
        "contradicts another of the same expert, none is imported, and `errors` lists each. To "
        "replace labels that an expert gave before, send `replace`. Requires the permission "
        f"`{RUN}`.",
        request=LabelsSent,
        sent={
            "labels": [
                {"query": "How is bread made?", "question": "how do I bake bread", "label": 1}
            ],
            "expert": "cleo",
            "replace": False,
        },
        answers={200: ImportedLabels},
        example={
            "rows": 1, "labels_new": 1, "labels_unchanged": 0, "labels_changed": 0,
            "rows_without_triplet": 0, "first_lines_without": [],
        },
        refusals=[404, 409, 422],
        parameters=[key_header(required=True)],
    )  # fmt: skip
    def post(self, request: Request, name: str) -> Response:
        campaign = campaign_of(request, name, RUN)
        wanted = body(request, LabelsSent)
        by = by_api(user_of(request))
        return once(request, lambda: Done(200, _imported(by, campaign, wanted)))


def _imported(by: Actor, campaign: Campaign, wanted: dict[str, Any]) -> dict[str, Any]:
    with as_file(wanted["labels"], "labels") as path:
        imported = add_gold_of(
            by, campaign, path, path.name, expert=wanted["expert"], replace=wanted["replace"]
        )
    return asdict(imported)
