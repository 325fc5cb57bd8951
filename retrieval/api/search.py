"""Looking for pairs by words, by meaning, or by both."""

from dataclasses import replace
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from core.rest.fields import Flag, Text, Whole
from core.rest.openapi import operation
from core.rest.parsing import body
from retrieval.api.access import MayViewCorpus
from retrieval.api.corpora import CorpusName
from retrieval.corpus.corpora import corpus_named
from retrieval.corpus.pair_reader import MAX_QUESTION
from retrieval.models.corpus import ALL
from retrieval.search.search_session import DEPTH
from retrieval.web.search import RETRIEVERS
from retrieval.web.search_runner import find

RECALL = (
    "share of the nearest pairs that the index finds, as measured at its build; null: it compares "
    "every pair"
)


class SearchSent(serializers.Serializer[dict[str, Any]]):
    question = Text(max_length=MAX_QUESTION)
    by = serializers.ChoiceField(choices=sorted(RETRIEVERS), default="both")
    most = Whole(min_value=1, max_value=DEPTH, default=10)
    corpus = CorpusName(default=ALL)
    fresh = Flag(default=False, help_text="refuse an index that lacks pairs of the corpus")


class SearchResult(serializers.Serializer[Any]):
    pair = serializers.IntegerField(source="pair.pk")
    source = serializers.CharField(source="pair.source")  # type: ignore[assignment]
    source_id = serializers.CharField(source="pair.source_id")
    question = serializers.CharField(source="pair.question")
    answer = serializers.CharField(source="pair.answer")
    license = serializers.CharField(source="pair.license")
    rank = serializers.IntegerField(source="hit.rank")
    score = serializers.FloatField(source="hit.score", help_text="cosine")
    found_by = serializers.DictField(
        source="hit.found_by",
        child=serializers.IntegerField(),
        help_text="the pair's rank in each retriever that found it",
    )


class SearchAnswer(serializers.Serializer[Any]):
    results = SearchResult(many=True)
    pairs_not_indexed = serializers.IntegerField(help_text="newer than the index: not found")
    recall = serializers.FloatField(allow_null=True, help_text=RECALL)


class Search(APIView):
    permission_classes = [MayViewCorpus]

    @operation(
        "pair_search",
        "Search pairs by words (BM25), by meaning (dense), or by both",
        tag="database",
        description="Searches the current index of the corpus. This operation is read-only.",
        request=SearchSent,
        sent={"question": "how is bread made", "by": "meaning", "most": 10},
        answers={200: SearchAnswer},
        example={
            "results": [
                {
                    "pair": 4012,
                    "source": "faq",
                    "source_id": "17",
                    "question": "how do I bake bread",
                    "answer": "Of flour, water, yeast and salt.",
                    "license": "CC-BY-4.0",
                    "rank": 1,
                    "score": 0.812345,
                    "found_by": {"dense": 1},
                }
            ],
            "pairs_not_indexed": 0,
            "recall": None,
        },
        refusals=[422],
    )
    def post(self, request: Request) -> Response:
        sent = body(request, SearchSent)
        corpus = corpus_named(sent["corpus"])
        hits = find(sent["question"], RETRIEVERS[sent["by"]], corpus, fresh=sent["fresh"])
        kept = replace(hits, results=hits.results[: sent["most"]])
        return Response(SearchAnswer(kept).data)
