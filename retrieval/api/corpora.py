"""The corpora: named sets of sources."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from core.rest.fields import Text
from core.rest.openapi import operation
from retrieval.api.access import MayViewCorpus
from retrieval.corpus.corpora import corpora
from retrieval.models import Corpus

TAG = "database"
ROW = {"corpus": "coffee", "sources": ["coffee-faq"], "indexed": 300}


class CorpusName(Text):
    def __init__(self, **options: Any) -> None:
        words = {"help_text": "name of the corpus; `all` has every pair"}
        super().__init__(**{"max_length": Corpus.MAX_NAME, **words, **options})


class CorpusRow(serializers.Serializer[Any]):
    corpus = serializers.CharField(help_text="`all` is built in and has every source")
    sources = serializers.ListField(child=serializers.CharField())
    indexed = serializers.IntegerField(
        allow_null=True, help_text="pairs of its current index; null: it has none"
    )


class CorporaAnswer(serializers.Serializer[Any]):
    corpora = CorpusRow(many=True)


class Corpora(APIView):
    permission_classes = [MayViewCorpus]

    @operation(
        "corpus_list",
        "List corpora with their sources",
        tag=TAG,
        answers={200: CorporaAnswer},
        example={"corpora": [ROW]},
    )
    def get(self, request: Request) -> Response:
        return Response(CorporaAnswer({"corpora": corpora()}).data)
