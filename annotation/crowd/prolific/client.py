"""Prolific's API as an adapter uses it: `client.studies.create(...)`, `client.bonuses.pay(...)`.

Every call raises CrowdError, of one sentence that says what was refused, where, and what to do.
Calls that are safe to repeat are repeated when an answer is lost; the others are sent once.
"""

from types import TracebackType
from typing import Self

from annotation.crowd.prolific.api.bonuses import Bonuses
from annotation.crowd.prolific.api.groups import Groups
from annotation.crowd.prolific.api.hooks import Hooks
from annotation.crowd.prolific.api.messages import Messages
from annotation.crowd.prolific.api.studies import Studies
from annotation.crowd.prolific.api.submissions import Submissions
from annotation.crowd.prolific.api.workspaces import Workspaces
from annotation.crowd.prolific.connection import ProlificConnection


class ProlificClient:
    def __init__(self, connection: ProlificConnection) -> None:
        self._connection = connection
        self.workspaces = Workspaces(connection)
        self.studies = Studies(connection)
        self.submissions = Submissions(connection)
        self.groups = Groups(connection)
        self.bonuses = Bonuses(connection)
        self.messages = Messages(connection)
        self.hooks = Hooks(connection)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._connection.close()
