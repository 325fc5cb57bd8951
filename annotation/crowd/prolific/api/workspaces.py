"""The account, its workspaces with their balances, and projects."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_FLOOR

from annotation.crowd.prolific.api.values import Record, id_of, text_of
from annotation.crowd.prolific.connection import ProlificConnection


@dataclass(frozen=True)
class Workspace:
    workspace_id: str
    title: str


@dataclass(frozen=True)
class Project:
    project_id: str
    title: str


@dataclass(frozen=True)
class Balance:
    """In cents, parts of a cent left out."""

    currency: str
    available_cents: int
    total_cents: int


class Workspaces:
    def __init__(self, connection: ProlificConnection) -> None:
        self._connection = connection

    def me(self) -> str:
        """The id of the account that the token belongs to."""
        return Record(self._connection.get("/users/me/"), "account").id()

    def list(self) -> Iterator[Workspace]:
        return map(_workspace, self._connection.pages("/workspaces/"))

    def balance(self, workspace_id: str) -> Balance:
        path = f"/workspaces/{id_of(workspace_id, 'workspace')}/balance/"
        record = Record(self._connection.get(path), "balance")
        cents = {
            name: int(record.exact(name).to_integral_value(ROUND_FLOOR))
            for name in ("available_balance", "total_balance")
        }
        return Balance(
            record.text("currency_code"), cents["available_balance"], cents["total_balance"]
        )

    def projects(self, workspace_id: str) -> Iterator[Project]:
        path = f"/workspaces/{id_of(workspace_id, 'workspace')}/projects/"
        return map(_project, self._connection.pages(path))

    def create_project(self, workspace_id: str, title: str) -> Project:
        path = f"/workspaces/{id_of(workspace_id, 'workspace')}/projects/"
        body = {"title": text_of(title, "title of the project")}
        return _project(self._connection.call("POST", path, body, repairable=True))


def _workspace(value: object) -> Workspace:
    record = Record(value, "workspace")
    return Workspace(record.id(), record.text("title"))


def _project(value: object) -> Project:
    record = Record(value, "project")
    return Project(record.id(), record.text("title"))
