"""Labels by the aggregator that a campaign's own controls chose."""

from collections.abc import Callable
from dataclasses import replace
from math import log

import pytest
from django.contrib.auth.models import User
from django.test import Client

from annotation.analytics.campaign.cost_table import cost_table
from annotation.analytics.campaign.labelling import labelling_in_words
from annotation.analytics.quality.aggregation import aggregation_of
from annotation.analytics.quality.label_derivation import derivation, votes_on
from annotation.models import (
    Account,
    Aggregation,
    Assignment,
    Campaign,
    Exclusion,
    ExpertLabel,
    Posterior,
    Worker,
)
from annotation.pipeline.advance import Pass
from annotation.pipeline.labelling import aggregate
from annotation.pipeline.labelling.label import Outcome, relabel, write_labels
from annotation.pipeline.recompute import audit, fit_to_all
from annotation.protocol.aggregation import fit
from annotation.protocol.aggregation.calibration import LogisticMap
from annotation.protocol.aggregation.choice import Choice
from annotation.protocol.aggregation.table import MOST_ODDS
from annotation.protocol.labels.claims import Claims
from tests.annotation.commands.test_commands import run_json
from tests.annotation.support.annotators import Annotators
from tests.annotation.support.biased_crowd import biased_crowd, submitted
from tests.annotation.support.hits import make_campaign, make_hit
from tests.conftest import SetStage
from tests.support.pages import text_of
from tests.worlds.small_campaign import Judge, Stage

pytestmark = pytest.mark.django_db


@pytest.fixture
def annotators() -> Annotators:
    return biased_crowd(aggregation="best")


def hits_of(campaign: Campaign) -> list[int]:
    return list(campaign.hits.values_list("pk", flat=True))


def outcomes(campaign: Campaign) -> list[tuple[object, ...]]:
    return list(campaign.triplets.order_by("pk").values_list(*Outcome._fields))


def claims(campaign: Campaign) -> dict[int, float]:
    rows = Posterior.objects.filter(triplet__campaign=campaign)
    return dict(rows.values_list("triplet", "log_odds"))


def wrong(campaign: Campaign) -> int:
    """Each HIT's first item alone is a duplicate."""
    rows = campaign.triplets.values_list("items__position", "label")
    return sum(label != int(position == 0) for position, label in rows)


def govern(campaign: Campaign, **policy: object) -> None:
    campaign.policy_data = policy
    campaign.save()


def test_they_are_right_more_often_and_the_votes_stay(annotators: Annotators) -> None:
    campaign = annotators.campaign
    govern(campaign)
    write_labels(campaign)
    by_majority, errors = outcomes(campaign), wrong(campaign)
    govern(campaign, aggregation="best")
    assert relabel(campaign, hits_of(campaign)) == sorted(hits_of(campaign))
    assert wrong(campaign) < errors / 2
    stored = Aggregation.objects.get(campaign=campaign)
    assert stored.aggregator in ("half and half", "two coins")
    assert "it foretells hidden controls better than the majority" in stored.why
    assert set(campaign.triplets.values_list("label_source", flat=True)) == {"aggregator"}
    votes = slice(3, None)
    assert [one[votes] for one in outcomes(campaign)] == [one[votes] for one in by_majority]
    assert claims(campaign).keys() == set(campaign.triplets.values_list("pk", flat=True))


def test_without_the_claims_votes_and_majorities_are_what_they_were(
    annotators: Annotators,
) -> None:
    campaign = annotators.campaign
    govern(campaign)
    write_labels(campaign)
    before = outcomes(campaign)
    govern(campaign, aggregation="best")
    relabel(campaign, hits_of(campaign))
    assert outcomes(campaign) != before
    Posterior.objects.all().delete()
    Aggregation.objects.all().delete()
    write_labels(campaign)
    assert outcomes(campaign) == before  # nothing is claimed: the majority it is
    govern(campaign)
    assert not relabel(campaign, [])
    assert outcomes(campaign) == before


def test_passes_over_a_part_at_a_time_end_where_one_over_all_does(annotators: Annotators) -> None:
    campaign = annotators.campaign
    of_hits = hits_of(campaign)
    later = Assignment.objects.filter(hit__in=of_hits[12:])
    later.update(passed=None)
    relabel(campaign, of_hits)
    for hit in of_hits[12:]:
        later.filter(hit=hit).update(passed=True)
        relabel(campaign, [hit])
    little_by_little = outcomes(campaign), claims(campaign)
    Aggregation.objects.all().delete()
    relabel(campaign, of_hits)
    assert (outcomes(campaign), claims(campaign)) == little_by_little


def test_ranks_have_a_say_by_choice_alone(annotators: Annotators) -> None:
    campaign = annotators.campaign
    relabel(campaign, hits_of(campaign))
    before, labels = wrong(campaign), outcomes(campaign)
    govern(campaign, aggregation="best", rank_prior=True)
    fit_to_all(campaign)
    assert outcomes(campaign) == labels  # the last fit has seen all there is
    Aggregation.objects.all().delete()
    relabel(campaign, hits_of(campaign))
    assert Aggregation.objects.get(campaign=campaign).rank_slope < 0
    assert wrong(campaign) < before  # rank 1 alone is a duplicate
    assert labelling_in_words(campaign).endswith(
        " Ranks have a say, so labels lean to the retriever of the candidates."
    )
    assert aggregation_of(campaign).errors.keys() > {"majority"}
    triplet = campaign.triplets.earliest("pk")
    assert derivation(campaign, triplet, votes_on(campaign, triplet))[-1] == (
        "Votes count as their workers do on controls, and the rank has a say, which makes the "
        "label Yes."
    )


@pytest.mark.parametrize("rank_prior", [False, True])
def test_between_two_fits_a_vote_moves_its_own_triplet_alone(
    annotators: Annotators, rank_prior: bool
) -> None:
    campaign = annotators.campaign
    govern(campaign, aggregation="best", rank_prior=rank_prior)
    make_hit(campaign, real=[("one more", f"question {row}", "answer") for row in range(5)])
    last = campaign.hits.get(number=25)
    relabel(campaign, hits_of(campaign))
    before = claims(campaign)
    grown = Annotators(campaign, list(campaign.hits.order_by("number")))
    submitted(grown, "ada", 25, [1, 0, 1, 0, 0, 0, 0])
    assert relabel(campaign, [last.pk]) == [last.pk]  # one vote each: they are open
    after = claims(campaign)
    assert {one: after[one] for one in before} == before
    stored = Aggregation.objects.get(campaign=campaign)
    weights = stored.weights_of(Worker.objects.get(worker_id="ada").pk)
    new = [after[one] for one in sorted(after.keys() - before.keys())]
    said = [1, 0, 0, 0, 0]
    assert (stored.rank_slope < 0) == rank_prior
    summed = [
        max(stored.prior + stored.rank_slope * log(rank) + weights[vote], -MOST_ODDS)
        for rank, vote in enumerate(said, start=1)
    ]
    assert new == pytest.approx(summed, abs=1e-6)


def test_the_last_fit_has_seen_all_work_and_exclusions(annotators: Annotators) -> None:
    campaign = annotators.campaign
    relabel(campaign, hits_of(campaign))
    assert aggregate.is_fitted(campaign)
    Aggregation.objects.update(offset_error=None)  # as older fits have it
    assert not aggregate.is_fitted(campaign)
    fit_to_all(campaign)
    assert aggregate.is_fitted(campaign)
    ada = Worker.objects.get(worker_id="ada")
    Exclusion.objects.create(campaign=campaign, worker=ada, failures=1, reviewed=1)
    assert not aggregate.is_fitted(campaign)


def test_the_last_fit_has_seen_what_experts_say_now(annotators: Annotators) -> None:
    campaign = annotators.campaign
    one, other = campaign.triplets.order_by("pk")[:2]
    given = [
        ExpertLabel.objects.create(triplet=triplet, expert="gil", label=label, source="sample")
        for label, triplet in enumerate((one, other))
    ]
    relabel(campaign, hits_of(campaign))
    assert aggregate.is_fitted(campaign)
    for label in given:  # as many say Yes as before
        label.change(1 - label.label, "")
        label.save()
    assert aggregate.is_fitted(campaign)  # what they said before they saw votes still counts
    ExpertLabel.objects.update(blind_label=None)
    assert not aggregate.is_fitted(campaign)


def test_experts_choose_by_what_they_neither_decide_nor_measure(annotators: Annotators) -> None:
    campaign = annotators.campaign
    for place, triplet in enumerate(campaign.triplets.order_by("pk")[:30]):
        experts = {"gil": "sample" if place < 10 else "adjudication"}
        if place < 20:
            experts["zoe"] = "adjudication"
        for expert, source in experts.items():
            adjudicated = source == "adjudication"
            ExpertLabel.objects.create(
                triplet=triplet, expert=expert, label=1, source=source, adjudicated=adjudicated
            )
    relabel(campaign, hits_of(campaign))
    known = Aggregation.objects.get(campaign=campaign).known
    assert known == {"controls": 48, "adjudicated": 20}
    govern(campaign, aggregation="best", adjudication="decide")
    assert not aggregate.is_fitted(campaign)
    fit_to_all(campaign)
    known = Aggregation.objects.get(campaign=campaign).known
    assert known == {"controls": 48, "adjudicated": 0}


def test_where_little_is_known_it_is_the_majority() -> None:
    campaign = make_campaign("small", aggregation="best")
    annotators = Annotators(campaign, [make_hit(campaign)])
    submitted(annotators, "ada", 1, [1, 0, 1, 0, 0, 0, 0])
    submitted(annotators, "bob", 1, [1, 1, 1, 0, 0, 0, 0])
    relabel(campaign, hits_of(campaign))
    assert Aggregation.objects.get(campaign=campaign).why == (
        "fewer than 20 controls of each kind are answered"
    )
    rows = campaign.triplets.order_by("pk").values_list("status", "label_source")
    assert list(rows) == [("labelled", "majority"), ("open", None), *[("labelled", "majority")] * 3]


def test_a_triplet_s_page_says_how(annotators: Annotators) -> None:
    campaign = annotators.campaign
    relabel(campaign, hits_of(campaign))
    triplet = campaign.triplets.filter(label=0, positive_votes=2, votes=3).first()
    assert triplet is not None
    assert derivation(campaign, triplet, votes_on(campaign, triplet)) == [
        "3 of 3 votes count: 2 Yes, 1 No.",
        "Votes count as their workers do on controls, which makes the label No.",
    ]
    Aggregation.objects.update(sampled=200, offset=-1.0, slope=0.0)
    assert derivation(campaign, triplet, votes_on(campaign, triplet))[-1] == (
        "The chance of a Yes is 27%."
    )


# Votes until a label is as sure as wanted


ADAPTIVE = {
    "annotators": 1, "tie_mode": "repack", "aggregation": "best", "wanted_confidence": 0.9,
}  # fmt: skip
PEOPLE = tuple("abcdefghijkl")  # a third of them say Yes where others say No


@pytest.fixture
def adaptive(set_stage: SetStage) -> Stage:
    """Five HITs at the crowd, each of which one person may take. A vote of which nothing is known
    is right four times in five, two that agree are right 17 times in 18."""
    stage = set_stage(candidates_per_query=5, **ADAPTIVE)
    stage.publish()
    known = Campaign.objects.get().known_id
    for name in PEOPLE:  # who have worked before: so they may do HITs of repacked triplets
        worker = Worker.objects.create(crowd="mturk", worker_id=stage.mturk.person(name).id)
        stage.mturk.crowd.grant(worker.worker_id, qualification_id=known, value=worker.pk)
    return stage


def work_off(stage: Stage, answer: Callable[[str], Judge]) -> Pass:
    """Everybody takes what they may, round by round."""
    for _ in range(12):
        for number in stage.campaign.hits.values_list("number", flat=True):
            for name in PEOPLE[number % 12 :] + PEOPLE[: number % 12]:
                if crowd_id := stage.accept(name, number):
                    sheet = stage.sheet(number, answer(name))
                    stage.mturk.person(name).submit(crowd_id, sheet)
        done = stage.advance()
        if done.finished:
            return done
    raise AssertionError(f"{done.open} triplets are open still")


def tallies(stage: Stage) -> list[tuple[int, int, int | None]]:
    return list(stage.campaign.triplets.values_list("votes", "positive_votes", "label"))


def test_status_and_estimate_say_it_in_words(adaptive: Stage, client: Client) -> None:
    asking = (
        "Each triplet gets 1 to 5 votes, until its label is 90% sure; the least sure come first."
    )
    assert run_json("campaign", "status", "faq")["labels"] == (
        f"Labels will be made by whatever foretells controls best. {asking}"
    )
    adaptive.work("a", 1, 1)
    adaptive.advance()
    assert run_json("campaign", "status", "faq")["labels"] == (
        f"Labels are made by majority: fewer than 20 controls of each kind are answered. {asking}"
    )
    estimate = run_json("campaign", "estimate", "faq")
    assert estimate["asking"] == asking
    assert str(estimate["not_counted"]).endswith("whose label is not sure after the first round")
    assert cost_table(25, adaptive.campaign.policy).not_counted.endswith(asking)
    client.force_login(User.objects.create_superuser("owner"))
    assert asking in text_of(client.get("/admin/campaigns/faq", follow=True))


def test_where_all_agree_each_triplet_has_two_votes(adaptive: Stage) -> None:
    work_off(adaptive, lambda _: lambda query, rank: int(rank == 1))
    assert {(votes, yes == votes, label) for votes, yes, label in tallies(adaptive)} == {
        (2, True, 1), (2, False, 0),
    }  # fmt: skip
    assert adaptive.campaign.hits.count() == 10  # full ones: nothing was asked for twice


def test_where_they_differ_votes_are_asked_for_up_to_the_most(adaptive: Stage) -> None:
    work_off(adaptive, lambda name: lambda query, rank: int(name in PEOPLE[::3]))
    for votes, yes, label in tallies(adaptive):
        margin = abs(2 * yes - votes)
        assert (margin == 2 and votes < 5) or votes == 5
        assert label == int(2 * yes > votes)
    assert {votes for votes, *_ in tallies(adaptive)} == {2, 4, 5}
    assert not audit(adaptive.campaign)


def test_somebody_who_is_known_to_be_right_ends_the_asking_alone(
    adaptive: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    sure = Choice(
        "majority", {"controls": 20, "adjudicated": 0}, {"majority": 0.1}, LogisticMap(slope=3.0)
    )
    monkeypatch.setattr(fit, "choose", lambda _, adjudicated: sure)
    done = work_off(adaptive, lambda _: lambda query, rank: 1)
    assert (done.finished, tallies(adaptive)) == (True, [(1, 1, 1)] * 25)


def test_what_a_release_finds_unsure_is_asked_for_by_the_next_pass(
    adaptive: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    sure = Choice(
        "majority", {"controls": 20, "adjudicated": 0}, {"majority": 0.1}, LogisticMap(slope=3.0)
    )
    monkeypatch.setattr(fit, "choose", lambda _, adjudicated: sure)
    assert work_off(adaptive, lambda _: lambda query, rank: int(rank == 1)).finished
    triplet = adaptive.campaign.triplets.earliest("pk")
    ExpertLabel.objects.create(triplet=triplet, expert="gil", label=1, source="sample")
    monkeypatch.setattr(
        fit, "choose", lambda _, adjudicated: replace(sure, map=LogisticMap(slope=0.5))
    )
    fit_to_all(adaptive.campaign)
    assert adaptive.campaign.triplets.filter(status="open").exists()
    assert adaptive.advance().assignments_requested > 0


def test_a_tie_is_not_sure_at_all() -> None:
    assert Claims("two coins", -2.0, 1.5, None).confidence(0.0) == 0.5


def test_ranks_make_labels_even_where_all_votes_count_alike() -> None:
    assert Claims("majority", 0.0, 1.0, None).said(-1.0) is None
    assert Claims("majority", 0.0, 1.0, None, rank_slope=-0.5).said(-1.0) == 0


def test_the_rest_of_the_budget_goes_to_the_least_sure(set_stage: SetStage) -> None:
    stage = set_stage(candidates_per_query=2, **ADAPTIVE)
    stage.publish()
    campaign = stage.campaign
    price = campaign.hits.get(number=1).price_cents
    stage.work("bob", 1, 1)
    stage.work("ada", 2, 1)
    of_account = Account.objects.filter(campaign=campaign)
    of_account.update(budget_cents=2 * price)
    done = stage.advance()
    assert (done.open, done.assignments_requested) == (10, 0)
    fitted = Aggregation.objects.get(campaign=campaign)
    fitted.weights[str(Worker.objects.get(worker_id="ABOB").pk)] = [-1.5, 1.5]
    fitted.save()
    of_account.update(budget_cents=3 * price)
    assert stage.advance().assignments_requested == 1
    assert set(stage.triplets(3)) == set(stage.triplets(2))  # of Bob's one more is surer
    of_account.update(budget_cents=4 * price)
    assert stage.advance().assignments_requested == 1
    assert set(stage.triplets(4)) == set(stage.triplets(1))


def test_or_to_the_only_positive_of_a_query_and_then_to_top_ranks(set_stage: SetStage) -> None:
    stage = set_stage(candidates_per_query=2, bought_first="top_ranks", **ADAPTIVE)
    stage.publish()
    of_account = Account.objects.filter(campaign=stage.campaign)
    price = stage.hit(1).price_cents
    for name, number in (("bob", 1), ("ada", 2)):
        stage.work(name, number, lambda query, rank: int((query, rank) == ("bread", 2)))
    of_account.update(budget_cents=3 * price)
    assert stage.advance().assignments_requested == 1
    asked = set(stage.triplets(3))
    assert len(asked) == 5
    assert {rank for _, rank in asked - {("bread", 2)}} == {1}
    assert ("bread", 2) in asked
