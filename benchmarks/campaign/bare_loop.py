"""What the pipeline's calls are measured by: a client of boto3, a pool of threads, nothing kept."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from statistics import median
from typing import TYPE_CHECKING, Literal
from uuid import uuid4

from boto3.session import Session
from botocore.config import Config

from annotation.crowd.hit_url import hit_url
from annotation.crowd.mturk.xml import external_question
from annotation.models import Campaign

if TYPE_CHECKING:
    from mypy_boto3_mturk import MTurkClient

THREADS = 8
STATUSES: list[Literal["Submitted", "Approved", "Rejected"]] = ["Submitted", "Approved", "Rejected"]
PAGE = 100
NOBODY = "local"


class BareLoop:
    """The calls of `deliver` and `collect`, with the same parameters."""

    def __init__(self, endpoint: str) -> None:
        self._client: MTurkClient = Session().client(
            "mturk",
            region_name="us-east-1",
            endpoint_url=endpoint,
            config=Config(max_pool_connections=THREADS),
            aws_access_key_id=NOBODY,
            aws_secret_access_key=NOBODY,
        )
        self._pool = ThreadPoolExecutor(THREADS)

    def create(self, campaign: Campaign, keys: Sequence[str]) -> list[str]:
        """A HIT for each key."""
        policy = campaign.policy
        lifetime = int(timedelta(days=policy.lifetime_days).total_seconds())

        def make(key: str) -> str:
            made = self._client.create_hit_with_hit_type(
                HITTypeId=campaign.hit_type_id,
                Question=external_question(hit_url(key)),
                MaxAssignments=policy.annotators,
                LifetimeInSeconds=lifetime,
                UniqueRequestToken=uuid4().hex,
                RequesterAnnotation=f"bare-{key}",
            )
            return made["HIT"]["HITId"]

        return list(self._pool.map(make, keys))

    def collect(self, hits: set[str]) -> list[str]:
        """The assignments of these HITs, which are found by listing all there are."""

        def fetch(hit: str) -> list[str]:
            found = self._client.list_assignments_for_hit(
                HITId=hit, AssignmentStatuses=STATUSES, MaxResults=PAGE
            )
            return [work["AssignmentId"] for work in found["Assignments"]]

        pages = self._client.get_paginator("list_hits").paginate(
            PaginationConfig={"PageSize": PAGE}
        )
        listed = [hit["HITId"] for page in pages for hit in page["HITs"]]
        works = self._pool.map(fetch, [hit for hit in listed if hit in hits])
        return [work for some in works for work in some]

    def decide(self, works: Sequence[str], *, rejected: int) -> None:
        """Reject the first so many, approve the others."""

        def tell(number: int) -> None:
            if number < rejected:
                self._client.reject_assignment(AssignmentId=works[number], RequesterFeedback="no")
            else:
                self._client.approve_assignment(AssignmentId=works[number])

        list(self._pool.map(tell, range(len(works))))


class Turns:
    """Ours and the bare way in turns, each first as often as the other."""

    def __init__(self) -> None:
        self._seconds: list[tuple[float, float]] = []
        self._calls = 0

    def take(self, ours: Callable[[], object], bare: Callable[[], object], *, calls: int) -> None:
        if len(self._seconds) % 2:
            took = _seconds(bare)
            self._seconds.append((_seconds(ours), took))
        else:
            self._seconds.append((_seconds(ours), _seconds(bare)))
        self._calls += calls

    def result(self) -> dict[str, object]:
        ours, bare = (sum(side) for side in zip(*self._seconds, strict=True))
        ratios = [round(mine / theirs, 2) for mine, theirs in self._seconds]
        return {
            "calls": self._calls,
            "ours_calls_a_second": round(self._calls / ours),
            "bare_calls_a_second": round(self._calls / bare),
            "ratio": median(ratios),
            "ratios": ratios,
        }


def _seconds(way: Callable[[], object]) -> float:
    began = time.monotonic()
    way()
    return time.monotonic() - began
