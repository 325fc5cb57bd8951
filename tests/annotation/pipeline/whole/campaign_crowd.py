"""The crowd of a campaign that a model follows: its records, and a process that dies calling it."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from tests.annotation.pipeline.whole.campaign_model import CrowdHit
from tests.worlds.account import Account
from tests.worlds.mturk import Killed, MortalCrowd


class DyingCrowd(MortalCrowd):
    """Dies for good, at any kind of call: no other thread of the process makes one more."""

    def _survive(self, call: Callable[[], Any]) -> Any:
        if self._left < 0:
            raise Killed
        return super()._survive(call)

    def restore(self, worker_id: str, *, exclusion_id: str) -> None:
        call = super().restore
        self._survive(lambda: call(worker_id, exclusion_id=exclusion_id))

    def grant(self, worker_id: str, *, qualification_id: str, value: int) -> None:
        call = super().grant
        self._survive(lambda: call(worker_id, qualification_id=qualification_id, value=value))

    def exclude(self, worker_id: str, *, exclusion_id: str) -> None:
        self.grant(worker_id, qualification_id=exclusion_id, value=1)

    def notify(self, worker_id: str, *, subject: str, text: str, token: str) -> None:
        call = super().notify
        self._survive(lambda: call(worker_id, subject=subject, text=text, token=token))

    def set_expiration(self, hit_id: str, at: datetime) -> None:
        call = super().set_expiration
        self._survive(lambda: call(hit_id, at))


class Records:
    """The crowd's own, straight from its file."""

    def __init__(self, mturk: Account) -> None:
        self._mturk = mturk

    def hits(self) -> Mapping[str, CrowdHit]:
        rows = self._mturk.rows(
            "SELECT requester_annotation, hit_id, max_assignments, open_assignments, pending,"
            " expired FROM hit_records"
        )
        return {key: CrowdHit(*columns) for key, *columns in rows}

    def statuses(self) -> Mapping[str, str]:
        rows = self._mturk.rows(
            "SELECT assignment_id, status FROM assignments WHERE submit_number IS NOT NULL"
            " ORDER BY submit_number"
        )
        return dict(rows)
