"""How far each two workers agree, worked out by hand."""

import pytest

from annotation.analytics.workers import pair_agreement
from annotation.analytics.workers.pair_agreement import WorkerPair, worker_pairs
from annotation.models import Exclusion, Worker
from tests.annotation.analytics.workers.test_worker_figures import vote
from tests.annotation.support.annotators import Annotators, make_annotators

pytestmark = pytest.mark.django_db


@pytest.fixture
def annotators() -> Annotators:
    """A column a HIT:

            1  2  3  4  5
      ada   1  0  1  0
      bob   1  0  0  0
      eve   0     0     1

    Ada and bob agree on 3 of 4. By chance, with 2 of 4 and 1 of 4 for yes, they would on half:
    kappa is (3/4 - 1/2) / (1/2).
    """
    made = make_annotators()
    vote(made, 1, {"ada": 1, "bob": 1, "eve": 0})
    vote(made, 2, {"ada": 0, "bob": 0})
    vote(made, 3, {"ada": 1, "bob": 0, "eve": 0})
    vote(made, 4, {"ada": 0, "bob": 0})
    vote(made, 5, {"eve": 1})
    return made


def test_each_two_are_compared_on_what_both_judged(annotators: Annotators) -> None:
    assert worker_pairs(annotators.campaign) == (
        [
            WorkerPair("ada", "bob", 4, 0.75, 0.5),
            WorkerPair("ada", "eve", 2, 0.0, 0.0),
            WorkerPair("bob", "eve", 2, 0.5, 0.0),
        ],
        3,
    )


def test_where_two_gave_one_answer_alone_chance_agrees_on_everything(
    annotators: Annotators,
) -> None:
    vote(annotators, 6, {"gus": 1, "hal": 1})
    pairs, _ = worker_pairs(annotators.campaign)
    assert pairs[-1] == WorkerPair("gus", "hal", 1, 1.0, None)


def test_votes_that_do_not_count_make_no_pair(annotators: Annotators) -> None:
    vote(annotators, 6, {"ada": 1})
    vote(annotators, 6, {"eve": 0}, passed=False, status="rejected")
    bob = Worker.objects.get(worker_id="bob")
    Exclusion.objects.create(campaign=annotators.campaign, worker=bob, failures=3, reviewed=4)
    assert worker_pairs(annotators.campaign) == ([WorkerPair("ada", "eve", 2, 0.0, 0.0)], 1)


def test_of_many_pairs_those_that_share_most_are_kept(
    annotators: Annotators, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pair_agreement, "MOST", 1)
    pairs, number = worker_pairs(annotators.campaign)
    assert ([(one.first, one.second) for one in pairs], number) == ([("ada", "bob")], 3)
