"""Who belongs to the team."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from annotation.crowd.inhouse.members import (
    deactivate,
    find_invitation,
    invite,
    join,
    member_of,
    revoke,
)
from annotation.crowd.inhouse.models import Invitation, Member
from core.errors import UserError
from tests.annotation.crowd.inhouse.team import Team

pytestmark = pytest.mark.concurrent


@pytest.fixture
def boss(db: None) -> User:
    return User.objects.create_user("boss", is_staff=True)


@pytest.fixture
def newcomer(db: None) -> User:
    return User.objects.create_user("newcomer")


def invited(team: Team, boss: User, *, days: int = 7, uses: int = 1) -> str:
    return invite(boss, note="The first round", days=days, uses=uses, now=team.now)


def test_an_invitation_makes_a_member(team: Team, boss: User, newcomer: User) -> None:
    member = join(invited(team, boss), newcomer, now=team.now)
    assert member_of(newcomer) == member
    assert member.active
    assert len(member.worker_id) == 12
    assert member_of(boss) is None


def test_the_code_itself_is_not_kept(team: Team, boss: User) -> None:
    code = invited(team, boss)
    (stored,) = Invitation.objects.values()
    assert code not in str(stored)


def test_a_code_that_nobody_gave_out_is_refused(team: Team, newcomer: User) -> None:
    with pytest.raises(UserError, match="no such invitation"):
        join("guessed", newcomer, now=team.now)


def test_an_invitation_is_good_for_so_many_people(team: Team, boss: User) -> None:
    code = invited(team, boss, uses=2)
    for number in range(2):
        join(code, User.objects.create_user(f"ada{number}"), now=team.now)
    with pytest.raises(UserError, match="Everybody this invitation was for"):
        join(code, User.objects.create_user("late"), now=team.now)
    assert Member.objects.count() == 2


def test_who_is_a_member_uses_up_no_invitation(team: Team, boss: User, newcomer: User) -> None:
    code = invited(team, boss, uses=2)
    assert join(code, newcomer, now=team.now) == join(code, newcomer, now=team.now)
    assert Invitation.objects.get().uses == 1


def test_an_invitation_expires(team: Team, boss: User, newcomer: User) -> None:
    code = invited(team, boss, days=3)
    team.move_on(timedelta(days=3))
    with pytest.raises(UserError, match="has expired"):
        join(code, newcomer, now=team.now)


def test_an_invitation_can_be_called_back(team: Team, boss: User, newcomer: User) -> None:
    code = invited(team, boss)
    revoke(find_invitation(code, now=team.now), now=team.now)
    with pytest.raises(UserError, match="has expired"):
        join(code, newcomer, now=team.now)


def test_no_invitation_brings_back_whose_membership_has_ended(
    team: Team, boss: User, newcomer: User
) -> None:
    deactivate(join(invited(team, boss), newcomer, now=team.now))
    with pytest.raises(UserError, match="has ended"):
        join(invited(team, boss), newcomer, now=team.now)
    member = member_of(newcomer)
    assert member is not None
    assert not member.active


@pytest.mark.parametrize(("days", "uses"), [(0, 1), (366, 1), (1, 0), (1, 10_001)])
def test_an_invitation_has_its_measure(team: Team, boss: User, days: int, uses: int) -> None:
    with pytest.raises(UserError, match="An invitation"):
        invited(team, boss, days=days, uses=uses)
