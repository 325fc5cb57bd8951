"""The whole way of a campaign, from its pairs to its labels."""

import pytest

from annotation.progress import progress
from tests.small_campaign import Stage

pytestmark = pytest.mark.django_db

PRICE = 19  # cents of an assignment: 15 of reward, 3 of fee, 1 for Masters


def truth(query: str, rank: int) -> int:
    return int(rank <= 2)


def test_a_campaign_goes_from_its_pairs_to_its_labels(stage: Stage) -> None:
    """Two of eve's three fail; cara breaks a tie and does eve's work again."""
    assert stage.publish().sent == 5
    disputed = next(iter(real_triplets(stage, 2)))
    for number in range(1, 6):
        stage.work("ada", number, truth)
    stage.work("bob", 1, truth)
    stage.work("bob", 2, lambda *triplet: truth(*triplet) ^ (triplet == disputed))
    passed = stage.work("eve", 3, 1)
    failed = {stage.work("eve", 4, slips=1), stage.work("eve", 5, slips=2)}

    first = stage.advance()

    assert (first.new, first.passed, first.failed, first.excluded) == (10, 8, 2, 1)
    assert (first.labelled, first.open, first.places_opened, first.finished) == (9, 16, 4, False)
    assert statuses(stage) == {"Approved": 8, "Rejected": 2}
    assert stage.accept("eve", 2) is None

    for number in range(2, 6):
        stage.work("cara", number, truth)
    second = stage.advance()

    assert (second.new, second.passed, second.finished) == (4, 4, True)
    assert stage.labels() == {
        (query, rank): truth(query, rank)
        for query in ("bread", "piano", "rocket", "garden", "candle")
        for rank in range(1, 6)
    }
    votes = dict(stage.campaign.triplets.values_list("votes").order_by())
    found = progress(stage.campaign)
    assert found["spent_cents"] == stage.mturk.spent_cents == 12 * PRICE
    assert stage.mturk.on_hold_cents == 0
