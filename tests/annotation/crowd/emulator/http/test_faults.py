"""Calls that are lost, fail, are throttled or come late: what a real client sees of each."""

import itertools
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, ConnectionClosedError

from annotation.crowd.wire.faults import KINDS, Faults
from tests.annotation.crowd.emulator.conftest import running
from tests.annotation.crowd.emulator.turk import DAY, SESSION, Turk, Worker, question


def seed_of(*kinds: str) -> int:
    """One under which the first calls meet these faults, in this order."""
    for seed in itertools.count():
        faults = Faults(1.0, seed)
        if all(
            met is not None and met.kind == kind for kind in kinds for met in [faults.of_call()]
        ):
            return seed
    raise AssertionError


def once(url: str) -> Any:
    """A client that does not try again."""
    config = Config(retries={"total_max_attempts": 1})
    return SESSION.client("mturk", endpoint_url=url, config=config)


@contextmanager
def troubled(turk: Turk, *kinds: str) -> Iterator[Turk]:
    """A second emulator on the state of the first, where the first calls meet these faults."""
    with running(turk.state, faults=Faults(1.0, seed_of(*kinds))) as twin:
        yield twin


def create(client: Any, turk: Turk) -> dict[str, Any]:
    answer: dict[str, Any] = client.create_hit_with_hit_type(
        HITTypeId=turk.hit_type(),
        LifetimeInSeconds=DAY,
        Question=question(),
        UniqueRequestToken="once",
    )
    return answer


def hits(turk: Turk) -> int:
    return len(turk.rows("SELECT 1 FROM hits"))


def injected(turk: Turk) -> Counter[tuple[str, str]]:
    rows = turk.rows("SELECT kind, operation FROM faults")
    return Counter((row["kind"], row["operation"]) for row in rows)


@pytest.mark.parametrize(("kind", "made"), [("closed_before", 0), ("closed_after", 1)])
def test_a_lost_connection_leaves_the_client_without_an_answer(
    turk: Turk, kind: str, made: int
) -> None:
    with troubled(turk, kind) as twin, pytest.raises(ConnectionClosedError):
        create(once(twin.url), turk)
    assert hits(turk) == made
    assert turk.balance()[1] == f"0.{18 * made:02d}"
    assert injected(turk) == {(kind, "CreateHITWithHITType"): 1}
    assert turk.rows("SELECT at FROM faults")[0]["at"] == turk.clock.now


def test_a_connection_in_use_is_lost_like_a_new_one(turk: Turk) -> None:
    with troubled(turk, "slow", "closed_after") as twin:
        client = once(twin.url)
        client.get_account_balance()
        with pytest.raises(ConnectionClosedError):
            create(client, turk)
    assert hits(turk) == 1


@pytest.mark.parametrize(("kind", "made"), [("failed_before", 0), ("failed_after", 1)])
def test_a_failure_says_500_or_503_whatever_was_done(turk: Turk, kind: str, made: int) -> None:
    with troubled(turk, kind) as twin, pytest.raises(ClientError) as caught:
        create(once(twin.url), turk)
    status = caught.value.response["ResponseMetadata"]["HTTPStatusCode"]
    code = caught.value.response["Error"]["Code"]
    assert (status, code) in {(500, "ServiceFault"), (503, "ServiceUnavailable")}
    assert hits(turk) == made


def test_both_statuses_occur() -> None:
    faults = Faults(1.0, 1)
    assert {fault.status for _ in range(20) if (fault := faults.of_call())} == {500, 503}


def test_a_throttled_call_is_not_carried_out(turk: Turk) -> None:
    with troubled(turk, "throttled") as twin, pytest.raises(ClientError) as caught:
        create(once(twin.url), turk)
    assert caught.value.response["Error"]["Code"] == "ThrottlingException"
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    assert hits(turk) == 0


def test_a_slow_answer_is_the_right_one(turk: Turk) -> None:
    with troubled(turk, "slow") as twin:
        client = once(twin.url)
        began = time.monotonic()
        answer = create(client, turk)
        assert time.monotonic() - began >= 0.2
    assert turk.shown(answer["HIT"]["HITId"])["HITStatus"] == "Assignable"


def test_a_client_that_tries_again_meets_its_own_token(turk: Turk) -> None:
    with troubled(turk, "closed_after", "slow") as twin:
        with pytest.raises(ClientError) as caught:
            create(twin.api, turk)
        response: dict[str, Any] = dict(caught.value.response)
    assert response["TurkErrorCode"] == "AWS.MechanicalTurk.HitAlreadyExists"
    assert hits(turk) == 1


def test_the_pages_of_workers_are_served_as_always(turk: Turk) -> None:
    hit_id = turk.hit()
    with running(turk.state, faults=Faults(1.0, 3)) as twin:
        ada = twin.worker("AADA")
        assert ada.offers() == [hit_id]
        ada.do(hit_id)
        assert "Available" in twin.browser().get("/").text
    assert {kind for kind, _ in injected(turk)} <= {"hasty_approval"}


def kinds(rate: float, seed: int, calls: int = 2_000) -> list[str | None]:
    faults = Faults(rate, seed)
    met = [faults.of_call() for _ in range(calls)]
    return [fault.kind if fault else None for fault in met]


def test_the_same_seed_gives_the_same_calls_the_same_faults() -> None:
    assert kinds(0.1, 7) == kinds(0.1, 7)
    assert kinds(0.1, 7) != kinds(0.1, 8)


@pytest.mark.parametrize(("rate", "least", "most"), [(0.0, 0, 0), (0.1, 150, 250), (1.0, 2e3, 2e3)])
def test_the_rate_is_the_share_of_calls(rate: float, least: float, most: float) -> None:
    met = Counter(kinds(rate, 7))
    assert least <= met.total() - met[None] <= most
    assert set(met) - {None} == (set(KINDS) if rate else set())


def hasty(turk: Turk, workers: int, rate: float, seed: int) -> list[str]:
    """Who submits something that is approved by itself, at each of `workers` submissions."""
    hit_id = turk.hit(max_assignments=workers)
    with running(turk.state, faults=Faults(rate, seed)) as twin:
        people = [twin.worker(f"A{number}") for number in range(workers)]
        for worker in people:
            worker.do(hit_id)
    turk.clock.forward(3)
    approved = turk.assignments(hit_id, "Approved")
    return [each["WorkerId"] for each in approved]


def test_some_submissions_are_approved_before_anybody_has_seen_them(turk: Turk) -> None:
    approved = hasty(turk, 40, 1.0, 5)
    assert 2 <= len(approved) <= 16
    assert injected(turk) == {("hasty_approval", "externalSubmit"): len(approved)}
    assert turk.rows("SELECT spent FROM account")[0]["spent"] == len(approved) * 21
    assert hasty(turk, 40, 1.0, 5) == approved
    rows = turk.rows("SELECT approved_at - submitted_at AS took FROM assignments")
    assert all(1 <= row["took"] <= 3 for row in rows if row["took"] is not None)


def test_a_submission_that_is_refused_counts_no_fault(turk: Turk, ada: Worker) -> None:
    seed = next(seed for seed in itertools.count() if Faults(1.0, seed).of_submission())
    with running(turk.state, faults=Faults(1.0, seed)) as twin:
        twin.worker("AADA").submit("NOSUCHASSIGNMENT")
    assert injected(turk) == {}


def test_a_requester_who_repeats_with_tokens_pays_for_nothing_twice(turk: Turk) -> None:
    hit_type = turk.hit_type()
    with running(turk.state, faults=Faults(0.5, 11)) as twin:
        client = once(twin.url)
        for number in range(60):
            insist(client, HITTypeId=hit_type, UniqueRequestToken=str(number))
    assert hits(turk) == 60
    assert turk.balance() == ("9989.20", "10.80")
    assert {kind for kind, _ in injected(turk)} == set(KINDS)


def insist(client: Any, **given: str) -> None:
    """Until the HIT is made, or was made by a call whose answer was lost."""
    while True:
        try:
            client.create_hit_with_hit_type(LifetimeInSeconds=DAY, Question=question(), **given)
            return
        except client.exceptions.RequestError as error:
            if error.response["TurkErrorCode"].endswith(".HitAlreadyExists"):
                return
            raise
        except (ClientError, ConnectionClosedError):
            continue
