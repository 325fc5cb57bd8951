"""The page and the command of the label error: what is known, and what experts have to judge."""

import pytest
from django.test import Client

from annotation.models import Campaign, ExpertLabel
from tests.annotation.commands.test_commands import run, run_json
from tests.exports.support.campaigns import MANY, make_campaign

pytestmark = pytest.mark.django_db
ADDRESS = "/admin/campaigns/demo/review/error"


@pytest.fixture
def campaign() -> Campaign:
    return make_campaign(MANY, train=9, dev=3, test=3)


def say(campaign: Campaign) -> None:
    """An expert judges all 44 labels at random; two of the 15 positives are wrong."""
    for number, triplet in enumerate(
        campaign.triplets.filter(status="labelled").order_by("-label", "pk")
    ):
        assert triplet.label is not None
        label = 1 - triplet.label if number < 2 else triplet.label
        ExpertLabel.objects.create(triplet=triplet, expert="eve", label=label, source="sample")


def words(client: Client, query: str = "", status: int = 200) -> str:
    answer = client.get(f"{ADDRESS}{query}")
    assert answer.status_code == status
    return " ".join(answer.content.decode().split())


def test_without_a_random_audit_the_error_is_unknown(
    campaign: Campaign, admin_client: Client
) -> None:
    page = words(admin_client)
    assert "The label error is unknown" in page
    assert "experts have to judge 44 more labels, picked at random" in page


def test_the_error_is_said_by_kind_with_its_interval(
    campaign: Campaign, admin_client: Client
) -> None:
    say(campaign)
    page = words(admin_client)
    assert "<dt>Labels that are wrong</dt><dd>4.5% (" in page
    assert "<dt>Of those that say No</dt><dd>0.0% (0.0% to " in page
    assert "44 <small>of 44</small>" in page


def test_a_certificate_holds_or_says_what_it_takes(
    campaign: Campaign, admin_client: Client
) -> None:
    say(campaign)
    certified = words(admin_client, "?certify=0.3")
    assert "Certified: at most 30.0% of all labels are wrong." in certified
    assert "Of the 44 that were picked at random, 2 are wrong." in certified
    assert "Not certified yet: that at most 5.0%" in words(admin_client, "?certify=0.05")
    assert "Ensure this value is less than or equal to 0.5." in words(
        admin_client, "?certify=7", 422
    )


def test_the_command_says_the_same(campaign: Campaign) -> None:
    assert run_json("campaign", "audit-plan", "demo")["label_error"] is None
    say(campaign)
    plan = run_json("campaign", "audit-plan", "demo", "--width", "0.3", "--certify", "0.3")
    assert plan["label_error"][0] == round(2 / 44, 4)
    assert (plan["judged_at_random"], plan["to_judge_for_this_width"]) == (44, 0)
    assert plan["certificate_holds"] is True
    assert "certificate holds" in run("campaign", "audit-plan", "demo", "--certify", "0.3")
