"""Mechanical Turk by boto3: production, sandbox and the emulator differ by the endpoint alone."""

import re
from collections.abc import Iterator
from datetime import UTC
from decimal import Decimal
from typing import TYPE_CHECKING, Literal

from boto3.session import Session
from botocore.config import Config
from botocore.exceptions import ClientError

from annotation.crowd.base import CrowdError, CrowdHit, HitTypeSpec, Submission
from annotation.crowd.mturk_errors import is_replay, message, name, translated
from annotation.crowd.mturk_requirements import qualification_requirements
from annotation.crowd.mturk_sites import SUBMIT_PATH, is_amazon, is_sandbox, site_of
from annotation.crowd.mturk_xml import external_question, read_answers

if TYPE_CHECKING:
    from mypy_boto3_mturk import MTurkClient
    from mypy_boto3_mturk.type_defs import AssignmentTypeDef, HITTypeDef

REGION = "us-east-1"  # the only one that MTurk has
PAGE = 100  # the most that MTurk gives at once

# botocore sends a call again whose answer was late, though MTurk may have carried it out. That is
# safe with every call made here: create and extend carry a token, a name makes one qualification,
# a refused review is looked up, and the others set what is set already.
_CONFIG = Config(
    region_name=REGION,
    retries={"mode": "standard", "total_max_attempts": 3},
    connect_timeout=5,
    read_timeout=30,
)
_MTURK_ID = re.compile(r"\b[A-Z0-9]{28,40}\b")
_STATUSES: dict[str, Literal["submitted", "approved", "rejected"]] = {
    "Submitted": "submitted",
    "Approved": "approved",
    "Rejected": "rejected",
}


class MTurkCrowd:
    """The crowd behind one endpoint of MTurk's API."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint
        self._client = self._connect()

    def _connect(self) -> "MTurkClient":
        # Who is not Amazon has no account to bill and reads no signature: the emulator needs no
        # credentials and is not shown any. For Amazon boto3 finds them as it always does.
        nobody = None if is_amazon(self._endpoint) else "local"
        return Session().client(
            "mturk",
            endpoint_url=self._endpoint,
            config=_CONFIG,
            aws_access_key_id=nobody,
            aws_secret_access_key=nobody,
        )

    @property
    def endpoint(self) -> str:
        return self._endpoint

    @property
    def is_production(self) -> bool:
        return is_amazon(self._endpoint) and not is_sandbox(self._endpoint)

    @property
    def submit_url(self) -> str:
        return site_of(self._endpoint) + SUBMIT_PATH

    def balance_cents(self) -> int:
        with translated(self._endpoint):
            return int(Decimal(self._client.get_account_balance()["AvailableBalance"]) * 100)

    def create_exclusion(self, name: str) -> str:
        with translated(self._endpoint):
            return self._own_qualification(name) or self._make_qualification(name)

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

    def _make_qualification(self, name: str) -> str:
        made = self._client.create_qualification_type(
            Name=name,
            Description="Workers who hold this take no further part in the campaign.",
            QualificationTypeStatus="Active",
        )
        return made["QualificationType"]["QualificationTypeId"]

    def create_hit_type(self, spec: HitTypeSpec) -> str:
        with translated(self._endpoint):
            made = self._client.create_hit_type(
                Title=spec.title,
                Description=spec.description,
                Keywords=spec.keywords,
                Reward=f"{spec.reward_cents // 100}.{spec.reward_cents % 100:02}",
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
        places: int,
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
                    MaxAssignments=places,
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

    def hits(self) -> Iterator[CrowdHit]:
        pages = self._client.get_paginator("list_hits").paginate(
            PaginationConfig={"PageSize": PAGE}
        )
        with translated(self._endpoint):
            for page in pages:
                for hit in page["HITs"]:
                    yield _crowd_hit(hit)

    def submissions(self, hit_id: str) -> Iterator[Submission]:
        pages = self._client.get_paginator("list_assignments_for_hit").paginate(
            HITId=hit_id,
            AssignmentStatuses=["Submitted", "Approved", "Rejected"],
            PaginationConfig={"PageSize": PAGE},
        )
        with translated(self._endpoint):
            for page in pages:
                for assignment in page["Assignments"]:
                    yield _submission(assignment)

    def approve(self, assignment_id: str) -> None:
        with translated(self._endpoint):
            try:
                self._client.approve_assignment(AssignmentId=assignment_id)
            except ClientError as refusal:
                self._pass_if(assignment_id, "Approved", refusal)

    def reject(self, assignment_id: str, *, reason: str) -> None:
        with translated(self._endpoint):
            try:
                self._client.reject_assignment(AssignmentId=assignment_id, RequesterFeedback=reason)
            except ClientError as refusal:
                self._pass_if(assignment_id, "Rejected", refusal)

    def _pass_if(self, assignment_id: str, wanted: str, refusal: ClientError) -> None:
        """An earlier call whose answer was lost may have done it: the state decides."""
        if name(refusal) != "InvalidAssignmentState":
            raise refusal
        found = self._client.get_assignment(AssignmentId=assignment_id)["Assignment"]
        if found["AssignmentStatus"] != wanted:
            raise refusal

    def exclude(self, worker_id: str, *, exclusion_id: str) -> None:
        with translated(self._endpoint):
            self._client.associate_qualification_with_worker(
                QualificationTypeId=exclusion_id,
                WorkerId=worker_id,
                IntegerValue=1,
                SendNotification=False,
            )

    def block(self, worker_id: str, *, reason: str) -> None:
        with translated(self._endpoint):
            self._client.create_worker_block(WorkerId=worker_id, Reason=reason)


def _crowd_hit(hit: "HITTypeDef") -> CrowdHit:
    # MTurk counts as completed only what is reviewed: what is handed in is what is neither free
    # nor in somebody's hands. Of an expired HIT no place may be free: then this is the most it
    # can be.
    open_places = hit["NumberOfAssignmentsAvailable"] + hit["NumberOfAssignmentsPending"]
    return CrowdHit(
        hit_id=hit["HITId"],
        annotation=hit.get("RequesterAnnotation", ""),
        max_assignments=hit["MaxAssignments"],
        handed_in=hit["MaxAssignments"] - open_places,
        expires_at=hit["Expiration"].astimezone(UTC),
    )


def _submission(assignment: "AssignmentTypeDef") -> Submission:
    assignment_id = assignment["AssignmentId"]
    try:
        answers = read_answers(assignment["Answer"])
    except ValueError as error:
        message = f"The answers of assignment {assignment_id} cannot be read: {error}."
        raise CrowdError(message, permanent=True) from error
    return Submission(
        assignment_id=assignment_id,
        worker_id=assignment["WorkerId"],
        accepted_at=assignment["AcceptTime"].astimezone(UTC),
        submitted_at=assignment["SubmitTime"].astimezone(UTC),
        status=_STATUSES[assignment["AssignmentStatus"]],
        answers=answers,
    )
