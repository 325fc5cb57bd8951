"""The front page, health and the records."""

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotation import models
from annotation.models import Account, Assignment, Judgment, Triplet, Worker
from annotation.pipeline.ledger import set_budget
from tests.annotation.hits import make_campaign, make_hit

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("ada"))
    return client


def test_strangers_read_what_it_is_and_no_campaign(client: Client) -> None:
    make_campaign("secret-plan")
    text = client.get("/").content.decode()
    assert "Question-ranking datasets" in text
    assert 'href="/sign-in"' in text
    assert "secret-plan" not in text


def test_an_account_without_staff_rights_sees_no_campaign_either(client: Client) -> None:
    make_campaign("secret-plan")
    client.force_login(User.objects.create_user("bob"))
    text = client.get("/").content.decode()
    assert "secret-plan" not in text
    assert "You are signed in as bob" in text


def test_without_a_campaign_the_next_commands_are_named(staff: Client) -> None:
    text = staff.get("/").content.decode()
    for command in ("ingest", "index", "campaign create", "campaign publish"):
        assert f"manage.py {command}" in text
    assert "make run QUORUM_DATA=var/demo" in text


def test_each_campaign_is_listed_with_its_counts(staff: Client) -> None:
    hit = make_hit(make_campaign("faq"))
    make_hit(hit.campaign, real=[("a", "b", "c")])
    Account.objects.create(campaign=hit.campaign)
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
    (row,) = staff.get("/").context["campaigns"]
    assert (row.name, row.queries) == ("faq", 6)
    assert (row.hits, row.published, row.submitted) == (2, 1, 1)
    assert (row.triplets, row.labelled, row.open, row.unresolved) == (6, 1, 4, 1)
    assert (row.spent, row.reserved, row.budget) == ("$0.00", "$0.00", "$123.45")


@pytest.mark.parametrize(
    ("state", "told"),
    [
        ("paused", "manage.py campaign resume faq"),
        ("capped", "manage.py campaign budget faq DOLLARS"),
        ("cancelled", "Cancelled for good"),
    ],
)
def test_a_campaign_that_buys_nothing_says_why(staff: Client, state: str, told: str) -> None:
    campaign = make_campaign("faq")
    assert told not in staff.get("/").content.decode()
    campaign.state = state
    campaign.save()
    assert told in staff.get("/").content.decode()


def test_many_campaigns_cost_no_more_queries_than_one(staff: Client) -> None:
    make_hit(make_campaign("one"))
    with CaptureQueriesContext(connection) as few:
        staff.get("/")
    for name in ("two", "three", "four"):
        make_hit(make_campaign(name))
    with CaptureQueriesContext(connection) as many:
        response = staff.get("/")
    assert len(response.context["campaigns"]) == 4
    assert len(many) == len(few)


def test_a_campaign_that_is_not_packed_names_the_next_step(staff: Client) -> None:
    make_campaign("fresh")
    assert "manage.py campaign pack fresh" in staff.get("/").content.decode()


def test_health_says_ok_when_the_database_answers(client: Client) -> None:
    response = client.get("/health")
    assert (response.status_code, response.json()) == (200, {"status": "ok"})


def test_health_is_an_error_when_the_database_does_not_answer(client: Client) -> None:
    def refuse(*_: object) -> None:
        raise OperationalError("gone")

    with connection.execute_wrapper(refuse):
        assert client.get("/health").status_code == 503


RECORDS = (
    "account",
    "assignment",
    "campaign",
    "control",
    "entry",
    "exclusion",
    "hit",
    "instructions",
    "intent",
    "judgment",
    "triplet",
    "worker",
)


@pytest.mark.parametrize("name", RECORDS)
def test_the_staff_look_at_records_and_change_none(staff: Client, name: str) -> None:
    hit = make_hit(make_campaign())
    ada = Worker.objects.create(crowd="mturk", worker_id="AADA")
    now = timezone.now()
    assignment = Assignment.objects.create(
        hit=hit, worker=ada, crowd_id="3A", accepted_at=now, submitted_at=now, answers={}
    )
    Judgment.objects.create(assignment=assignment, item=hit.items.all()[0], worker=ada, value=1)
    Account.objects.create(campaign=hit.campaign)
    set_budget(hit.campaign, 100)
    assert staff.get(reverse(f"admin:annotation_{name}_changelist"), {"q": "x"}).status_code == 200
    assert staff.get(reverse(f"admin:annotation_{name}_changelist")).status_code == 200
    assert staff.get(reverse(f"admin:annotation_{name}_add")).status_code == 403
    model = getattr(models, name.capitalize())
    if first := model.objects.first():
        page = reverse(f"admin:annotation_{name}_change", args=[first.pk])
        assert staff.get(page).status_code == 200
        assert staff.post(page, {}).status_code == 403


def test_the_list_of_hits_costs_the_same_queries_for_any_number(staff: Client) -> None:
    campaign = make_campaign()
    page = reverse("admin:annotation_hit_changelist")
    make_hit(campaign)
    with CaptureQueriesContext(connection) as few:
        staff.get(page)
    for number in range(5):
        make_hit(campaign, real=[(f"q{number}", f"u{number}", "a")])
    with CaptureQueriesContext(connection) as many:
        staff.get(page)
    assert len(many) == len(few)
