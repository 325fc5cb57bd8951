"""Many people at once, each in a thread with a connection of its own."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest
from django.contrib.auth.models import User

from annotation.crowd.inhouse import assignments
from annotation.crowd.inhouse.assignments import Refused
from annotation.crowd.inhouse.members import invite, join
from annotation.crowd.inhouse.models import Assignment, Invitation, Member, PostedHit
from annotation.crowd.port import CrowdError
from core.errors import UserError
from tests.annotation.crowd.inhouse.team import LEASE, SPEC, YES, Team
from tests.support.threads import together

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.concurrent]

CROWD = 16
HITS = 24


@pytest.fixture
def team() -> Team:
    return Team()


@pytest.fixture
def people(team: Team) -> list[Member]:
    return [team.join(f"ada{number}") for number in range(CROWD)]


def held_assignments(offer: PostedHit) -> int:
    return offer.assignments.exclude(status__in=["returned", "lapsed"]).count()


def no_place_is_lost_or_doubled() -> bool:
    return all(
        offer.open_assignments == offer.max_assignments - held_assignments(offer)
        for offer in PostedHit.objects.all()
    )


def works_all_day(team: Team, member: Member) -> int:
    """Until nothing is left; how many HITs. Every fifth is skipped at first."""
    done = seen = 0
    while (work := team.take(member)) is not None:
        seen += 1
        if seen % 5 == 0:
            team.give_back(member, work)
        else:
            team.submit(member, work)
            done += 1
    return done


def test_a_crowd_at_once_fills_every_place_and_none_twice(team: Team, people: list[Member]) -> None:
    hits = [team.publish(max_assignments=1 + number % 3) for number in range(HITS)]
    done = together(*(partial(works_all_day, team, member) for member in people))
    assert sum(done) == sum(1 + number % 3 for number in range(HITS))
    assert no_place_is_lost_or_doubled()
    assert list(PostedHit.objects.values_list("open_assignments", flat=True)) == [0] * HITS
    taken = Counter(
        Assignment.objects.filter(status="submitted").values_list("posted_hit", "member")
    )
    assert max(taken.values()) == 1
    assert {len(list(team.crowd.submissions(hit))) for hit in hits} == {1, 2, 3}


def test_the_last_place_goes_to_one(team: Team, people: list[Member]) -> None:
    team.publish(max_assignments=1)
    got = together(*(partial(team.take, member) for member in people))
    assert sum(work is not None for work in got) == 1
    assert no_place_is_lost_or_doubled()


def test_who_clicks_in_many_tabs_at_once_gets_one_hit(team: Team, people: list[Member]) -> None:
    for _ in range(HITS):
        team.publish()
    got = together(*[partial(team.get, people[0])] * 8)
    assert len({work.assignment_id for work in got}) == 1
    assert no_place_is_lost_or_doubled()


def test_submits_at_once_are_one(team: Team, people: list[Member]) -> None:
    hit_id, ada = team.publish(), people[0]
    work = team.get(ada)
    sheets = [{"item-1": str(number)} for number in range(8)]
    together(
        *(
            partial(assignments.submit, ada, work.assignment_id, sheet, now=team.now)
            for sheet in sheets
        )
    )
    (submission,) = team.crowd.submissions(hit_id)
    assert submission.answers in sheets
    assert no_place_is_lost_or_doubled()


def test_late_submits_at_once_take_one_place_back(team: Team, people: list[Member]) -> None:
    hit_id, ada = team.publish(max_assignments=3), people[0]
    work = team.get(ada)
    team.move_on(LEASE)
    team.crowd.hit(hit_id)
    answers = together(*[partial(team.submit, ada, work)] * 8)
    assert {work.status for work in answers} == {"submitted"}
    assert team.posted_hit(hit_id).open_assignments == 2


def test_late_work_opened_in_many_tabs_at_once_takes_one_place_back(
    team: Team, people: list[Member]
) -> None:
    hit_id, ada = team.publish(max_assignments=3), people[0]
    for noticed in (False, True):
        work = team.get(ada)
        team.move_on(LEASE)
        if noticed:
            team.crowd.hit(hit_id)
        together(*[partial(assignments.revive, ada, work.assignment_id, now=team.now)] * 8)
        assert team.posted_hit(hit_id).open_assignments == 2
        assert assignments.in_hand(ada, now=team.now) == [work]


def test_a_place_that_lapsed_goes_to_the_late_or_to_the_next_never_to_both(
    team: Team, people: list[Member]
) -> None:
    ada, *others = people
    for comes_back in (submitted, is_back) * 3:
        hit_id = team.publish(max_assignments=1)
        work = team.get(ada)
        team.move_on(LEASE)
        late, *got = together(
            partial(comes_back, team, ada, work),
            *(partial(has_taken, team, member) for member in others[:5]),
        )
        assert [late, *got].count(True) == 1
        assert team.posted_hit(hit_id).open_assignments == 0
        team.crowd.set_expiration(hit_id, team.now)
        for member in people[:6]:
            works_all_day(team, member)


def is_back(team: Team, member: Member, work: Assignment) -> bool:
    try:
        return assignments.revive(member, work.assignment_id, now=team.now) == work
    except Refused:
        return False


def submitted(team: Team, member: Member, work: Assignment) -> bool:
    try:
        return team.submit(member, work).answers == YES
    except Refused:
        return False


def has_taken(team: Team, member: Member) -> bool:
    return team.take(member) is not None


def test_a_lease_that_ran_out_opens_one_place_whoever_notices(
    team: Team, people: list[Member]
) -> None:
    hit_id = team.publish(max_assignments=3)
    team.get(people[0])
    team.move_on(LEASE)
    together(*[partial(team.crowd.hit, hit_id)] * 8)
    assert team.posted_hit(hit_id).open_assignments == 3


def test_calls_at_once_with_one_token_are_one(team: Team, people: list[Member]) -> None:
    kind = team.crowd.create_hit_type(SPEC)
    create: Callable[[], str] = partial(
        team.crowd.create_hit,
        hit_type_id=kind,
        url="https://quorum.example.org/hit/1",
        max_assignments=1,
        lifetime_seconds=3600,
        token="one",
        annotation="a key",
    )
    (hit_id,) = set(together(*[create] * 8))
    together(*[partial(team.crowd.extend_hit, hit_id, extra=1, token="two")] * 8)
    assert team.posted_hit(hit_id).max_assignments == 2
    work = team.do(people[0])
    pay = partial(
        team.crowd.bonus,
        people[0].worker_id,
        work.assignment_id,
        cents=10,
        reason="Thank you.",
        token="three",
    )
    together(*[pay] * 8)
    assert assignments.tally(people[0]).bonus_cents == 10


def test_extensions_at_once_do_not_bring_a_hit_to_ten(team: Team) -> None:
    hit_id = team.publish(max_assignments=5)

    def extend(number: int) -> bool:
        try:
            team.crowd.extend_hit(hit_id, extra=2, token=f"token {number} of many")
        except CrowdError:
            return False
        return True

    assert sum(together(*(partial(extend, number) for number in range(8)))) == 2
    assert team.posted_hit(hit_id).max_assignments == 9


def test_what_is_made_at_once_is_made_once(team: Team, people: list[Member]) -> None:
    (known,) = set(together(*[partial(team.qualification, "known")] * 8))
    wanted = replace(SPEC, known_id=known, excluded_workers=(1, 2))
    assert len(set(together(*[partial(team.crowd.create_hit_type, wanted)] * 8))) == 1
    worker_id = people[0].worker_id
    grants = [
        partial(team.crowd.grant, worker_id, qualification_id=known, value=number)
        for number in range(8)
    ]
    together(*grants)
    assert people[0].grants.count() == 1


def test_a_hit_that_somebody_takes_is_not_deleted_beneath_them(
    team: Team, people: list[Member]
) -> None:
    for _ in range(8):
        hit_id = team.publish(max_assignments=1)
        work = team.get(people[0])
        team.crowd.set_expiration(hit_id, team.now)
        team.give_back(people[0], work)

        taken, deleted = together(
            partial(is_taken_again, team, hit_id, people[1]), partial(is_deleted, team, hit_id)
        )
        assert not (taken and deleted)
        if taken:
            team.do(people[1])


def is_taken_again(team: Team, hit_id: str, member: Member) -> bool:
    try:
        team.crowd.set_expiration(hit_id, team.now + LEASE)
    except CrowdError:  # there is no such HIT any more
        return False
    return has_taken(team, member)


def is_deleted(team: Team, hit_id: str) -> bool:
    try:
        team.crowd.delete_hit(hit_id)
    except CrowdError:
        return False
    return True


def test_an_invitation_used_by_many_at_once_makes_no_more_members_than_it_is_for(
    team: Team,
) -> None:
    boss = User.objects.create_user("boss")
    code = invite(boss, note="", days=1, uses=3, now=team.now)
    users = [User.objects.create_user(f"new{number}") for number in range(CROWD)]

    def joined(user: User) -> bool:
        try:
            join(code, user, now=team.now)
        except UserError:
            return False
        return True

    assert sum(together(*(partial(joined, user) for user in users))) == 3
    assert (Member.objects.count(), Invitation.objects.get().uses) == (3, 3)


def test_who_joins_in_many_tabs_at_once_is_one_member(team: Team) -> None:
    boss, user = (User.objects.create_user(name) for name in ("boss", "new"))
    code = invite(boss, note="", days=1, uses=8, now=team.now)
    members = together(*[partial(join, code, user, now=team.now)] * 8)
    assert len({member.worker_id for member in members}) == 1
    assert Invitation.objects.get().uses == 1
