"""A team of any size, whoever leaves it: somebody may go on, or a blocker names what would help.

Doing what it names, as often as it takes, finishes the campaign.
"""

from pathlib import Path
from random import Random

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation.analytics.campaign.status import Blocker, blockers
from annotation.crowd.inhouse.members import deactivate
from annotation.crowd.inhouse.models import Member
from annotation.models import Campaign, Exclusion, Role, Worker
from annotation.pipeline.adjudicate import Pile, What
from annotation.pipeline.manual.exclusion import exclude
from annotation.pipeline.publishing.completion import is_complete
from annotation.pipeline.publishing.lifecycle import prolong
from annotation.protocol.policy.crowds import INHOUSE
from annotation.protocol.screening.qualification import TRIES
from tests.annotation.pipeline.whole.own_crowd import Team, own_team
from tests.support.examples import examples

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.hypothesis,
    pytest.mark.usefixtures("small_database"),
]

MOST_ROUNDS = 40  # of work, or of doing what a blocker names
POLICIES = st.fixed_dictionaries(
    {
        "adjudication": st.sampled_from(["decide", "measure"]),
        "annotators": st.integers(1, 3),
        "max_votes": st.integers(3, 5),
        "tie_mode": st.sampled_from(["extend", "repack"]),
        "cannot_judge_limit": st.integers(0, 2),
    }
)


class Story:
    """What people do, drawn by a seed; the blockers' words are followed."""

    def __init__(self, team: Team, people: int, seed: int, done: set[str]) -> None:
        self.team, self.random, self.done = team, Random(seed), done
        self.is_closed = self.random.random() < 0.4
        self.here: list[str] = []
        for number in range(people):
            self.let_in(f"ann{number}")

    def let_in(self, name: str) -> None:
        member = self.team.member(name)
        if self.is_closed:
            Role.objects.create(
                user=member.user, campaign=self.team.campaign, name=Role.Name.ANNOTATOR
            )
            self.done.add("closed")
        self.here.append(name)

    def answer(self, _query: str, _rank: int) -> int | None:
        asks = [0, 0, 1] + [None] * (self.team.campaign.policy.cannot_judge_limit > 0)
        return self.random.choice(asks)

    def work(self, most: int = 100) -> int:
        """Of everybody who is here."""
        done = 0
        for name in self.here:
            while done < most and (taken := self.team.take(name)) is not None:
                self.team.submit(taken, self.answer)
                done += 1
        self.team.advance()
        return done

    def lose_somebody(self) -> None:
        if not self.here:
            return
        name = self.here.pop(self.random.randrange(len(self.here)))
        member = Member.objects.get(user__username=name)
        ways = [self.leave, self.fail_the_test]
        if Worker.objects.filter(worker_id=member.worker_id):
            ways.append(self.exclude)
        self.random.choice(ways)(member)
        self.team.advance()

    def leave(self, member: Member) -> None:
        deactivate(member)
        self.done.add("leave")

    def exclude(self, member: Member) -> None:
        exclude(self.team.campaign, member.worker_id, reason="careless")
        self.done.add("exclude")

    def fail_the_test(self, member: Member) -> None:
        """At every try: from now on the desk offers them nothing of this campaign."""
        worker, _ = Worker.objects.get_or_create(crowd=INHOUSE.kind, worker_id=member.worker_id)
        tries = {"answers": {}, "correct": 0, "items": 1, "passed": False}
        for _ in range(TRIES):
            self.team.campaign.qualification_results.create(worker=worker, **tries)
        self.done.add("fail")

    def wait_too_long(self) -> None:
        """Until what is open has expired."""
        self.team.clock.move_on(days=self.team.campaign.policy.lifetime_days + 1)
        self.team.advance()

    def follow(self, blocker: Blocker) -> None:
        decides = blocker.alternative == "open" and self.random.random() < 0.3
        if decides and self.decide_open():
            self.done.add("open")
        elif blocker.operation == "extend":
            days = blocker.options["days"]
            assert isinstance(days, int)
            prolong(self.team.campaign, days=days, now=self.team.clock.now())
            self.done.add("extend")
        else:
            assert blocker.operation == ("roles" if self.is_closed else "invite"), blocker
            self.let_in(f"new{Member.objects.count()}")
            self.done.add(blocker.operation)
        self.team.advance()

    def decide_open(self) -> int:
        pile, decided = Pile(self.team.campaign, What.OPEN, "olga", None), 0
        while (triplet := pile.next([])) is not None:
            pile.decide(triplet, self.random.randint(0, 1), "")
            decided += 1
        return decided


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    return own_team(tmp_path, candidates_per_query=2).campaign


def test_a_team_finishes_or_is_told_what_would_help(campaign: Campaign) -> None:
    done: set[str] = set()

    @settings(
        max_examples=examples(60, fast=20),
        deadline=None,
        # Few examples by chance may miss one of the ways that are counted below.
        derandomize=examples(60, fast=20) == 20,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
    )
    @given(people=st.integers(1, 5), policy=POLICIES, seed=st.integers(0, 2**32))
    def finishes(people: int, policy: dict[str, object], seed: int) -> None:
        with transaction.atomic():
            data = {**campaign.policy_data, **policy}
            Campaign.objects.filter(pk=campaign.pk).update(policy_data=data)
            mine = Campaign.objects.get(pk=campaign.pk)
            story = Story(Team(mine), people, seed, done)
            story.team.publish()
            for _ in range(story.random.randint(0, 3)):
                story.work(most=story.random.randint(1, 4))
                story.lose_somebody()
                if story.random.random() < 0.2:
                    story.wait_too_long()
            for _ in range(MOST_ROUNDS):
                if is_complete(mine):
                    break
                if story.work() or story.work():  # the first pass may ask for what the second has
                    continue
                # There may be two: some tasks have expired, and nobody is left for others.
                blocker, *_ = blockers(mine, clock=story.team.clock.now)
                story.follow(blocker)
            assert is_complete(mine)
            transaction.set_rollback(True)

    finishes()
    assert done == {
        "closed", "exclude", "extend", "fail", "invite", "leave", "open", "roles",
    }  # fmt: skip
    assert not Exclusion.objects.exists()
