"""The client against the emulator over HTTP, on bad days: what is repeated, and what never is."""

import itertools
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from annotation.crowd.port import CrowdError
from annotation.crowd.prolific.errors import OutcomeUnknown
from annotation.crowd.rate_limit import RateLimiter
from annotation.crowd.wire.faults import KINDS, Faults
from tests.annotation.crowd.prolific.world import (
    LONG,
    NOBODY,
    STUDY,
    Prolific,
    client_at,
    insist,
    running,
)


def seed_of(*kinds: str) -> int:
    """One under which the first calls meet these faults, in this order."""
    for seed in itertools.count():
        faults = Faults(1.0, seed)
        met = [fault.kind if (fault := faults.of_call()) else None for _ in kinds]
        if tuple(met) == kinds:
            return seed
    raise AssertionError


@contextmanager
def troubled(prolific: Prolific, *kinds: str, timeout: float = 10) -> Iterator[Prolific]:
    """A second emulator on the state of the first, where the first calls meet these faults."""
    faults = Faults(1.0, seed_of(*kinds))
    with running(prolific.state, clock=prolific.clock, faults=faults, timeout=timeout) as twin:
        yield twin


def test_a_call_that_is_safe_is_repeated_until_it_is_answered(prolific: Prolific) -> None:
    submission_id = prolific.person().do(prolific.study())
    with troubled(prolific, "failed_after", "closed_before", "slow") as twin:
        assert twin.client.submissions.approve(submission_id).status == "APPROVED"
    with troubled(prolific, "closed_after", "throttled", "slow") as twin:
        assert twin.client.submissions.get(submission_id).status == "APPROVED"
        assert twin.rate.pauses == 1
    assert prolific.wallet()[2] == 13_334


def test_a_call_that_is_not_safe_is_sent_once(prolific: Prolific) -> None:
    for kind in ("closed_before", "closed_after", "failed_before", "failed_after", "throttled"):
        made = len(list(prolific.client.studies.list()))
        with troubled(prolific, kind) as twin, pytest.raises(CrowdError) as failed:
            twin.client.studies.create(STUDY)
        assert not failed.value.permanent
        assert failed.value.throttled == (kind == "throttled")
        after = len(list(prolific.client.studies.list()))
        assert after - made == kind.endswith("_after")


@pytest.mark.parametrize(
    ("kind", "paid"),
    [("closed_before", 0), ("closed_after", 1), ("failed_before", 0), ("failed_after", 1)],
)
def test_a_payment_whose_answer_is_lost_is_not_repeated(
    prolific: Prolific, kind: str, paid: int
) -> None:
    submission_id, bulk_id = bonus(prolific)
    with troubled(prolific, kind) as twin:
        with pytest.raises(OutcomeUnknown, match="Nobody knows whether") as unknown:
            twin.client.bonuses.pay(bulk_id)
        assert unknown.value.permanent
    prolific.clock.forward(60)
    assert prolific.client.submissions.get(submission_id).bonus_cents == (50,) * paid
    assert len(prolific.rows("SELECT 1 FROM faults")) == 1  # one call was made


def bonus(prolific: Prolific) -> tuple[str, str]:
    study_id = prolific.study()
    submission_id = prolific.person().do(study_id)
    return submission_id, prolific.client.bonuses.set_up(study_id, [(submission_id, 50)]).bulk_id


def test_a_payment_that_comes_late_is_unknown_too(prolific: Prolific) -> None:
    submission_id, bulk_id = bonus(prolific)
    with (
        troubled(prolific, "slow", timeout=0.1) as twin,
        pytest.raises(OutcomeUnknown, match="ReadTimeout"),
    ):
        twin.client.bonuses.pay(bulk_id)
    prolific.clock.forward(60)
    assert prolific.client.submissions.get(submission_id).bonus_cents == (50,)


def test_a_payment_that_was_throttled_was_not_made(prolific: Prolific) -> None:
    submission_id, bulk_id = bonus(prolific)
    with troubled(prolific, "throttled") as twin, pytest.raises(CrowdError) as refused:
        twin.client.bonuses.pay(bulk_id)
    assert refused.value.throttled
    assert not isinstance(refused.value, OutcomeUnknown)
    prolific.clock.forward(60)
    assert prolific.client.submissions.get(submission_id).bonus_cents == ()


def test_a_payment_that_the_pace_does_not_allow_was_not_made(prolific: Prolific) -> None:
    submission_id, bulk_id = bonus(prolific)
    rate = RateLimiter("busy", calls_per_second=1, most_wait=0)
    with client_at(prolific.url, rate=rate) as client:
        client.submissions.get(submission_id)
        with pytest.raises(CrowdError, match="too often") as refused:
            client.bonuses.pay(bulk_id)
    assert not isinstance(refused.value, OutcomeUnknown)


def test_a_payment_that_was_never_sent_can_be_sent_again() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with (
        client_at(f"http://127.0.0.1:{port}") as client,
        pytest.raises(CrowdError, match="cannot be reached") as refused,
    ):
        client.bonuses.pay(NOBODY)
    assert not refused.value.permanent
    assert not isinstance(refused.value, OutcomeUnknown)


def publish_insisting(prolific: Prolific) -> str:
    """Who does not know what came of a call looks first."""
    studies = prolific.client.studies
    study_id: str = insist(studies.create, STUDY).study_id
    while insist(studies.get, study_id).status == "UNPUBLISHED":
        with suppress(CrowdError):
            studies.transition(study_id, "PUBLISH")
    prolific.clock.forward(2)
    return study_id


def test_a_campaign_under_faults_pays_each_once(tmp_path: Path) -> None:
    rounds = 8
    with running(tmp_path / "state.sqlite3", faults=Faults(0.4, 5)) as prolific:
        submissions = prolific.client.submissions
        for _ in range(rounds):
            study_id = publish_insisting(prolific)
            good, bad = (prolific.person().do(study_id) for _ in range(2))
            insist(submissions.approve, good)
            insist(submissions.reject, bad, category="OTHER", message=LONG)
            insist(submissions.approve_in_bulk, [good, bad])
            prolific.clock.forward(60)
            assert insist(submissions.get, good).status == "APPROVED"
        assert prolific.rows("SELECT kind, cents FROM payments") == [("reward", 100)] * rounds
        assert {kind for (kind,) in prolific.rows("SELECT kind FROM faults")} == {*KINDS}


def test_a_client_reads_every_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("annotation.crowd.prolific.connection.LIMIT", 2)
    with running(tmp_path / "state.sqlite3") as prolific:
        made = [prolific.draft() for _ in range(5)]
        assert [it.study_id for it in prolific.client.studies.list()] == made
        study_id = prolific.study(total_available_places=4)
        done = [prolific.person().do(study_id) for _ in range(4)]
        read = [it.submission_id for it in prolific.client.submissions.of_study(study_id)]
        assert read == done
