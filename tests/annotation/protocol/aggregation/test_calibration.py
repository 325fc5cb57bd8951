"""What is claimed, and what comes true."""

from statistics import fmean

import numpy as np
import pytest

from annotation.protocol.aggregation.calibration import (
    AS_CLAIMED,
    Calibration,
    LogisticMap,
    bins_of,
    by_agreement,
    calibrate,
    calibration_error,
    fit_map,
    log_losses,
    reliability,
)
from annotation.protocol.aggregation.choice import AGGREGATORS, choose
from annotation.protocol.aggregation.table import Floats, Ints, Weights
from annotation.protocol.labels.claims import MAJORITY
from tests.annotation.protocol.aggregation.crowd import crowd

ITEMS = 6000  # so many that chance moves no share by much
# What workers get right of items of label 0 and of 1, and of controls, which are easier.
CROWDS = {
    "good": ([(0.9, 0.85)] * 20, [(0.97, 0.95)] * 20),
    "careless": (
        [(0.9, 0.85)] * 14 + [(0.55, 0.55)] * 6,
        [(0.97, 0.95)] * 14 + [(0.6, 0.6)] * 6,
    ),
    "biased": ([(0.7, 0.92)] * 20, [(0.85, 0.98)] * 20),
}


def claims(kind: str, seed: int) -> tuple[Floats, Ints, LogisticMap]:
    """Of items by the chosen aggregator, their labels, and the map of controls."""
    rates, on_controls = CROWDS[kind]
    votes, labels = crowd(
        rates, on_controls=on_controls, items=ITEMS, votes=3, controls=60, answers=60, ones=0.25,
        seed=seed,
    )  # fmt: skip
    choice = choose(votes, seed=seed)
    log_odds = AGGREGATORS[choice.name](votes).log_odds(votes)
    return log_odds[:ITEMS], labels[:ITEMS], choice.map


@pytest.mark.parametrize("kind", CROWDS)
def test_probabilities_that_are_shown_come_true_though_controls_are_easier(kind: str) -> None:
    after, before, shown = [], [], 0
    for seed in range(6):
        log_odds, labels, begin = claims(kind, seed)
        sampled = np.random.default_rng(seed).permutation(ITEMS) < 600
        calibration = calibrate(log_odds[sampled], labels[sampled], begin)
        others, true = log_odds[~sampled], labels[~sampled]
        before.append(calibration_error(bins_of(begin(others), true)))
        if calibration.may_be_shown(log_odds):
            shown += 1
            after.append(calibration_error(bins_of(calibration.map(others), true)))
    assert shown >= 5
    assert fmean(after) <= 0.02
    assert fmean(after) < fmean(before)


def test_with_few_audited_items_none_is_shown() -> None:
    log_odds, labels, begin = claims("biased", 1)
    assert not calibrate(log_odds[:100], labels[:100], begin).may_be_shown(log_odds)
    # Many, but what is claimed of them comes true half of the time.
    coins = np.arange(200) % 2
    assert not calibrate(log_odds[:200], coins, begin).may_be_shown(log_odds)


def test_few_errors_are_not_believed_before_150_items() -> None:
    sure = np.tile([-4.0, 4.0], 75)
    labels = (sure > 0).astype(int)
    assert calibrate(sure, labels, AS_CLAIMED).may_be_shown(sure)
    assert not calibrate(sure[:149], labels[:149], AS_CLAIMED).may_be_shown(sure)


def test_the_standard_error_is_that_of_many_audits() -> None:
    """Laplace's, beside how much the mean chance differs from audit to audit."""
    random, of_all = np.random.default_rng(5), np.array([1.5])
    made: list[Calibration] = []
    for _ in range(150):
        labels = (random.random(200) < 0.8).astype(int)
        made.append(calibrate(np.full(200, 1.5), labels, AS_CLAIMED))
    spread = np.std([float(one.map(of_all)[0]) for one in made])
    assert fmean(one.standard_error(of_all) for one in made) == pytest.approx(spread, rel=0.15)


def test_a_diagram_is_drawn_by_maps_that_have_not_seen_its_items() -> None:
    log_odds, labels, begin = claims("biased", 2)
    bins = reliability(log_odds[:500], labels[:500], begin)
    assert sum(one.items for one in bins) == 500
    assert all(one.low <= one.share <= one.high for one in bins)
    assert sum(one.low <= one.chance <= one.high for one in bins) >= len(bins) - 1


def test_a_map_undoes_what_a_model_claims_too_much() -> None:
    random = np.random.default_rng(3)
    true = random.normal(0, 1.5, 4000)
    labels = (random.random(4000) < 1 / (1 + np.exp(-true))).astype(int)
    claimed = 2 * true + 1
    mapped = fit_map(claimed, labels, np.ones(4000))
    assert (mapped.offset, mapped.slope) == pytest.approx((-0.5, 0.5), abs=0.1)
    assert (
        log_losses(mapped(claimed), labels).mean()
        < 0.99 * log_losses(np.clip(1 / (1 + np.exp(-claimed)), 0.005, 0.995), labels).mean()
    )


def test_a_map_that_may_not_shift_moves_no_label() -> None:
    log_odds, labels = np.array([-1.0, 0.5, 2.0]), np.array([1, 1, 1])
    mapped = fit_map(log_odds, labels, np.ones(3), may_shift=False)
    assert mapped.offset == 0.0
    assert mapped.slope > 0


def test_without_rows_a_map_leaves_the_claim() -> None:
    nothing = np.array([], int)
    mapped = fit_map(nothing.astype(float), nothing, nothing)
    assert (mapped.offset, mapped.slope) == (0.0, 1.0)


# What votes on items say of how hard these are


EASY = [(0.985, 0.985)] * 12
HARD = [(0.88, 0.88)] * 12


@pytest.mark.parametrize("name", [MAJORITY, "one coin", "two coins"])
def test_votes_that_agree_less_than_controls_promise_are_worth_less(name: str) -> None:
    made = crowd(
        HARD, on_controls=EASY, items=2000, votes=2, controls=40, answers=100, ones=0.2, seed=4
    )
    table, labels = made
    weights = AGGREGATORS[name](table)
    # What controls promise of a vote, whatever the aggregator's own scale.
    begin = LogisticMap(slope=4.2) if name == MAJORITY else AS_CLAIMED
    log_odds, items = weights.log_odds(table)[:2000], labels[:2000]
    before = calibration_error(bins_of(begin(log_odds), items))
    mapped = by_agreement(table, weights, begin)
    after = calibration_error(bins_of(mapped(log_odds), items))
    assert after < 0.02
    assert mapped.slope <= begin.slope
    if name == MAJORITY:  # models of workers weigh items' own votes, too
        assert before > 0.05


def test_they_make_no_vote_worth_more_and_one_vote_an_item_says_nothing() -> None:
    for rates, votes in ((EASY, 2), (HARD, 1)):
        table, _ = crowd(
            rates, on_controls=HARD, items=500, votes=votes, controls=40, answers=100, seed=4
        )
        begin = LogisticMap(slope=2.0)
        assert by_agreement(table, AGGREGATORS[MAJORITY](table), begin).slope == pytest.approx(
            begin.slope, abs=0.01
        )


def test_a_vote_of_any_weight_can_be_mapped() -> None:
    table, _ = crowd(HARD, items=300, votes=2, controls=40, answers=100, seed=4)
    weights = Weights(0.0, np.tile([-1e4, 1e4], (table.workers, 1)))
    with np.errstate(over="raise"):
        mapped = by_agreement(table, weights, AS_CLAIMED)
    assert 0 < mapped.slope <= 1


@pytest.mark.parametrize("slope", [0.05, -0.4])
def test_where_controls_say_that_votes_are_no_better_than_chance_it_stays_so(slope: float) -> None:
    table, _ = crowd(HARD, items=300, votes=2, controls=40, answers=100, seed=4)
    mapped = by_agreement(table, AGGREGATORS[MAJORITY](table), LogisticMap(slope=slope))
    assert mapped.slope == pytest.approx(slope)
