"""What MTurk does with workers: qualifications, blocks and bonuses."""

from botocore.exceptions import ClientError

from annotation.crowd.mturk.answers import cents_of, dollars_of
from annotation.crowd.mturk.client import MTurkConnection
from annotation.crowd.mturk.errors import is_replay, name, translated
from annotation.crowd.port import CrowdError

PAGE = 100  # the most that MTurk gives at once
_NAME_IS_TAKEN = "QualificationTypeAlreadyExists"
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

    def _make_qualification(self, title: str, description: str) -> str:
        try:
            made = self._client.create_qualification_type(
                Name=title, Description=description, QualificationTypeStatus="Active"
            )
        except ClientError as refusal:
            if name(refusal) != _NAME_IS_TAKEN:
                raise
            # Another first publisher has made it since we looked.
            if existing := self._own_qualification(title):
                return existing
            raise
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

    def restore(self, worker_id: str, *, exclusion_id: str) -> None:
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

    def notify(self, worker_id: str, *, subject: str, text: str, token: str) -> None:
        """Amazon has no token for mails, and names in its answer whom it did not reach."""
        with translated(self._endpoint):
            answer = self._client.notify_workers(
                Subject=subject, MessageText=text, WorkerIds=[worker_id]
            )
        for failure in answer["NotifyWorkersFailureStatuses"]:
            raise CrowdError(
                f"Worker {worker_id} was not reached: {failure['NotifyWorkersFailureMessage']}",
                permanent=failure["NotifyWorkersFailureCode"] == "HardFailure",
            )

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
