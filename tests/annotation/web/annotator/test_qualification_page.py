"""The qualification test as workers meet it."""

import html as escaping
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import User
from django.core.signing import Signer
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from lxml import html
from pytest_django import Settings

from annotation.access.throttle import Limit
from annotation.crowd.hit_url import hit_url
from annotation.crowd.inhouse import assignments
from annotation.crowd.inhouse.adapter import InhouseCrowd
from annotation.crowd.inhouse.members import invite, join
from annotation.crowd.inhouse.models import Assignment, Member
from annotation.crowd.port import CrowdError
from annotation.crowd.qualification_url import qualification_test_url, read_qualification_test_url
from annotation.models import (
    Campaign,
    Exclusion,
    Hit,
    OutboxMessage,
    QualificationItem,
    QualificationResult,
    Worker,
)
from annotation.pipeline.manual import qualification as pipeline
from annotation.web.annotator import qualification
from tests.annotation.support.hits import make_campaign, make_hit
from tests.support.pages import Response, main_of, parse
from tests.worlds.team import Team, make_team

pytestmark = pytest.mark.django_db

ITEMS = (
    ("How do owls see at night?", "how can owls see in the dark", "With large eyes.", 1),
    ("Who taught Plato?", "Whom did Plato teach?", "Aristotle.", 0),
    ("What is tin used for?", "Where is tin mined?", "In China.", 0),
    ("How deep is the sea?", "the depth of the ocean", "Four kilometers on average.", 1),
)
RIGHT = {f"item-{position}": str(item[3]) for position, item in enumerate(ITEMS)}
WRONG = {name: str(1 - int(value)) for name, value in RIGHT.items()}
HALF = RIGHT | {"item-0": "0", "item-1": "1"}

Visit = Callable[..., Response]


def make_round(name: str = "faq", **policy: object) -> Campaign:
    rules = {"qualification_items": 4, "qualification_pass_percent": 75, **policy}
    campaign = make_campaign(name, **rules)
    campaign.qualified_id = "3QUALIFIED"
    campaign.endpoint = "http://127.0.0.1:8001"
    campaign.save()
    for position, (query, question, answer, expected) in enumerate(ITEMS):
        QualificationItem.objects.create(
            campaign=campaign,
            position=position,
            query=query,
            question=question,
            answer=answer,
            expected=expected,
            why=f"Reason {position}.",
        )
    return campaign


@pytest.fixture
def campaign(settings: Settings) -> Campaign:
    settings.PUBLIC_URL = "https://quorum.example.org"
    return make_round()


def path_of(campaign: Campaign) -> str:
    return qualification_test_url(campaign).removeprefix("https://quorum.example.org")


@pytest.fixture
def submit(client: Client, campaign: Campaign) -> Visit:
    """Ada's answers."""

    def post(answers: dict[str, str], worker_id: str = "AADA") -> Response:
        return client.post(path_of(campaign), {"workerId": worker_id, **answers})

    return post


def verdicts(response: Response) -> list[str]:
    found = parse(response).xpath("//article//*[@class='verdict']")
    return [each.text_content().split()[-1] for each in found]


def test_a_page_of_an_earlier_try_is_answered_with_the_items_of_this_one(
    campaign: Campaign, submit: Visit
) -> None:
    for position in range(4, 8):
        QualificationItem.objects.create(
            campaign=campaign, position=position, query=f"q{position}", question="r",
            expected=position % 2, why="So.",
        )  # fmt: skip
    assert "Not passed yet" in main_of(submit(WRONG))
    again = submit(RIGHT)
    assert again.status_code == 422
    assert "Those were the items of another try" in main_of(again)
    assert [one.get("data-item") for one in parse(again).xpath("//fieldset[@data-item]")] == [
        "4", "5", "6", "7",
    ]  # fmt: skip
    assert "Not passed yet" in main_of(submit(WRONG))  # sent twice: the same try
    assert QualificationResult.objects.count() == 1


# The address


def test_the_address_names_the_campaign_and_cannot_be_guessed(
    client: Client, campaign: Campaign
) -> None:
    path = path_of(campaign)
    assert read_qualification_test_url(path.removeprefix("/qualification/")) == campaign.uid.hex
    assert campaign.name not in path
    for forged in (campaign.uid.hex, f"{campaign.uid.hex}:x", Signer(salt="hit").sign("faq"), ":"):
        response = client.get(f"/qualification/{forged}")
        assert response.status_code == 404
        assert "There is no qualification test at this address" in main_of(response)


def test_a_campaign_without_items_has_no_round(client: Client, campaign: Campaign) -> None:
    campaign.qualification_items.all().delete()
    assert client.get(path_of(campaign)).status_code == 404


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"qualified_id": ""}, "opens when its campaign is published"),
        ({"state": "cancelled"}, "has ended"),
    ],
)
def test_a_round_that_is_not_open_says_so(
    client: Client, campaign: Campaign, change: dict[str, str], sentence: str
) -> None:
    Campaign.objects.update(**change)
    for response in (client.get(path_of(campaign)), client.post(path_of(campaign), RIGHT)):
        assert response.status_code == 409
        assert sentence in main_of(response)
    assert not QualificationResult.objects.exists()


# The form


def test_it_says_what_it_is_and_asks_every_item(client: Client, campaign: Campaign) -> None:
    response = client.get(path_of(campaign))
    shown = main_of(response)
    assert "judge 4 items" in shown
    assert "You pass with at least 3 of 4 right" in shown
    assert "You have 3 tries" in shown
    page = parse(response)
    assert len(page.xpath("//fieldset")) == 4
    assert {each.get("name") for each in page.xpath("//input[@type='radio']")} == set(RIGHT)
    assert "Both ask the same." in page.xpath("//*[@id='guide']")[0].text_content()
    assert page.xpath("//script/@src") == ["/static/annotation/judging/hit.js"]


def test_the_form_tells_no_answer(client: Client, campaign: Campaign) -> None:
    text = client.get(path_of(campaign)).content.decode()
    assert "Reason" not in text
    forms = [html.tostring(each) for each in html.fromstring(text).xpath("//fieldset")]
    bare = [
        re.sub(rb"(item|texts|report|text)-\d+|<dd.*?</dd>|item=.\d|Item \d", b"", form, flags=re.S)
        for form in forms
    ]
    assert len({re.sub(rb"\s+", b" ", form) for form in bare}) == 1


def test_the_policy_says_whether_answers_are_shown(client: Client, settings: Settings) -> None:
    settings.PUBLIC_URL = "https://quorum.example.org"
    hidden = make_round("hidden", show_answer=False)
    assert "Aristotle" not in client.get(path_of(hidden)).content.decode()


def test_the_worker_id_of_the_address_stands_in_the_form(
    client: Client, campaign: Campaign
) -> None:
    page = parse(client.get(path_of(campaign), {"workerId": " aada"}))
    assert page.xpath("//input[@name='workerId']/@value") == ["AADA"]
    assert "Try 1 of 3" in page.text_content()


def test_who_names_nobody_loses_no_answer(submit: Visit) -> None:
    for worker_id in ["", "ADA LOVELACE", "B123", "A", "A" * 65, "<script>", "A\x00B"]:
        response = submit(RIGHT, worker_id)
        assert response.status_code == 422
        assert "Nothing was counted yet. Your answers are still here." in main_of(response)
        checked = parse(response).xpath("//fieldset//input[@checked]")
        assert {each.get("name"): each.get("value") for each in checked} == RIGHT
        assert parse(response).xpath("//script[not(@src)]") == []
        assert not QualificationResult.objects.exists()


def test_what_is_left_out_is_named_and_nothing_else_lost(submit: Visit) -> None:
    for value in [None, "", "2", "yes", "01", "\u0661"]:
        answers = {name: given for name, given in RIGHT.items() if name != "item-2"}
        response = submit(answers if value is None else {**answers, "item-2": value})
        assert response.status_code == 422
        page = parse(response)
        assert page.xpath("//*[@role='alert']//a/@href") == ["#texts-2"]
        checked = page.xpath("//fieldset//input[@checked]")
        assert {each.get("name"): each.get("value") for each in checked} == answers
        assert not QualificationResult.objects.exists()


def test_instructions_and_reasons_are_read_in_their_own_direction(
    client: Client, campaign: Campaign, submit: Visit
) -> None:
    campaign.qualification_items.update(why="لأن السؤالين واحد")
    (rules,) = parse(client.get(path_of(campaign))).find_class("markdown")
    assert rules.get("dir") == "auto"
    assert {each.get("dir") for each in parse(submit(WRONG)).find_class("why")} == {"auto"}


# What comes of it


def test_each_item_is_explained_and_the_score_told(submit: Visit) -> None:
    response = submit(HALF)
    assert verdicts(response) == ["Wrong", "Wrong", "Right", "Right"]
    shown = main_of(response)
    assert "2 of 4 right; 3 are needed" in shown
    assert "you have 2 tries left" in shown
    assert all(f"Reason {number}." in shown for number in range(4))
    assert "You answered No. The correct answer is Yes." in shown
    assert "Correct: No." in shown
    (again,) = parse(response).xpath("//a[.='Try again']/@href")
    assert again.endswith("?workerId=AADA")


def test_who_passes_reads_so_and_is_to_be_let_in(submit: Visit, campaign: Campaign) -> None:
    response = submit(RIGHT)
    assert "You passed" in main_of(response)
    assert "takes about a minute" in main_of(response)
    message = OutboxMessage.objects.get()
    assert (message.kind, message.campaign, message.worker.worker_id) == ("train", campaign, "AADA")


def test_who_has_passed_is_told_so_when_they_come_back(
    client: Client, campaign: Campaign, submit: Visit
) -> None:
    submit(RIGHT)
    response = client.get(path_of(campaign), {"workerId": "AADA"})
    assert "You passed" in main_of(response)
    # The id is only claimed: what somebody answered is nobody else's business.
    assert verdicts(response) == []


def test_after_the_last_try_it_says_whom_to_write_to(
    client: Client, campaign: Campaign, submit: Visit, settings: Settings
) -> None:
    settings.CONTACT = "people@example.org"
    submit(WRONG)
    submit(WRONG | {"item-0": "1"})
    response = submit(HALF)
    assert "That was the last of 3 tries" in main_of(response)
    assert "write to people@example.org" in main_of(response)
    assert verdicts(response) == ["Wrong", "Wrong", "Right", "Right"]
    for later in (submit(RIGHT), client.get(path_of(campaign), {"workerId": "AADA"})):
        assert "That was the last of 3 tries" in main_of(later)
        assert verdicts(later) == []
    assert QualificationResult.objects.count() == 3
    assert not OutboxMessage.objects.exists()


def test_two_clicks_are_one_try(submit: Visit) -> None:
    first, second = submit(WRONG), submit(WRONG)
    assert "you have 2 tries left" in main_of(first)
    assert main_of(second) == main_of(first)
    assert QualificationResult.objects.count() == 1


def test_tries_in_ever_other_names_from_one_address_come_to_an_end(
    submit: Visit, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The id is only claimed, and a wrong try tells the answers."""
    low = Limit("qualification-test", 3, 60, "Come back in an hour.")
    monkeypatch.setattr(qualification, "FROM_AN_ADDRESS", low)
    for number in range(3):
        assert submit(RIGHT, f"A{number}").status_code == 200
    response = submit(RIGHT, "AADA")
    assert response.status_code == 429
    assert "Come back in an hour." in main_of(response)
    assert not Worker.objects.filter(worker_id="AADA").exists()
    elsewhere = Client(REMOTE_ADDR="192.0.2.9")
    form = {"workerId": "AADA", **RIGHT}
    assert "You passed" in main_of(elsewhere.post(path_of(campaign), form))


def test_the_real_limit_leaves_room_for_a_full_house(submit: Visit) -> None:
    for number in range(qualification.FROM_AN_ADDRESS.most):
        assert submit(WRONG, f"A{number}").status_code == 200
    response = submit(WRONG, "AADA")
    assert response.status_code == 429
    assert "from your address" in main_of(response)


def test_when_too_many_wait_to_be_let_in_nobodys_try_is_lost(
    submit: Visit, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "MOST_WAITING", 2)
    for name in ("ABOB", "AEVE"):
        submit(RIGHT, name)
    response = submit(RIGHT)
    assert response.status_code == 503
    assert "come back in a few minutes" in main_of(response)
    assert not Worker.objects.filter(worker_id="AADA").exists()
    OutboxMessage.objects.update(state="done")
    assert "You passed" in main_of(submit(RIGHT))


def test_who_is_excluded_reads_why_and_cannot_take_the_test(
    client: Client, campaign: Campaign, submit: Visit
) -> None:
    eve = Worker.objects.create(crowd="mturk", worker_id="AEVE")
    Exclusion.objects.create(campaign=campaign, worker=eve, failures=2, reviewed=10)
    for response in (
        client.get(path_of(campaign), {"workerId": "AEVE"}),
        submit(RIGHT, "AEVE"),
    ):
        assert response.status_code == 403
        assert "2 of your first 10 tasks failed" in main_of(response)
    assert not QualificationResult.objects.exists()


def test_a_form_from_elsewhere_is_refused(campaign: Campaign) -> None:
    response = Client(enforce_csrf_checks=True).post(
        path_of(campaign), {"workerId": "AADA", **RIGHT}
    )
    assert response.status_code == 403
    assert not QualificationResult.objects.exists()


def test_it_is_read_and_sent_and_nothing_else(client: Client, campaign: Campaign) -> None:
    for method in ["put", "delete", "patch"]:
        assert getattr(client, method)(path_of(campaign)).status_code == 405


def test_more_items_cost_no_more_queries(client: Client, campaign: Campaign) -> None:
    client.get(path_of(campaign))
    with CaptureQueriesContext(connection) as few:
        client.get(path_of(campaign))
    for position in range(4, 90):
        QualificationItem.objects.create(
            campaign=campaign, position=position, query="a", question="b", expected=1, why="c"
        )
    with CaptureQueriesContext(connection) as many:
        client.get(path_of(campaign))
    assert len(many) == len(few) <= 8


ATTACKS = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</fieldset></form><form action=//evil.example>",
    "{{ 7|add:7 }}{% now %}",
)


def test_every_text_is_shown_as_it_is(client: Client, campaign: Campaign, submit: Visit) -> None:
    for position, attack in enumerate(ATTACKS):
        campaign.qualification_items.filter(position=position).update(
            query=attack, question=f"? {attack}", answer=attack, why=attack
        )
    for response in (client.get(path_of(campaign)), submit(WRONG)):
        page = parse(response)
        assert [each.text_content() for each in page.find_class("query")] == list(ATTACKS)
        assert [each.text_content() for each in page.find_class("answer")] == list(ATTACKS)
        assert page.xpath("//script[not(@src)] | //img | //@onerror") == []
    assert escaping.escape(ATTACKS[0]) in response.content.decode()


# The way to it


def links(client: Client, hit: Hit, **visit: str) -> list[dict[str, str]]:
    page = parse(client.get(urlsplit(hit_url(hit.key)).path, visit))
    return [dict(link.attrib) for link in page.xpath("//a[contains(@href, '/qualification/')]")]


def test_a_preview_leads_to_the_round_without_leaving_the_frame(
    client: Client, campaign: Campaign
) -> None:
    hit = make_hit(campaign)
    link = {"href": qualification_test_url(campaign), "target": "_blank", "rel": "noopener"}
    assert links(client, hit) == [link]
    assert links(client, hit, assignmentId="3ADA", workerId="AADA") == []


def test_the_page_opens_in_the_sandbox_that_a_tab_inherits_from_the_frame(
    client: Client, campaign: Campaign, submit: Visit
) -> None:
    for response in (client.get(path_of(campaign)), submit(WRONG), client.get("/qualification/x")):
        assert response["Cross-Origin-Opener-Policy"] == "unsafe-none"


def test_a_preview_without_a_round_leads_nowhere(client: Client) -> None:
    assert links(client, make_hit(make_campaign("plain"))) == []


# In-house


@pytest.fixture
def round_of_the_team(settings: Settings) -> Campaign:
    settings.PUBLIC_URL = "https://quorum.example.org"
    return make_round(
        "team",
        crowd="inhouse",
        masters=False,
        min_approval_percent=0,
        min_approved=0,
        reward_cents=0,
    )


def member(client: Client, name: str = "ada") -> Member:
    user = User.objects.create_user(name)
    code = invite(user, note="", days=1, uses=1, now=timezone.now())
    client.force_login(user)
    return join(code, user, now=timezone.now())


def test_a_stranger_is_asked_to_sign_in_and_comes_back(
    client: Client, round_of_the_team: Campaign
) -> None:
    path = path_of(round_of_the_team)
    response = client.get(path)
    assert response.status_code == 302
    assert response["Location"].startswith("/sign-in?next=/qualification/")
    assert client.post(path, RIGHT).status_code in {302, 403}
    assert not QualificationResult.objects.exists()


def test_an_account_that_is_no_member_is_refused(
    client: Client, round_of_the_team: Campaign
) -> None:
    client.force_login(User.objects.create_superuser("boss"))
    assert client.get(path_of(round_of_the_team)).status_code == 403


def test_a_team_in_one_house_is_not_counted_by_its_address(
    round_of_the_team: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(qualification, "FROM_AN_ADDRESS", Limit("qualification-test", 1, 60, "No."))
    for name in ("ada", "bob", "eve"):
        client = Client()
        member(client, name)
        assert client.post(path_of(round_of_the_team), WRONG).status_code == 200


def test_a_member_is_known_by_the_account_and_by_nothing_that_is_sent(
    client: Client, round_of_the_team: Campaign
) -> None:
    ada = member(client)
    page = client.get(path_of(round_of_the_team))
    assert parse(page).xpath("//input[@name='workerId']") == []
    client.post(path_of(round_of_the_team), {"workerId": "AEVE", **WRONG})
    assert QualificationResult.objects.get().worker == Worker.objects.get(
        crowd="inhouse", worker_id=ada.worker_id
    )


@pytest.fixture
def team(small_database: None, tmp_path: Path) -> Team:
    """One HIT, for members who had half of four qualification items right."""
    return make_team(tmp_path, "", qualification_items=4, qualification_pass_percent=50)


def take_test_as(name: str, team: Team) -> Response:
    client = Client()
    client.force_login(User.objects.get(username=name))
    items = pipeline.items_of_try(team.campaign, 0)
    answers = {f"item-{one.position}": str(one.expected) for one in items}
    return client.post(urlsplit(qualification_test_url(team.campaign)).path, answers)


def take(name: str, team: Team) -> Assignment | None:
    return assignments.take(team.members[name], now=timezone.now())


def test_the_queue_opens_to_a_member_as_soon_as_they_have_passed(team: Team) -> None:
    assert take("ada", team) is None
    response = take_test_as("ada", team)
    assert "The tasks of this campaign are in your queue now." in main_of(response)
    assert parse(response).xpath("//main//a[contains(@class, 'button')]/@href") == ["/work"]
    assert take("ada", team) is not None
    assert take("bob", team) is None
    assert team.advance().waiting == 0
    assert [work.posted_hit for work in team.works("ada")] != []


class Away(InhouseCrowd):
    """Cannot take anything down at the moment."""

    def grant(self, worker_id: str, *, qualification_id: str, value: int) -> None:
        raise CrowdError("away", permanent=False)


def test_what_could_not_be_granted_at_once_is_granted_by_the_next_pass(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(qualification, "open_crowd", lambda kind, *, live: Away())
    assert "You passed" in main_of(take_test_as("ada", team))
    assert take("ada", team) is None
    team.advance()
    assert take("ada", team) is not None
