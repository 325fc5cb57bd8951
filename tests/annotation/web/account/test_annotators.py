"""A campaign with annotators of its own: its HITs are theirs, and others are told so."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from annotation.crowd.inhouse.models import Assignment, Member
from annotation.models import Campaign, Role
from annotation.web.annotator.eligibility import NOT_CHOSEN
from tests.annotation.support.parts import with_role
from tests.annotation.web.stage import make_member, offer_hits, sheet, signed_in, start, text

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign() -> Campaign:
    return offer_hits(hits=2)[0].campaign


def choose(member: Member, campaign: Campaign | None) -> None:
    with_role(member.user.username, "annotator", campaign)


def queue_of(client: Client) -> str:
    """As the page's own form names it."""
    return str(client.get("/work").context["queues"][0].hit_type)


def offered(client: Client) -> int:
    return len(client.get("/work").context["queues"])


def test_without_annotators_the_whole_team_may_take_its_hits(
    campaign: Campaign, adas: Client, bobs: Client
) -> None:
    with_role("cleo", "owner", campaign)
    choose(make_member("dan"), None)  # of all campaigns, which closes none
    assert (offered(adas), offered(bobs)) == (1, 1)
    assert start(adas).startswith("/work/")


def test_with_annotators_only_they_are_offered_its_hits_and_may_take_them(
    campaign: Campaign, ada: Member, adas: Client, bobs: Client
) -> None:
    queue = queue_of(bobs)
    choose(ada, campaign)
    assert (offered(adas), offered(bobs)) == (1, 0)
    for form in ({}, {"hit_type": queue}):
        assert start(bobs, **form) == "/work"
    assert not Assignment.objects.exists()
    assert start(adas, hit_type=queue).startswith("/work/")


def test_who_asks_for_them_by_name_is_told_why_not(
    campaign: Campaign, ada: Member, bobs: Client
) -> None:
    queue = queue_of(bobs)
    choose(ada, campaign)
    start(bobs, hit_type=queue)
    assert NOT_CHOSEN in text(bobs.get("/work"))


def test_an_annotator_of_all_campaigns_is_one_of_each(
    campaign: Campaign, ada: Member, bob: Member, bobs: Client
) -> None:
    choose(ada, campaign)
    choose(bob, None)
    assert offered(bobs) == 1


def test_other_campaigns_stay_open_to_all(campaign: Campaign, ada: Member, bobs: Client) -> None:
    offer_hits("other")
    choose(ada, campaign)
    assert [line.title for line in bobs.get("/work").context["queues"]] == ["Judge other"]
    address = start(bobs)
    assert (
        Assignment.objects.get(assignment_id=address.rpartition("/")[2]).posted_hit.annotation
        == "other-1"
    )


def test_work_in_hand_when_others_are_chosen_is_taken_and_not_shown_on(
    campaign: Campaign, ada: Member, adas: Client, bobs: Client
) -> None:
    address = start(bobs)
    choose(ada, campaign)
    page = bobs.get(address)
    assert page.status_code == 403
    assert NOT_CHOSEN in text(page)
    hit = campaign.hits.get(key=Assignment.objects.get().posted_hit.annotation)
    assert bobs.post(address, sheet(hit)).status_code == 303
    assert Assignment.objects.get().status == "submitted"


def test_its_qualification_test_is_shown_to_the_chosen_alone(
    ada: Member, adas: Client, bobs: Client
) -> None:
    campaign = offer_hits(qualification_items=5)[0].campaign
    assert len(bobs.get("/work").context["qualification_tests"]) == 1
    choose(ada, campaign)
    assert len(adas.get("/work").context["qualification_tests"]) == 1
    assert len(bobs.get("/work").context["qualification_tests"]) == 0


def test_when_the_last_annotator_goes_the_team_is_back(
    campaign: Campaign, ada: Member, bobs: Client
) -> None:
    choose(ada, campaign)
    assert offered(bobs) == 0
    Role.objects.all().delete()
    assert offered(bobs) == 1


def test_the_role_alone_makes_no_member(campaign: Campaign) -> None:
    eve = with_role("eve", "annotator", campaign)
    assert signed_in(eve).get("/work").status_code == 403
    assert not Member.objects.filter(user=User.objects.get(username="eve")).exists()
