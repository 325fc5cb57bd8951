"""Two campaigns over copies of the same triplets, which differ by the answer alone."""

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from annotation.analytics.quality.pilot_report import pilot_report
from annotation.crowd.factory import open_crowd
from annotation.crowd.hit_url import hit_url
from annotation.crowd.inhouse import assignments
from annotation.crowd.inhouse.queue import open_queues
from annotation.models import Campaign, ExpertLabel, HitItem, Judgment, Pilot, Triplet
from annotation.pipeline.advance import advance
from annotation.pipeline.gold.import_gold import import_gold
from annotation.pipeline.ledger.reservations import account_of, set_budget
from annotation.pipeline.publishing.pack import pack_hits
from annotation.pipeline.publishing.pilot_conditions import (
    has_judged_other_condition,
    keep_apart,
    other_condition,
)
from annotation.pipeline.publishing.publish import publish
from annotation.pipeline.setup.create import create_campaign
from annotation.pipeline.setup.create_pilot import create_pilot, pilot_of, source_of
from annotation.pipeline.setup.instructions import add_version
from annotation.pipeline.setup.pool_depth import create_depth_study
from annotation.protocol.policy.crowds import INHOUSE
from annotation.protocol.policy.policy import Policy
from annotation.web.annotator.eligibility import closed_queues
from core.errors import UserError
from exports.building.options import Options
from exports.building.requests import request_build
from retrieval.models import Candidate, QuerySet
from retrieval.query_sets.sample_candidates import draw_candidates
from tests.annotation.commands.test_commands import refused, run, run_json
from tests.annotation.support.parts import at
from tests.annotation.web.stage import make_member
from tests.support.query_sets import sample_queries
from tests.worlds.account import Account
from tests.worlds.small_campaign import (
    BUDGET_CENTS,
    POLICY,
    Judge,
    Stage,
    retrieved_campaign,
    write_rows,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("small_database")]


@pytest.fixture
def source(tmp_path: Path) -> Campaign:
    """Five queries with five candidates each."""
    return retrieved_campaign(tmp_path)


def pilot_over(source: Campaign, name: str = "pilot", **options: Any) -> Pilot:
    return create_pilot(source, name, **{"triplets": 10, "seed": 3, **options})


def drawn(campaign: Campaign) -> list[tuple[str, int, str]]:
    rows = Candidate.objects.filter(query__query_set=campaign.query_set)
    return sorted(rows.values_list("query__key", "rank", "pair__pair_key"))


def judged(campaign: Campaign, mturk: Account, judge: Judge, *people: str) -> None:
    """All of them say the same of everything."""
    pack_hits(campaign)
    set_budget(campaign, BUDGET_CENTS)
    stage = Stage(campaign, mturk)
    stage.publish()
    for hit in campaign.hits.all():
        for name in people:
            stage.work(name, hit.number, judge)
    stage.advance()


def test_both_conditions_hold_the_same_triplets_of_the_source(source: Campaign) -> None:
    pilot = pilot_over(source)
    assert drawn(pilot.shown) == drawn(pilot.hidden)
    assert len(drawn(pilot.shown)) == 10
    assert set(drawn(pilot.shown)) <= set(drawn(source))
    assert pilot.shown.triplets.count() == pilot.hidden.triplets.count() == 10
    assert source_of(pilot) == source
    assert pilot_of(pilot.shown) == pilot_of(pilot.hidden) == pilot
    assert pilot_of(source) is None
    assert not source.triplets.exists()


def test_they_differ_by_the_answer_alone(source: Campaign) -> None:
    pilot = pilot_over(source)
    with_it, without = pilot.shown.policy.to_dict(), pilot.hidden.policy.to_dict()
    assert (with_it.pop("show_answer"), without.pop("show_answer")) == (True, False)
    assert with_it == without
    for condition in (pilot.shown, pilot.hidden):
        pack_hits(condition)
    items = [
        list(
            HitItem.objects.filter(hit__campaign=condition)
            .order_by("hit__number", "position")
            .values_list(
                "triplet__candidate__pair__question", "control__query", "control__question"
            )
        )
        for condition in (pilot.shown, pilot.hidden)
    ]
    assert items[0] == items[1]
    assert len(items[0]) == 14
    keys = [
        set(condition.hits.values_list("key", flat=True))
        for condition in (pilot.shown, pilot.hidden)
    ]
    assert not keys[0] & keys[1]


def test_the_usual_wording_says_whether_there_is_an_answer(source: Campaign) -> None:
    texts = [condition.instructions.get().text for condition in conditions(pilot_over(source))]
    assert "your items do not" not in texts[0]
    assert "your items do not" in " ".join(texts[1].split())
    add_version(source, "Ask yourself twice.")
    texts = [
        condition.instructions.get().text for condition in conditions(pilot_over(source, "own"))
    ]
    assert texts == ["Ask yourself twice."] * 2


def conditions(pilot: Pilot) -> list[Campaign]:
    return [pilot.shown, pilot.hidden]


def test_each_triplet_is_drawn_as_likely_as_any_other(source: Campaign) -> None:
    counts: Counter[tuple[str, int, str]] = Counter()
    for seed in range(40):
        counts.update(drawn(pilot_over(source, f"p{seed}", seed=seed).shown))
    assert set(counts) == set(drawn(source))  # 16 of 40 are to be expected of each
    assert all(6 <= count <= 28 for count in counts.values())
    assert drawn(pilot_over(source, "again", seed=7).shown) == drawn(
        Pilot.objects.get(name="p7").shown
    )


def test_the_seed_draws_from_the_candidates_by_code_points_and_rank(source: Campaign) -> None:
    """Whatever order the queries were stored in, and however the database sorts texts."""
    keys = ["b", "C", "_a", "A2", "a10"]
    for query, key in zip(source.query_set.queries.order_by("position"), keys, strict=True):
        type(query).objects.filter(pk=query.pk).update(key=key)
    rows = Candidate.objects.filter(query__query_set=source.query_set)
    all_of_them = sorted(rows.values_list("query__key", "rank"))
    wanted = Random("copy/3").sample(range(25), 10)
    found = draw_candidates(source.query_set, 10, 3)
    assert [(one.query.key, one.rank) for one in found] == [
        all_of_them[place] for place in sorted(wanted)
    ]


def test_the_queries_stay_held_out_as_they_were(source: Campaign) -> None:
    def sampled(name: str) -> set[str]:
        query_set = sample_queries(name, 4, 3)
        keys = set(query_set.queries.values_list("key", flat=True))
        query_set.delete()
        return keys

    before = sampled("before")
    pilot = pilot_over(source, triplets=25)
    assert sampled("after") == before
    assert pilot.shown.query_set.origin == QuerySet.Origin.COPY
    assert pilot.shown.query_set.retrieved_with == source.query_set.retrieved_with


def test_a_condition_is_not_retrieved_studied_drawn_from_or_released(source: Campaign) -> None:
    condition = pilot_over(source).shown
    assert "came with its candidates" in refused("campaign", "retrieve", condition.name)
    with pytest.raises(UserError, match="came with its candidates"):
        create_depth_study(condition, "deeper", seed=1)
    with pytest.raises(UserError, match="is a condition of pilot pilot itself: draw from faq"):
        pilot_over(condition, "more")
    with pytest.raises(UserError, match="its queries are in those of faq"):
        request_build(condition, options=Options(), by=None)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"name": "pilot"}, "There is a pilot 'pilot' already"),
        ({"name": "a b"}, "cannot name a pilot"),
        ({"name": "a" * 51}, "cannot name a pilot"),
        ({"name": "taken"}, "There is a campaign 'taken-without' already"),
        ({"triplets": 0}, "0 triplets of faq cannot be drawn: it has 25 candidates"),
        ({"triplets": 26}, "26 triplets of faq cannot be drawn: it has 25 candidates"),
        ({"triplets": 5001}, "more than experts label for a pilot: take 5,000 at most"),
        ({"seed": 2**63}, "is too large"),
    ],
)
def test_what_cannot_be_made_is_refused_and_leaves_nothing(
    source: Campaign, tmp_path: Path, options: dict[str, Any], said: str
) -> None:
    pilot_over(source)
    retrieved_campaign(tmp_path, "taken-without")
    with pytest.raises(UserError, match=said):
        create_pilot(source, **{"name": "new", "triplets": 10, "seed": 3, **options})
    assert (Pilot.objects.count(), Campaign.objects.count()) == (1, 4)


def test_a_campaign_without_candidates_is_refused(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "mine.jsonl", [{"query": "how is bread made"}])
    policy = Policy.from_dict(POLICY)
    waiting = create_campaign("waiting", policy=policy, seed=7, queries=path)
    with pytest.raises(UserError, match="has no candidates yet: run"):
        pilot_over(waiting)


def gold_file(path: Path, condition: Campaign, label: Judge, *, but: int = 0) -> Path:
    """Of all its triplets save the last `but`."""
    rows = list(
        condition.triplets.select_related("candidate__query", "candidate__pair").order_by("pk")
    )
    return write_rows(
        path,
        [
            {
                "query": row.candidate.query.text,
                "question": row.candidate.pair.question,
                "answer": row.candidate.pair.answer,
                "label": str(label(row.candidate.query.key, row.candidate.rank)),
            }
            for row in rows[: len(rows) - but]
        ],
    )


def test_the_report_is_the_one_worked_out_by_hand(
    source: Campaign, mturk: Account, tmp_path: Path
) -> None:
    """Gold says yes at rank 1 alone: with the answer nobody errs, without it rank 2 is wrong."""
    pilot = pilot_over(source, triplets=25)
    assert pilot_report(pilot).comparison is None
    judged(pilot.shown, mturk, lambda _, rank: int(rank == 1), "ada", "cleo")
    judged(pilot.hidden, mturk, lambda _, rank: int(rank <= 2), "ada", "dan")
    # Each condition gets a part of the gold, and the source some: all of it serves both.
    yes_at_one: Judge = lambda _, rank: int(rank == 1)  # noqa: E731
    import_gold(gold_file(tmp_path / "one.jsonl", pilot.shown, yes_at_one, but=5), pilot.shown)
    found = pilot_report(pilot)
    assert (found.gold, found.without_a_label) == (20, 0)
    import_gold(gold_file(tmp_path / "all.jsonl", pilot.hidden, yes_at_one, but=1), pilot.hidden)
    pack_hits(source)
    import_gold(gold_file(tmp_path / "source.jsonl", source, yes_at_one), source)
    found = pilot_report(pilot)
    assert (found.gold, found.without_a_label) == (25, 0)
    assert found.comparison is not None
    assert (found.comparison.shown.wrong, found.comparison.hidden.wrong) == (0, 5)
    assert found.comparison.difference == 0.2
    assert (found.shown.labelled, found.shown.positive) == (25, 5)
    assert (found.hidden.agreement, found.hidden.workers) == (1, 2)
    assert found.shown.spent_cents == 10 * 19
    assert (found.in_both_conditions, found.met_again) == (1, 25)


def test_experts_decide_by_a_majority_and_before_they_saw_the_votes(
    source: Campaign, mturk: Account
) -> None:
    pilot = pilot_over(source, triplets=5)
    for condition in conditions(pilot):
        judged(condition, mturk, lambda *_: 0, "ada", "cleo")
    first, second, third, fourth, last = pilot.shown.triplets.order_by("pk")
    twin = pilot.hidden.triplets.get(
        candidate__query__key=second.candidate.query.key, candidate__rank=second.candidate.rank
    )

    def say(triplet: Triplet, expert: str, label: int, **more: Any) -> None:
        ExpertLabel.objects.create(
            triplet=triplet, expert=expert, label=label, **{"source": "import", **more}
        )

    say(first, "bob", 0, blind_label=1, source="sample")  # changed once the votes were shown
    say(second, "bob", 1)
    say(twin, "bob", 0)  # says both: takes no side
    say(second, "dan", 0)
    for expert, label in (("bob", 1), ("cleo", 0)):
        say(third, expert, label)
    say(fourth, "bob", 1, source="adjudication", adjudicated=True)  # chosen for being hard
    say(last, "bob", 0)
    found = pilot_report(pilot)
    assert found.gold == 3
    assert found.comparison is not None
    assert (found.comparison.both_wrong, found.comparison.neither_wrong) == (1, 2)


def test_a_triplet_without_a_label_in_a_condition_is_not_compared(
    source: Campaign, mturk: Account, tmp_path: Path
) -> None:
    pilot = pilot_over(source, triplets=5)
    judged(pilot.shown, mturk, lambda *_: 1, "ada", "cleo")
    import_gold(gold_file(tmp_path / "gold.jsonl", pilot.shown, lambda *_: 1), pilot.shown)
    found = pilot_report(pilot)
    assert (found.gold, found.without_a_label, found.hidden.open) == (5, 5, 5)
    assert found.comparison is None


def test_the_commands_make_a_pilot_and_report_on_it(
    source: Campaign, mturk: Account, tmp_path: Path
) -> None:
    made = run_json("campaign", "pilot", "faq", "--triplets", "25", "--budget", "20")
    assert made == {
        "campaign": "faq",
        "pilot": "faq-pilot",
        "conditions": ["faq-pilot-with", "faq-pilot-without"],
        "triplets": 25,
        "seed": 0,
        "hits_per_condition": 5,
        "cents_min_per_condition": 190,
        "cents_max_per_condition": 475,
    }
    pilot = Pilot.objects.get()
    assert [account_of(condition).budget_cents for condition in conditions(pilot)] == [2000, 2000]
    refusal = refused("campaign", "pilot-report", "faq")
    assert "belongs to no pilot: create one with `quorum campaign pilot faq`" in refusal
    assert run_json("campaign", "pilot-report", "faq-pilot-with")["compared"] == 0
    with_answer, without = conditions(pilot)
    judged(with_answer, mturk, lambda _, rank: int(rank == 1), "ada", "cleo")
    judged(without, mturk, lambda _, rank: int(rank <= 2), "ada", "cleo")
    path = gold_file(tmp_path / "gold.jsonl", pilot.shown, lambda _, rank: int(rank == 1))
    import_gold(path, pilot.shown)
    report = run_json("campaign", "pilot-report", "faq-pilot-without")
    assert report["error_with_the_answer"] == [0.0, 0.0, 0.1332]
    assert report["error_without_it"][0] == report["difference"][0] == 0.2  # type: ignore[index]
    assert (report["relative_change"], report["accuracy_with_the_answer"]) == (-1.0, 1.0)
    assert (report["spent_cents_with"], report["agreement_without"]) == (190, 1.0)
    details = run("campaign", "pilot-report", "faq-pilot-without")
    assert "error without it" in details
    assert json.dumps(report)


# Nobody judges in both conditions


def published(campaign: Campaign, mturk: Account) -> Stage:
    pack_hits(campaign)
    set_budget(campaign, BUDGET_CENTS)
    stage = Stage(campaign, mturk)
    stage.publish()
    return stage


def test_whoever_works_in_one_arm_is_given_no_hit_of_the_other(
    source: Campaign, mturk: Account, client: Client
) -> None:
    pilot = pilot_over(source)
    shown, hidden = published(pilot.shown, mturk), published(pilot.hidden, mturk)
    shown.work("ada", 1)
    shown.advance()
    hidden.advance()
    assert hidden.accept("ada", 1) is None
    assert hidden.accept("bob", 1) is not None
    assert shown.accept("ada", 2) is not None
    assert not hidden.campaign.exclusions.exists()  # she has done nothing wrong
    assert hidden.advance().sent == 0  # the crowd is told once
    page = {"assignmentId": "3XYZ", "workerId": "AADA"}
    assert client.get(hit_url(hidden.hit(1).key), page).status_code == 403
    assert client.get(hit_url(shown.hit(2).key), page).status_code == 200
    assert client.get(hit_url(hidden.hit(1).key), page | {"workerId": "ADAN"}).status_code == 200


def test_whoever_was_quicker_than_the_bar_keeps_their_votes_and_gets_no_more(
    source: Campaign, mturk: Account, client: Client
) -> None:
    pilot = pilot_over(source)
    shown, hidden = published(pilot.shown, mturk), published(pilot.hidden, mturk)
    for stage in (shown, hidden):
        stage.work("ada", 1)
    for stage in (shown, hidden):
        stage.advance()
    assert Judgment.objects.filter(worker__worker_id="AADA", triplet__isnull=False).count() == 10
    page = {"assignmentId": "3XYZ", "workerId": "AADA"}
    for stage in (shown, hidden):
        assert client.get(hit_url(stage.hit(2).key), page).status_code == 403


def test_a_policy_that_blocks_excludes_nobody_of_all_campaigns_for_a_pilot(
    source: Campaign, mturk: Account
) -> None:
    Campaign.objects.update(policy_data=source.policy.to_dict() | {"exclude_by": "block"})
    source.refresh_from_db()
    pilot = pilot_over(source)
    shown, hidden = published(pilot.shown, mturk), published(pilot.hidden, mturk)
    shown.work("ada", 1)
    shown.advance()
    hidden.advance()
    assert not hidden.campaign.outbox.filter(kind="exclude").exists()


def test_campaigns_that_are_no_arms_have_nobody_to_keep_apart(
    source: Campaign, mturk: Account
) -> None:
    assert other_condition(source) is None
    assert not has_judged_other_condition(source, "AADA")
    assert keep_apart(source) == 0


def test_a_member_of_the_team_is_offered_one_arm_alone(source: Campaign) -> None:
    Campaign.objects.update(policy_data={**source.policy.to_dict(), **INHOUSE.defaults()})
    source.refresh_from_db()
    pilot = pilot_over(source)
    crowd = open_crowd("inhouse", live=False)
    for condition in (pilot.shown, pilot.hidden):
        pack_hits(condition)
        publish(condition, crowd)
        advance(condition, crowd)
    ada, bob = make_member("ada"), make_member("bob")
    assert (closed_queues(ada), len(open_queues(ada))) == (frozenset(), 2)
    work = assignments.take(ada, hit_type="", closed=closed_queues(ada), now=timezone.now())
    assert work is not None
    mine = work.posted_hit.queue_id
    assert mine not in closed_queues(ada)
    assert list(open_queues(ada, closed=closed_queues(ada))) == [mine]
    assert closed_queues(bob) == frozenset()
    assignments.give_back(ada, work.assignment_id, now=timezone.now())
    assert closed_queues(ada) == frozenset()  # she has seen the answers, but judged nothing
    assert len(assignments.open_queues(ada, now=timezone.now())) == 2


def test_the_teams_page_shows_one_arm_alone_to_who_works_in_it(source: Campaign) -> None:
    Campaign.objects.update(policy_data={**source.policy.to_dict(), **INHOUSE.defaults()})
    source.refresh_from_db()
    pilot = pilot_over(source)
    crowd = open_crowd("inhouse", live=False)
    for condition in (pilot.shown, pilot.hidden):
        pack_hits(condition)
        publish(condition, crowd)
        advance(condition, crowd)
    ada = make_member("ada")
    client = at(ada.user)
    assert len(client.get("/work").context["queues"]) == 2
    assert assignments.take(ada, closed=closed_queues(ada), now=timezone.now()) is not None
    assert len(client.get("/work").context["queues"]) == 1
