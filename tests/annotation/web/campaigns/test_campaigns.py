"""The list of campaigns: which, with what figures, and what it costs to show."""

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotation.analytics.campaign.snapshots import take
from annotation.models import Account, Assignment, Campaign, Role, Triplet, Worker
from annotation.pipeline.ledger.reservations import set_budget
from annotation.web.campaigns.campaigns import PAGE_SIZE
from retrieval.models import QuerySet
from tests.annotation.support.hits import make_campaign, make_hit

pytestmark = pytest.mark.django_db

PAGE = "/admin/campaigns/"
QUERIES = 20


@pytest.fixture
def root(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("root"))
    return client


def text_of(client: Client, address: str = PAGE) -> str:
    return " ".join(client.get(address).content.decode().split())


def with_role(campaign: Campaign | None, role: str) -> Client:
    user = User.objects.create_user(f"{role}-{campaign}")
    Role.objects.create(user=user, campaign=campaign, name=role)
    client = Client()
    client.force_login(user)
    return client


def funded(name: str) -> Campaign:
    campaign = make_campaign(name)
    Account.objects.create(campaign=campaign)
    return campaign


def test_without_a_campaign_the_way_to_the_first_one_is_shown(root: Client) -> None:
    text = text_of(root)
    assert "To your first dataset" in text
    assert f'href="{reverse("campaign-new")}"' in text


def test_the_way_to_a_first_campaign_costs_few_queries(root: Client) -> None:
    take(make_hit(funded("one")).campaign)
    with CaptureQueriesContext(connection) as asked:
        assert root.get(PAGE).context["setup"]
    assert len(asked) <= QUERIES


def test_who_may_create_none_is_told_whom_to_ask() -> None:
    text = text_of(with_role(None, "viewer"))
    assert "Ask an owner for one" in text
    assert "Plan the first campaign" not in text


def test_each_campaign_is_listed_with_its_counts(root: Client) -> None:
    hit = make_hit(funded("faq"))
    make_hit(hit.campaign, real=[("a", "b", "c")])
    set_budget(hit.campaign, 12_345)
    hit.crowd_id = "3HIT"
    hit.save()
    ada = Worker.objects.create(crowd="mturk", worker_id="AADA")
    now = timezone.now()
    Assignment.objects.create(
        hit=hit, worker=ada, crowd_id="3A", accepted_at=now, submitted_at=now, answers={}
    )
    first, second, *_ = Triplet.objects.order_by("pk").values_list("pk", flat=True)
    Triplet.objects.filter(pk=first).update(status="labelled", label=1)
    Triplet.objects.filter(pk=second).update(status="unresolved")
    take(hit.campaign)
    (row,) = root.get(PAGE).context["rows"]
    assert row.campaign == hit.campaign
    assert (row.figures["queries"], row.figures["hits"], row.figures["hits_published"]) == (6, 2, 1)
    assert row.figures["submitted"] == 1
    counts = [row.figures[name] for name in ("triplets", "labelled", "open", "unresolved")]
    assert counts == [6, 1, 4, 1]
    assert (row.spent, row.reserved, row.budget) == ("$0.00", "$0.00", "$123.45")
    text = text_of(root)
    assert "1 of 6 triplets labelled" in text
    assert "4 open, 1 unresolved, 5 published" in text
    assert "of $123.45" in text
    assert 'href="/admin/campaigns/faq/"' in text


def test_a_campaign_that_nobody_has_counted_is_listed_all_the_same(root: Client) -> None:
    make_hit(make_campaign("faq"))
    assert "Not counted yet" in text_of(root)


@pytest.mark.parametrize("state", ["paused", "capped", "cancelled"])
def test_the_state_is_the_one_of_now(root: Client, state: str) -> None:
    campaign = funded("faq")
    take(campaign)
    assert state.capitalize() not in text_of(root)
    Campaign.objects.update(state=state)
    assert f'<span class="dash-badge dash-{state}">{state.capitalize()}</span>' in text_of(root)


def test_a_reader_sees_the_campaigns_that_they_have_a_part_in(client: Client) -> None:
    mine, other = make_campaign("mine"), make_campaign("secret-plan")
    viewer = with_role(mine, "viewer")
    assert [row.campaign for row in viewer.get(PAGE).context["rows"]] == [mine]
    assert "secret-plan" not in text_of(viewer)
    everywhere = with_role(None, "viewer")
    assert [row.campaign for row in everywhere.get(PAGE).context["rows"]] == [other, mine]
    assert with_role(mine, "annotator").get(PAGE).status_code == 403
    client.force_login(User.objects.create_user("bob"))
    assert client.get(PAGE).status_code == 403
    assert Client().get(PAGE)["Location"].startswith("/sign-in")


def test_many_campaigns_cost_no_more_queries_than_two(root: Client) -> None:
    for name in ("one", "two"):
        take(make_hit(funded(name)).campaign)
    with CaptureQueriesContext(connection) as few:
        root.get(PAGE)
    for name in ("three", "four", "five"):
        take(make_hit(funded(name)).campaign)
    with CaptureQueriesContext(connection) as many:
        assert len(root.get(PAGE).context["rows"]) == 5
    assert len(many) == len(few) <= QUERIES


def test_more_than_a_page_of_campaigns_is_shown_by_pages(root: Client) -> None:
    names = [f"faq-{number:02}" for number in range(PAGE_SIZE + 2)]
    for name in names:
        query_set = QuerySet.objects.create(name=name, origin=QuerySet.Origin.FILE)
        Campaign.objects.create(name=name, query_set=query_set, policy_data={}, seed=1)
    first = root.get(PAGE).context
    assert [row.campaign.name for row in first["rows"]] == names[:1:-1]
    rest = root.get(PAGE, {"before": first["before"]}).context
    assert [row.campaign.name for row in rest["rows"]] == ["faq-01", "faq-00"]
    assert rest["before"] is None
    assert root.get(PAGE, {"before": "9" * 40}).status_code == 200
    assert root.get(PAGE, {"before": "x"}).context["rows"] == first["rows"]


def test_a_campaign_s_address_without_admin_leads_to_it(client: Client) -> None:
    response = client.get("/campaigns/demo/")
    assert (response.status_code, response["Location"]) == (302, "/admin/campaigns/demo/")
    # Whether there is one of the name, only who may see it learns.
    assert client.get(response["Location"])["Location"].startswith("/sign-in?")
