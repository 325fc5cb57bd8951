"""Who may do what: requirements of HITs against the qualifications of workers."""

import json
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from annotation.crowd.emulator.errors import RequestError, invalid
from annotation.crowd.wire.session import Row, Session

MASTERS = "2F1QJWKUDD8XADTFD2Q0G6UTO95ALH"
MASTERS_SANDBOX = "2ARFPLSP75KLA8M8DH1HTEQVJT3SY6"
PERCENT_APPROVED = "000000000000000000L0"
NUMBER_APPROVED = "00000000000000000040"
LOCALE = "00000000000000000071"
SYSTEM_TYPES = {  # beside Worker_Adult, which can be asked for
    MASTERS: "Masters",
    MASTERS_SANDBOX: "Masters (sandbox)",
    PERCENT_APPROVED: "Worker_PercentAssignmentsApproved",
    NUMBER_APPROVED: "Worker_NumberHITsApproved",
    LOCALE: "Worker_Locale",
}
WORKERS_LOCALE = "US"  # of everybody who signs in here

NO_MASTERS = "nobody is a Master here. Ask for a QualificationType of your own."
NEVER_GAINED = {  # by work, nor by asking
    MASTERS: NO_MASTERS,
    MASTERS_SANDBOX: NO_MASTERS,
    LOCALE: f"everybody's Worker_Locale is {WORKERS_LOCALE} here.",
}

MAX_REQUIREMENTS = 10
MAX_INTEGERS = 15
MAX_LOCALES = 30

Requirement = Mapping[str, Any]
Value = int | str
HeldValues = Mapping[str, Value]  # qualification type id -> what the worker holds

ORDERINGS: Mapping[str, Callable[[Any, Any], bool]] = {
    "LessThan": operator.lt,
    "LessThanOrEqualTo": operator.le,
    "GreaterThan": operator.gt,
    "GreaterThanOrEqualTo": operator.ge,
}
HIT_TYPES_THAT_REQUIRE = (  # one qualification type
    "SELECT h.hit_type_id FROM hit_types h, json_each(h.requirements) r"
    " WHERE json_extract(r.value, '$.QualificationTypeId') = ?"
)
# From the mildest on; a requirement guards its own action and all that come before it here.
GUARDS = ("Accept", "PreviewAndAccept", "DiscoverPreviewAndAccept")


def create_system_types(session: Session) -> None:
    session.db.executemany(
        "INSERT INTO qualification_types"
        " (qualification_type_id, owned, name, keywords, description, status, created_at)"
        " VALUES (?, 0, ?, '', ?, 'Active', ?)",
        [
            (type_id, name, f"{name}: kept by the system", session.now)
            for type_id, name in SYSTEM_TYPES.items()
        ],
    )


def check_requirements(session: Session, requirements: Sequence[Requirement]) -> None:
    if len(requirements) > MAX_REQUIREMENTS:
        raise invalid(f"A HIT has at most {MAX_REQUIREMENTS} QualificationRequirements.")
    for requirement in requirements:
        _check_type(session, requirement["QualificationTypeId"])
        if fault := _values_fault(requirement):
            raise invalid(f"QualificationRequirement {requirement['QualificationTypeId']}: {fault}")


def check_possible(requirements: Sequence[Requirement]) -> None:
    """Where nobody has more of the system's types than their work gives them."""
    for requirement in requirements:
        reason = NEVER_GAINED.get(requirement["QualificationTypeId"])
        if reason and not meets(requirement, {LOCALE: WORKERS_LOCALE}):
            raise RequestError("NotSupported", f"Nobody can accept such a HIT: {reason}")


def _check_type(session: Session, type_id: str) -> None:
    row = session.db.execute(
        "SELECT status FROM qualification_types"
        " WHERE qualification_type_id = ? AND deleted_at IS NULL",
        (type_id,),
    ).fetchone()
    if row is None:
        message = f"QualificationType {type_id} does not exist."
        raise RequestError("QualificationTypeDoesNotExist", message)
    if row["status"] != "Active":
        raise invalid(f"QualificationType {type_id} is not Active.")


def _values_fault(requirement: Requirement) -> str | None:
    integers = requirement.get("IntegerValues", [])
    locales = requirement.get("LocaleValues", [])
    comparator = requirement["Comparator"]
    type_id = requirement["QualificationTypeId"]
    if comparator in ("Exists", "DoesNotExist"):
        return f"{comparator} takes no values." if integers or locales else None
    if type_id in (MASTERS, MASTERS_SANDBOX):
        return "Masters is compared by Exists or DoesNotExist."
    if type_id != LOCALE:
        return _count_fault("IntegerValues", comparator, integers, locales, MAX_INTEGERS)
    if comparator in ORDERINGS:
        return f"a locale cannot be compared by {comparator}."
    return _count_fault("LocaleValues", comparator, locales, integers, MAX_LOCALES)


def _count_fault(
    name: str, comparator: str, values: Sequence[Any], others: Sequence[Any], limit: int
) -> str | None:
    if others:
        return f"only {name} can be given."
    if comparator in ("In", "NotIn"):
        return None if 1 <= len(values) <= limit else f"{comparator} takes 1 to {limit} {name}."
    return None if len(values) == 1 else f"{comparator} takes exactly one of {name}."


def normalise(requirement: Requirement) -> dict[str, Any]:
    """The requirement with its guard spelled out, as MTurk gives it back."""
    preview = requirement.get("RequiredToPreview", False)
    guard = requirement.get("ActionsGuarded", GUARDS[1] if preview else GUARDS[0])
    return {**requirement, "RequiredToPreview": guard != GUARDS[0], "ActionsGuarded": guard}


def requires_masters(requirements: Sequence[Requirement]) -> bool:
    return any(
        requirement["QualificationTypeId"] in (MASTERS, MASTERS_SANDBOX)
        and requirement["Comparator"] == "Exists"
        for requirement in requirements
    )


def grant(session: Session, type_id: str, worker_id: str, value: int) -> None:
    """The qualification, or a new value of it."""
    session.db.execute(
        "INSERT INTO qualifications (qualification_type_id, worker_id, value, status, granted_at)"
        " VALUES (?, ?, ?, 'Granted', ?)"
        " ON CONFLICT (qualification_type_id, worker_id) DO UPDATE SET"
        " value = excluded.value, status = 'Granted', granted_at = excluded.granted_at,"
        " reason = NULL",
        (type_id, worker_id, value, session.now),
    )


def held_values(session: Session, worker: Row | Mapping[str, Any]) -> HeldValues:
    """All that a worker holds. The figures are those of the sign-in, not of the work done here."""
    held: dict[str, Value] = {
        PERCENT_APPROVED: worker["approval_percent"],
        NUMBER_APPROVED: worker["approved_hits"],
        LOCALE: WORKERS_LOCALE,
    }
    if worker["masters"]:
        held |= {MASTERS: 1, MASTERS_SANDBOX: 1}
    rows = session.db.execute(
        "SELECT qualification_type_id, value FROM qualifications"
        " WHERE worker_id = ? AND status = 'Granted'",
        (worker["worker_id"],),
    )
    held.update((row["qualification_type_id"], row["value"]) for row in rows)
    return held


def may_accept(requirements: str, held: HeldValues) -> bool:
    """`requirements`: as stored with the HIT type."""
    return all(meets(requirement, held) for requirement in _parsed(requirements))


def may_preview(requirements: str, held: HeldValues) -> bool:
    return all(
        meets(requirement, held)
        for requirement in _parsed(requirements)
        if requirement["ActionsGuarded"] != GUARDS[0]
    )


@lru_cache(maxsize=4096)
def _parsed(requirements: str) -> tuple[Requirement, ...]:
    return tuple(json.loads(requirements))


def meets(requirement: Requirement, held: HeldValues) -> bool:
    """Who lacks a qualification meets DoesNotExist alone: not even NotIn or NotEqualTo."""
    comparator = requirement["Comparator"]
    value = held.get(requirement["QualificationTypeId"])
    if comparator == "DoesNotExist":
        return value is None
    if comparator == "Exists" or value is None:
        return value is not None
    wanted = wanted_values(requirement)
    if comparator in ORDERINGS:
        return ORDERINGS[comparator](value, wanted[0])
    return (value in wanted) == (comparator in ("EqualTo", "In"))


def wanted_values(requirement: Requirement) -> Sequence[Value]:
    if requirement["QualificationTypeId"] != LOCALE:
        values: Sequence[int] = requirement["IntegerValues"]
        return values
    return [
        "-".join(filter(None, (locale["Country"], locale.get("Subdivision"))))
        for locale in requirement["LocaleValues"]
    ]
