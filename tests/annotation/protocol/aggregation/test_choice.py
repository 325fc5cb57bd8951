from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocol.aggregation.choice import (
    AGGREGATORS,
    Choice,
    choose,
    deal,
)
from annotation.protocol.aggregation.fit import fit
from annotation.protocol.aggregation.table import UNKNOWN, Ints, VoteTable
from annotation.protocol.labels.claims import MAJORITY
from tests.annotation.protocol.aggregation.crowd import accuracy, crowd

ALIKE = [(0.85, 0.85)] * 20


def right(name: str, votes: VoteTable, labels: Ints) -> float:
    asked = int((votes.known == UNKNOWN).sum())
    return accuracy(AGGREGATORS[name](votes).shares(votes), labels, asked)


def test_two_coins_are_chosen_where_workers_invent_more_than_they_miss() -> None:
    votes, labels = crowd(
        [(0.65, 0.97)] * 12, items=500, votes=3, controls=60, answers=60, ones=0.2
    )
    choice = choose(votes)
    assert choice.name in ("half and half", "two coins")
    assert choice.gain > choice.gain_error
    assert choice.losses[choice.name] == min(choice.losses.values())
    assert right(choice.name, votes, labels) > right(MAJORITY, votes, labels)


def test_where_all_workers_are_alike_it_is_mostly_the_majority_and_nothing_is_lost() -> None:
    names, lost = Counter[str](), 0.0
    for seed in range(10):
        votes, labels = crowd(ALIKE, items=300, votes=3, controls=40, answers=12, seed=seed)
        name = choose(votes, seed=seed).name
        names[name] += 1
        lost += right(MAJORITY, votes, labels) - right(name, votes, labels)
    assert names.most_common(1)[0][0] == MAJORITY
    assert lost / 10 < 0.005


@pytest.mark.parametrize("controls", [0, 18])
def test_too_few_controls_leave_the_majority(controls: int) -> None:
    votes, _ = crowd([(0.65, 0.97)] * 12, items=200, votes=3, controls=controls, answers=60)
    choice = choose(votes)
    assert choice == Choice(MAJORITY, {"controls": controls, "adjudicated": 0})


def test_a_controls_votes_are_dealt_into_items_of_the_others_size() -> None:
    votes, _ = crowd(ALIKE, items=50, votes=3, controls=4, answers=10)
    dealt, control = deal(votes, np.random.default_rng(1))
    parts = dealt.votes()[votes.items :]
    assert parts.sum() == 20 * 10
    assert parts.max() == 3
    assert (parts == 3).sum() >= len(parts) - 4  # what is left over of each
    asked = votes.item < 50
    assert np.array_equal(dealt.item[asked], votes.item[asked])
    assert np.array_equal(control[dealt.item], votes.item)
    assert np.array_equal(dealt.known[dealt.item[~asked]], votes.known[votes.item[~asked]])
    assert (dealt.known[: votes.items] == UNKNOWN).all()


@given(seed=st.integers(0, 10_000))
def test_only_the_order_of_controls_and_their_answers_matters(seed: int) -> None:
    """Who has a release has the votes in another order than the campaign's database."""
    rates = [(0.65, 0.97)] * 12
    votes, _ = crowd(rates, items=80, votes=3, controls=30, answers=15, ones=0.2, seed=seed)
    random = np.random.default_rng(seed)
    size = random.integers(1, 4, 80)  # of each item
    turn = np.arange(len(votes.item)) % 3
    kept = (votes.item >= 80) | (turn < size[np.minimum(votes.item, 79)])
    item, worker, vote = votes.item[kept], votes.worker[kept], votes.vote[kept]
    order = np.arange(len(item))
    order[item < 80] = random.permutation(order[item < 80])
    number = np.concatenate([random.permutation(80), np.arange(80, votes.items)])
    people = random.permutation(votes.workers)
    table = replace(votes, item=item, worker=worker, vote=vote)
    again = replace(table, item=number[item[order]], worker=people[worker[order]], vote=vote[order])
    said = np.where(random.random((2, 80)) < 0.4, random.integers(0, 2, (2, 80)), UNKNOWN)
    moved = np.empty_like(said)
    moved[:, number[:80]] = said
    one, other = fit(table, *said).facts(), fit(again, *moved).facts()
    of_map = ("offset", "slope", "offset_error", "slope_error", "error_correlation")
    for facts in (one, other):
        facts["map"] = [facts.pop(name) for name in of_map]
    assert one.pop("map") == pytest.approx(other.pop("map"), abs=1e-4)
    assert one == other


def test_what_experts_adjudicated_chooses_where_controls_do_not_suffice() -> None:
    rates = [(0.65, 0.97)] * 12
    votes, labels = crowd(rates, items=300, votes=3, controls=100, answers=5, ones=0.2, seed=1)
    yes = votes.yes()[:300]
    disputed = (yes > 0) & (yes < 3)
    by_controls = choose(votes)
    by_both = choose(votes, adjudicated=np.where(disputed, labels[:300], UNKNOWN))
    assert by_controls.name == MAJORITY
    assert by_both.name in ("half and half", "two coins")
    assert by_both.known == {**by_controls.known, "adjudicated": disputed.sum()}
    assert "hidden controls and what experts adjudicated better" in by_both.why


def test_what_experts_adjudicated_is_in_no_map_and_no_worker_s_weight() -> None:
    rates = [(0.65, 0.97)] * 12
    votes, labels = crowd(rates, items=300, votes=3, controls=60, answers=60, ones=0.2)
    nobody = np.full(300, UNKNOWN)
    without = fit(votes, nobody, nobody)
    judged = fit(votes, nobody, np.where(np.arange(300) < 90, labels[:300], UNKNOWN))
    assert judged.choice.name == without.choice.name != MAJORITY
    assert judged.choice.map == without.choice.map
    assert np.array_equal(judged.log_odds, without.log_odds)
