"""The pages of the log: who sees what of it, its filters, its pages by key, its CSV."""

import ast
import csv
import io
from datetime import UTC, datetime, timedelta
from typing import cast

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from annotation.access.audit_log import Actor, Via, by_command, by_page, record
from annotation.models import AuditEntry, Campaign
from annotation.web.account.log_details import details_in_words
from tests.annotation.support.hits import make_campaign
from tests.annotation.support.parts import at, client_with

pytestmark = pytest.mark.django_db
LOG = "/admin/log/"
HERE = "/admin/campaigns/faq/log/"


@pytest.fixture
def campaign() -> Campaign:
    return make_campaign()


@pytest.fixture
def root() -> Client:
    return at(User.objects.create_superuser("root"))


def rows(client: Client, address: str = LOG, **given: str) -> list[list[str]]:
    """Of the CSV, without its heading."""
    answer = client.get(address, given | {"as": "csv"})
    assert answer.status_code == 200
    text = b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined]
    return list(csv.reader(io.StringIO(text)))[1:]


def verbs(client: Client, address: str = LOG, **given: str) -> list[str]:
    return [row[3] for row in rows(client, address, **given)]


def test_each_reader_sees_the_operations_of_their_campaigns(
    campaign: Campaign, root: Client
) -> None:
    other = make_campaign("other")
    for where, verb in ((campaign, "pause"), (other, "resume"), (None, "invite")):
        record(by_command(), verb, campaign=where)
    staff = at(User.objects.create_user("carla", is_staff=True))
    assert verbs(root) == verbs(staff) == ["invite", "resume", "pause"]
    assert verbs(client_with("viewer", campaign)) == ["pause"]
    assert verbs(client_with("viewer", None, "everywhere")) == ["resume", "pause"]
    assert verbs(client_with("viewer", other, "dan"), "/admin/campaigns/other/log/") == ["resume"]


def test_who_has_no_part_sees_nothing(campaign: Campaign) -> None:
    record(by_command(), "pause", campaign=campaign)
    assert at(User.objects.create_user("eve")).get(LOG).status_code == 403
    assert client_with("annotator", campaign).get(HERE).status_code == 403
    assert client_with("viewer", make_campaign("other")).get(HERE).status_code == 404
    assert Client().get(HERE).status_code == 302
    assert client_with("viewer", campaign, "dan").post(HERE).status_code == 405


def test_operations_are_found_by_verb_person_and_way(campaign: Campaign, root: Client) -> None:
    ada = User.objects.create_user("ada")
    record(by_page(ada), "pause", campaign=campaign)
    record(Actor(ada, "ada", Via.API), "resume", campaign=campaign)
    record(Actor(None, "ada", Via.COMMAND), "budget", campaign=campaign)
    assert verbs(root, HERE, verb="pause") == ["pause"]
    assert verbs(root, HERE, via="api") == ["resume"]
    record(by_page(ada), "cancel-bonus", campaign=campaign)
    for typed in ("cancel-bonus", "cancel bonus"):
        assert verbs(root, HERE, verb=typed) == ["cancel-bonus"]
    assert '<th scope="row">cancel bonus</th>' in root.get(HERE).content.decode()
    # Not the shell of that name.
    assert verbs(root, HERE, actor="ada") == ["cancel-bonus", "resume", "pause"]
    assert verbs(root, HERE, via="command", actor="nobody") == []
    User.objects.filter(pk=ada.pk).update(username="ada-2")
    assert verbs(root, HERE, actor="ada-2") == ["cancel-bonus", "resume", "pause"]
    assert verbs(root, HERE, actor="ada") == ["budget"]


def test_operations_are_found_by_day_and_no_day_is_told_and_narrows_nothing(
    campaign: Campaign, root: Client
) -> None:
    record(by_command(), "pause", campaign=campaign)
    today = timezone.now().astimezone(UTC).date()
    day = timedelta(days=1)
    assert verbs(root, since=f"{today}", until=f"{today}") == ["pause"]
    assert verbs(root, since=f"{today + day}") == []
    assert verbs(root, until=f"{today - day}") == []
    assert verbs(root, until="9999-12-31", since="0001-01-01") == ["pause"]
    page = root.get(LOG, {"since": "yesterday", "via": "mail"}).content.decode()
    assert "Enter a valid date" in page
    assert "pause" in page


def test_pages_go_on_where_the_last_one_ended_whatever_is_added_meanwhile(
    campaign: Campaign, root: Client
) -> None:
    for number in range(120):
        record(by_command(), "pause", campaign=campaign, subject=f"n{number:03}")
    seen: list[str] = []
    query: str | None = ""
    while query is not None:
        response = root.get(HERE + query)
        seen += [entry.subject for entry, *_ in response.context["rows"]]
        query = response.context["next"] or None
        record(by_command(), "resume", campaign=campaign, subject="new")
    assert seen == [f"n{number:03}" for number in reversed(range(120))]


def test_operations_of_the_same_moment_are_not_lost_between_two_pages(
    campaign: Campaign, root: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = datetime(2026, 3, 1, tzinfo=UTC)
    monkeypatch.setattr("django.utils.timezone.now", lambda: moment)
    for number in range(60):
        record(by_command(), "pause", campaign=campaign, subject=f"n{number:02}")
    monkeypatch.undo()
    first = root.get(HERE)
    second = root.get(HERE + first.context["next"])
    subjects = [entry.subject for page in (first, second) for entry, *_ in page.context["rows"]]
    assert subjects == [f"n{number:02}" for number in reversed(range(60))]


@pytest.mark.parametrize(
    "key", ["x", "2026-01-01", ",", "2026-01-01T00:00:00,5", "0001-01-01T00:00:00+14:00,1", "\0,1"]
)
def test_what_is_no_key_begins_again(campaign: Campaign, root: Client, key: str) -> None:
    record(by_command(), "pause", campaign=campaign)
    assert len(root.get(LOG, {"before": key}).context["rows"]) == 1


def test_hostile_texts_are_texts(campaign: Campaign, root: Client) -> None:
    evil = "<script>alert(1)</script>"
    record(
        Actor(None, evil, Via.COMMAND), "pause", campaign=campaign, subject=evil,
        details={evil: evil, "list": [evil, {"deep": evil}]},
    )  # fmt: skip
    page = root.get(LOG, {"verb": evil}).content.decode()
    page += root.get(LOG).content.decode()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page
    record(by_command(), "pause", campaign=campaign, subject="=cmd|' /C calc'!A0")
    assert rows(root)[0][4] == "'=cmd|' /C calc'!A0"


def test_a_page_asks_few_questions_whatever_the_size(
    campaign: Campaign, root: Client, django_assert_max_num_queries: object
) -> None:
    user = User.objects.create_user("ada")
    for number in range(80):
        record(by_page(user), "pause", campaign=campaign if number % 2 else None)
    with django_assert_max_num_queries(20):  # type: ignore[operator]
        root.get(LOG)
    with django_assert_max_num_queries(20):  # type: ignore[operator]
        root.get(HERE, {"actor": "ada"})


@pytest.mark.parametrize(
    ("details", "expected"),
    [
        ({"budget_cents": 1250}, [("budget", "$12.50")]),
        ({"cents": 5}, [("amount", "$0.05")]),
        ({"cents_each": 5, "hits": 12000}, [("cents each", "5"), ("hits", "12,000")]),
        ({"full": True, "none": None, "empty": "", "nothing": []}, [("full", "yes")]),
        ({"groups": ["a", "b"]}, [("groups", "a, b")]),
        ({"status": {"a": 1}}, [("status", "a 1")]),
        ({"long": "x" * 301}, [("long", "x" * 300 + "…")]),
    ],
)
def test_details_are_told_in_words(
    details: dict[str, object], expected: list[tuple[str, str]]
) -> None:
    assert details_in_words(details) == expected


def test_the_csv_names_its_columns_and_the_campaign(campaign: Campaign, root: Client) -> None:
    record(by_command(), "budget", campaign=campaign, details={"budget_cents": 100})
    answer = root.get(HERE, {"as": "csv"})
    assert answer["Content-Disposition"] == 'attachment; filename="faq-log.csv"'
    (row,) = rows(root, HERE)
    assert row[2:] == ["command", "budget", "", "faq", "budget: $1.00"]
    assert AuditEntry.objects.get().at.isoformat() == row[0]


def literal_verbs() -> set[str]:
    """Of each call of `record` or `logged` that has its verb written out."""
    calls = (
        node
        for folder in ("annotation", "exports")
        for path in (settings.BASE_DIR / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    )
    return {
        verb.value
        for call in calls
        if cast(ast.Name, call.func).id in {"record", "logged"}
        for verb in call.args[1:2]
        if isinstance(verb, ast.Constant) and isinstance(verb.value, str)
    }


def test_every_verb_that_is_written_down_is_offered(root: Client) -> None:
    offered = set(root.get(LOG).context["verbs"])
    written = literal_verbs()
    assert {"label", "import pairs", "import-controls"} <= written
    assert {verb.replace("-", " ") for verb in written} <= offered
    assert {"withdraw pairs", "give role", "delete token", "exclude", "retrieve"} <= offered


@pytest.mark.parametrize("verb", ["import pairs", "import-controls"])
def test_a_verb_of_two_words_is_found_too(campaign: Campaign, root: Client, verb: str) -> None:
    record(by_command(), verb, campaign=campaign)
    record(by_command(), "import", campaign=campaign)
    assert verbs(root, HERE, verb=verb) == [verb]
