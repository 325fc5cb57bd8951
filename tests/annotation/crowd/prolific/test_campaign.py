"""A whole campaign by Prolific's participants, while calls get lost and processes are killed."""

import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest
from django.test import Client
from pytest_django import Settings

from annotation.crowd.inhouse import visits
from annotation.crowd.inhouse.assignments import submit, take
from annotation.crowd.inhouse.models import Assignment, Participant, Visit
from annotation.crowd.prolific.adapter import ProlificCrowd
from annotation.crowd.prolific.events import EVENT_ID, SIGNATURE, TIMESTAMP
from annotation.crowd.prolific.models import BonusPayment, Hook
from annotation.crowd.prolific.submissions import screen_out
from annotation.crowd.wire.faults import Faults
from annotation.models import Assignment as Collected
from annotation.models import Campaign, Hit
from annotation.pipeline.advance import advance
from annotation.pipeline.ledger.reservations import account_of, set_budget
from annotation.pipeline.manual.bonus import give_bonus
from annotation.pipeline.outbox.claims import waiting
from annotation.pipeline.publishing.publish import publish
from annotation.protocol.estimates.cost import bonus_price_cents
from annotation.protocol.policy.crowds import PROLIFIC
from benchmarks import folders
from benchmarks.main_job import machine
from core.errors import UserError
from exports.building.export import export
from exports.verify.verify import verify
from tests.annotation.crowd.prolific.desk import Desk
from tests.annotation.crowd.prolific.world import DAY, Target, Unpaused, insist, running
from tests.exports.support.contents import all_queries, document
from tests.worlds.small_campaign import QUERIES, packed_campaign, sheet_of

pytestmark = pytest.mark.django_db

REWARD = 100
SCREEN_OUT = 14
RULES = {
    "reward_cents": REWARD,
    "lifetime_days": 365,
    "min_assignments": 1,
    "train": 3,
    "dev": 1,
    "test": 1,
}
EVENTS = "/panels/prolific/events"
THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
SEEDS = range(20 if THOROUGH else 1)


@dataclass
class Sums:
    """Of all seasons."""

    campaigns: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)


@pytest.fixture(scope="module")
def sums() -> Iterator[Sums]:
    sums, began = Sums(), time.monotonic()
    yield sums
    print(f"\nProlific: {sums.campaigns} campaigns, {sums.faults.total()} faults in all")
    assert sums.faults.total() >= 1_000 or not THOROUGH
    if os.environ.get("FAULTS_KEEP"):
        seconds = round(time.monotonic() - began)
        run = {"machine": machine(), "seconds": seconds, **vars(sums)}
        folders.keep("faults", run)


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
    target: Target
    asked: list[int]  # campaigns for which an event wants a pass
    chance: random.Random
    deadly: Deadly
    kills: int = 0
    heard: int = 0  # events, each as often as it came
    replayed: int = 0
    unseen: list[str] = field(default_factory=list)  # submissions without a visit
    disputed: set[tuple[str, int]] = field(default_factory=set)
    _number: int = 0

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

    def subscribe(self) -> None:
        while not Hook.objects.exclude(secret="").exists():
            self.attempt(self.desk.crowd._subscribe)
            self.desk.prolific.clock.forward(3600)

    def hear(self) -> None:
        """Events out of their order, some of them again, and some long after."""
        self.desk.prolific.server.deliveries.deliver()
        got = list(self.target.got)
        again = self.chance.choices(got, k=2) if got else []
        posted = [*got[self.heard :], *again]
        self.heard, self.replayed = len(got), self.replayed + len(again)
        self.chance.shuffle(posted)
        for body, headers in posted:
            signed = {name: headers[name] for name in (SIGNATURE, TIMESTAMP, EVENT_ID)}
            sent = Client().post(EVENTS, body, content_type="application/json", headers=signed)
            assert sent.status_code == 204
        if self.asked:
            self.asked.clear()
            self.advance()

    def opinion(self, query: str, rank: int) -> int:
        """Of some triplets, one person says otherwise: there a third one decides."""
        if (query, rank) in self.disputed or self.chance.random() < 0.9:
            return truth(query, rank)
        self.disputed.add((query, rank))
        return 1 - truth(query, rank)

    def somebody_comes(self) -> None:
        """Does a visit, well or badly, or gives it up."""
        self._number += 1
        name = f"p{self._number}"
        person = self.desk.people[name] = self.desk.prolific.person()
        if not self.desk.link.study.study_id or self.desk.study_id not in person.offers():
            return
        if 10 * len(self.unseen) < self._number - 2:  # says that it is done, and never came
            self.unseen.append(person.do(self.desk.study_id, self.desk.link.code))
            return
        visit = self.desk.come(name)
        # The first who slips is excluded, and others after that.
        careless = 0.2 if self.campaign.exclusions.exists() else 0.6
        slips, taken = self.chance.random() < careless, None
        if self.chance.random() < 0.15:  # by a code that was passed on
            person.complete(visit.session_id, visit.link.study.screen_out_code)
            return
        while not visits.is_full(visit):
            taken = take(visit.member, now=self.desk.now())
            if taken is None or self.chance.random() < 0.05:
                break
            hit = Hit.objects.get(key=taken.posted_hit.annotation)
            sheet = sheet_of(hit, self.opinion, slips=int(slips))
            submit(visit.member, taken.assignment_id, sheet, now=self.desk.now())
        if visits.is_full(visit) or (visits.done_in(visit).handed_in and taken is None):
            self.desk.leave(name, visit)
        elif taken is None and screen_out(visit, now=self.desk.now()):
            person.complete(visit.session_id, visit.link.study.screen_out_code)
        else:
            person.give_up(visit.session_id)


@pytest.mark.usefixtures("small_database")
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("tasks", "rule", "currency"), [(1, "reject", "USD"), (2, "pay_and_discard", "GBP")]
)
def test_books_are_equal_to_the_cent_and_nobody_is_paid_twice(
    tmp_path: Path,
    target: Target,
    monkeypatch: pytest.MonkeyPatch,
    settings: Settings,
    sums: Sums,
    tasks: int,
    rule: str,
    currency: Literal["USD", "GBP"],
    seed: int,
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(
        "annotation.web.panels.events.soon", lambda task, campaign: asked.append(campaign)
    )
    settings.CURRENCY = currency
    rules = {**RULES, "on_failed_control": rule}
    campaign = packed_campaign(tmp_path, **{**PROLIFIC.defaults(), **rules})
    state = tmp_path / "prolific.sqlite3"
    with running(
        state,
        faults=Faults(0.25, seed),
        balance_cents=10_000_000,
        timeout=2,
        loopback_hooks=True,
        vat_permille=200,
        currency=currency,
    ) as prolific:
        desk = Desk(prolific, tasks=tasks, hook_url=target.url, screen_out_cents=SCREEN_OUT)
        season = Season(desk, campaign, target, asked, random.Random(seed), Deadly(seed))
        prolific.client.studies._connection.rate = season.deadly
        play(season)
        check(season, sums)
        check_exclusions(season)
        check_release(season, tmp_path / "release", currency)


def play(season: Season) -> None:
    desk, campaign = season.desk, season.campaign
    set_budget(campaign, 1_000_000)
    insist(publish, campaign, desk.crowd)
    campaign.refresh_from_db()
    while not Hit.objects.filter(crowd_id__isnull=False).exists():
        season.advance()
    desk.open(campaign.hit_type_id)
    season.subscribe()
    for _ in range(200):
        finished = season.advance()
        desk.prolific.clock.forward(60)
        season.hear()
        if finished:
            break
        season.somebody_comes()
    for approved in Collected.objects.filter(status="approved").order_by("pk")[:4]:
        give_bonus(campaign, approved.crowd_id, cents=25, reason="Thank you.")
    for _ in range(30):  # until what got lost is found, or paid after all
        season.advance()
        desk.prolific.clock.forward(DAY)  # and until Prolific approves what nobody decided
    assert waiting(campaign) == 0


def check(season: Season, sums: Sums) -> None:
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
    screened = Visit.objects.filter(outcome="screened")
    assert paid == {
        **{one.session_id: desk.tasks * REWARD for one in visits_paid},
        **{one.session_id: SCREEN_OUT for one in screened},
        **dict.fromkeys(season.unseen, desk.tasks * REWARD),
    }
    assert season.unseen
    done = sum(visits.done_in(one).handed_in for one in visits_paid)
    approved = Assignment.objects.filter(status=Assignment.Status.APPROVED).count()
    assert done == approved == Collected.objects.filter(status="approved").count()
    surplus = [
        *Visit.objects.exclude(surplus_cents=0).values_list("surplus_cents", flat=True),
        *[desk.tasks * REWARD] * len(season.unseen),
    ]
    assert sum(paid.values()) == approved * REWARD + sum(surplus)
    bonuses = desk.prolific.rows("SELECT cents FROM payments WHERE kind = 'bonus'")
    assert len(bonuses) == BonusPayment.objects.count() == 4
    ((charged,),) = desk.prolific.rows("SELECT SUM(paid) FROM money")
    account = account_of(campaign)
    assert account.spent_cents == round(charged / 100)
    # What was paid as the books have it: the bill differs by its VAT and fee, apart.
    parts = [*[REWARD] * approved, *surplus, *[25] * len(bonuses)]
    prices = [bonus_price_cents(cents, campaign.policy) for cents in parts]
    assert account.paid_cents + account.discarded_cents == sum(prices)
    # Who finished was paid, or had failed a control.
    for visit in Visit.objects.exclude(outcome="returned"):
        assert visit.outcome in ("approved", "rejected", "screened"), visit.outcome
    assert not Assignment.objects.filter(status=Assignment.Status.HELD).exists()
    faults = Counter(dict(desk.prolific.rows("SELECT kind, COUNT(*) FROM faults GROUP BY 1")))
    assert faults.total() > 10
    assert season.kills
    assert season.replayed
    print(
        f"Prolific: {faults.total()} faults ({faults['repeated']} events repeated,"
        f" {faults['late']} late), {season.kills} kills, {season.heard} events,"
        f" {season.replayed} replayed, {len(visits_paid)} visits paid,"
        f" {len(screened)} screened out, {len(season.unseen)} paid without a visit"
    )
    sums.campaigns += 1
    sums.faults += faults
    sums.counts += Counter(
        kills=season.kills,
        events=season.heard,
        events_replayed=season.replayed,
        visits_paid=len(visits_paid),
        screened_out=len(screened),
        paid_without_a_visit=len(season.unseen),
        bonuses=len(bonuses),
        cents=account_of(campaign).spent_cents,
    )


def check_exclusions(season: Season) -> None:
    """Who was excluded is kept away there, and nobody else; what they did was done again."""
    excluded = season.campaign.exclusions.values("worker__worker_id")
    members = Participant.objects.filter(member__worker_id__in=excluded)
    ((kept,),) = season.desk.prolific.rows(
        "SELECT COALESCE(GROUP_CONCAT(participant_id), '') FROM members"
    )
    assert set(kept.split(",")) <= set(members.values_list("external_id", flat=True))
    assert kept
    votes = season.campaign.triplets.values_list("votes", flat=True)
    assert min(votes) >= season.campaign.policy.annotators
    print(f"  {len(members)} excluded, {sum(it > 2 for it in votes)} triplets voted on again")


def check_release(season: Season, folder: Path, currency: str) -> None:
    out = export(season.campaign, folder).folder
    assert verify(out).differences == []
    facts = document(out, "campaign.json")
    assert season.campaign.policy.currency == currency
    words = (out / "README.md").read_text(encoding="utf-8")
    assert f"{currency} {account_of(season.campaign).spent_cents / 100:,.2f}: " in words
    assert facts["cost_cents"] == account_of(season.campaign).spent_cents
    assert len(facts["excluded_workers"]) == season.campaign.exclusions.count()
    labels = {
        (query, one["rank"]): one["label"]
        for query, record in all_queries(out).items()
        for one in record["candidates"]
    }
    assert labels == {(query, rank): truth(query, rank) for query, rank in labels}


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


@pytest.mark.usefixtures("small_database")
def test_what_prolific_paid_beyond_the_budget_is_said_by_each_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = packed_campaign(tmp_path, **PROLIFIC.defaults())
    with running(tmp_path / "prolific.sqlite3", balance_cents=10_000_000) as prolific:
        desk = Desk(prolific)
        publish(campaign, desk.crowd)
        paid, booked = {"visit 1": 100, "visit 2": 10**9}, list[str]()
        monkeypatch.setattr(ProlificCrowd, "surplus_booked", lambda _, names: booked.extend(names))
        monkeypatch.setattr(ProlificCrowd, "surplus", lambda crowd, hit_type_id: paid)
        for _ in range(2):
            done = advance(campaign, desk.crowd, clock=desk.now)
            assert done.stopped_by is not None
            assert "raise it by `quorum campaign budget faq`" in done.stopped_by
        assert (account_of(campaign).discarded_cents, booked) == (143, [])
        set_budget(campaign, 2 * 10**9)
        assert advance(campaign, desk.crowd, clock=desk.now).stopped_by is None
        assert set(booked) == paid.keys()


@pytest.mark.usefixtures("small_database")
def test_while_the_budget_does_not_cover_what_was_paid_nobody_new_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = packed_campaign(tmp_path, **PROLIFIC.defaults())
    with running(tmp_path / "prolific.sqlite3", balance_cents=10_000_000) as prolific:
        desk = Desk(prolific)

        def status() -> str:
            advance(campaign, desk.crowd, clock=desk.now)
            desk.prolific.clock.forward(3)
            return desk.prolific.status(desk.study_id)

        publish(campaign, desk.crowd)
        advance(campaign, desk.crowd, clock=desk.now)
        desk.open(campaign.hit_type_id)
        status()
        assert status() == "ACTIVE"
        monkeypatch.setattr(ProlificCrowd, "surplus", lambda crowd, hit_type_id: {"visit 1": 10**6})
        assert [status(), status()] == ["PAUSED", "PAUSED"]
        set_budget(campaign, 10**7)
        assert status() == "ACTIVE"
