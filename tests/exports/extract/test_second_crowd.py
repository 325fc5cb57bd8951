"""Prolific and a team of one's own judge one dataset: two campaigns, one release."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from annotation.crowd.inhouse.assignments import submit, take
from annotation.models import Campaign, Hit
from annotation.pipeline.advance import advance
from annotation.pipeline.ledger.reservations import account_of, set_budget
from annotation.pipeline.manual.bonus import give_bonus
from annotation.pipeline.publishing.pack import pack_hits
from annotation.pipeline.publishing.publish import publish
from annotation.pipeline.publishing.second_crowd import create_second_crowd
from annotation.pipeline.setup.instructions import add_version
from annotation.protocol.policy.crowds import INHOUSE, PROLIFIC
from core.errors import UserError
from exports.building.export import export
from exports.building.options import Options
from exports.building.requests import request_build
from exports.layout.schemas import first_hit
from exports.verify.verify import verify
from tests.annotation.crowd.prolific.desk import Desk
from tests.annotation.crowd.prolific.world import running
from tests.annotation.pipeline.whole.own_crowd import Team
from tests.exports.support.contents import all_queries, document, table
from tests.exports.verify.tampering import change_object, found
from tests.worlds.small_campaign import QUERIES, retrieved_campaign, sheet_of

pytestmark = [pytest.mark.django_db, pytest.mark.concurrent]
REWARD, REWARD_OF_TEAM = 100, 20
TIED = {("bread", 1), ("rocket", 3)}
RULES = {
    "min_assignments": 1,
    "lifetime_days": 365,
    "train": 3,
    "dev": 1,
    "test": 1,
}
OF_TEAM = ["bread", "piano"]


def truth(query: str, rank: int) -> int:
    return int(rank <= 2)


def contrary(query: str, rank: int) -> int:
    """The second voter's, which makes ties."""
    return truth(query, rank) ^ ((query, rank) in TIED)


@dataclass
class Panel:
    """A campaign at Prolific, whose people come one by one."""

    campaign: Campaign
    desk: Desk

    def publish(self) -> None:
        publish(self.campaign, self.desk.crowd)
        self.campaign.refresh_from_db()
        self.advance()
        self.desk.open(self.campaign.hit_type_id)
        self.advance()

    def advance(self) -> bool:
        """A few passes: places open at the second, what is left is known at the third."""
        for _ in range(3):
            done = advance(self.campaign, self.desk.crowd, clock=self.desk.now)
            self.desk.prolific.clock.forward(60)
        return done.finished

    def judge(self) -> None:
        """Whoever comes first says the truth, who comes second may not, and so on, HIT by HIT."""
        turns: Counter[str] = Counter()
        for number in range(20):
            if self.advance():
                return
            name = f"p{number}"
            self.desk.people[name] = self.desk.prolific.person()
            if not self.desk.offered(name):
                continue
            visit = self.desk.come(name)
            taken = take(visit.member, now=self.desk.now())
            assert taken is not None
            hit = Hit.objects.get(key=taken.posted_hit.annotation)
            assert hit.campaign == self.campaign
            turns[hit.key] += 1
            sheet = sheet_of(hit, contrary if turns[hit.key] == 2 else truth)
            submit(visit.member, taken.assignment_id, sheet, now=self.desk.now())
            self.desk.leave(name, visit)
        raise AssertionError("They came and came, and it was not finished.")


def judge_in_house(team: Team) -> None:
    """Eve fails and is excluded; ada and bob make a tie that cleo breaks."""
    team.publish()
    work = team.take("eve")
    assert work
    team.submit(work, truth, slips=1)
    team.advance()
    team.work("ada", truth)
    team.work("bob", contrary)
    team.advance()
    team.work("cleo", truth)
    assert team.advance().finished


def labels(folder: Path) -> dict[tuple[str, int], int]:
    return {
        (query, one["rank"]): one["label"]
        for query, record in all_queries(folder).items()
        for one in record["candidates"]
    }


def labels_of(campaign: Campaign) -> dict[tuple[str, int], int | None]:
    rows = campaign.triplets.values_list("candidate__query__key", "candidate__rank", "label")
    return {(query, rank): label for query, rank, label in rows}


@pytest.mark.usefixtures("small_database")
def test_two_crowds_make_one_release_to_the_cent(tmp_path: Path) -> None:
    first = retrieved_campaign(tmp_path, **{**PROLIFIC.defaults(), **RULES, "reward_cents": REWARD})
    second = create_second_crowd(
        first, "team", crowd="inhouse", ids=OF_TEAM, reward_cents=REWARD_OF_TEAM, seed=1
    )
    add_version(second, "You know our products.", author="ada")
    pack_hits(first)
    set_budget(first, 1_000_000)
    with running(tmp_path / "prolific.sqlite3", balance_cents=10_000_000) as prolific:
        panel = Panel(first, Desk(prolific))
        panel.publish()
        panel.judge()
        with pytest.raises(UserError, match="Campaign team is not packed, and is one dataset with"):
            export(first, tmp_path / "release")
        pack_hits(second)
        with pytest.raises(UserError, match=r"Campaign team is not finished, 10 of its 10 trip"):
            export(first, tmp_path / "release")
        best = first.hits.earliest("pk").assignments.earliest("pk")
        give_bonus(first, best.crowd_id, cents=25, reason="Thank you.")
        panel.advance()
    set_budget(second, 2 * 3 * REWARD_OF_TEAM)  # two HITs, each by two people and one for a tie
    judge_in_house(Team(second))

    with pytest.raises(UserError, match="Campaign team is a second crowd"):
        request_build(second, options=Options(), by=None)
    out = export(first, tmp_path / "release").folder
    assert verify(out).differences == []
    assert labels(out) == {
        (query, rank): truth(query, rank) for query in QUERIES for rank in range(1, 6)
    }
    check_crowds(out, first, second)
    check_work(out, second)

    change_object(out / "campaign.json", lambda facts: facts["crowds"][1]["query_ids"].pop())
    assert "query_ids are not the campaign's queries" in found(out)

    # The same votes in one campaign, of one crowd.
    whole = Team(retrieved_campaign(tmp_path, "whole", **{**INHOUSE.defaults(), **RULES}))
    pack_hits(whole.campaign)
    judge_in_house(whole)
    assert labels_of(whole.campaign) == labels(out)


def check_crowds(out: Path, first: Campaign, second: Campaign) -> None:
    facts = document(out, "campaign.json")
    # 3 and 2 HITs by two, one of each by three; with Prolific's fee as it was billed, a third.
    spent = [-(-(7 * REWARD + 25) * 4 // 3), 5 * REWARD_OF_TEAM]
    assert [account_of(one).spent_cents for one in (first, second)] == spent
    assert account_of(second).available_cents == 2 * 3 * REWARD_OF_TEAM - spent[1]
    for name in ("cost_cents", "bonus_cents"):
        assert facts[name] == sum(one[name] for one in facts["crowds"])
    assert [one["cost_cents"] for one in facts["crowds"]] == spent
    # At the fee of the policy; what the bill says otherwise stands apart.
    assert [one["bonus_cents"] for one in facts["crowds"]] == [25 + 11, 0]
    billed = spent[0] - 7 * (REWARD + 43) - (25 + 11)
    assert (facts["billed_cents"], facts["crowds"][0]["billed_cents"]) == (billed, billed)
    assert "billed_cents" not in facts["crowds"][1]
    assert [one["query_ids"] for one in facts["crowds"]] == [
        ["candle", "garden", "rocket"],
        OF_TEAM,
    ]
    assert [len(one["excluded_workers"]) for one in facts["crowds"]] == [0, 1]
    assert facts["queries"]["total"] == 5
    assert facts["triplets"] == {"triplets": 25, "labelled": 25, "open": 0, "unresolved": 0}
    assert [one["file"] for one in facts["instructions"]] == [
        "instructions/1.md",
        "instructions/team-2.md",
    ]
    assert (out / "instructions/team-2.md").read_text() == "You know our products."


def check_work(out: Path, second: Campaign) -> None:
    """HITs and workers tell the crowds apart; nobody is in both."""
    votes = table(out, "judgments.parquet")
    assert {one["query_id"] for one in votes if one["hit"] >= first_hit(1)} == set(OF_TEAM)
    assert {one["query_id"] for one in votes if one["hit"] < first_hit(1)} == set(QUERIES) - set(
        OF_TEAM
    )
    work = table(out, "assignments.parquet")
    crowds: dict[str, set[bool]] = {}
    for one in work:
        crowds.setdefault(one["worker"], set()).add(one["hit"] >= first_hit(1))
    assert all(len(which) == 1 for which in crowds.values())
    assert (len(work), len(votes)) == (7 + 6, (7 + 5) * 5)
    (excluded,) = second.exclusions.all()
    assert excluded.worker.crowd == "inhouse"
