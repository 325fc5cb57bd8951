"""Views of lists that people save, and the columns that they choose."""

from collections.abc import Mapping

import pytest
from django.contrib.auth.models import User
from django.test import Client

from annotation.models import SavedView
from annotation.web.base.saved_views import MOST
from tests.annotation.support.hits import make_campaign, make_hit
from tests.support.pages import parse

pytestmark = pytest.mark.django_db

LIST = "/admin/campaigns/faq/hits/"
SAVE = "/admin/views/save"


@pytest.fixture
def olga() -> Client:
    make_hit(make_campaign("faq"))
    return browser("olga")


def browser(name: str) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser(name))
    return client


def sent(
    name: str = "mine", query: str = "state=open&columns=hit", path: str = LIST
) -> Mapping[str, str]:
    return {"name": name, "query": query, "path": path}


def views(client: Client, path: str = LIST) -> dict[str, str]:
    links = parse(client.get(path)).xpath("//*[@class='dash-view']/a")
    return {link.text_content(): link.get("href") for link in links}


def test_a_view_keeps_filters_order_and_columns_and_is_its_owner_s_alone(olga: Client) -> None:
    page = parse(olga.get(f"{LIST}?state=open&sort=-hit&columns=hit&from=7&back=1"))
    [form] = page.xpath(f"//form[@action='{SAVE}']")
    form.fields["name"] = "open ones"
    answer = olga.post(SAVE, dict(form.form_values()))
    assert answer["Location"] == f"{LIST}?state=open&sort=-hit&columns=hit"
    assert views(olga) == {"open ones": "?state=open&sort=-hit&columns=hit"}
    assert views(olga, "/admin/campaigns/faq/triplets/") == {}
    assert views(browser("eve")) == {}


def test_the_same_name_replaces_and_deleting_takes_away(olga: Client) -> None:
    olga.post(SAVE, sent(query="state=open"))
    olga.post(SAVE, sent(query="round=first"))
    assert views(olga) == {"mine": "?round=first"}
    address = f"/admin/views/{SavedView.objects.get().pk}/delete"
    assert browser("eve").post(address).status_code == 404
    assert olga.post(address)["Location"] == LIST
    assert views(olga) == {}


def test_a_list_has_so_many_views_of_a_person_and_no_more(olga: Client) -> None:
    for number in range(MOST):
        olga.post(SAVE, sent(f"view {number}"))
    answer = olga.post(SAVE, sent("one more"), follow=True)
    assert f"You have {MOST} views of this list: delete one first." in answer.content.decode()
    olga.post(SAVE, sent("view 3", "round=repack"))
    assert views(olga)["view 3"] == "?round=repack"
    assert SavedView.objects.count() == MOST


@pytest.mark.parametrize(
    "path", ["//evil.example/", "https://evil.example/", "/sign-out", "/admin/", "nothing", ""]
)
def test_a_view_leads_to_a_list_of_ours_and_nowhere_else(olga: Client, path: str) -> None:
    assert olga.post(SAVE, sent(path=path))["Location"] == "/"
    assert not SavedView.objects.exists()


@pytest.mark.parametrize("name", ["", " ", "x" * 61, "a\0b"])
def test_a_view_needs_a_short_name(olga: Client, name: str) -> None:
    answer = olga.post(SAVE, sent(name), follow=True)
    assert "Give the view a name of up to 60 characters." in answer.content.decode()
    assert not SavedView.objects.exists()


def test_too_many_filters_are_not_saved(olga: Client) -> None:
    answer = olga.post(SAVE, sent(query="x" * 2001), follow=True)
    assert "This view has too many filters to be saved: remove some." in answer.content.decode()
    assert not SavedView.objects.exists()


def test_columns_that_were_not_chosen_are_hidden_and_nonsense_hides_nothing(olga: Client) -> None:
    def hidden(query: str) -> list[str]:
        [table] = parse(olga.get(LIST + query)).xpath("//table")
        return [one for one in table.get("class").split() if one.startswith("dash-hide")]

    [table] = parse(olga.get(LIST)).xpath("//table")
    names = [one.get("value") for one in parse(olga.get(LIST)).xpath("//input[@name='columns']")]
    assert len(names) == len(table.xpath(".//th[@scope='col']")) > 2
    assert hidden("") == hidden("?columns=nonsense") == []
    assert hidden(f"?columns={names[0]}&columns={names[1]}") == [
        f"dash-hide-{number}" for number in range(3, len(names) + 1)
    ]
