"""What people do to a campaign or the database: a call for each operation of the registry.

A long one is a job, whose address the answer tells.
"""

from typing import Any

from drf_spectacular.utils import extend_schema_view
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.access.audit_log import by_api
from annotation.api.base.access import campaign_of, require, user_of
from annotation.api.base.idempotency import Done, check_key, once
from annotation.api.base.jobs import ROW, JobRow, accepted
from annotation.jobs.requests import request_operation
from annotation.jobs.tasks import deliver_campaign, soon
from annotation.models import Campaign
from annotation.operations.operation import MOST, Argument, LongOperation, Operation, perform
from annotation.operations.registry import DATABASE_OPERATIONS, LONG_OPERATIONS, OPERATIONS
from core.rest.fields import Flag, Share, Text, Whole
from core.rest.openapi import key_header
from core.rest.openapi import operation as described
from core.rest.parsing import body

AGREED = "false: only preview it; true: execute it"
PREVIEW = {"agreed": False, "sentences": ["No more work is requested."]}
SAMPLES = {
    "money": "12.50",
    "worker": "A1B2C3",
    "assignment": "3XYZ",
    "account": "cleo",
    "text": "Thank you.",
    "corpus": "coffee",
    "source": "faq",
    "sources": ["faq"],
    "name": "coffee",
    # By name rather than by kind:
    "query": "how many days has a week",
    "question": "days of a week",
    "answer": "Seven.",
    "requester": "lab",
}


class OperationAnswer(serializers.Serializer[dict[str, Any]]):
    agreed = serializers.BooleanField()
    sentences = serializers.ListField(
        child=serializers.CharField(), help_text="the effect of the operation, in sentences"
    )
    result = serializers.DictField(
        allow_null=True, help_text="null: the operation was only previewed"
    )


class OperationView(APIView):
    """Previewed or carried out: `agreed` says which."""

    operation: Operation
    sent: type[serializers.Serializer[Any]]

    def post(self, request: Request, name: str = "") -> Response:
        campaign = campaign_of(request, name) if name else None
        _require(request, self.operation, campaign)
        options = self.operation.complete(body(request, self.sent))
        if options.pop("agreed"):
            return once(request, lambda: self._perform(campaign, options))
        check_key(request)
        sentences = self._preview(campaign, options)
        return Response({"agreed": False, "sentences": sentences, "result": None})

    def _preview(self, campaign: Campaign | None, options: dict[str, Any]) -> list[str]:
        by = by_api(user_of(self.request))
        return list(self.operation.preview(campaign, {**options, "by": by}))

    def _perform(self, campaign: Campaign | None, options: dict[str, Any]) -> Done:
        sentences = self._preview(campaign, options)
        result = perform(self.operation, campaign, options, by=by_api(user_of(self.request)))
        if campaign and self.operation.calls_crowd and campaign.endpoint:
            soon(deliver_campaign, campaign.pk)
        return Done(200, {"agreed": True, "sentences": sentences, "result": result})


class PreviewAnswer(serializers.Serializer[dict[str, Any]]):
    agreed = serializers.BooleanField()
    sentences = serializers.ListField(child=serializers.CharField())


class LongOperationView(APIView):
    """A job; first previewed, where the operation can tell what would follow."""

    operation: LongOperation
    sent: type[serializers.Serializer[Any]]

    def post(self, request: Request, name: str) -> Response:
        operation = self.operation
        campaign = campaign_of(request, name)
        _require(request, operation, campaign)
        options = body(request, self.sent)
        if options.pop("agreed", True):
            by = by_api(user_of(request))
            return once(
                request, lambda: accepted(request_operation(operation, campaign, options, by=by))
            )
        check_key(request)
        assert operation.preview is not None
        sentences = list(operation.preview(campaign, operation.complete(options)))
        return Response({"agreed": False, "sentences": sentences})


def _require(
    request: Request, operation: Operation | LongOperation, campaign: Campaign | None
) -> None:
    require(request, operation.permission, None if operation.everywhere else campaign)
    if operation.also:
        require(request, operation.also, campaign)


def view_of(operation: Operation | LongOperation) -> type[APIView]:
    """With the operation's arguments in its description."""
    title = _id(operation).title().replace("_", "")
    fields: dict[str, object] = {one.name: _field(one) for one in operation.arguments}
    # Pairs are named in place of a source, and ids of queries in place of a draw.
    either = ("pairs", "queries")
    sample = {one.name: _sample(one) for one in operation.arguments if one.kind not in either}
    is_long = isinstance(operation, LongOperation)
    answers: dict[int, Any] = {202: JobRow} if is_long else {200: OperationAnswer}
    if operation.preview is not None:
        fields["agreed"], sample["agreed"] = Flag(help_text=AGREED), False
        answers.setdefault(200, PreviewAnswer)
    examples: dict[int, Any] = {200: {**PREVIEW, "result": None}}
    if isinstance(operation, LongOperation):
        examples = {200: {**PREVIEW, "sentences": list(operation.example)}, 202: _job(operation)}
    sent = type(f"{title}Serializer", (serializers.Serializer,), fields)
    documented = described(
        _id(operation),
        f"{operation.words}: {operation.help}",
        tag="campaigns" if is_long else "operations",
        request=sent,
        sent=sample,
        answers=answers,
        examples={status: examples[status] for status in answers},
        refusals=[404, 409, 422],
        parameters=[key_header(required=operation.preview is None)],
        description=_description(operation),
    )
    base = LongOperationView if is_long else OperationView
    view = type(f"{title}Operation", (base,), {"operation": operation, "sent": sent})
    return extend_schema_view(post=documented)(view)


def _id(operation: Operation | LongOperation) -> str:
    noun, verb = "campaign", ""
    if isinstance(operation, Operation):
        noun, verb = operation.noun, operation.verb
    return f"{noun}_{verb or operation.name}".replace("-", "_")


def _description(operation: Operation | LongOperation) -> str:
    notes = [operation.sentence, f"Requires the permission `{operation.permission}`."]
    if operation.everywhere:
        notes.append("Your account needs it, because no role in a campaign is enough.")
    if operation.also:
        notes.append(f"In the campaign you also need `{operation.also}`.")
    if operation.spends:
        notes.append("It spends money, or may do so later.")
    if isinstance(operation, LongOperation):
        if operation.preview is not None:
            notes.append("With `agreed` false, it only says what would follow, and the price.")
        notes.append("The answer is a job; its address is in `Location`.")
    if isinstance(operation, Operation) and operation.irreversible:
        notes.append("It cannot be undone.")
    return " ".join(notes)


def _job(operation: LongOperation) -> dict[str, Any]:
    return {**ROW, "kind": operation.name, "state": "queued", "stage": "", "done": 0, "total": None}


def _field(argument: Argument) -> serializers.Field[Any, Any, Any, Any]:
    about: dict[str, Any] = {"label": argument.label, "help_text": argument.help or argument.label}
    if not argument.required:
        about["required"] = False
    if argument.default is not None:
        about["default"] = argument.default
    if argument.kind == "flag":
        return Flag(**about)
    if argument.kind == "share":
        return Share(**about)
    if argument.kind == "choice":
        return serializers.ChoiceField(choices=argument.choices, **about)
    if argument.kind == "choices":
        one = serializers.ChoiceField(choices=argument.choices)
        most = len(argument.choices)
        return serializers.ListField(child=one, min_length=1, max_length=most, **about)
    if argument.kind in MOST:
        each = Text(max_length=argument.longest)
        return serializers.ListField(child=each, max_length=MOST[argument.kind], **about)
    if argument.kind == "count":
        return Whole(min_value=argument.minimum, max_value=argument.maximum, **about)
    return Text(max_length=argument.longest, **about)


def _sample(argument: Argument) -> object:
    if argument.default is not None:
        return argument.default
    if argument.choices:
        return list(argument.choices) if argument.kind == "choices" else argument.choices[-1]
    if argument.kind == "count":
        return argument.minimum
    return SAMPLES.get(argument.name, SAMPLES[argument.kind])


DATABASE_VIEWS = {name: view_of(operation) for name, operation in DATABASE_OPERATIONS.items()}
VIEWS = {name: view_of(operation) for name, operation in OPERATIONS.items()}
LONG_VIEWS = {name: view_of(operation) for name, operation in LONG_OPERATIONS.items()}
