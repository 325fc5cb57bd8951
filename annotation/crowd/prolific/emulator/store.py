"""What the emulator of Prolific keeps."""

import sqlite3
from pathlib import Path

from annotation.crowd.prolific.emulator.readings import Readings
from annotation.crowd.prolific.emulator.session import Session, new_id
from annotation.crowd.prolific.emulator.state import lifecycle, money
from annotation.crowd.wire import store
from annotation.crowd.wire.session import Clock


class Store(store.Store[Session]):
    """A new file starts with a workspace of one project, and `balance_cents` in its wallet."""

    application_id = 0x50524F4C  # "PROL"
    version = 1
    schema = Path(__file__).with_name("schema.sql")

    def __init__(self, path: Path, *, balance_cents: int, clock: Clock, readings: Readings) -> None:
        self._balance_cents = balance_cents
        self.readings = readings
        super().__init__(path, clock=clock)

    def session(self, db: sqlite3.Connection, now: float) -> Session:
        return Session(db, now, self.readings)

    def fill(self, session: Session) -> None:
        session.insert("meta", name="researcher", value=new_id())
        workspace_id = create_workspace(
            session, title="Workspace", description="", currency=self.readings.currency
        )
        create_project(session, workspace_id, title="Project", description="")
        money.deposit(session, workspace_id, self._balance_cents)

    def is_due(self, session: Session) -> bool:
        return lifecycle.is_due(session)

    def sweep(self, session: Session) -> None:
        lifecycle.sweep(session)


def create_workspace(session: Session, **fields: str) -> str:
    workspace_id = new_id()
    session.insert("workspaces", workspace_id=workspace_id, created_at=session.now, **fields)
    return workspace_id


def create_project(session: Session, workspace_id: str, **fields: str) -> str:
    project_id = new_id()
    session.insert(
        "projects",
        project_id=project_id,
        workspace_id=workspace_id,
        created_at=session.now,
        **fields,
    )
    return project_id
