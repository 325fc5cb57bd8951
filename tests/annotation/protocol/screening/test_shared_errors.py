"""Honest crowds are left alone; those who answer as one, or as a machine, are named."""

import numpy as np
import pytest
from numpy.random import Generator

from annotation.protocol.screening.shared_errors import Answers, name_pairs

ITEMS = 400


def crowd(random: Generator, *, workers: int = 40, each: int = 100, rate: float = 0.15) -> Answers:
    """Of unlike skill, apart for each label, on items of unlike hardness; a few have wrong keys."""
    kind = random.integers(0, 2, ITEMS)
    hard = random.normal(0, 1, ITEMS) + 4 * (random.random(ITEMS) < 0.02)
    skill = random.normal(np.log(rate / (1 - rate)), 1, (workers, 2))
    item = np.concatenate([random.choice(ITEMS, each, replace=False) for _ in range(workers)])
    worker = np.repeat(np.arange(workers), each)
    chance = 1 / (1 + np.exp(-skill[worker, kind[item]] - hard[item]))
    return Answers(worker, item, random.random(len(item)) < chance, kind)


def copied(answers: Answers, source: int, copyist: int, share: float, random: Generator) -> Answers:
    """The copyist has the same items, and a share of the same answers."""
    given, taken = (answers.worker == one for one in (source, copyist))
    item, wrong = answers.item.copy(), answers.wrong.copy()
    copies = random.random(given.sum()) < share
    item[taken] = item[given]
    wrong[taken] = np.where(copies, wrong[given], random.random(given.sum()) < 0.15)
    return Answers(answers.worker, item, wrong, answers.kind)


def with_machine(answers: Answers, copyist: int, random: Generator) -> Answers:
    """It errs on an eighth of the items, and answers nine in ten of the copyist's."""
    by_machine = random.random(ITEMS) < 1 / 8
    wrong = answers.wrong.copy()
    lazy = (answers.worker == copyist) & (random.random(len(wrong)) < 0.9)
    wrong[lazy] = by_machine[answers.item[lazy]]
    return Answers(
        np.append(answers.worker, np.full(ITEMS, answers.workers)),
        np.append(answers.item, np.arange(ITEMS)),
        np.append(wrong, by_machine),
        answers.kind,
    )


@pytest.mark.parametrize("rate", [0.05, 0.3])
def test_no_honest_pair_is_named_however_often_they_err_and_however_often_one_looks(
    rate: float,
) -> None:
    random = np.random.default_rng(int(100 * rate))
    for _ in range(5):
        answers = crowd(random, rate=rate)
        order = random.permutation(len(answers.item))
        for part in (order[:1000], order):
            seen = Answers(
                answers.worker[part], answers.item[part], answers.wrong[part], answers.kind
            )
            assert name_pairs(seen).pairs == []


def test_two_who_answer_as_one_are_named_with_what_they_share() -> None:
    random = np.random.default_rng(3)
    answers = copied(crowd(random), 0, 1, 0.9, random)
    named = name_pairs(answers)
    [pair] = named.pairs
    assert (pair.first, pair.second, pair.shared) == (0, 1, 100)
    assert pair.both_wrong > 2 * pair.expected
    assert named.compared == 40 * 39 / 2


def test_of_a_ring_all_pairs_are_named() -> None:
    random = np.random.default_rng(4)
    answers = crowd(random, rate=0.2)
    for copyist in (1, 2):
        answers = copied(answers, 0, copyist, 0.95, random)
    pairs = {(pair.first, pair.second) for pair in name_pairs(answers).pairs}
    assert pairs == {(0, 1), (0, 2), (1, 2)}


def test_beside_a_machine_only_who_shares_its_errors_is_named() -> None:
    random = np.random.default_rng(5)
    answers = with_machine(crowd(random, rate=0.1), 7, random)
    named = name_pairs(answers, machine=40)
    [pair] = named.pairs
    assert (pair.first, pair.second, named.compared) == (7, 40, 40)
    assert name_pairs(with_machine(crowd(random), 7, random), machine=40).compared == 40


def test_errors_on_items_that_all_have_wrong_prove_nothing() -> None:
    random = np.random.default_rng(6)
    answers = crowd(random, workers=10)
    hard = np.isin(answers.item, np.arange(60))
    everybody = Answers(answers.worker, answers.item, answers.wrong | hard, answers.kind)
    assert name_pairs(everybody).pairs == []


@pytest.mark.parametrize("rows", [0, 1])
def test_a_campaign_that_has_just_begun_names_nobody(rows: int) -> None:
    nothing = np.zeros(rows, int)
    answers = Answers(nothing, nothing, nothing == 0, np.zeros(1, int))
    assert name_pairs(answers).pairs == []
