"""Publishing by the API: the price first, then a job, and real money where it is said."""

import pytest

from annotation.crowd.factory import open_crowd
from annotation.models import Campaign
from core.errors import UserError
from retrieval.models import Job
from tests.annotation.api.people import Program, is_problem


def test_the_price_of_publishing_is_told_before(campaign: Campaign, owner: Program) -> None:
    report = owner.post("campaigns/faq/jobs/publish", {"agreed": False, "first": 1}).json()
    assert report["sentences"][:2] == [
        "1 HIT of faq goes to the workers at http://127.0.0.1:8001.",
        # Two assignments and one for a tie, at 19 cents each.
        "Their first round costs $0.38; $0.57 is reserved, an assignment for the tie of each "
        "HIT included.",
    ]
    assert not Job.objects.exists()


def test_real_money_is_spent_where_it_is_said(
    campaign: Campaign, owner: Program, settings: object
) -> None:
    settings.MTURK_ENDPOINT = settings.MTURK_PRODUCTION  # type: ignore[attr-defined]
    sent = {"agreed": True}
    refused = owner.post("campaigns/faq/jobs/publish", sent, key="one")
    assert is_problem(refused, 422)
    assert not Job.objects.exists()
    with pytest.raises(UserError) as of_a_command:
        open_crowd("mturk", live=False)
    assert refused.json()["detail"] == str(of_a_command.value)
    live = owner.post("campaigns/faq/jobs/publish", sent | {"live": True}, key="two")
    assert live.status_code == 202
