"""Who can't judge a triplet says so: no vote, counted on its own, and in the end for an expert."""

from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from annotation.analytics.campaign.status import blockers
from annotation.analytics.workers.exclusion_impact import if_excluded
from annotation.crowd.inhouse.assignments import submit
from annotation.models import ItemReport, Judgment, Triplet
from annotation.pipeline.adjudicate import Pile, What, pile_with
from annotation.pipeline.changes import mark_hits_of
from annotation.pipeline.collecting.review import FIELD
from annotation.pipeline.manual.exclusion import exclude
from annotation.pipeline.publishing.completion import is_complete
from annotation.protocol.screening.behaviour import CANNOT_JUDGE
from exports.building.export import export
from exports.building.options import Options
from exports.layout.schemas import CANNOT_JUDGE_COLUMNS, arrow_schema
from exports.verify.verify import verify
from tests.annotation.pipeline.whole.own_crowd import Team, own_team
from tests.worlds.small_campaign import sheet_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("small_database")]
BREAD = 5  # triplets


def not_bread(query: str, _: int) -> int | None:
    return None if query == "bread" else 0


def bread(team: Team) -> set[tuple[object, ...]]:
    rows = team.campaign.triplets.filter(candidate__query__key="bread")
    return set(rows.values_list("status", "label", "votes", "cannot_judge"))


def pile(team: Team, what: What) -> Pile:
    return Pile(team.campaign, what, expert="olga", worker_id=None)


def decide_all(team: Team, what: What, label: int) -> int:
    decided = 0
    while (triplet := pile(team, what).next([])) is not None:
        pile(team, what).decide(triplet, label, "")
        decided += 1
    return decided


def test_as_many_as_the_policy_says_send_the_triplet_to_an_expert(tmp_path: Path) -> None:
    team = own_team(tmp_path, cannot_judge_limit=2)
    team.publish()
    team.work("ada", not_bread)
    team.work("bob", not_bread)
    assert team.advance().assignments_requested == 0
    assert bread(team) == {("unresolved", None, 0, 2)}
    assert Judgment.objects.filter(item__triplet__candidate__query__key="bread").count() == 0
    assert is_complete(team.campaign)
    assert decide_all(team, What.UNRESOLVED, 1) == BREAD
    assert pile(team, What.UNRESOLVED).done()[:2] == (BREAD, 0)
    assert bread(team) == {("labelled", 1, 0, 2)}


def test_one_of_them_asks_somebody_else(tmp_path: Path) -> None:
    team = own_team(tmp_path, cannot_judge_limit=2)
    team.publish()
    team.work("ada", not_bread)
    team.work("bob")
    assert team.advance().assignments_requested > 0
    assert bread(team) == {("open", None, 1, 1)}
    team.work("eve")
    team.advance()
    assert bread(team) == {("labelled", 0, 2, 1)}


def test_where_nobody_else_is_left_the_owner_may_decide(tmp_path: Path) -> None:
    team = own_team(tmp_path, cannot_judge_limit=2)
    team.publish()
    team.work("ada", not_bread)
    team.work("bob")
    team.advance()
    (blocker,) = blockers(team.campaign, clock=team.clock.now)
    assert (blocker.operation, blocker.alternative) == ("invite", "open")
    assert decide_all(team, What.OPEN, 0) == BREAD
    assert pile(team, What.OPEN).done()[:2] == (BREAD, 0)
    assert is_complete(team.campaign)
    assert blockers(team.campaign, clock=team.clock.now) == []


def test_it_is_no_tie_while_another_vote_of_the_first_round_may_come(tmp_path: Path) -> None:
    team = own_team(tmp_path, cannot_judge_limit=2)
    team.publish()
    team.work("ada", not_bread)
    team.member("bob")
    team.advance()
    assert bread(team) == {("open", None, 0, 1)}
    assert pile(team, What.OPEN).done() == (0, 0)
    assert pile_with(team.campaign.triplets.filter(cannot_judge=1)[0], team.campaign) is None
    (blocker,) = blockers(team.campaign, clock=team.clock.now)
    assert (blocker.operation, blocker.alternative) == ("invite", None)


def test_a_majority_stands_whoever_cannot_judge(tmp_path: Path) -> None:
    team = own_team(tmp_path, cannot_judge_limit=1, annotators=3, max_votes=3)
    team.publish()
    for name in ("ada", "bob"):
        team.work(name)
    team.work("eve", not_bread)
    team.advance()
    assert bread(team) == {("unresolved", None, 2, 1)}
    team.campaign.policy_data |= {"annotators": 2}
    team.campaign.save()
    team.campaign.refresh_from_db()
    mark_hits_of(team.campaign.triplets.all())
    team.advance()
    assert bread(team) == {("labelled", 0, 2, 1)}


@pytest.mark.parametrize("limit", [0, 2])
def test_a_control_that_somebody_cannot_judge_is_missed(tmp_path: Path, limit: int) -> None:
    """And where the policy does not offer it, it is no answer at all."""
    team = own_team(tmp_path, cannot_judge_limit=limit)
    team.publish()
    work = team.take("ada")
    assert work is not None
    hit = team.campaign.hits.get(key=work.posted_hit.annotation)
    controls = hit.items.filter(control__isnull=False)
    sheet = sheet_of(hit) | {FIELD + item.key: CANNOT_JUDGE for item in controls}
    submit(work.member, work.assignment_id, sheet, now=team.clock.now())
    team.advance()
    (assignment,) = hit.assignments.all()
    assert assignment.failure == ("missed" if limit else "unanswered")
    said = ItemReport.objects.filter(cannot_judge=True).count()
    assert said == (2 if limit else 0)


def test_work_that_fails_a_control_does_not_count(tmp_path: Path) -> None:
    team = own_team(tmp_path, cannot_judge_limit=1)
    team.publish()
    team.work("eve", not_bread, slips=1)
    team.advance()
    assert ItemReport.objects.filter(cannot_judge=True).count() == BREAD
    assert bread(team) == {("open", None, 0, 0)}


def test_what_an_exclusion_would_change_is_what_it_changes(tmp_path: Path) -> None:
    team = own_team(tmp_path, cannot_judge_limit=2)
    team.publish()
    ada = team.member("ada").worker_id
    team.work("ada", not_bread)
    team.work("bob", not_bread)
    team.advance()
    before = dict(Triplet.objects.values_list("pk", "status"))
    impact = if_excluded(team.campaign, ada)
    exclude(team.campaign, ada, reason="left the team")
    team.advance()
    after = dict(Triplet.objects.values_list("pk", "status"))
    assert bread(team) == {("open", None, 0, 1)}
    assert impact.labels_changed == sum(before[pk] != status for pk, status in after.items())
    assert impact.triplets_reopened == list(after.values()).count("open")
    assert impact.votes == len(before) - BREAD


def test_the_release_tells_who_could_not_judge_what_and_verifies(tmp_path: Path) -> None:
    team = own_team(tmp_path, cannot_judge_limit=2)
    team.publish()
    team.work("ada", not_bread)
    team.work("bob", not_bread)
    team.advance()
    decide_all(team, What.UNRESOLVED, 1)
    team.advance()
    folder = tmp_path / "release"
    export(team.campaign, folder, options=Options(split="random"))
    assert verify(folder).differences == []
    said = pq.read_table(folder / "cannot_judge.parquet")
    assert said.schema.equals(arrow_schema(CANNOT_JUDGE_COLUMNS))
    assert set(said["query_id"].to_pylist()) == {"bread"}
    assert (len(said), set(said["reason"].to_pylist())) == (2 * BREAD, {"other"})
    figures = orjson.loads((folder / "stats.json").read_bytes())["campaign"]
    assert figures["cannot_judge"] == {"answers": 10, "triplets": 5, "reasons": {"other": 10}}
    card = " ".join((folder / "README.md").read_text().split())
    assert "10 valid answers on 5 triplets said “can't judge” (something else: 10)" in card
    assert "After 2 of them, a triplet without a majority was not given to more annotators" in card


def test_a_triplet_that_no_expert_has_decided_is_unresolved_in_the_release(tmp_path: Path) -> None:
    team = own_team(tmp_path, cannot_judge_limit=2)
    team.publish()
    team.work("ada", not_bread)
    team.work("bob", not_bread)
    team.advance()
    folder = tmp_path / "release"
    export(team.campaign, folder, options=Options(split="random"))
    assert verify(folder).differences == []
    figures = orjson.loads((folder / "stats.json").read_bytes())["campaign"]
    assert (figures["unresolved"], figures["open"]) == (BREAD, 0)


@pytest.mark.parametrize("row", [0, 3])
def test_a_release_that_lacks_one_of_them_is_found_out(tmp_path: Path, row: int) -> None:
    team = own_team(tmp_path, cannot_judge_limit=2)
    team.publish()
    team.work("ada", not_bread)
    team.work("bob", not_bread)
    team.advance()
    folder = tmp_path / "release"
    export(team.campaign, folder, options=Options(split="random"))
    path = folder / "cannot_judge.parquet"
    said = pq.read_table(path)
    pq.write_table(pa.concat_tables([said[:row], said[row + 1 :]]), path)
    sentences = " ".join(verify(folder).differences)
    assert "have fewer or more votes than their HIT has items that they judged" in sentences
