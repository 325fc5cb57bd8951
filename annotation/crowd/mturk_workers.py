"""What MTurk does with workers: qualifications, blocks, bonuses and notices."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from annotation.crowd.base import CrowdError
from annotation.crowd.mturk_answers import cents_of, dollars_of
from annotation.crowd.mturk_client import MTurkConnection
from annotation.crowd.mturk_errors import is_replay, name, translated

if TYPE_CHECKING:
    from mypy_boto3_mturk.type_defs import NotifyWorkersFailureStatusTypeDef

PAGE = 100  # the most that MTurk gives, or takes, at once
_NOT_HELD = {"QualificationDoesNotExist", "InvalidQualificationState"}


class MTurkWorkers(MTurkConnection):
    def create_qualification(self, name: str, description: str) -> str:
        with translated(self._endpoint):
            return self._own_qualification(name) or self._make_qualification(name, description)

    def _own_qualification(self, name: str) -> str | None:
        pages = self._client.get_paginator("list_qualification_types").paginate(
            MustBeRequestable=False,
            MustBeOwnedByCaller=True,
            PaginationConfig={"PageSize": PAGE},
        )
        for page in pages:
            for kind in page["QualificationTypes"]:
                if kind["Name"] == name:
                    return kind["QualificationTypeId"]
        return None

    def _make_qualification(self, name: str, description: str) -> str:
        made = self._client.create_qualification_type(
            Name=name, Description=description, QualificationTypeStatus="Active"
        )
        return made["QualificationType"]["QualificationTypeId"]

    def grant(self, worker_id: str, *, qualification_id: str, value: int) -> None:
        with translated(self._endpoint):
            self._client.associate_qualification_with_worker(
                QualificationTypeId=qualification_id,
                WorkerId=worker_id,
                IntegerValue=value,
                SendNotification=False,
            )

    def exclude(self, worker_id: str, *, exclusion_id: str) -> None:
        self.grant(worker_id, qualification_id=exclusion_id, value=1)

    def readmit(self, worker_id: str, *, exclusion_id: str) -> None:
        with translated(self._endpoint):
            try:
                self._client.disassociate_qualification_from_worker(
                    QualificationTypeId=exclusion_id, WorkerId=worker_id
                )
            except ClientError as refusal:
                if name(refusal) not in _NOT_HELD:
                    raise

    def block(self, worker_id: str, *, reason: str) -> None:
        with translated(self._endpoint):
            self._client.create_worker_block(WorkerId=worker_id, Reason=reason)

    def unblock(self, worker_id: str, *, reason: str) -> None:
        with translated(self._endpoint):
            self._client.delete_worker_block(WorkerId=worker_id, Reason=reason)

    def bonus(
        self, worker_id: str, assignment_id: str, *, cents: int, reason: str, token: str
    ) -> None:
        with translated(self._endpoint):
            try:
                self._client.send_bonus(
                    WorkerId=worker_id,
                    AssignmentId=assignment_id,
                    BonusAmount=dollars_of(cents),
                    Reason=reason,
                    UniqueRequestToken=token,
                )
            except ClientError as refusal:
                if not is_replay(refusal):
                    raise

    def bonus_paid(self, assignment_id: str, *, cents: int, reason: str) -> bool:
        pages = self._client.get_paginator("list_bonus_payments").paginate(
            AssignmentId=assignment_id, PaginationConfig={"PageSize": PAGE}
        )
        with translated(self._endpoint):
            return any(
                cents_of(paid["BonusAmount"]) == cents and paid.get("Reason") == reason
                for page in pages
                for paid in page["BonusPayments"]
            )

    def notify(self, worker_ids: Sequence[str], *, subject: str, text: str) -> None:
        failures: list[NotifyWorkersFailureStatusTypeDef] = []
        with translated(self._endpoint):
            for start in range(0, len(worker_ids), PAGE):
                answer = self._client.notify_workers(
                    Subject=subject,
                    MessageText=text,
                    WorkerIds=worker_ids[start : start + PAGE],
                )
                failures += answer["NotifyWorkersFailureStatuses"]
        if failures:
            raise _not_notified(failures)


def _not_notified(failures: "list[NotifyWorkersFailureStatusTypeDef]") -> CrowdError:
    named = ", ".join(
        f"{each.get('WorkerId')} ({each.get('NotifyWorkersFailureMessage')})" for each in failures
    )
    passing = any(each.get("NotifyWorkersFailureCode") == "SoftFailure" for each in failures)
    return CrowdError(f"MTurk could not notify {named}.", permanent=not passing)
