"""The rules for the fields of a study."""

import math
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from annotation.crowd.prolific.emulator.errors import invalid, unsupported
from annotation.crowd.prolific.emulator.fields import Fields, is_id, is_whole
from annotation.crowd.prolific.emulator.readings import Readings
from annotation.crowd.prolific.emulator.state.eligibility import CHECKS, JOINED, UNLIMITED
from annotation.crowd.prolific.emulator.state.studies import SCREEN_OUT

ID_OPTIONS = ("question", "url_parameters", "not_required")
DEVICES = ("desktop", "tablet", "mobile")
PERIPHERALS = ("audio", "camera", "download", "microphone")
WARNINGS = ("sensitive", "explicit")
ACTIONS = (
    "AUTOMATICALLY_APPROVE",
    "MANUALLY_REVIEW",
    "ADD_TO_PARTICIPANT_GROUP",
    "REMOVE_FROM_PARTICIPANT_GROUP",
    "REQUEST_RETURN",
    "DYNAMIC_PAYMENT",
    SCREEN_OUT,
)
ACTORS = ("participant", "researcher")
LEAST_SCREEN_OUT_CENTS = 10
LEAST_HOURLY_CENTS = {"GBP": 600, "USD": 800}
TAGS = ("b", "i", "em", "strong", "s", "u", "h1", "h2", "ol", "ul", "li", "p")
UNSUPPORTED = ("access_details", "data_collection_method", "filter_set_id", "credential_pool_id")
NOT_YOURS = "You do not have permission to use this feature."
MOST_NESTED = 8  # filters within filters; the real limit is not documented


def checked_study(body: Mapping[str, Any], readings: Readings) -> dict[str, Any]:
    """All fields of a study with their defaults, or ApiError."""
    for name in UNSUPPORTED:
        if body.get(name):
            raise unsupported(name)
    fields = Fields(body)
    minutes = fields.number("estimated_completion_time", 1, required=True) or 1
    described = readings.required == "described"
    study: dict[str, Any] = {
        "name": fields.text("name", required=True),
        "internal_name": fields.text("internal_name"),
        "description": cleaned(fields.text("description", required=True) or ""),
        "external_study_url": _url(fields),
        "is_external_study_url_secure": _secured(fields, readings),
        "prolific_id_option": fields.choice("prolific_id_option", ID_OPTIONS, required=True),
        "total_available_places": fields.number("total_available_places", 1, required=True),
        "estimated_completion_time": minutes,
        "maximum_allowed_time": _minutes(fields, minutes, readings),
        "reward": fields.number("reward", 1, required=True),
        "device_compatibility": fields.choices("device_compatibility", DEVICES),
        "peripheral_requirements": fields.choices("peripheral_requirements", PERIPHERALS),
        "content_warnings": fields.choices("content_warnings", WARNINGS),
        "content_warning_details": fields.text("content_warning_details", most=1_000),
        "naivety_distribution_rate": _rate(fields, body),
        "metadata": fields.text("metadata"),
        "completion_codes": _list(fields, body, "completion_codes", required=described),
        "filters": _list(fields, body, "filters", required=described),
        "submissions_config": _config(fields, body),
    }
    fields.check()
    _check_codes(study["completion_codes"], study["reward"] or 0, readings)
    for rule in study["filters"]:
        _check_filter(rule, MOST_NESTED)
    return study


def is_low_pay(study: Mapping[str, Any], currency: str) -> bool:
    hourly = study["reward"] * 60 / study["estimated_completion_time"]
    return bool(hourly < LEAST_HOURLY_CENTS[currency])


def cleaned(text: str) -> str:
    """Without the tags that Prolific does not keep, and without attributes."""

    def kept(tag: re.Match[str]) -> str:
        slash, name = tag[1], tag[2].lower()
        return f"<{slash}{name}>" if name in TAGS else ""

    return re.sub(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)[^>]*>", kept, text)


def _url(fields: Fields) -> str:
    text = fields.text("external_study_url", required=True) or ""
    try:
        parts = urlsplit(text)
        is_web = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        is_web = False
    if text and not is_web:
        fields.refuse("external_study_url", "Enter a valid URL.")
    return text


def _secured(fields: Fields, readings: Readings) -> bool:
    name, lacking = "is_external_study_url_secure", readings.secured_links != "enabled"
    wanted = fields.flag(name)
    if wanted and readings.secured_links == "refused":
        fields.refuse(name, NOT_YOURS)
    return wanted and not lacking


def least_minutes(estimated: int) -> float:
    return 2 + 2 * estimated + 2 * math.sqrt(estimated)


def _minutes(fields: Fields, estimated: int, readings: Readings) -> int:
    """Assumed where it is not given: five times the estimate, as the documented example has it."""
    least, most = math.ceil(least_minutes(estimated)), readings.longest_minutes
    given = fields.number("maximum_allowed_time", least, most)
    return given or min(max(5 * estimated, least), most)


def _rate(fields: Fields, body: Mapping[str, Any]) -> float | None:
    rate = body.get("naivety_distribution_rate")
    if rate is None:
        return None
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 <= rate <= 1:
        fields.refuse("naivety_distribution_rate", "Ensure this value is from 0 to 1.")
        return None
    return rate


def _list(fields: Fields, body: Mapping[str, Any], name: str, *, required: bool) -> list[Any]:
    value = body.get(name)
    if value is None and required:
        fields.refuse(name, "This field is required.")
    if value is not None and not isinstance(value, list):
        fields.refuse(name, "Expected a list of items.")
    return value if isinstance(value, list) else []


def _config(fields: Fields, body: Mapping[str, Any]) -> dict[str, Any]:
    given = body.get("submissions_config")
    if given is not None and not isinstance(given, dict):
        fields.refuse("submissions_config", "Expected a dictionary of items.")
        given = None
    limits = {"max_submissions_per_participant": 1, "max_concurrent_submissions": UNLIMITED}
    for name in limits:
        value = (given or {}).get(name, limits[name])
        if is_whole(value) and (1 <= value <= 10**6 or value == UNLIMITED):
            limits[name] = value
        else:
            fields.refuse("submissions_config", f"{name} must be -1 or at least 1.")
    return {**limits, "auto_rejection_categories": []}


def _check_codes(codes: list[Any], reward: int, readings: Readings) -> None:
    for code in codes:
        if not isinstance(code, dict):
            raise invalid("completion_codes", "Expected a dictionary of items.")
        fields = Fields(code)
        fields.text("code", required=True)
        fields.text("code_type", required=True)
        fields.choice("actor", ACTORS)
        fields.check()
        code.setdefault("actor", "participant")
        _check_actions(code, reward)
    texts = [code["code"] for code in codes]
    if len(set(texts)) < len(texts):
        raise invalid("completion_codes", "Each code must be unique inside the study.")
    screen_outs = [it for code in codes for it in code["actions"] if it["action"] == SCREEN_OUT]
    if screen_outs and readings.screen_outs == "refused":
        raise invalid("completion_codes", NOT_YOURS)
    if len(screen_outs) > 1:
        raise invalid("completion_codes", f"Only one code may have {SCREEN_OUT}.")


def _check_actions(code: Mapping[str, Any], reward: int) -> None:
    actions = code.get("actions")
    if not isinstance(actions, list) or not all(isinstance(it, dict) for it in actions):
        raise invalid("completion_codes", "actions must be a list of actions.")
    names = [it.get("action") for it in actions]
    if wrong := [it for it in names if it not in ACTIONS]:
        raise invalid("completion_codes", f"{ascii(wrong[0])[:40]} is not an action.")
    if {"AUTOMATICALLY_APPROVE", "MANUALLY_REVIEW"} <= set(names):
        raise invalid("completion_codes", "A code approves automatically or is reviewed, not both.")
    if "DYNAMIC_PAYMENT" in names and code["actor"] != "researcher":
        raise invalid("completion_codes", "DYNAMIC_PAYMENT needs the actor researcher.")
    for action in actions:
        _check_action(action, reward)


def _check_action(action: Mapping[str, Any], reward: int) -> None:
    name = action["action"]
    fields = Fields(action)
    if name.endswith("PARTICIPANT_GROUP") and not is_id(action.get("participant_group")):
        fields.refuse("participant_group", "An id of 24 characters is required.")
    if name == "REQUEST_RETURN":
        fields.text("return_reason", required=True)
    if name == SCREEN_OUT:
        fields.number("fixed_screen_out_reward", LEAST_SCREEN_OUT_CENTS, reward - 1, required=True)
        fields.number("slots", 1, required=True)
    fields.check()


def _check_filter(rule: Any, depth: int) -> None:
    if not isinstance(rule, dict) or not depth:
        raise invalid("filters", "Expected filters, nested only a few times.")
    name = rule.get("filter_id")
    if isinstance(name, str) and name in JOINED:
        parts = rule.get("selected_filters")
        if not isinstance(parts, list) or not parts:
            raise invalid("filters", f"{name} needs selected_filters.")
        for part in parts:
            _check_filter(part, depth - 1)
    elif isinstance(name, str) and name in CHECKS:
        values = rule.get("selected_values")
        if not isinstance(values, list) or not all(is_id(it) for it in values):
            raise invalid("filters", f"selected_values of {name} must be a list of ids.")
    else:
        raise unsupported(f"The filter {ascii(name)[:40]}")
