"""New versions of the instructions, by the staff's page and by command."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.core.management import CommandError
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotation.analytics.campaign.snapshots import take
from annotation.models import Account, Campaign, Hit, Instructions, OutboxMessage
from annotation.operations.campaign import cached_outlook as known
from annotation.pipeline.ledger.reservations import set_budget
from annotation.pipeline.publishing.publish import publish
from annotation.pipeline.setup.create import create_campaign
from annotation.pipeline.setup.instructions import MOST_CHARACTERS, Overtaken, add_version
from annotation.protocol.policy.policy import Policy
from core.errors import UserError
from tests.annotation.pipeline.publishing.test_top_up import disagree
from tests.annotation.support.hits import make_campaign, make_hit
from tests.conftest import SetStage
from tests.support.command_line import quorum
from tests.support.pages import Response, main_of, parse
from tests.support.threads import together
from tests.worlds.small_campaign import Stage, write_rows

pytestmark = pytest.mark.django_db

PATH = "/campaigns/faq/instructions"
NEW = "# Rules\n\nThey ask **exactly** the same."

Send = Callable[..., Response]


@pytest.fixture
def campaign() -> Campaign:
    """Its first version is '# Rules', carried by one HIT."""
    campaign = make_campaign("faq")
    make_hit(campaign)
    return campaign


def editor(name: str = "ada") -> User:
    user = User.objects.create_user(name, is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="add_instructions"))
    return user


@pytest.fixture
def send(client: Client, campaign: Campaign) -> Send:
    """Ada's form, as she opened it when version 1 was the newest."""
    client.force_login(editor())

    def post(text: str = NEW, *, based_on: object = 1, button: str = "save") -> Response:
        return client.post(PATH, {"text": text, "based_on": based_on, button: "1"})

    return post


def form_of(response: Response) -> dict[str, Any]:
    """As a browser reads it: without the line break that begins a textarea."""
    fields = dict(parse(response).forms[-1].fields)
    return fields | {"text": fields["text"].removeprefix("\n")}


def versions() -> list[tuple[int, str, str]]:
    rows = Instructions.objects.order_by("version")
    return list(rows.values_list("version", "text", "author"))


# Saving


def test_a_new_version_is_saved_with_its_author(send: Send) -> None:
    response = send()
    assert response.status_code == 200
    assert "Saved as version 2." in main_of(response)
    assert versions()[1:] == [(2, NEW, "ada")]
    assert form_of(response)["based_on"] == "2"


def test_the_versions_are_listed_with_the_hits_that_show_them(
    send: Send, client: Client, campaign: Campaign
) -> None:
    Hit.objects.update(crowd_id="3HIT")
    send()
    make_hit_with(campaign, version=2)
    rows = parse(client.get(PATH)).xpath("//tbody/tr")
    cells = [[" ".join(cell.text_content().split()) for cell in row] for row in rows]
    assert [(row[0], row[2], row[3]) for row in cells] == [
        ("2 in force", "ada", "1"),
        ("1", "by command", "1"),
    ]


def test_the_hits_of_a_large_campaign_are_told_as_they_were_counted(
    send: Send, client: Client, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known, "MANY_HITS", 0)
    Account.objects.create(campaign=campaign)
    at = take(campaign).at
    make_hit_with(campaign, version=1)
    with CaptureQueriesContext(connection) as queries:
        page = client.get(PATH)
    assert shown_hits(page) == ["1"]
    assert f"These figures are as counted at {at:%Y-%m-%d %H:%M} UTC." in main_of(page)
    assert not [query["sql"] for query in queries if "COUNT(" in query["sql"]]


def test_of_a_version_saved_since_the_count_nothing_is_told(
    send: Send, client: Client, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known, "MANY_HITS", 0)
    Account.objects.create(campaign=campaign)
    send()
    take(campaign)
    send("# Newer", based_on=2)
    assert shown_hits(client.get(PATH)) == ["\N{EN DASH}", "1", "0"]
    take(campaign)
    assert shown_hits(client.get(PATH)) == ["1", "0", "0"]


def test_figures_of_now_have_no_time(client: Client, send: Send) -> None:
    assert "as counted at" not in main_of(client.get(PATH))


def shown_hits(page: Response) -> list[str]:
    """Of each version, the newest first."""
    return [row.xpath("string(td[3])") for row in parse(page).xpath("//tbody/tr")]


def make_hit_with(campaign: Campaign, *, version: int) -> Hit:
    return Hit.objects.create(
        campaign=campaign,
        key="faq-9",
        number=9,
        seed=9,
        instructions=campaign.instructions.get(version=version),
        max_assignments=1,
        price_cents=19,
    )


def test_the_form_loaded_again_after_the_save_accuses_nobody(send: Send) -> None:
    send()
    again = send()
    assert again.status_code == 422
    assert "version 2 has exactly this text" in main_of(again)
    assert "somebody else" not in main_of(again)
    assert form_of(again)["based_on"] == "2"
    assert len(versions()) == 2


def test_an_earlier_version_can_be_shown_and_saved_again(send: Send, client: Client) -> None:
    send()
    form = form_of(client.get(PATH, {"version": "1"}))
    assert (form["text"], form["based_on"]) == ("# Rules\n\nBoth ask the *same*.", "2")
    for unknown in ("7", "x", "-1", "9" * 30, "\u0662"):
        assert form_of(client.get(PATH, {"version": unknown}))["text"] == NEW


def test_a_preview_saves_nothing(send: Send) -> None:
    response = send(button="preview")
    assert "Nothing is saved yet" in main_of(response)
    assert parse(response).xpath("//*[contains(@class, 'markdown')]//strong")[0].text == "exactly"
    assert form_of(response)["text"] == NEW
    assert len(versions()) == 1


def test_who_was_overtaken_sees_both_texts_and_loses_none(send: Send, campaign: Campaign) -> None:
    add_version(campaign, "# Theirs", author="bob")
    response = send()
    assert response.status_code == 409
    assert "somebody else has saved version 2 meanwhile (bob)" in main_of(response)
    texts = [each.text.strip() for each in parse(response).xpath("//textarea")]
    assert texts == [NEW, "# Theirs"]
    assert len(versions()) == 2
    again = send(based_on=form_of(response)["based_on"])
    assert "Saved as version 3." in main_of(again)


def test_a_form_without_its_version_is_as_good_as_overtaken(send: Send) -> None:
    for based_on in ["", "x", "-1", "0", "9" * 40]:
        assert send(based_on=based_on).status_code == 409
        assert len(versions()) == 1


def test_what_cannot_be_saved_stays_in_the_form(send: Send) -> None:
    for text, fault in [
        ("", "are empty"),
        (" \n\t ", "are empty"),
        ("\x00\x07", "are empty"),
        ("x" * (MOST_CHARACTERS + 1), "more than 50,000 characters"),
        ("# Rules\r\n\r\nBoth ask the *same*.", "version 1 has exactly this text"),
    ]:
        response = send(text)
        assert response.status_code == 422
        assert fault in main_of(response)
        kept = form_of(response)["text"].replace("\r\n", "\n")
        assert kept == text.replace("\r\n", "\n").replace("\x00", "")
        assert len(versions()) == 1


def test_control_characters_and_foreign_line_ends_are_dropped(send: Send) -> None:
    send("# Ru\x00les\r\n\r\n\x1b[31mBoth\x07.\rSo.\n")
    assert versions()[1][1] == "# Rules\n\n[31mBoth.\nSo.\n"


def test_the_longest_text_is_taken(send: Send) -> None:
    assert send("x" * MOST_CHARACTERS).status_code == 200
    assert len(versions()) == 2


ATTACKS = (
    "<script>alert(1)</script>",
    "</textarea><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "![x](http://evil.example/p.png)",
    "[x](javascript:alert(1))",
    '<a href="http://evil.example" onclick="x">x</a>',
    "{{ 7|add:7 }}{% now %}",
    "[x]: data:text/html,x\n\n[x]",
)


def test_hostile_text_is_shown_and_does_nothing(send: Send) -> None:
    for attack in ATTACKS:
        response = send(attack, based_on=len(versions()))
        page = parse(response)
        assert page.xpath("//textarea")[0].text.strip() == attack
        assert (
            page.xpath("//main//script | //main//img | //main//@onerror | //main//@onclick") == []
        )
        links = page.xpath("//*[contains(@class, 'markdown')]//@href")
        assert not [link for link in links if link.startswith(("javascript:", "data:"))]


# Who may


def test_strangers_sign_in_first(client: Client, campaign: Campaign) -> None:
    response = client.get(PATH)
    assert response.status_code == 302
    assert response["Location"] == f"/sign-in?next={PATH}"


def test_who_is_not_of_the_staff_is_refused(client: Client, campaign: Campaign) -> None:
    client.force_login(User.objects.create_user("bob"))
    assert client.get(PATH).status_code == 403
    assert client.post(PATH, {"text": NEW, "based_on": 1, "save": "1"}).status_code == 403
    assert len(versions()) == 1


def test_staff_without_the_right_may_read_and_not_write(client: Client, campaign: Campaign) -> None:
    client.force_login(User.objects.create_user("bob", is_staff=True))
    page = parse(client.get(PATH))
    assert page.xpath("//textarea/@readonly")
    assert page.xpath("//main//button") == []
    for button in ("save", "preview"):
        response = client.post(PATH, {"text": NEW, "based_on": 1, button: "1"})
        assert response.status_code == 403
    assert len(versions()) == 1


def test_a_campaign_that_there_is_not_is_not_found(send: Send, client: Client) -> None:
    """As one that the reader may not see: its name is told to nobody."""
    response = client.get("/campaigns/nowhere/instructions")
    assert response.status_code == 404
    assert parse(response).xpath("//h1")[0].text_content().strip() == "Page not found"


# Which HITs show it


def test_hits_not_asked_for_take_it_and_the_others_keep_theirs(stage: Stage) -> None:
    set_budget(stage.campaign, 2 * 3 * 19)  # two HITs, with a place for a tie each
    publish(stage.campaign, stage.mturk.crowd)
    assert stage.campaign.outbox.filter(kind="create").count() == 2
    added = add_version(stage.campaign, NEW)
    assert (added.version, added.changed_hits, added.kept_hits) == (2, 3, 2)
    asked = set(OutboxMessage.objects.values_list("hit", flat=True))
    for hit in stage.campaign.hits.select_related("instructions"):
        assert hit.instructions.version == (1 if hit.pk in asked else 2)


def test_a_hit_repacked_later_takes_it(set_stage: SetStage) -> None:
    stage = set_stage(candidates_per_query=1, tie_mode="repack")
    stage.publish()
    add_version(stage.campaign, NEW)
    disagree(stage, 1, "ada", "bob")
    stage.advance()
    assert [stage.hit(number).instructions.version for number in (1, 2)] == [1, 2]


@pytest.mark.django_db(transaction=True)
def test_of_many_who_save_at_once_one_is_first_and_the_others_are_told(stage: Stage) -> None:
    def save(number: int) -> str:
        try:
            return f"saved {add_version(stage.campaign, f'{NEW} {number}', based_on=1).version}"
        except Overtaken as error:
            return f"overtaken by {error.newest.version}"

    found = together(*(lambda number=number: save(number) for number in range(5)))
    assert sorted(found) == ["overtaken by 2"] * 4 + ["saved 2"]
    assert {hit.instructions.version for hit in stage.campaign.hits.all()} == {2}


@pytest.mark.django_db(transaction=True)
def test_a_hit_asked_for_while_a_version_is_saved_keeps_what_it_was_asked_with(
    stage: Stage,
) -> None:
    added, published = together(
        lambda: add_version(stage.campaign, NEW).changed_hits,
        lambda: publish(stage.campaign, stage.mturk.crowd).new,
    )
    assert published == 5
    newer = stage.campaign.hits.filter(instructions__version=2).count()
    # One came first, and the other saw all of it.
    assert newer == added
    assert added in (0, 5)


# By command


def test_the_command_prints_the_text_in_force_as_it_is(
    campaign: Campaign, capsys: pytest.CaptureFixture[str]
) -> None:
    add_version(campaign, NEW)
    quorum("campaign", "instructions", "faq")
    assert capsys.readouterr().out.strip() == NEW


def test_the_command_takes_a_new_version_from_a_file(
    campaign: Campaign, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rules.md"
    path.write_bytes(b"\xef\xbb\xbf" + NEW.encode())
    quorum("campaign", "instructions", "faq", str(path))
    assert versions()[1:] == [(2, NEW, "")]
    assert "changed hits  1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b" \n", "are empty"),
        (b"\xff\xfe#\x00", "are not UTF-8"),
        (b"x" * (MOST_CHARACTERS + 1), "more than 50,000 characters"),
        # Without its control character it is no longer than the part that was read.
        (b"\x01" + b"x" * (MOST_CHARACTERS + 10_000), "more than 50,000 characters"),
    ],
)
def test_a_file_that_cannot_be_instructions_is_refused(
    campaign: Campaign, tmp_path: Path, content: bytes, fault: str
) -> None:
    path = tmp_path / "rules.md"
    path.write_bytes(content)
    with pytest.raises(CommandError, match=fault):
        quorum("campaign", "instructions", "faq", str(path))
    queries = write_rows(tmp_path / "queries.jsonl", [{"id": "a", "query": "how is bread made"}])
    with pytest.raises(UserError, match=fault):
        create_campaign("own", policy=Policy(), seed=1, queries=queries, instructions=path)
    assert len(versions()) == 1


@pytest.mark.parametrize("name", ["gone.md", ""])
def test_a_file_that_cannot_be_read_is_refused(
    campaign: Campaign, tmp_path: Path, name: str
) -> None:
    with pytest.raises(CommandError, match="cannot be read"):
        quorum("campaign", "instructions", "faq", str(tmp_path / name))
