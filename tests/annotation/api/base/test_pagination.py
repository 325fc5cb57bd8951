"""Lists in pages: nothing twice and nothing left out, whatever is added meanwhile."""

from base64 import b64encode

import pytest
from django.contrib.auth.models import User

from annotation.access.audit_log import by_api, record
from annotation.models import Campaign
from tests.annotation.api.campaign import campaign_at_work
from tests.annotation.api.people import Program, is_problem
from tests.annotation.support.hits import make_triplet


@pytest.fixture
def root(campaign: Campaign) -> Program:
    return Program(User.objects.create_superuser("root"))


def add(campaign: Campaign, text: str) -> int:
    return make_triplet(campaign, (text, f"question {text}", "answer")).pk


def test_all_rows_come_once_while_rows_are_added(campaign: Campaign, root: Program) -> None:
    before = [triplet.pk for triplet in campaign.triplets.all()]
    before += [add(campaign, f"old {number}") for number in range(6)]
    found, link, pages = [], "campaigns/faq/triplets?page_size=3", 0
    while link:
        page = root.get(link).json()
        found += [row["triplet"] for row in page["results"]]
        link, pages = page["next"], pages + 1
        if pages < 3:
            before.append(add(campaign, f"new {pages}"))
    assert found == before
    assert pages == 3


def test_the_newest_first_and_what_is_new_stays_before(campaign: Campaign, root: Program) -> None:
    user = User.objects.get(username="root")
    for number in range(4):
        record(by_api(user), "pause", campaign=campaign, details={"number": number})
    first = root.get("log?page_size=2").json()
    record(by_api(user), "resume", campaign=campaign, details={"number": 4})
    second = root.get(first["next"]).json()
    numbers = [row["details"]["number"] for row in first["results"] + second["results"]]
    assert numbers == [3, 2, 1, 0]
    back = root.get(second["previous"]).json()
    assert back["results"] == first["results"]


def test_a_page_keeps_the_filters_of_the_first(campaign: Campaign, root: Program) -> None:
    campaign_at_work("other")
    for number in range(3):
        add(campaign, f"open {number}")
    page = root.get("campaigns/faq/triplets?status=open&page_size=2").json()
    rest = root.get(page["next"]).json()
    assert [row["status"] for row in page["results"] + rest["results"]] == ["open"] * 3
    assert rest["next"] is None


def encoded(text: str) -> str:
    return b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    "cursor",
    [
        "", "nonsense", "%00", "ä", encoded("p=abc"), encoded("o=5"), encoded("p=-1"),
        encoded("p=" + "9" * 40), encoded("r=x&p=1"), encoded("p=1 OR 1=1"), encoded("p=%00"),
    ],
)  # fmt: skip
def test_a_cursor_of_somebody_elses_making_is_refused(
    campaign: Campaign, root: Program, cursor: str
) -> None:
    answer = root.get(f"campaigns/faq/triplets?cursor={cursor}")
    assert is_problem(answer, 400)
    assert list(answer.json()["errors"]) == ["cursor"]


@pytest.mark.parametrize("size", ["0", "201", "-1", "ten", "1.5", "", "٣", "9" * 5000])
def test_a_page_of_another_size_is_refused(campaign: Campaign, root: Program, size: str) -> None:
    answer = root.get(f"campaigns/faq/triplets?page_size={size}")
    assert is_problem(answer, 400)
    assert list(answer.json()["errors"]) == ["page_size"]
