"""Participant groups, which filters of studies let in or keep away."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from annotation.crowd.prolific.api.values import Record, id_of, ids_of, text_of
from annotation.crowd.prolific.connection import ProlificConnection


@dataclass(frozen=True)
class Group:
    group_id: str
    name: str
    number: int  # of members


def admitting(group_ids: Sequence[str]) -> dict[str, object]:
    """A study's filter: members alone may take part."""
    return _filter("participant_group_allowlist", group_ids)


def excluding(group_ids: Sequence[str]) -> dict[str, object]:
    """A study's filter: members may not take part."""
    return _filter("participant_group_blocklist", group_ids)


def _filter(name: str, group_ids: Sequence[str]) -> dict[str, object]:
    return {"filter_id": name, "selected_values": ids_of(group_ids, "participant group")}


class Groups:
    def __init__(self, connection: ProlificConnection) -> None:
        self._connection = connection

    def of_workspace(self, workspace_id: str) -> Iterator[Group]:
        query = {"workspace_id": id_of(workspace_id, "workspace")}
        return map(_group, self._connection.pages("/participant-groups/", **query))

    def create(self, workspace_id: str, name: str) -> Group:
        """Sent twice it makes two: who lost the answer looks for its name."""
        body = {
            "workspace_id": id_of(workspace_id, "workspace"),
            "name": text_of(name, "name of the group"),
        }
        return _group(self._connection.call("POST", "/participant-groups/", body, repairable=True))

    def members(self, group_id: str) -> list[str]:
        path = _members(group_id)
        return self._ids(self._connection.get(path), path)

    def add(self, group_id: str, participant_ids: Iterable[str]) -> None:
        self._change("POST", group_id, participant_ids)

    def remove(self, group_id: str, participant_ids: Iterable[str]) -> None:
        self._change("DELETE", group_id, participant_ids)

    def _change(self, method: str, group_id: str, participant_ids: Iterable[str]) -> None:
        body = {"participant_ids": ids_of(participant_ids, "participant")}
        self._connection.send(method, _members(group_id), body, repeatable=True)

    def _ids(self, body: object, path: str) -> list[str]:
        items = self._connection.results(body, path)
        return [Record(it, "member").id("participant_id") for it in items]


def _members(group_id: str) -> str:
    return f"/participant-groups/{id_of(group_id, 'participant group')}/participants/"


def _group(value: object) -> Group:
    record = Record(value, "participant group")
    return Group(record.id(), record.text("name"), record.number("participant_count"))
