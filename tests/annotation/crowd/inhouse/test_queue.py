"""Which HIT a member gets."""

from dataclasses import replace
from datetime import timedelta

import pytest

from annotation.crowd.inhouse import assignments, queue
from annotation.crowd.inhouse.members import activate, deactivate
from annotation.crowd.inhouse.models import HitType, Member, PostedHit
from tests.annotation.crowd.inhouse.team import LEASE, SPEC, Team

pytestmark = pytest.mark.concurrent


def line_of(team: Team, hit_id: str) -> str:
    return team.posted_hit(hit_id).queue.queue_id


def counts(team: Team, member: Member) -> list[int]:
    return [line.count for line in assignments.open_queues(member, now=team.now)]


def test_who_has_a_hit_in_hand_gets_the_same_again(team: Team, ada: Member) -> None:
    team.publish()
    team.publish()
    assert team.get(ada) == team.get(ada)


def test_a_hit_that_another_has_begun_comes_before_fresh_ones(
    team: Team, ada: Member, bob: Member
) -> None:
    for _ in range(20):
        team.publish(max_assignments=2)
    begun = team.taken(ada)
    assert team.taken(bob) == begun


def test_members_who_begin_at_once_are_spread_over_the_fresh_hits(team: Team) -> None:
    for _ in range(64):
        team.publish(max_assignments=1)
    taken = [team.taken(team.join(f"ada{number}")) for number in range(8)]
    in_order = list(PostedHit.objects.order_by("pk").values_list("hit_id", flat=True)[:8])
    assert taken != in_order


def test_nobody_gets_a_hit_twice(team: Team, ada: Member) -> None:
    hits = {team.publish(max_assignments=5) for _ in range(3)}
    done = [team.do(ada).posted_hit.hit_id for _ in range(3)]
    assert set(done) == hits
    assert team.take(ada) is None


def test_a_skipped_hit_comes_again_only_when_nothing_else_is_left(team: Team, ada: Member) -> None:
    hits = [team.publish() for _ in range(3)]
    skipped = team.get(ada)
    team.give_back(ada, skipped)
    others = [team.do(ada).posted_hit.hit_id for _ in range(2)]
    assert {skipped.posted_hit.hit_id, *others} == set(hits)
    assert team.taken(ada) == skipped.posted_hit.hit_id


def test_of_skipped_hits_the_one_skipped_longest_ago_comes_first(team: Team, ada: Member) -> None:
    for _ in range(4):
        team.publish()
    seen = []
    for _ in range(12):
        work = team.get(ada)
        team.give_back(ada, work)
        seen.append(work.posted_hit.hit_id)
    assert len(set(seen[:4])) == 4
    assert seen[:4] == seen[4:8] == seen[8:]


def test_a_hit_to_avoid_is_given_only_when_nothing_else_is_left(
    team: Team, ada: Member, bob: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many there are, and where others have begun them too."""
    monkeypatch.setattr(queue, "CHOICE", 2)
    monkeypatch.setattr(queue, "WINDOW", 2)
    avoided = [team.publish() for _ in range(5)]
    team.do(bob)
    last = team.publish()
    seen = []
    for _ in range(6):
        work = team.take(ada, avoided=[team.posted_hit(hit).pk for hit in avoided])
        assert work is not None
        seen.append(team.submit(ada, work).posted_hit.hit_id)
    assert seen[0] == last
    assert set(seen[1:]) == set(avoided)


def test_a_skipped_hit_is_free_for_others_at_once(team: Team, ada: Member, bob: Member) -> None:
    hit_id = team.publish(max_assignments=1)
    team.give_back(ada, team.get(ada))
    assert team.taken(bob) == hit_id


def test_begun_hits_behind_many_that_the_member_began_are_found(
    team: Team, ada: Member, bob: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue, "WINDOW", 4)
    front = [team.publish(max_assignments=2) for _ in range(queue.WINDOW)]
    for _ in front:
        team.do(ada)
    end = team.now + timedelta(days=1)
    for hit_id in front:
        team.crowd.set_expiration(hit_id, team.now)
    last = team.publish(max_assignments=2)
    team.do(bob)
    for hit_id in front:
        team.crowd.set_expiration(hit_id, end)
    assert team.taken(ada) == last
    assert counts(team, ada) == []


def test_a_member_may_choose_the_kind_of_work(team: Team, ada: Member, bob: Member) -> None:
    team.publish()
    other = team.publish_for(title="Which answer is better?")
    for member in (ada, bob):
        work = team.take(member, hit_type=line_of(team, other))
        assert work is not None
        assert work.posted_hit.hit_id == other


def test_a_kind_of_work_that_is_not_there_has_none(team: Team, ada: Member) -> None:
    team.publish()
    assert team.take(ada, hit_type="nothing") is None


def test_who_is_excluded_gets_nothing_of_that_campaign_only(
    team: Team, ada: Member, eve: Member
) -> None:
    exclusion = team.qualification("excluded")
    closed, free = team.publish_for(exclusion_id=exclusion), team.publish()
    team.crowd.exclude(eve.worker_id, exclusion_id=exclusion)
    assert counts(team, eve) == [1]
    assert team.do(eve).posted_hit.hit_id == free
    assert team.take(eve) is None
    assert {team.do(ada).posted_hit.hit_id for _ in range(2)} == {closed, free}


def test_who_is_blocked_gets_nothing(team: Team, eve: Member) -> None:
    team.publish()
    team.crowd.block(eve.worker_id, reason="Answers at random.")
    assert team.take(eve) is None
    assert counts(team, eve) == []


def test_whose_membership_has_ended_gets_nothing_until_it_is_renewed(
    team: Team, eve: Member
) -> None:
    team.publish()
    deactivate(eve)
    assert team.take(eve) is None
    assert counts(team, eve) == []
    activate(eve)
    assert team.take(eve) is not None


def test_without_the_test_there_is_no_work(team: Team, ada: Member, bob: Member) -> None:
    trained = team.qualification("trained")
    hit_id = team.publish_for(qualified_id=trained)
    team.crowd.grant(ada.worker_id, qualification_id=trained, value=80)
    assert [team.taken(ada), team.taken(bob)] == [hit_id, None]


def test_repacked_hits_go_to_members_who_are_new_or_known_and_not_excluded(
    team: Team, ada: Member, bob: Member, eve: Member
) -> None:
    known = team.qualification("known")
    team.publish(max_assignments=1)
    team.do(team.join("old"))  # may be one of the excluded, and has no number yet
    hit_id = team.publish_for(known_id=known, excluded_workers=(7, 9), max_assignments=5)
    for member, number in ((ada, 7), (bob, 8)):
        team.crowd.grant(member.worker_id, qualification_id=known, value=number)
    old = Member.objects.get(user__username="old")
    taken = [team.taken(member) for member in (ada, bob, old, eve)]
    assert taken == [None, hit_id, None, hit_id]
    assert [counts(team, member) for member in (ada, bob, old, eve)] == [[], [], [], []]


def test_hit_types_that_differ_in_whom_they_bar_are_one_line(team: Team, ada: Member) -> None:
    known = team.qualification("known")
    team.crowd.grant(ada.worker_id, qualification_id=known, value=1)
    team.publish()
    for number in (1, 2, 3):
        team.publish_for(known_id=known, excluded_workers=(number,))
    assert HitType.objects.count() == 4
    (line,) = assignments.open_queues(ada, now=team.now)
    assert (line.title, line.reward_cents, line.count) == (SPEC.title, 15, 3)


def test_a_line_counts_what_this_member_can_still_take(
    team: Team, ada: Member, bob: Member
) -> None:
    for _ in range(4):
        team.publish(max_assignments=1)
    team.do(ada)
    team.give_back(ada, team.get(ada))
    team.do(bob)
    assert [counts(team, member) for member in (ada, bob)] == [[2], [2]]


def test_lines_stand_in_the_order_in_which_their_work_began(team: Team, ada: Member) -> None:
    titles = ["b", "a", "c"]
    for title in titles:
        team.publish(spec=replace(SPEC, title=title))
    assert [line.title for line in assignments.open_queues(ada, now=team.now)] == titles


def test_an_expired_hit_is_offered_to_nobody_until_it_has_more_time(
    team: Team, ada: Member
) -> None:
    hit_id = team.publish(lifetime=timedelta(hours=1))
    team.move_on(timedelta(hours=1))
    assert team.take(ada) is None
    assert counts(team, ada) == []
    team.crowd.set_expiration(hit_id, team.now + timedelta(hours=1))
    assert team.taken(ada) == hit_id


def test_more_places_are_for_those_who_have_not_had_the_hit(
    team: Team, ada: Member, bob: Member
) -> None:
    hit_id = team.publish(max_assignments=1)
    team.do(ada)
    assert team.take(bob) is None
    team.crowd.extend_hit(hit_id, extra=1, token="a tie")
    assert [team.taken(ada), team.taken(bob)] == [None, hit_id]


def test_what_ran_out_in_the_hands_of_the_member_comes_last(team: Team, ada: Member) -> None:
    for _ in range(2):
        team.publish(max_assignments=1)
    late = team.taken(ada)
    team.move_on(LEASE)
    assert team.taken(ada) != late
