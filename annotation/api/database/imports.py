"""Files of q/a pairs into the database: sent as a form, read by a job, refused rows and all."""

import hashlib
import itertools
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.sessions.backends.db import SessionStore
from django.db import Error, close_old_connections
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from rest_framework import serializers
from rest_framework.authentication import SessionAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.generics import get_object_or_404
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.access.audit_log import by_api
from annotation.api.base.access import require, user_of
from annotation.api.base.authentication import BearerToken
from annotation.api.base.idempotency import Done, once
from annotation.api.base.jobs import ROW, JobRow, accepted, visible_jobs
from annotation.jobs.requests import ask_to_import
from core.errors import UserError
from core.rest.openapi import key_header, operation
from core.rest.pagination import OffsetPages, offset_page
from core.rest.parsing import body
from retrieval.api.access import MayViewCorpus
from retrieval.corpus.pair_reader import MAX_LICENSE, MAX_SOURCE
from retrieval.corpus.sources.formats import FORMATS
from retrieval.jobs.import_files import KIND, MOST_REJECTED, ImportRequest, rejected_rows
from retrieval.models import Corpus, Job
from retrieval.models.corpus import ALL
from retrieval.web.access import BUILD, IMPORT
from retrieval.web.upload_stream import MOST_NAME, Received, receiving

TAG = "database"
MOST_FIELD = 100


class ImportSent(serializers.Serializer[dict[str, Any]]):
    """As a form with files (multipart/form-data), of any number of megabytes."""

    source = serializers.CharField(
        max_length=MAX_SOURCE, help_text="the licence that every pair keeps"
    )  # type: ignore[assignment]
    format = serializers.ChoiceField(
        choices=sorted(FORMATS),
        required=False,
        help_text="the publisher's own format; otherwise the file's extension decides",
    )
    license = serializers.CharField(max_length=MAX_LICENSE, required=False)
    share = serializers.CharField(
        max_length=10,
        required=False,
        help_text="share of the best pairs to import, for example 10%",
    )
    score_field = serializers.CharField(
        max_length=MOST_FIELD, required=False, help_text="the column that ranks the pairs"
    )
    by_encoder = serializers.BooleanField(
        default=False, help_text="rank the pairs by the site's encoder instead"
    )
    corpus = serializers.CharField(
        max_length=Corpus.MAX_NAME, default=ALL, help_text="that the source joins"
    )
    index = serializers.BooleanField(
        default=False,
        help_text=f"build the corpus's index again afterwards; takes the permission `{BUILD}`",
    )


class ImportForm(ImportSent):
    """What the description shows: the files beside the fields."""

    files = serializers.ListField(child=serializers.FileField(), help_text="one or more files")


class RejectedRow(serializers.Serializer[dict[str, Any]]):
    file = serializers.CharField()
    line = serializers.IntegerField()
    reason = serializers.CharField()
    text = serializers.CharField(help_text="the beginning of the row")


class ImportersSession(SessionAuthentication):
    """Its check against forgery reads the form: gigabytes, of those alone who may send them."""

    def enforce_csrf(self, request: Request) -> None:
        require(request._request, IMPORT)
        super().enforce_csrf(request)


def may_send(request: HttpRequest) -> bool:
    """Whether the session or the token is of somebody who may import, before a body is taken."""
    close_old_connections()
    try:
        request.session = SessionStore(request.COOKIES.get(settings.SESSION_COOKIE_NAME))
        by_token = BearerToken().authenticate(request)
        user = by_token[0] if by_token else get_user(request)
        return user.has_perm(IMPORT)
    except (AuthenticationFailed, Error):
        return False
    finally:
        close_old_connections()


class Import(APIView):
    authentication_classes = [BearerToken, ImportersSession]
    permission_classes = [MayViewCorpus]
    parser_classes = [MultiPartParser]
    received: Received

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Before anything of it is read: files go straight to the folder of their import."""
        with receiving(request) as self.received:
            return super().dispatch(request, *args, **kwargs)

    @operation(
        "pair_import",
        "Import files of question/answer pairs",
        tag=TAG,
        description="Send the files as multipart/form-data. The answer is a job; its result says "
        "what was read, added and rejected in each file. Requires the permission "
        f"`{IMPORT}`.",
        request={"multipart/form-data": ImportForm},
        sent={"source": "faq", "license": "CC-BY-4.0", "files": ["pairs.jsonl"]},
        answers={202: JobRow},
        example={**ROW, "kind": "ingest", "subject": "source faq", "stage": "", "done": 0},
        refusals=[409, 422],
        parameters=[key_header(required=True)],
        auth=["token", "cookieAuth"],
    )
    def post(self, request: Request) -> Response:
        require(request, IMPORT)
        # The reading of the form fills the folder.
        wanted = ImportRequest(**body(request, ImportSent))
        if wanted.index:
            require(request, BUILD)
        received = self.received

        def execute() -> Done:
            by = by_api(user_of(request))
            job = ask_to_import(by, wanted, received.files, received.folder)
            received.kept = True
            return accepted(job)

        if received.fault:
            raise UserError(received.fault)
        return once(request, execute, files=list(_digests(received)))


class Rejected(APIView):
    permission_classes = [MayViewCorpus]
    pagination_class = OffsetPages

    @operation(
        "import_rejected",
        "List the rows that an import rejected, by file",
        tag=TAG,
        description=f"Of each file the first {MOST_REJECTED:,}; for a month, then they are gone.",
        answers={200: RejectedRow(many=True)},
        example={
            "file": "pairs.csv",
            "line": 12,
            "reason": "the answer is empty",
            "text": "How is bread made?,",
        },
        refusals=[404],
    )
    def get(self, request: Request, pk: int) -> Response:
        job = get_object_or_404(visible_jobs(request), pk=pk, kind=KIND)
        if not job.is_over:
            raise Http404
        return offset_page(self, _rejected(job), RejectedRow)


def _digests(received: Received) -> Iterator[str]:
    for file in received.files:
        with (received.folder / file.stored).open("rb") as stream:
            yield f"{file.name[:MOST_NAME]} {hashlib.file_digest(stream, 'sha256').hexdigest()}"


def _rejected(job: Job) -> Iterator[dict[str, Any]]:
    files = enumerate(job.arguments["files"], 1)
    return itertools.chain.from_iterable(
        ({"file": file["name"], **row} for row in rejected_rows(job, number))
        for number, file in files
    )
