"""Mechanical Turk by boto3: production, sandbox and the emulator differ by the endpoint alone."""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from annotation.crowd.mturk.answers import cents_of, crowd_hit, dollars_of, submission
from annotation.crowd.mturk.endpoints import crowd_site, is_sandbox
from annotation.crowd.mturk.errors import is_replay, message, name, translated
from annotation.crowd.mturk.requirements import qualification_requirements
from annotation.crowd.mturk.workers import PAGE, MTurkWorkers
from annotation.crowd.mturk.xml import external_question
from annotation.crowd.port import CrowdError, CrowdHit, CrowdSite, HitTypeSpec, Submission
from annotation.protocol.screening.control import RejectionReason

if TYPE_CHECKING:
    from mypy_boto3_mturk.type_defs import HITTypeDef

_MTURK_ID = re.compile(r"\b[A-Z0-9]{28,40}\b")
_UNKNOWN = "HITDoesNotExist"
_DELETED = "Disposed"  # MTurk goes on knowing a deleted HIT for a while


class MTurkCrowd(MTurkWorkers):
    """The crowd behind one endpoint of MTurk's API."""

    @property
    def site(self) -> CrowdSite:
        return crowd_site(self._endpoint)

    def balance_cents(self) -> int:
        with translated(self._endpoint):
            return cents_of(self._client.get_account_balance()["AvailableBalance"])

    def create_hit_type(self, spec: HitTypeSpec) -> str:
        with translated(self._endpoint):
            made = self._client.create_hit_type(
                Title=spec.title,
                Description=spec.description,
                Keywords=spec.keywords,
                Reward=dollars_of(spec.reward_cents),
                AssignmentDurationInSeconds=spec.assignment_seconds,
                AutoApprovalDelayInSeconds=spec.auto_approval_seconds,
                QualificationRequirements=qualification_requirements(
                    spec, sandbox=is_sandbox(self._endpoint)
                ),
            )
            return made["HITTypeId"]

    def create_hit(
        self,
        *,
        hit_type_id: str,
        url: str,
        max_assignments: int,
        lifetime_seconds: int,
        token: str,
        annotation: str,
    ) -> str:
        question = external_question(url)
        with translated(self._endpoint):
            try:
                made = self._client.create_hit_with_hit_type(
                    HITTypeId=hit_type_id,
                    Question=question,
                    MaxAssignments=max_assignments,
                    LifetimeInSeconds=lifetime_seconds,
                    UniqueRequestToken=token,
                    RequesterAnnotation=annotation,
                )
                return made["HIT"]["HITId"]
            except ClientError as refusal:
                return self._published_before(refusal, annotation)

    def _published_before(self, refusal: ClientError, annotation: str) -> str:
        """The HIT that an earlier call with the same token made: the refusal names it."""
        named = _MTURK_ID.search(message(refusal)) if is_replay(refusal) else None
        if not named:
            raise refusal
        hit = self._client.get_hit(HITId=named[0])["HIT"]
        if hit.get("RequesterAnnotation") != annotation:
            raise CrowdError(
                f"HIT {annotation} was not published: its token has made the HIT {named[0]} of"
                " another key. Use one database for each MTurk account.",
                permanent=True,
            )
        return hit["HITId"]

    def extend_hit(self, hit_id: str, *, extra: int, token: str) -> None:
        with translated(self._endpoint):
            try:
                self._client.create_additional_assignments_for_hit(
                    HITId=hit_id, NumberOfAdditionalAssignments=extra, UniqueRequestToken=token
                )
            except ClientError as refusal:
                if not is_replay(refusal):
                    raise

    def set_expiration(self, hit_id: str, at: datetime) -> None:
        with translated(self._endpoint):
            self._client.update_expiration_for_hit(HITId=hit_id, ExpireAt=at)

    def delete_hit(self, hit_id: str) -> None:
        with translated(self._endpoint):
            try:
                self._client.delete_hit(HITId=hit_id)
            except ClientError:
                if self._known(hit_id) is not None:
                    raise

    def hit(self, hit_id: str) -> CrowdHit | None:
        with translated(self._endpoint):
            hit = self._known(hit_id)
            return None if hit is None else crowd_hit(hit)

    def _known(self, hit_id: str) -> "HITTypeDef | None":
        try:
            hit = self._client.get_hit(HITId=hit_id)["HIT"]
        except ClientError as refusal:
            if name(refusal) == _UNKNOWN:
                return None
            raise
        return None if hit.get("HITStatus") == _DELETED else hit

    def hits(self) -> Iterator[CrowdHit]:
        pages = self._client.get_paginator("list_hits").paginate(
            PaginationConfig={"PageSize": PAGE}
        )
        with translated(self._endpoint):
            for page in pages:
                for hit in page["HITs"]:
                    yield crowd_hit(hit)

    def submissions(self, hit_id: str) -> Iterator[Submission]:
        pages = self._client.get_paginator("list_assignments_for_hit").paginate(
            HITId=hit_id,
            AssignmentStatuses=["Submitted", "Approved", "Rejected"],
            PaginationConfig={"PageSize": PAGE},
        )
        unreadable: CrowdError | None = None
        with translated(self._endpoint):
            for page in pages:
                for assignment in page["Assignments"]:
                    try:
                        read = submission(assignment)
                    except CrowdError as error:
                        unreadable = unreadable or error
                    else:
                        yield read
        if unreadable is not None:  # told when all others are given
            raise unreadable

    def tend(self, hit_type_id: str, *, may_grow: bool = True) -> None:
        """Nothing: it looks after itself."""

    def surplus(self, hit_type_id: str) -> Mapping[str, int]:
        return {}

    def billed_cents(self, hit_type_id: str) -> int | None:
        return None

    def surplus_booked(self, names: Iterable[str]) -> None:
        """Nothing: there is none."""

    def approve(self, assignment_id: str) -> None:
        with translated(self._endpoint):
            try:
                self._client.approve_assignment(AssignmentId=assignment_id)
            except ClientError as refusal:
                self._pass_if(assignment_id, "Approved", refusal)

    def reject(self, assignment_id: str, *, reason: str, why: RejectionReason) -> None:
        with translated(self._endpoint):
            try:
                self._client.reject_assignment(AssignmentId=assignment_id, RequesterFeedback=reason)
            except ClientError as refusal:
                self._pass_if(assignment_id, "Rejected", refusal)

    def overturn(self, assignment_id: str) -> None:
        with translated(self._endpoint):
            try:
                self._client.approve_assignment(AssignmentId=assignment_id, OverrideRejection=True)
            except ClientError as refusal:
                self._pass_if(assignment_id, "Approved", refusal)

    def _pass_if(self, assignment_id: str, wanted: str, refusal: ClientError) -> None:
        """An earlier call whose answer was lost may have done it: the state decides."""
        if name(refusal) != "InvalidAssignmentState":
            raise refusal
        assignment = self._client.get_assignment(AssignmentId=assignment_id)["Assignment"]
        if assignment["AssignmentStatus"] != wanted:
            raise refusal
