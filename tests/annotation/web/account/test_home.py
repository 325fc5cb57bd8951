"""The front page, health and the records."""

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import Role
from tests.annotation.support.hits import make_campaign, make_hit

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


def test_whoever_has_a_part_in_campaigns_is_led_to_them(client: Client) -> None:
    campaign = make_campaign("faq")
    viewer = User.objects.create_user("vera")
    Role.objects.create(user=viewer, campaign=campaign, name="viewer")
    page = "/campaigns/faq/instructions"
    users = [User.objects.create_user("carla", is_staff=True), viewer]
    for user in [*users, User.objects.create_superuser("root")]:
        client.force_login(user)
        response = client.get("/")
        assert (response.status_code, response["Location"]) == (302, "/admin/campaigns/")
        assert 'href="/admin/campaigns/">Campaigns' in client.get(page).content.decode()


def test_an_annotator_s_role_leads_to_no_campaign(client: Client) -> None:
    campaign, user = make_campaign("secret-plan"), User.objects.create_user("ada")
    Role.objects.create(user=user, campaign=campaign, name="annotator")
    client.force_login(user)
    response = client.get("/")
    assert response.status_code == 200
    assert "secret-plan" not in response.content.decode()
    assert "/admin/campaigns/" not in response.content.decode()


def test_health_says_ok_when_the_database_answers(client: Client) -> None:
    response = client.get("/health")
    assert response.status_code == 200
    assert set(response.json().values()) == {"ok"}


def test_health_is_an_error_when_the_database_does_not_answer(client: Client) -> None:
    def refuse(*_: object) -> None:
        raise OperationalError("gone")

    with connection.execute_wrapper(refuse):
        assert client.get("/health").status_code == 503


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
