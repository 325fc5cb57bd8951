"""What people do to a campaign: a call for each operation, made from the registry."""

from typing import Any

from drf_spectacular.utils import extend_schema_view
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.access.audit_log import by_api
from annotation.api.base.access import campaign_of, require, user_of
from annotation.api.base.idempotency import Done, check_key, once
from annotation.jobs.tasks import deliver_campaign, soon
from annotation.models import Campaign
from annotation.operations.operation import Argument, Operation, perform
from annotation.operations.registry import OPERATIONS
from core.rest.fields import Flag, Text, Whole
from core.rest.openapi import key_header
from core.rest.openapi import operation as described
from core.rest.parsing import body

LONGEST_TEXT = 2000
LONGEST_NAME = 100
AGREED = "false: only preview it; true: carry it out"
SAMPLES = {"dollars": "12.50", "worker": "A1B2C3", "assignment": "3XYZ", "text": "Thank you."}


class OperationAnswer(serializers.Serializer[dict[str, Any]]):
    agreed = serializers.BooleanField()
    sentences = serializers.ListField(
        child=serializers.CharField(), help_text="what happens, or has happened"
    )
    result = serializers.DictField(allow_null=True, help_text="null: only previewed")


class OperationView(APIView):
    """Previewed or carried out: `agreed` says which."""

    operation: Operation
    sent: type[serializers.Serializer[Any]]

    def post(self, request: Request, name: str) -> Response:
        campaign = campaign_of(request, name)
        require(request, self.operation.permission, campaign)
        options = body(request, self.sent)
        if options.pop("agreed"):
            return once(request, lambda: self._perform(campaign, options))
        check_key(request)
        sentences = list(self.operation.preview(campaign, options))
        return Response({"agreed": False, "sentences": sentences, "result": None})

    def _perform(self, campaign: Campaign, options: dict[str, Any]) -> Done:
        sentences = list(self.operation.preview(campaign, options))
        result = perform(self.operation, campaign, options, by=by_api(user_of(self.request)))
        if self.operation.calls_crowd and campaign.endpoint:
            soon(deliver_campaign, campaign.pk)
        return Done(200, {"agreed": True, "sentences": sentences, "result": result})


def view_of(operation: Operation) -> type[OperationView]:
    """With the operation's arguments in its description."""
    title = "".join(word.capitalize() for word in operation.name.split("-"))
    fields: dict[str, object] = {one.name: _field(one) for one in operation.arguments}
    fields["agreed"] = Flag(help_text=AGREED)
    sent = type(f"{title}Serializer", (serializers.Serializer,), fields)
    documented = described(
        f"campaign_{operation.name.replace('-', '_')}",
        f"{operation.words}: {operation.help}",
        tag="operations",
        request=sent,
        sent={**{one.name: _sample(one) for one in operation.arguments}, "agreed": False},
        answers={200: OperationAnswer},
        example={"agreed": False, "sentences": ["No more work is requested."], "result": None},
        refusals=[404, 409, 422],
        parameters=[key_header(required=False)],
        description=_description(operation),
    )
    view = type(f"{title}Operation", (OperationView,), {"operation": operation, "sent": sent})
    return extend_schema_view(post=documented)(view)


def _description(operation: Operation) -> str:
    notes = [f"Requires the permission `{operation.permission}`."]
    if operation.spends:
        notes.append("It spends money, or may do so later.")
    if operation.irreversible:
        notes.append("It cannot be undone.")
    return f"{operation.help[0].upper()}{operation.help[1:]}. {' '.join(notes)}"


def _field(argument: Argument) -> serializers.Field[Any, Any, Any, Any]:
    about: dict[str, Any] = {"label": argument.label, "help_text": argument.help}
    if argument.default is not None:
        about |= {"required": False, "default": argument.default}
    if argument.kind == "count":
        return Whole(min_value=argument.minimum, max_value=argument.maximum, **about)
    return Text(max_length=LONGEST_TEXT if argument.kind == "text" else LONGEST_NAME, **about)


def _sample(argument: Argument) -> object:
    return argument.minimum if argument.kind == "count" else SAMPLES.get(argument.kind, "")


VIEWS = {name: view_of(operation) for name, operation in OPERATIONS.items()}
