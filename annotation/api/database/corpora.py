"""The corpora, and new ones."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access.audit_log import by_api
from annotation.api.base.access import require, user_of
from annotation.operations.corpora import save_corpus
from core.rest.fields import Text
from core.rest.openapi import operation
from core.rest.parsing import body
from retrieval.api.corpora import ROW, TAG, Corpora, CorpusRow
from retrieval.corpus.corpora import corpora
from retrieval.corpus.pair_reader import MAX_SOURCE
from retrieval.models import Corpus
from retrieval.web.access import BUILD

MOST_SOURCES = 1_000


class NewCorpus(serializers.Serializer[dict[str, Any]]):
    name = Text(max_length=Corpus.MAX_NAME)
    sources = serializers.ListField(
        child=Text(max_length=MAX_SOURCE), max_length=MOST_SOURCES, default=list
    )


class AllCorpora(Corpora):
    @operation(
        "corpus_create",
        "Create a corpus",
        tag=TAG,
        description=f"Refuses a name that is taken. Requires the permission `{BUILD}`.",
        request=NewCorpus,
        sent={"name": "coffee", "sources": ["faq"]},
        answers={201: CorpusRow},
        example={**ROW, "indexed": None},
        refusals=[422],
    )
    def post(self, request: Request) -> Response:
        require(request, BUILD)
        sent = body(request, NewCorpus)
        made = save_corpus(by_api(user_of(request)), sent["name"], sent["sources"])
        [row] = [one for one in corpora() if one.corpus == made.name]
        return Response(CorpusRow(row).data, status=201)
