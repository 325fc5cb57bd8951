"""The people of a simulation, and what they get right."""

from collections import Counter

import pytest

from annotation.crowd.simulated.knowledge import Gold
from annotation.crowd.simulated.profiles import Kind, Worker, WorkerProfiles, make_workers

PROFILES = WorkerProfiles(
    workers=10,
    spammers=0.2,
    careless=0.3,
    accuracy=0.9,
    careless_accuracy=0.7,
    plain_accuracy=0.95,
    careless_plain_accuracy=0.8,
    seed=4,
)
TENTHS = [0.05 + number / 10 for number in range(10)]


def one(kind: Kind) -> Worker:
    return next(worker for worker in make_workers(PROFILES) if worker.kind == kind)


def test_there_are_as_many_of_each_kind_as_asked_for() -> None:
    assert Counter(worker.kind for worker in make_workers(PROFILES)) == {
        "spammer": 2,
        "careless": 3,
        "careful": 5,
    }


@pytest.mark.parametrize(
    ("kind", "plain", "right"),
    [
        ("careful", False, 9),
        ("careful", True, 9),  # the last of the ten draws is the share itself
        ("careless", False, 7),
        ("careless", True, 8),
    ],
)
def test_people_get_their_share_right(kind: Kind, plain: bool, right: int) -> None:
    assert sum(one(kind).is_right(draw, plain=plain) for draw in TENTHS) == right


def test_spammers_alone_have_a_bias() -> None:
    assert {worker.kind for worker in make_workers(PROFILES) if worker.yes_bias is not None} == {
        "spammer"
    }


def test_without_another_share_controls_are_no_plainer() -> None:
    [worker] = make_workers(WorkerProfiles(workers=1, spammers=0, accuracy=0.6))
    assert worker.plain_accuracy == worker.accuracy == 0.6


def test_a_pair_is_plain_in_whatever_spelling() -> None:
    gold = Gold(labels={("why", "why so"): 1}, plain={("why", "why so")})
    assert gold.is_plain("Why?", "why so")
    assert not gold.is_plain("why so", "how")
