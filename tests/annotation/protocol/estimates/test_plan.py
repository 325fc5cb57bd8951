"""What is planned beside every sequence of votes, and beside campaigns that are made up."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import replace
from itertools import product

import pytest

from annotation.protocol.estimates.controls import (
    Controls,
    Judged,
    first_votes,
    offered,
    passing,
)
from annotation.protocol.estimates.plan import (
    Crowd,
    Prediction,
    Urn,
    audit_size,
    choices,
    crowd_of,
    error_intervals,
    outcomes,
    predict,
)
from annotation.protocol.labels.majority import decide
from annotation.protocol.policy.policy import Policy
from annotation.protocol.policy.presets import ADAPTIVE
from benchmarks.quality.plan import Size, ratios

CROWD = Crowd(share=0.2, urns=(Urn(0.1, 0.2), Urn(0.3, 0.1)), failing=0.1, per_day=20)


@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize(("annotators", "most"), [(1, 1), (2, 3), (2, 2), (3, 5), (4, 5)])
def test_the_outcomes_are_those_of_all_sequences_of_votes(
    annotators: int, most: int, label: int
) -> None:
    policy, urn = Policy(annotators=annotators, max_votes=most), Urn(0.3, 0.25)
    crowd = replace(CROWD, urns=(urn, urn))
    wanted: defaultdict[tuple[int, int | None], float] = defaultdict(float)
    for wrongs in product((False, True), repeat=most):
        chance, votes = 1.0, []
        for wrong in wrongs:
            if votes and decide(votes, policy).status != "open":
                # The rest of the sequence is not asked for, whatever it is.
                chance /= 2
                continue
            next_wrong = urn.next_wrong(len(votes), sum(vote != label for vote in votes))
            chance *= next_wrong if wrong else 1 - next_wrong
            votes.append(1 - label if wrong else label)
        wanted[len(votes), decide(votes, policy).value] += chance
    made = outcomes(policy, label, crowd)
    assert made == pytest.approx(dict(wanted))
    assert sum(made.values()) == pytest.approx(1)


def test_a_crowd_is_known_by_how_often_votes_are_wrong_and_how_alike_two_are() -> None:
    """Of ten items of label 0, one has two wrong votes: both or none are wrong."""
    judged = [*[Judged(0, 2, 0)] * 900, *[Judged(0, 2, 2)] * 100]
    judged += [*[Judged(1, 2, 0)] * 64, *[Judged(1, 2, 1)] * 32, *[Judged(1, 2, 2)] * 4]
    zeros, ones = (crowd := crowd_of(Counter(judged))).urns
    assert crowd.share == 100 / 1100
    assert zeros.error == pytest.approx(0.1, abs=0.001)
    assert zeros.alike == pytest.approx(0.95, abs=0.06)
    assert ones.error == pytest.approx(0.2, abs=0.005)
    assert ones.alike == pytest.approx(0, abs=0.02)


def test_a_crowd_of_whose_votes_nothing_is_known_is_none() -> None:
    with pytest.raises(ValueError, match="there is no vote on an item of one of the labels"):
        crowd_of({Judged(0, 2, 0): 1, Judged(1, 0, 0): 1})


def chosen(people: int, crowds: Mapping[Controls, Crowd] | None = None) -> list[Prediction]:
    crowds = crowds or {Controls(1, 1): CROWD}
    return choices(1000, Policy(), crowds, people=people, error=0.1)


def majorities(people: int) -> list[Prediction]:
    made = chosen(people)
    return [one for one in made if not one.policy.is_adaptive]


def test_more_votes_cost_more_and_err_less_as_far_as_there_are_people() -> None:
    made = majorities(5)
    assert [one.policy.annotators for one in made] == [1, 2, 3, 4, 5]
    assert [one.policy.max_votes for one in made] == [1, 3, 3, 5, 5]
    errors = [one.error for one in made]
    assert errors[0] == pytest.approx(0.8 * 0.1 + 0.2 * 0.3)
    assert errors == sorted(errors, reverse=True)
    assert len(majorities(2)) == 1  # ties need a third


def test_work_that_fails_takes_days_and_costs_where_it_is_paid() -> None:
    rejected, paid = (
        predict(1000, Policy(on_failed_control=rule), CROWD, people=10)
        for rule in ("reject", "pay_and_discard")
    )
    assert paid.cents == pytest.approx(rejected.cents / 0.9, abs=1)
    assert paid.days == rejected.days == rejected.assignments / 0.9 / 200


def test_an_audit_is_as_large_as_its_interval_asks() -> None:
    assert audit_size(0.05, 0.04) == 465
    assert audit_size(0.05, 0.02) > 4 * audit_size(0.05, 0.045)


def test_what_is_planned_comes_true_in_campaigns_that_were_not_used_to_plan_it() -> None:
    errors, costs = ratios(Size(configurations=4, items=20_000, known=20_000))
    assert errors == pytest.approx([1] * 4, abs=0.15)
    assert costs == pytest.approx([1] * 4, abs=0.1)


def test_votes_are_asked_for_until_the_label_is_as_sure_as_wanted() -> None:
    """Of a positive in five, one No makes it .92 sure; one Yes makes a Yes .64 sure."""
    crowd = replace(CROWD, urns=(Urn(0.1, 0.0), Urn(0.3, 0.0)))
    assert crowd.posterior(1, 0) == pytest.approx(0.06 / 0.78)
    assert crowd.posterior(1, 1) == pytest.approx(0.14 / 0.22)
    policy = replace(ADAPTIVE.policy(), max_votes=3)
    ended = outcomes(policy, 0, crowd)
    # Yes and Yes is .93 sure; Yes and No needs a third, and so has a label without being sure.
    assert ended == pytest.approx({(1, 0): 0.9, (2, 1): 0.01, (3, 0): 0.081, (3, 1): 0.009})


def test_each_choice_of_confidence_costs_more_and_errs_less() -> None:
    made = [one for one in chosen(20) if one.policy.is_adaptive]
    assert [one.policy.wanted_confidence for one in made] == [0.8, 0.9, 0.95, 0.99]
    errors, votes = [one.error for one in made], [one.votes for one in made]
    assert errors == sorted(errors, reverse=True)
    assert votes == sorted(votes)
    assert all(one.control_answers == 2 * one.assignments for one in made)


def test_a_majority_is_planned_without_what_only_an_aggregator_may_have() -> None:
    policy = replace(ADAPTIVE.policy(), bought_first="top_ranks", rank_prior=True)
    made = choices(1000, policy, {Controls.of(policy): CROWD}, people=20, error=0.05)
    assert {(one.policy.is_adaptive, one.policy.rank_prior) for one in made} == {
        (False, False), (True, True),
    }  # fmt: skip


def test_the_interval_is_as_wide_as_the_sample_is_small() -> None:
    policy = Policy(annotators=1, max_votes=1)
    few = [*[Judged(0, 1, 0)] * 90, *[Judged(0, 1, 1)] * 10]
    few += [*[Judged(1, 1, 0)] * 30, *[Judged(1, 1, 1)] * 10]
    [(low, high)] = error_intervals(Counter(few), [policy])
    assert (low, high) == pytest.approx((0.09, 0.2), abs=0.025)
    [(lower, higher)] = error_intervals(Counter(few * 100), [policy])
    assert low < lower < 20 / 140 < higher < high
    assert higher - lower == pytest.approx((high - low) / 10, rel=0.3)


def test_fewer_controls_pass_as_often_as_any_of_them_are_right() -> None:
    """One of two positives is wrong, and one of three negatives."""
    right, asked = Controls(1, 2), Controls(2, 3)
    assert passing(right, asked, Controls(1, 1)) == pytest.approx(1 / 2 * 2 / 3)
    assert passing(right, asked, Controls(1, 2)) == pytest.approx(1 / 2 * 1 / 3)
    assert passing(right, asked, asked) == passing(right, asked, Controls(1, 5)) == 0
    assert passing(asked, asked, Controls(1, 2)) == 1


def test_first_votes_are_the_first_that_count() -> None:
    """The second may count, and is wrong; without it the third is taken."""
    votes = [(False, 1.0), (True, 0.25), (False, 1.0), (True, 1.0)]
    assert first_votes(1, votes, 2) == {Judged(1, 2, 1): 0.25, Judged(1, 2, 0): 0.75}
    assert first_votes(1, [(True, 0.5)], 2) == {Judged(1, 1, 1): 0.5}
    assert first_votes(1, [(True, 0.0)], 2) == {}


@pytest.mark.parametrize(
    ("asked", "policy", "others"),
    [
        ((1, 1), {}, set()),
        ((2, 2), {}, {(1, 2), (2, 1), (2, 2)}),
        ((2, 2), {"positive_controls": 2}, {(1, 1), (1, 2), (2, 2)}),
        # Who guesses fails three HITs of four with two controls: too few here to be excluded.
        ((2, 2), {"positive_controls": 2, "max_failure_rate": 0.8}, {(1, 2), (2, 2)}),
        ((1, 3), {"hit_size": 3}, set()),
    ],
)
def test_controls_are_offered_that_the_crowd_has_answered(
    asked: tuple[int, int], policy: dict[str, int], others: set[tuple[int, int]]
) -> None:
    rules = Policy.from_dict(policy)
    own, *found = offered(Controls(*asked), rules)
    assert own == Controls.of(rules)
    assert set(found) == others


def test_each_rule_has_the_cheapest_controls_that_keep_to_the_error() -> None:
    """Fewer let more errors pass: here a majority of three can do with them, one vote cannot."""
    crowds = {
        Controls(2, 2): replace(CROWD, urns=(Urn(0.08, 0.2), Urn(0.15, 0.1))),
        Controls(1, 1): replace(CROWD, urns=(Urn(0.1, 0.2), Urn(0.25, 0.1)), failing=0.05),
    }
    made = {one.policy.annotators: one for one in chosen(3, crowds) if not one.policy.is_adaptive}
    errors = {
        (controls, annotators): predict(
            1000, controls.within(made[annotators].policy), crowd, people=3
        ).error
        for controls, crowd in crowds.items()
        for annotators in made
    }
    assert errors[Controls(2, 2), 1] < 0.1 < errors[Controls(1, 1), 1]
    assert errors[Controls(1, 1), 3] < 0.1
    assert Controls.of(made[1].policy) == (2, 2)
    assert Controls.of(made[3].policy) == (1, 1)


def test_campaigns_until_labels_are_sure_come_out_as_planned() -> None:
    errors, costs = ratios(Size(configurations=4, items=60_000, known=60_000), adaptive=True)
    assert errors == pytest.approx([1] * 4, abs=0.1)
    assert costs == pytest.approx([1] * 4, abs=0.1)
