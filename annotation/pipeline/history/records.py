"""What a row of a history says, by its columns: tables and dumps of the API name them alike."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_tz
from hashlib import sha256

from annotation.crowd.mturk.xml import read_answers
from annotation.models import PastRecord
from core.files.rows import RowFault
from core.text.clean import is_utf8

Kind = PastRecord.Kind
Fields = Mapping[str, str]

MTURK, TURKLE = "mturk", "turkle"
MOST_FIELDS = 2000
LONGEST_NAME = 200
LONGEST_VALUE = 1_000_000
LONGEST_KEY = 255
LONGEST_WORKER = 64

# The other columns of a batch's results are the assignment's.
OF_THE_HIT = frozenset({
    "HITId", "HITTypeId", "HITGroupId", "HITLayoutId", "Title", "Description", "Keywords",
    "Question", "Reward", "CreationTime", "MaxAssignments", "RequesterAnnotation",
    "AssignmentDurationInSeconds", "AutoApprovalDelayInSeconds", "Expiration",
    "NumberOfSimilarHITs", "LifetimeInSeconds",
})  # fmt: skip
MONEY = {"Reward", "BonusAmount"}
AMOUNT = re.compile(r"\$?(\d{1,9})(?:\.(\d{1,2})0*)?", re.ASCII)
BLOCK = "CURRENT BlockStatus"


@dataclass(frozen=True)
class Record:
    kind: Kind
    crowd: str
    key: str
    fields: Fields = field(default_factory=dict)
    worker: str = ""
    part_of: str = ""  # key of an assignment's HIT, of a bonus's assignment

    def __post_init__(self) -> None:
        _check_length("id", self.key, LONGEST_KEY)
        _check_length("worker's id", self.worker, LONGEST_WORKER)


def records_of(row: Mapping[str, object]) -> Sequence[Record] | None:
    """In the order in which they stand on each other; None: no row of a history. RowFault."""
    split = next((split for columns, split in SHAPES if columns <= row.keys()), None)
    return split(cleaned(row)) if split else None


def cleaned(row: Mapping[str, object]) -> dict[str, str]:
    """Texts that any database holds, times in UTC and money in one form; nothing empty."""
    if len(row) > MOST_FIELDS:
        raise RowFault(f"it has {len(row):,} fields, more than {MOST_FIELDS:,}")
    values = {str(name): _text(value) for name, value in row.items()}
    for name, value in values.items():
        _check_length("name of a field", name, LONGEST_NAME)
        _check_length(name, value, LONGEST_VALUE)
        if "\0" in name + value:
            raise RowFault(f"the {name} has a NUL character")
        if not is_utf8(name + value):
            raise RowFault(f"the {name} has half a character (save the file as UTF-8)")
    return {name: _in_one_form(name, value) for name, value in values.items() if value}


def _text(value: object) -> str:
    if isinstance(value, str):
        return value.strip()
    return "" if value is None else json.dumps(value, ensure_ascii=False, sort_keys=True)


def _in_one_form(name: str, value: str) -> str:
    if name in MONEY:
        return _money(name, value)
    if name.endswith("Time") or name in ("Expiration", "Deadline"):
        moment = moment_of(value)
        return moment.isoformat() if moment else value
    return value


def _money(name: str, value: str) -> str:
    if not (amount := AMOUNT.fullmatch(value)):
        raise RowFault(f"the {name} is not an amount in dollars and cents")
    return f"{int(amount[1])}.{amount[2] or '':0<2}"


def moment_of(text: str) -> datetime | None:
    """As the API's dumps have it, or as the requester's site wrote it; None: of no known zone."""
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            return None
    except ValueError:
        parts = parsedate_tz(text)
        if parts is None or parts[9] is None:
            return None
        try:
            zone = timezone(timedelta(seconds=parts[9]))
            moment = datetime(*parts[:6], tzinfo=zone)
        except (ValueError, OverflowError):
            return None
    try:
        return moment.astimezone(UTC).replace(microsecond=0)
    except OverflowError:  # the first or last day that there is
        return None


def _check_length(what: str, text: str, most: int) -> None:
    if len(text) > most:
        raise RowFault(
            f"the {what[:LONGEST_NAME]} has {len(text):,} characters, more than {most:,}"
        )


def _id(fields: Fields, name: str) -> str:
    if name not in fields:
        raise RowFault(f"there is no {name}")
    return fields[name]


def _results(fields: Fields) -> list[Record]:
    return _assignment(
        fields, MTURK, _id(fields, "HITId"), _id(fields, "AssignmentId"), _id(fields, "WorkerId")
    )


def _turkle_results(fields: Fields) -> list[Record]:
    """Each Turkle counts from 1: only with their times are ids unique."""
    hit = f"{_id(fields, 'HITId')} {_id(fields, 'CreationTime')}"
    assignment = f"{_id(fields, 'AssignmentId')} {_id(fields, 'AcceptTime')}"
    return _assignment(fields, TURKLE, hit, assignment, _id(fields, "Turkle.Username"))


def _assignment(fields: Fields, crowd: str, hit: str, key: str, worker: str) -> list[Record]:
    of_hit = {name: value for name, value in fields.items() if _is_of_hit(name)}
    own = {name: value for name, value in fields.items() if name not in of_hit}
    own |= _answers(own.pop("Answer", ""))
    return [
        Record(Kind.HIT, crowd, hit, of_hit),
        Record(Kind.ASSIGNMENT, crowd, key, own, worker, part_of=hit),
    ]


def _is_of_hit(name: str) -> bool:
    return name in OF_THE_HIT or name.startswith("Input.")


def _answers(xml: str) -> dict[str, str]:
    """By the names that a batch's results give them."""
    if not xml:
        return {}
    try:
        answers = read_answers(xml)
    except ValueError as error:
        raise RowFault(f"the Answer cannot be read: {error}") from error
    return {f"Answer.{name}": value for name, value in answers.items() if value}


def _hit(fields: Fields) -> list[Record]:
    return [Record(Kind.HIT, MTURK, _id(fields, "HITId"), fields)]


def _bonus(fields: Fields) -> list[Record]:
    """A bonus has no id."""
    worker, assignment = _id(fields, "WorkerId"), _id(fields, "AssignmentId")
    key = sha256(json.dumps(sorted(fields.items())).encode()).hexdigest()
    return [
        Record(Kind.ASSIGNMENT, MTURK, assignment, {}, worker),
        Record(Kind.BONUS, MTURK, key, fields, worker, part_of=assignment),
    ]


def _worker(name: str) -> Callable[[Fields], list[Record]]:
    def split(fields: Fields) -> list[Record]:
        worker = _id(fields, name)
        others = {key: value for key, value in fields.items() if key != name}
        return [Record(Kind.WORKER, MTURK, worker, others, worker)]

    return split


def _block(fields: Fields) -> list[Record]:
    worker, reason = _id(fields, "WorkerId"), fields.get("Reason", "")
    about = {BLOCK: "Blocked", **({"Reason of the block": reason} if reason else {})}
    return [Record(Kind.WORKER, MTURK, worker, about, worker)]


def _granted(fields: Fields) -> list[Record]:
    worker = _id(fields, "WorkerId")
    value = fields.get("IntegerValue") or fields.get("LocaleValue") or "granted"
    if fields.get("Status") == "Revoked":
        value += " (revoked)"
    about = {f"Qualification {_id(fields, 'QualificationTypeId')}": value}
    return [Record(Kind.WORKER, MTURK, worker, about, worker)]


def _qualification(fields: Fields) -> list[Record]:
    return [Record(Kind.QUALIFICATION, MTURK, _id(fields, "QualificationTypeId"), fields)]


# The first whose columns a row has.
SHAPES: Sequence[tuple[frozenset[str], Callable[[Fields], list[Record]]]] = [
    (frozenset({"HITId", "AssignmentId", "Turkle.Username"}), _turkle_results),
    (frozenset({"HITId", "AssignmentId", "WorkerId"}), _results),
    (frozenset({"HITId", "HITTypeId"}), _hit),
    (frozenset({"AssignmentId", "WorkerId", "BonusAmount"}), _bonus),
    (frozenset({"QualificationTypeId", "WorkerId"}), _granted),
    (frozenset({"QualificationTypeId", "Name"}), _qualification),
    (frozenset({"Worker ID"}), _worker("Worker ID")),
    (frozenset({"WorkerId", "Reason"}), _block),
]
