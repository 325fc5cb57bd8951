"""A requester with boto3: HITs are created, and what is submitted is reviewed, paid, deleted."""

import threading
import time
from typing import Any

import boto3
from botocore.config import Config

from benchmarks.turk.people import Times

QUESTION = (
    '<ExternalQuestion xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/'
    '2006-07-14/ExternalQuestion.xsd"><ExternalURL>https://example.org/{number}</ExternalURL>'
    "<FrameHeight>400</FrameHeight></ExternalQuestion>"
)
REWARD_CENTS, BONUS_CENTS = 5, 3
BONUS_EACH = 10  # of so many one gets it
NOTHING_SECONDS = 0.2


class Requester:
    def __init__(self, url: str, key: tuple[str, str], hits: int, prefix: str = "") -> None:
        self._client = boto3.client(
            "mturk",
            endpoint_url=url,
            region_name="us-east-1",
            aws_access_key_id=key[0],
            aws_secret_access_key=key[1],
            config=Config(retries={"mode": "standard", "total_max_attempts": 10}),
        )
        self._hits = hits
        self._prefix = prefix  # of titles and tokens, where requesters share one account
        self.times = Times()
        self.create_seconds = 0.0
        self.paid = self.bonuses = 0

        hit_type = self._client.create_hit_type(
            Title=f"{prefix}Name the colour",
            Description="Say what you see.",
            Reward=f"0.{REWARD_CENTS:02}",
            AssignmentDurationInSeconds=3600,
        )
        self._type: str = hit_type["HITTypeId"]

    def create(self) -> None:
        began = time.perf_counter()
        for number in range(self._hits):
            self._call(
                "create",
                "create_hit_with_hit_type",
                HITTypeId=self._type,
                LifetimeInSeconds=86_400,
                Question=QUESTION.format(number=number),
                UniqueRequestToken=f"{self._prefix}hit-{number}",
            )
        self.create_seconds = time.perf_counter() - began

    def review(self, over: threading.Event) -> None:
        """Until every HIT is worked and paid."""
        while self.paid < self._hits and not over.is_set():
            about = {"HITTypeId": self._type, "MaxResults": 100}
            listed = self._call("reviewable", "list_reviewable_hits", **about)["HITs"]
            for hit in listed:
                self._pay(hit["HITId"])
            if not listed:
                time.sleep(NOTHING_SECONDS)

    def _pay(self, hit_id: str) -> None:
        for work in self._call("list", "list_assignments_for_hit", HITId=hit_id)["Assignments"]:
            about = {"AssignmentId": work["AssignmentId"]}
            self._call("approve", "approve_assignment", **about)
            if self.paid % BONUS_EACH == 0:
                about |= {"WorkerId": work["WorkerId"], "UniqueRequestToken": work["AssignmentId"]}
                paid = {"BonusAmount": f"0.{BONUS_CENTS:02}", "Reason": "Thanks"}
                self._call("bonus", "send_bonus", **about, **paid)
                self.bonuses += 1
            self.paid += 1
        self._call("delete", "delete_hit", HITId=hit_id)

    def _call(self, what: str, name: str, **parameters: Any) -> Any:
        began = time.perf_counter()
        answer = getattr(self._client, name)(**parameters)
        self.times.seconds[what].append(time.perf_counter() - began)
        return answer
