"""Studies: made as drafts, published, paused, enlarged, ended."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Literal

from annotation.crowd.prolific.api.values import Record, id_of, paragraphs, text_of
from annotation.crowd.prolific.connection import ProlificConnection

Action = Mapping[str, object]
Transition = Literal["PUBLISH", "SCHEDULE_PUBLISH", "CANCEL_PUBLISH", "PAUSE", "START", "STOP"]

REVIEW: Action = {"action": "MANUALLY_REVIEW"}


def screen_out(*, cents: int, slots: int) -> Action:
    return {
        "action": "FIXED_SCREEN_OUT_PAYMENT",
        "fixed_screen_out_reward": cents,
        "slots": slots,
    }


@dataclass(frozen=True)
class CompletionCode:
    code: str
    code_type: str
    actions: Sequence[Action]
    actor: Literal["participant", "researcher"] = "participant"

    def body(self) -> dict[str, object]:
        return {
            "code": text_of(self.code, "completion code"),
            "code_type": self.code_type,
            "actor": self.actor,
            "actions": [dict(action) for action in self.actions],
        }


@dataclass(frozen=True)
class NewStudy:
    name: str  # that participants read
    description: str  # plain text; a paragraph a line
    external_study_url: str
    completion_codes: Sequence[CompletionCode]
    total_available_places: int
    estimated_minutes: int
    maximum_minutes: int
    reward_cents: int
    internal_name: str  # our own key of the study
    project_id: str | None = None  # None: the first of the account
    filters: Sequence[Mapping[str, object]] = ()
    max_submissions_per_participant: int = 1
    devices: Sequence[str] = field(default_factory=tuple)  # none: all
    is_secure: bool = False  # a token of the address says who was sent

    def body(self) -> dict[str, object]:
        optional: dict[str, object] = {}
        if self.project_id is not None:
            optional["project"] = id_of(self.project_id, "project")
        if self.is_secure:  # else unsaid: not every workspace may name it
            optional["is_external_study_url_secure"] = True
        return {
            "name": text_of(self.name, "name of the study"),
            "internal_name": text_of(self.internal_name, "internal name"),
            "description": paragraphs(self.description),
            "external_study_url": self.external_study_url,
            "prolific_id_option": "url_parameters",
            "completion_codes": [code.body() for code in self.completion_codes],
            "total_available_places": self.total_available_places,
            "estimated_completion_time": self.estimated_minutes,
            "maximum_allowed_time": self.maximum_minutes,
            "reward": self.reward_cents,
            "device_compatibility": list(self.devices),
            "filters": [dict(it) for it in self.filters],
            "submissions_config": {
                "max_submissions_per_participant": self.max_submissions_per_participant
            },
            **optional,
        }


@dataclass(frozen=True)
class Study:
    study_id: str
    name: str
    internal_name: str | None
    status: str
    total_available_places: int
    reward_cents: int
    places_taken: int | None  # None where the answer leaves it out
    published_at: datetime | None
    is_secure: bool  # lists leave it out, as they do what follows
    slots: int  # of people who can be screened out, in all


@dataclass(frozen=True)
class Cost:
    """In cents, fees with parts of a cent."""

    rewards: Decimal
    fees: Decimal
    tax: Decimal

    @property
    def total(self) -> Decimal:
        return self.rewards + self.fees + self.tax


class Studies:
    def __init__(self, connection: ProlificConnection) -> None:
        self._connection = connection

    def create(self, study: NewStudy) -> Study:
        """A draft. Sent twice it makes two: who lost the answer looks for its internal name."""
        return _study(self._connection.call("POST", "/studies/", study.body(), repairable=True))

    def get(self, study_id: str) -> Study:
        return _study(self._connection.get(_path(study_id)))

    def list(self, project_id: str | None = None) -> Iterator[Study]:
        """Of a project, or of the account, in any state: how to ask for one is unclear."""
        path = "/studies/"
        if project_id is not None:
            path = f"/projects/{id_of(project_id, 'project')}/studies/"
        return map(_study, self._connection.numbered_pages(path))

    def patch(self, study_id: str, **fields: object) -> Study:
        """Fields by Prolific's names; a field set twice is as one set once."""
        body = self._connection.call(
            "PATCH", _path(study_id), fields, repeatable=True, repairable=True
        )
        return _study(body)

    def enlarge(self, study_id: str, places: int, codes: Sequence[CompletionCode] = ()) -> Study:
        """To so many places in all; of codes that are given, the slots grow."""
        fields: dict[str, object] = {"total_available_places": places}
        if codes:
            fields["completion_codes"] = [code.body() for code in codes]
        return self.patch(study_id, **fields)

    def transition(self, study_id: str, action: Transition) -> Study:
        """Not repeated by itself: what is done already is refused, so look at the status."""
        path = f"{_path(study_id)}transition/"
        return _study(self._connection.call("POST", path, {"action": action}, repairable=True))

    def delete(self, study_id: str) -> None:
        """A draft."""
        self._connection.send("DELETE", _path(study_id))

    def cost(self, study_id: str, *, projected: bool = False) -> tuple[Cost, Cost]:
        """Of rewards, and of bonuses."""
        path = f"{_path(study_id)}cost/"
        record = Record(
            self._connection.get(path, is_projected="true" if projected else "false"), "cost"
        )
        return _cost(record.mapping("rewards")), _cost(record.mapping("bonuses"))

    def estimated_cents(self, *, reward_cents: int, places: int) -> Decimal:
        """What a study will cost with all fees and taxes."""
        path = "/study-cost-calculator/"
        body = {"reward": reward_cents, "total_available_places": places}
        answer = self._connection.call("POST", path, body, repeatable=True)
        return Record(answer, "cost").exact("total_cost")


def _path(study_id: str) -> str:
    return f"/studies/{id_of(study_id, 'study')}/"


def _study(value: object) -> Study:
    record = Record(value, "study")
    return Study(
        study_id=record.id(),
        name=record.text("name"),
        internal_name=record.optional_text("internal_name"),
        status=record.text("status"),
        total_available_places=record.number("total_available_places"),
        reward_cents=record.number("reward"),
        places_taken=record.optional_number("places_taken"),
        published_at=record.time("published_at"),
        is_secure=record.flag("is_external_study_url_secure", default=False),
        slots=sum(
            action.optional_number("slots") or 0
            for code in record.items("completion_codes")
            for action in code.items("actions")
        ),
    )


def _cost(record: Record) -> Cost:
    rewards, fees, tax = (
        record.mapping(name).exact("amount") for name in ("rewards", "fees", "tax")
    )
    return Cost(rewards, fees, tax)
