"""One table of votes at every crowd: the same labels, the same decisions, a release of each."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from annotation.models import Assignment, Campaign
from annotation.pipeline.advance import Pass, advance
from annotation.pipeline.ledger.reservations import account_of
from annotation.pipeline.manual.bonus import give_bonus
from annotation.pipeline.publishing.publish import publish
from annotation.protocol.policy.crowds import CROWDS, CrowdKind
from exports.building.export import export
from exports.verify.verify import verify
from tests.annotation.crowd.conftest import Market, Worker
from tests.exports.support.contents import all_queries, document
from tests.worlds.small_campaign import QUERIES, Judge, packed_campaign, sheet_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("small_database")]
REWARD, BONUS = 100, 25
POLICY: Mapping[str, object] = {
    "reward_cents": REWARD,
    "lifetime_days": 30,
    "adjudication": "measure",
    "cannot_judge_limit": 0,
    "train": 3,
    "dev": 1,
    "test": 1,
}


def truth(query: str, rank: int) -> int:
    return int(rank <= 2)


def dissent(query: str, rank: int) -> int:
    return truth(query, rank) ^ (query == "bread")


# Who judges which HITs, how, and with how many controls wrong in each.
VOTES: list[tuple[str, list[int], Judge, int]] = [
    ("ada", [1, 2, 3, 4, 5], truth, 0),
    ("bob", [1], truth, 0),
    ("bob", [2], dissent, 0),
    ("eve", [3], truth, 0),
    ("eve", [4, 5], truth, 1),
]


class Play:
    def __init__(self, market: Market, kind: CrowdKind, folder: Path) -> None:
        self.market = market
        self.campaign: Campaign = packed_campaign(folder, **CROWDS[kind].defaults() | POLICY)
        self._people: dict[str, Worker] = {}

    def advance(self) -> Pass:
        return advance(self.campaign, self.market.crowd, clock=self.market.now)

    def person(self, name: str) -> Worker:
        if name not in self._people:
            self._people[name] = self.market.hire(name)
        return self._people[name]

    def accept(self, name: str, number: int) -> str | None:
        return self.person(name).accept(self.campaign.hits.get(number=number).crowd_id)

    def work(self, name: str, number: int, judge: Judge, slips: int = 0) -> None:
        taken = self.accept(name, number)
        assert taken, f"{name} cannot get HIT {number}"
        sheet = sheet_of(self.campaign.hits.get(number=number), judge, slips=slips)
        self.person(name).submit(taken, sheet)


@pytest.mark.parametrize("kind", CROWDS)
def test_the_same_votes_give_the_same_labels_and_a_release_at_every_crowd(
    kind: CrowdKind, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Bob makes a tie, eve misses controls and is excluded, cara breaks the tie and does eve's
    work, and ada gets a bonus."""
    play = Play(request.getfixturevalue(f"{kind}_market"), kind, tmp_path)
    campaign, crowd = play.campaign, play.market.crowd
    publish(campaign, crowd)
    play.advance()
    for name, numbers, judge, slips in VOTES:
        for number in numbers:
            play.work(name, number, judge, slips)
    first = play.advance()
    assert (first.passed, first.failed, first.excluded) == (8, 2, 1)
    assert (first.labelled, first.open, first.assignments_requested) == (9, 16, 4)
    assert play.accept("eve", 2) is None
    for number in (2, 3, 4, 5):
        play.work("cara", number, truth)
    assert play.advance().finished

    best = Assignment.objects.filter(worker__worker_id=play.person("ada").worker_id).earliest("pk")
    give_bonus(campaign, best.crowd_id, cents=BONUS, reason="Thank you.")
    play.advance()
    assert crowd.bonus_paid(best.crowd_id, cents=BONUS, reason="Thank you.")
    statuses = Counter(
        one.status for hit in campaign.hits.all() for one in crowd.submissions(hit.crowd_id)
    )
    assert statuses == {"approved": 12, "rejected": 2}

    labels = {(query, rank): truth(query, rank) for query in QUERIES for rank in range(1, 6)}
    rows = campaign.triplets.values_list("candidate__query__key", "candidate__rank", "label")
    assert {(query, rank): label for query, rank, label in rows} == labels
    out = export(campaign, tmp_path / "release").folder
    assert verify(out).differences == []
    assert {
        (query, one["rank"]): one["label"]
        for query, record in all_queries(out).items()
        for one in record["candidates"]
    } == labels
    facts = document(out, "campaign.json")
    assert (facts["cost_cents"], facts["bonus_cents"]) == costs(campaign)
    assert account_of(campaign).spent_cents == facts["cost_cents"]
    assert len(facts["excluded_workers"]) == 1


def costs(campaign: Campaign) -> tuple[int, int]:
    """In all, and of the bonus, each with the crowd's fee."""
    policy, fee = campaign.policy, campaign.policy.fee
    if fee is None:
        return 12 * REWARD + BONUS, BONUS
    price = REWARD + fee.of_assignment(REWARD, masters=policy.masters, assignments=2)
    bonus = BONUS + fee.of_bonus(BONUS)
    return 12 * price + bonus, bonus
