"""A whole campaign by Prolific's participants, while calls get lost and processes are killed."""

import os
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from annotation.crowd.inhouse import visits
from annotation.crowd.inhouse.assignments import submit, take
from annotation.crowd.inhouse.models import Assignment, Visit
from annotation.crowd.prolific.models import BonusPayment
from annotation.crowd.wire.faults import Faults
from annotation.models import Assignment as Collected
from annotation.models import Campaign, Hit
from annotation.pipeline.advance import advance
from annotation.pipeline.ledger.reservations import account_of, set_budget
from annotation.pipeline.manual.bonus import give_bonus
from annotation.pipeline.outbox.claims import waiting
from annotation.pipeline.publishing.publish import publish
from annotation.protocol.policy.crowds import PROLIFIC
from core.errors import UserError
from tests.annotation.crowd.prolific.desk import Desk
from tests.annotation.crowd.prolific.world import DAY, Unpaused, insist, running
from tests.worlds.small_campaign import QUERIES, packed_campaign, sheet_of

pytestmark = pytest.mark.django_db

REWARD = 100
THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
SEEDS = range(20 if THOROUGH else 1)


class Killed(BaseException):
    """The process ends here."""


@dataclass
class Deadly(Unpaused):
    """Kills the process that calls, before a call or right after it was carried out."""

    seed: int
    rate: float = 0.04
    lives: bool = True

    def __post_init__(self) -> None:
        super().__init__()
        self._random = random.Random(self.seed)

    def acquire(self) -> None:
        self._perhaps()

    def relieve(self) -> None:
        self._perhaps()

    def _perhaps(self) -> None:
        if not self.lives and self._random.random() < self.rate:
            raise Killed


def truth(query: str, rank: int) -> int:
    return int(rank <= 2)


@dataclass
class Season:
    desk: Desk
    campaign: Campaign
    chance: random.Random
    deadly: Deadly
    kills: int = 0
    _number: int = 0
    answers: dict[str, Callable[[str, int], int]] = field(default_factory=dict)

    def attempt(self, call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """By a process that may be killed."""
        self.deadly.lives = False
        try:
            return call(*arguments, **named)
        except Killed:
            self.kills += 1
            return None
        finally:
            self.deadly.lives = True

    def advance(self) -> bool:
        done = self.attempt(advance, self.campaign, self.desk.crowd, clock=self.desk.now)
        return done is not None and done.finished

    def somebody_comes(self) -> None:
        """Does a visit, well or badly, or gives it up."""
        self._number += 1
        name = f"p{self._number}"
        person = self.desk.people[name] = self.desk.prolific.person()
        if not self.desk.link.study.study_id or self.desk.study_id not in person.offers():
            return
        visit = self.desk.come(name)
        slips = self.chance.random() < 0.2
        while not visits.is_full(visit):
            taken = take(visit.member, now=self.desk.now())
            if taken is None or self.chance.random() < 0.05:
                break
            hit = Hit.objects.get(key=taken.posted_hit.annotation)
            sheet = sheet_of(hit, truth, slips=int(slips))
            submit(visit.member, taken.assignment_id, sheet, now=self.desk.now())
        if visits.is_full(visit) or (visits.done_in(visit).handed_in and taken is None):
            self.desk.leave(name, visit)
        else:
            person.give_up(visit.session_id)


@pytest.mark.usefixtures("small_database")
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("tasks", "rule"), [(1, "reject"), (2, "pay_and_discard")])
def test_books_are_equal_to_the_cent_and_nobody_is_paid_twice(
    tmp_path: Path, tasks: int, rule: str, seed: int
) -> None:
    rules = {"reward_cents": REWARD, "lifetime_days": 365, "on_failed_control": rule}
    campaign = packed_campaign(tmp_path, **{**PROLIFIC.defaults(), **rules})
    state = tmp_path / "prolific.sqlite3"
    with running(state, faults=Faults(0.25, seed), balance_cents=10_000_000, timeout=2) as prolific:
        season = Season(Desk(prolific, tasks=tasks), campaign, random.Random(seed), Deadly(seed))
        prolific.client.studies._connection.rate = season.deadly
        play(season)
        check(season)


def play(season: Season) -> None:
    desk, campaign = season.desk, season.campaign
    set_budget(campaign, 1_000_000)
    insist(publish, campaign, desk.crowd)
    campaign.refresh_from_db()
    while not Hit.objects.filter(crowd_id__isnull=False).exists():
        season.advance()
    desk.open(campaign.hit_type_id)
    for _ in range(200):
        finished = season.advance()
        desk.prolific.clock.forward(60)
        if finished:
            break
        season.somebody_comes()
    for approved in Collected.objects.filter(status="approved").order_by("pk")[:4]:
        give_bonus(campaign, approved.crowd_id, cents=25, reason="Thank you.")
    for _ in range(30):  # until what got lost is found, or paid after all
        season.advance()
        desk.prolific.clock.forward(DAY / 4)
    assert waiting(campaign) == 0


def check(season: Season) -> None:
    """Of their record and ours, which know nothing of each other."""
    desk, campaign = season.desk, season.campaign
    rows = campaign.triplets.values_list("candidate__query__key", "candidate__rank", "label")
    assert {(query, rank): label for query, rank, label in rows} == {
        (query, rank): truth(query, rank) for query in QUERIES for rank in range(1, 6)
    }
    paid = Counter(
        dict(
            desk.prolific.rows(
                "SELECT submission_id, SUM(cents) FROM payments WHERE kind <> 'bonus' GROUP BY 1"
            )
        )
    )
    visits_paid = Visit.objects.filter(outcome="approved")
    assert paid == {one.session_id: desk.tasks * REWARD for one in visits_paid}
    done = sum(visits.done_in(one).handed_in for one in visits_paid)
    short = len(visits_paid) * desk.tasks - done  # a whole visit is paid, though work ran out
    approved = Assignment.objects.filter(status=Assignment.Status.APPROVED).count()
    assert done == approved == Collected.objects.filter(status="approved").count()
    assert sum(paid.values()) == (approved + short) * REWARD
    bonuses = desk.prolific.rows("SELECT cents FROM payments WHERE kind = 'bonus'")
    assert len(bonuses) == BonusPayment.objects.count() == 4
    fee = PROLIFIC.fee
    assert fee is not None
    price = REWARD + fee.of_assignment(REWARD, masters=False, assignments=2)
    assert account_of(campaign).spent_cents == approved * price + 4 * (25 + fee.of_bonus(25))
    # Who finished was paid, or had failed a control.
    for visit in Visit.objects.exclude(outcome="returned"):
        assert visit.outcome in ("approved", "rejected"), visit.outcome
    assert not Assignment.objects.filter(status=Assignment.Status.HELD).exists()
    ((faults,),) = desk.prolific.rows("SELECT COUNT(*) FROM faults")
    assert faults > 10
    assert season.kills
    print(f"Prolific: {faults} faults, {season.kills} kills, {len(paid)} visits paid")


@pytest.mark.usefixtures("small_database")
def test_a_campaign_without_a_link_waits_and_says_nothing_wrong(tmp_path: Path) -> None:
    campaign = packed_campaign(tmp_path, **PROLIFIC.defaults())
    with running(tmp_path / "prolific.sqlite3", balance_cents=10_000_000) as prolific:
        desk = Desk(prolific)
        publish(campaign, desk.crowd)
        done = advance(campaign, desk.crowd, clock=desk.now)
        assert (done.stopped_by, done.finished) == (None, False)
        campaign.endpoint = "https://api.prolific.com"
        campaign.save()
        with pytest.raises(UserError, match="published at"):
            advance(campaign, desk.crowd, clock=desk.now)
