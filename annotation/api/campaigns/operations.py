"""What people do to a campaign: an operation for each act, made from the table of acts."""

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
from annotation.operations.campaign.operation import Act, Field, perform
from annotation.operations.campaign.registry import ACTS
from core.rest.fields import Flag, Text, Whole
from core.rest.openapi import key_header, operation
from core.rest.parsing import body

LONGEST_TEXT = 2000
LONGEST_NAME = 100
AGREED = "false: only what would follow is told; true: it is carried out"
SAMPLES = {"dollars": "12.50", "worker": "A1B2C3", "assignment": "3XYZ", "text": "Thank you."}


class ActAnswer(serializers.Serializer[dict[str, Any]]):
    agreed = serializers.BooleanField()
    sentences = serializers.ListField(
        child=serializers.CharField(), help_text="what follows, or has followed"
    )
    result = serializers.DictField(
        allow_null=True, help_text="the act's figures; null where it was not carried out"
    )


class ActView(APIView):
    """First told, then done: `agreed` says which."""

    act: Act
    sent: type[serializers.Serializer[Any]]

    def post(self, request: Request, name: str) -> Response:
        campaign = campaign_of(request, name)
        require(request, self.act.permission, campaign)
        options = body(request, self.sent)
        if options.pop("agreed"):
            return once(request, lambda: self._carried_out(campaign, options))
        check_key(request)
        sentences = list(self.act.foresee(campaign, options))
        return Response({"agreed": False, "sentences": sentences, "result": None})

    def _carried_out(self, campaign: Campaign, options: dict[str, Any]) -> Done:
        sentences = list(self.act.foresee(campaign, options))
        result = perform(self.act, campaign, options, by=by_api(user_of(self.request)))
        if self.act.calls and campaign.endpoint:
            soon(deliver_campaign, campaign.pk)
        return Done(200, {"agreed": True, "sentences": sentences, "result": result})


def act_view(act: Act) -> type[ActView]:
    """The act's operation, with its fields in the description."""
    title = "".join(word.capitalize() for word in act.name.split("-"))
    fields: dict[str, object] = {field.name: _field(field) for field in act.fields}
    fields["agreed"] = Flag(help_text=AGREED)
    sent = type(f"{title}ActSerializer", (serializers.Serializer,), fields)
    documented = operation(
        f"campaign_act_{act.name.replace('-', '_')}",
        f"{act.name.replace('-', ' ').capitalize()}: {act.help}",
        tag="acts",
        request=sent,
        sent={**{field.name: _sample(field) for field in act.fields}, "agreed": False},
        answers={200: ActAnswer},
        example={"agreed": False, "sentences": ["Nothing more is bought."], "result": None},
        refusals=[404, 409, 422],
        parameters=[key_header(required=False)],
        description=_words(act),
    )
    view = type(f"{title}Act", (ActView,), {"act": act, "sent": sent})
    return extend_schema_view(post=documented)(view)


def _words(act: Act) -> str:
    notes = [f"Takes the permission `{act.permission}`."]
    if act.spends:
        notes.append("It spends money, or may from then on.")
    if act.for_good:
        notes.append("It cannot be taken back.")
    return f"{act.help[0].upper()}{act.help[1:]}. {' '.join(notes)}"


def _field(field: Field) -> serializers.Field[Any, Any, Any, Any]:
    about: dict[str, Any] = {"label": field.label, "help_text": field.help}
    if field.default is not None:
        about |= {"required": False, "default": field.default}
    if field.kind == "count":
        return Whole(min_value=field.least, max_value=field.most, **about)
    return Text(max_length=LONGEST_TEXT if field.kind == "text" else LONGEST_NAME, **about)


def _sample(field: Field) -> object:
    return field.least if field.kind == "count" else SAMPLES.get(field.kind, "")


ACT_VIEWS = {act.name: act_view(act) for act in ACTS.values()}
