"""A campaign's policy in the API: described, read and checked by the one object that has it."""

from dataclasses import fields
from typing import Any, get_args, get_origin, get_type_hints

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from annotation.pipeline.setup.create import policy_from
from annotation.protocol.policy.policy import Policy, PolicyError

_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string"}


def _described(hint: Any, default: object) -> dict[str, Any]:
    bare, rule = get_args(hint)
    described: dict[str, Any] = {"description": rule.demand, "default": default}
    if get_args(bare) and get_origin(bare) is not None and bare not in _TYPES:
        options = get_args(bare)
        if all(isinstance(option, str) for option in options):
            return described | {"type": "string", "enum": list(options)}
        return described | {"type": "number"}  # a count or a share
    return described | {"type": _TYPES[bare]}


def policy_schema() -> dict[str, Any]:
    """Every field of a policy, with what it demands and the paper's value."""
    hints = get_type_hints(Policy, include_extras=True)
    properties = {each.name: _described(hints[each.name], each.default) for each in fields(Policy)}
    return {"type": "object", "properties": properties, "additionalProperties": False}


@extend_schema_field(policy_schema())
class PolicyField(serializers.Field[Policy, dict[str, Any], dict[str, Any], Any]):
    """Sent: what differs from the paper's, or from what suits a crowd of one's own."""

    def to_internal_value(self, data: Any) -> Policy:
        try:
            return policy_from(data) if isinstance(data, dict) else Policy.from_dict(data)
        except PolicyError as error:
            raise serializers.ValidationError(list(error.faults)) from error

    def to_representation(self, value: Policy) -> dict[str, Any]:
        return value.to_dict()
