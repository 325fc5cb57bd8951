"""What a campaign's work says of its crowd under fewer controls than it had."""

import pytest

from annotation.analytics.workers.crowd import Known, past_of
from annotation.models import Assignment, Campaign, Exclusion, ExpertLabel, HitItem, Worker
from annotation.protocol.estimates.controls import Controls, Judged
from core.errors import UserError
from tests.annotation.support.annotators import Annotators
from tests.annotation.support.biased_crowd import submitted
from tests.annotation.support.hits import make_campaign, make_hit

pytestmark = pytest.mark.django_db

OWN, FEWER = Controls(2, 1), Controls(1, 1)
RIGHT, MISSES_ONE = [1, 0, 1, 0, 0, 0, 0, 1], [0, 0, 1, 0, 0, 0, 0, 0]


@pytest.fixture
def campaign() -> Campaign:
    """Ada and Dee pass; Bob and Eve miss a positive, Cem leaves a question out, Eve is excluded for
    it, and Fay by hand. Who misses one is wrong on the first triplet."""
    policy = {"hit_size": 8, "positive_controls": 2, "annotators": 3, "max_failure_rate": 0.6}
    made = make_campaign(**policy, min_assignments=1)
    hit = make_hit(made)
    control = hit.items.get(control__kind="positive").control
    HitItem.objects.create(hit=hit, position=7, key="another", control=control)
    annotators = Annotators(made, [hit])
    for name in ("ada", "bob", "cem", "dee", "eve", "fay"):
        done = submitted(annotators, name, 1, MISSES_ONE if name in ("bob", "eve") else RIGHT)
        if failure := {"bob": "missed", "cem": "unanswered", "eve": "missed"}.get(name):
            Assignment.objects.filter(pk=done.pk).update(passed=False, failure=failure)
    for name, reason in (("eve", ""), ("fay", "rude")):
        worker = Worker.objects.get(worker_id=name)
        Exclusion.objects.create(
            campaign=made, worker=worker, failures=1, reviewed=1, reason=reason
        )
    for triplet in made.triplets.all():
        label = int(triplet.items.get().position == 0)
        ExpertLabel.objects.create(triplet=triplet, expert="gil", label=label, source="sample")
    return made


def test_what_would_have_passed_under_fewer_controls_is_counted_anew(campaign: Campaign) -> None:
    past = past_of(campaign)
    assert past.judged(OWN) == {Judged(1, 2, 0): 1, Judged(0, 2, 0): 4}
    # Bob's work passes by a chance of one half; without it, Eve's does, who is not excluded then.
    assert past.judged(FEWER) == {
        Judged(1, 3, 1): 0.75, Judged(1, 2, 0): 0.25, Judged(0, 3, 0): 3, Judged(0, 2, 0): 1,
    }  # fmt: skip
    known = Known([past], submitted=6, failed=3, workers=6, days=6, item_seconds=5)
    assert (known.staying(OWN), known.staying(FEWER), known.excluded) == (0, 1, 1)
    failing = [known.crowd(kept, per_day=1).failing for kept in (OWN, FEWER)]
    assert failing == [3 / 6, 2 / 6]


def test_who_fails_too_often_under_fewer_controls_too_stays_excluded(campaign: Campaign) -> None:
    campaign.policy_data["max_failure_rate"] = 0.4
    campaign.save()
    past = past_of(Campaign.objects.get(pk=campaign.pk))
    assert past.staying(FEWER) == set()
    assert past.judged(FEWER)[Judged(1, 3, 1)] == 0.5


def test_a_day_has_as_many_assignments_as_before_or_as_its_hours_hold(campaign: Campaign) -> None:
    known = Known([], submitted=60, failed=0, workers=3, days=5, item_seconds=9)
    policy = campaign.policy
    assert known.per_day(policy, None) == 12
    assert known.per_day(policy, 2) == 2 * 3600 / (9 * 8)
    with pytest.raises(UserError, match="No browser told how long work took"):
        Known([], 60, 0, 3, 5, item_seconds=None).per_day(policy, 2)
