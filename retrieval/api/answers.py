"""Answering a question by the best pair of the database."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from core.rest.fields import Flag, Text, Whole
from core.rest.openapi import operation
from core.rest.parsing import body
from retrieval.answering.answer import CANDIDATES
from retrieval.api.access import MayViewCorpus
from retrieval.api.corpora import CorpusName
from retrieval.api.search import RECALL
from retrieval.corpus.corpora import corpus_named
from retrieval.corpus.pair_reader import MAX_QUESTION
from retrieval.models.corpus import ALL
from retrieval.web.answers import answered

MOST = 1_000
ROW = {
    "pair": 4012,
    "source": "faq",
    "source_id": "17",
    "question": "how do I bake bread",
    "answer": "Of flour, water, yeast and salt.",
    "license": "CC-BY-4.0",
    "rank": 3,
    "score": 0.934871,
}


class QuestionSent(serializers.Serializer[dict[str, Any]]):
    question = Text(max_length=MAX_QUESTION)
    k = Whole(
        min_value=1,
        max_value=MOST,
        default=CANDIDATES,
        help_text="number of pairs that the retriever finds for the selector to choose from",
    )
    corpus = CorpusName(default=ALL)
    fresh = Flag(default=False, help_text="refuse an index that lacks pairs of the corpus")


class ChoiceRow(serializers.Serializer[Any]):
    pair = serializers.IntegerField(source="pair.pk")
    source = serializers.CharField(source="pair.source")  # type: ignore[assignment]
    source_id = serializers.CharField(source="pair.source_id")
    question = serializers.CharField(source="pair.question")
    answer = serializers.CharField(source="pair.answer")
    license = serializers.CharField(source="pair.license")
    rank = serializers.IntegerField(help_text="the retriever's")
    score = serializers.FloatField(
        help_text="the selector's score, from 0 to 1; without a selector, the cosine"
    )


class AnsweredQuestion(serializers.Serializer[Any]):
    question = serializers.CharField()
    answer = ChoiceRow(allow_null=True, help_text="null if no score reaches the threshold")
    nearest = ChoiceRow(many=True, help_text="other pairs, best first")
    candidates = serializers.IntegerField(help_text="number of pairs found")
    selector = serializers.CharField(
        allow_null=True, help_text="null: no selector; the retriever's order and cosines count"
    )
    threshold = serializers.FloatField(
        allow_null=True,
        help_text="minimum score of an answer; null: the top pair is always the answer",
    )
    pairs_not_indexed = serializers.IntegerField(help_text="newer than the index: not found")
    recall = serializers.FloatField(allow_null=True, help_text=RECALL)


class Answers(APIView):
    permission_classes = [MayViewCorpus]

    @operation(
        "pair_answer",
        "Answer a question from the best pair",
        tag="database",
        description=(
            "The retriever finds k pairs in the corpus's current index, and the site's answer "
            "selector chooses one of them. Without a selector, the retriever's first pair is "
            "used. This operation is read-only."
        ),
        request=QuestionSent,
        sent={"question": "how is bread made", "k": 500},
        answers={200: AnsweredQuestion},
        example={
            "question": "how is bread made",
            "answer": ROW,
            "nearest": [],
            "candidates": 500,
            "selector": "faq-qaq",
            "threshold": 0.37,
            "pairs_not_indexed": 0,
            "recall": None,
        },
        refusals=[422],
    )
    def post(self, request: Request) -> Response:
        asked = body(request, QuestionSent)
        corpus = corpus_named(asked["corpus"])
        answer, among = answered(asked["question"], asked["k"], corpus, fresh=asked["fresh"])
        names = AnsweredQuestion().fields.keys() - among.keys()
        details = {name: getattr(answer, name) for name in names} | among
        return Response(AnsweredQuestion(details).data)
