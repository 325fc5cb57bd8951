"""What the in-house crowd tells the pipeline, beyond the contract of every crowd."""

from dataclasses import replace
from datetime import timedelta
from unittest import mock

import pytest
from django.db import IntegrityError, OperationalError, connection, transaction

from annotation.crowd.inhouse import adapter
from annotation.crowd.inhouse.models import Member, PostedHit, Queue
from annotation.crowd.port import CrowdError
from tests.annotation.crowd.inhouse.team import LEASE, SPEC, Team

pytestmark = pytest.mark.concurrent

MOST_OF_A_BIGINT = 2**63 - 1


def test_its_money_never_ends_and_fits_every_column(team: Team) -> None:
    assert 10**12 < team.crowd.balance_cents() < MOST_OF_A_BIGINT


def test_its_calls_stay_in_the_thread_that_makes_them(team: Team) -> None:
    assert team.crowd.site.is_local
    assert team.crowd.site.endpoint == "inhouse"


@pytest.mark.parametrize(
    "wish", [{"masters": True}, {"min_approval_percent": 95}, {"min_approved": 1}]
)
def test_what_only_mturk_knows_of_its_workers_is_refused(
    team: Team, wish: dict[str, object]
) -> None:
    with pytest.raises(CrowdError, match="no Masters and no approval rates") as refusal:
        team.crowd.create_hit_type(replace(SPEC, **wish))  # type: ignore[arg-type]
    assert refusal.value.permanent


def test_whom_a_type_bars_counts_in_any_order(team: Team) -> None:
    known = team.qualification("known")
    types = [
        team.crowd.create_hit_type(replace(SPEC, known_id=known, excluded_workers=excluded_workers))
        for excluded_workers in ((3, 1, 2), (1, 2, 3), (1, 2))
    ]
    assert types[0] == types[1] != types[2]
    assert Queue.objects.count() == 1


def test_a_token_is_remembered_for_ever(team: Team, ada: Member) -> None:
    hit_id = team.publish(max_assignments=1)
    work = team.do(ada).assignment_id
    for _ in range(2):
        team.crowd.extend_hit(hit_id, extra=1, token="a tie")
        team.crowd.bonus(ada.worker_id, work, cents=1, reason="Thanks.", token="a bonus")
        team.move_on(timedelta(days=100))
    assert team.posted_hit(hit_id).max_assignments == 2


def test_a_token_that_extended_another_hit_is_refused_for_good(team: Team) -> None:
    first, second = team.publish(), team.publish()
    team.crowd.extend_hit(first, extra=1, token="a tie")
    with pytest.raises(CrowdError, match="another HIT") as refusal:
        team.crowd.extend_hit(second, extra=1, token="a tie")
    assert refusal.value.permanent
    assert team.posted_hit(second).max_assignments == 2


def test_a_refused_extension_leaves_its_token_unused(team: Team) -> None:
    hit_id = team.publish(max_assignments=2)
    with pytest.raises(CrowdError, match="bring it to 10"):
        team.crowd.extend_hit(hit_id, extra=8, token="a tie")
    team.crowd.extend_hit(hit_id, extra=7, token="a tie")
    assert team.posted_hit(hit_id).max_assignments == 9


def test_a_hit_looked_at_has_lost_the_leases_that_ran_out(team: Team, ada: Member) -> None:
    hit_id = team.publish(max_assignments=1)
    team.get(ada)
    team.move_on(LEASE)
    hit = team.crowd.hit(hit_id)
    assert hit is not None
    assert (hit.available, hit.pending) == (1, 0)
    assert list(team.crowd.hits()) == [hit]


def test_a_hit_in_somebody_s_hands_is_not_deleted(team: Team, ada: Member) -> None:
    hit_id = team.publish(max_assignments=1)
    team.get(ada)
    with pytest.raises(CrowdError, match="cannot be deleted"):
        team.crowd.delete_hit(hit_id)
    team.move_on(LEASE)
    team.crowd.set_expiration(hit_id, team.now)
    team.crowd.delete_hit(hit_id)
    assert team.crowd.hit(hit_id) is None


def test_all_pages_of_the_list_are_read_while_others_write(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapter, "PAGE", 2)
    hits = [team.publish() for _ in range(5)]
    listed = []
    for hit in team.crowd.hits():
        listed.append(hit.hit_id)
        team.crowd.set_expiration(hit.hit_id, team.now)
    assert listed == hits


def test_a_database_that_is_busy_is_to_be_asked_again(team: Team) -> None:
    busy = mock.Mock(side_effect=OperationalError("database is locked"))
    with connection.execute_wrapper(busy), pytest.raises(CrowdError, match="is locked") as refusal:
        team.crowd.hit("any")
    assert not refusal.value.permanent


def test_a_place_cannot_be_given_out_beyond_the_last(team: Team) -> None:
    """The database itself says no, whatever asks."""
    hit_id = team.publish(max_assignments=1)
    for wrong in (-1, 2):
        with pytest.raises(IntegrityError), transaction.atomic():
            PostedHit.objects.filter(hit_id=hit_id).update(open_assignments=wrong)
