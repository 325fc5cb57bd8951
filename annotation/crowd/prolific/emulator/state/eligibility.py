"""Who may take a place of a study: its filters, and how often and how many at once."""

from collections.abc import Callable, Mapping
from typing import Any

from annotation.crowd.prolific.emulator.errors import Refused
from annotation.crowd.prolific.emulator.session import Session, load
from annotation.crowd.prolific.emulator.state import groups, studies
from annotation.crowd.wire.session import Row

UNLIMITED = -1
COMPLETED = ("AWAITING REVIEW", "APPROVED", "PARTIALLY APPROVED", "REJECTED", "SCREENED OUT")


def check_eligible(session: Session, study: Row, participant_id: str) -> None:
    """Refused where the participant cannot take a place now."""
    counted = studies.counts(session, study["study_id"])
    config = load(study["fields"])["submissions_config"]
    if study["status"] != "ACTIVE":
        raise Refused(409, "This study takes no participants now.")
    if not is_admitted(session, load(study["fields"])["filters"], participant_id):
        raise Refused(403, "This study is not open to you.")
    if studies.free_places(study, counted) <= 0:
        raise Refused(409, "All places of this study are taken.")
    done = session.count(
        "SELECT COUNT(*) FROM submissions WHERE study_id = ? AND participant_id = ?",
        study["study_id"],
        participant_id,
    )
    if done >= config["max_submissions_per_participant"] != UNLIMITED:
        raise Refused(409, "You have taken part in this study as often as it allows.")
    at_once = config["max_concurrent_submissions"]
    if at_once != UNLIMITED and sum(counted[it] for it in studies.RUNNING) >= at_once:
        raise Refused(409, "This study takes no more participants at the same time.")


def check_filter_targets(session: Session, filters: list[Any]) -> None:
    """ApiError where a filter names a group that is not there."""
    for rule in filters:
        check_filter_targets(session, rule.get("selected_filters") or [])
        if rule["filter_id"].startswith("participant_group"):
            for group_id in rule["selected_values"]:
                groups.group_row(session, group_id)


def is_admitted(session: Session, filters: list[Any], participant_id: str) -> bool:
    return all(_holds(session, each, participant_id) for each in filters)


def _holds(session: Session, rule: Mapping[str, Any], participant_id: str) -> bool:
    name = rule["filter_id"]
    if name in JOINED:
        parts = [_holds(session, each, participant_id) for each in rule["selected_filters"]]
        return JOINED[name](parts)
    return CHECKS[name](session, rule["selected_values"], participant_id)


def _in_groups(session: Session, values: list[str], participant_id: str) -> bool:
    return any(groups.is_member(session, each, participant_id) for each in values)


def _in_studies(session: Session, values: list[str], participant_id: str) -> bool:
    """Who has completed one of them."""
    rows = session.rows(
        "SELECT study_id, status FROM submissions WHERE participant_id = ?", participant_id
    )
    return any(row["study_id"] in values and row["status"] in COMPLETED for row in rows)


JOINED: Mapping[str, Callable[[list[bool]], bool]] = {"and": all, "or": any}
CHECKS: Mapping[str, Callable[[Session, list[str], str], bool]] = {
    "custom_allowlist": lambda _, values, who: who in values,
    "participant_group_allowlist": _in_groups,
    "participant_group_blocklist": lambda *given: not _in_groups(*given),
    "previous_studies_allowlist": _in_studies,
    "previous_studies_blocklist": lambda *given: not _in_studies(*given),
}
