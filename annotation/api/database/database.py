"""What is done to the q/a database: indexes are built, sources counted."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.access.audit_log import by_api
from annotation.api.base.access import require, user_of
from annotation.api.base.idempotency import once
from annotation.api.base.jobs import ROW as JOB
from annotation.api.base.jobs import JobRow, accepted
from annotation.jobs.requests import ask_for_count, ask_for_index
from core.rest.fields import Flag, Share, Text
from core.rest.openapi import key_header, operation
from core.rest.parsing import Nothing, body
from retrieval.api.access import MayViewCorpus
from retrieval.api.corpora import CorpusName
from retrieval.indexing.plan import AUTO, BuildOptions
from retrieval.jobs.handlers import IndexRequest
from retrieval.models import IndexForm, IndexKind
from retrieval.models.corpus import ALL
from retrieval.web.access import BUILD

TAG = "database"
LEAST_RECALL = 0.01


class IndexSent(serializers.Serializer[dict[str, Any]]):
    form = serializers.ChoiceField(choices=IndexForm.choices, default=IndexForm.QQA)
    kind = serializers.ChoiceField(
        choices=[AUTO, *IndexKind.values],
        default=AUTO,
        help_text="auto: the kind that fits the number of pairs and the memory",
    )
    recall = Share(
        min_value=LEAST_RECALL,
        default=BuildOptions.recall,
        help_text="minimum share of the exact nearest 30 pairs that an approximate kind must find",
    )
    words = Flag(default=True, help_text="also index the words, for BM25 search")
    model = Text(
        max_length=100,
        required=False,
        default="",
        allow_blank=True,
        help_text="a registered retriever's name; empty: the encoder of the settings",
    )
    corpus = CorpusName(default=ALL)


class BuildIndex(APIView):
    permission_classes = [MayViewCorpus]

    @operation(
        "index_build",
        "Rebuild a corpus's index over its pairs that are not withdrawn",
        tag=TAG,
        description="The answer is a job; its address is in `Location`. It keeps what is encoded "
        f"already. Requires the permission `{BUILD}`.",
        request=IndexSent,
        sent={"form": "QQA", "kind": "auto", "recall": 0.95, "words": True},
        answers={202: JobRow},
        example={**JOB, "kind": "index", "subject": "the database", "stage": "encoding the pairs"},
        refusals=[409, 422],
        parameters=[key_header(required=True)],
    )
    def post(self, request: Request) -> Response:
        require(request, BUILD)
        wanted = IndexRequest(**body(request, IndexSent))
        by = by_api(user_of(request))
        return once(request, lambda: accepted(ask_for_index(by, wanted)))


class CountSources(APIView):
    permission_classes = [MayViewCorpus]

    @operation(
        "source_count",
        "Recount the pairs of each source",
        tag=TAG,
        description="The answer is a job; `source_list` then shows the counts.",
        request=Nothing,
        sent={},
        answers={202: JobRow},
        example={**JOB, "kind": "count", "subject": "the database", "stage": ""},
        refusals=[409, 422],
        parameters=[key_header(required=True)],
    )
    def post(self, request: Request) -> Response:
        body(request, Nothing)
        by = by_api(user_of(request))
        return once(request, lambda: accepted(ask_for_count(by)))
