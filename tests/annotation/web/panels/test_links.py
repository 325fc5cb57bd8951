"""The links of a campaign's panels, and the lists that go to the panel and come from it."""

import csv
import io
from collections.abc import Iterable

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from annotation.crowd.inhouse import visits
from annotation.crowd.inhouse.adapter import PANEL_SITE, InhouseCrowd
from annotation.crowd.inhouse.assignments import submit, take
from annotation.crowd.inhouse.models import Assignment, Member, PanelLink, Participant, Visit
from annotation.models import Account, AuditEntry, Campaign, Hit, OutboxMessage
from annotation.operations.operation import NOBODY, perform
from annotation.operations.registry import OPERATIONS
from annotation.pipeline.collecting.collect import fetch_submissions
from annotation.protocol.policy.crowds import PANEL
from annotation.protocol.screening.control import RejectionReason
from core.errors import UserError
from tests.annotation.api.people import Program
from tests.annotation.web.stage import offer_hits, sheet, signed_in, staff, text
from tests.support.pages import Response

pytestmark = pytest.mark.django_db


@pytest.fixture
def hits(db: None) -> list[Hit]:
    return offer_hits("study", hits=3, traits=PANEL)


@pytest.fixture
def campaign(hits: list[Hit]) -> Campaign:
    return hits[0].campaign


@pytest.fixture
def manager(db: None) -> Client:
    return signed_in(staff("ada", "manage_workers"))


def open_panel(campaign: Campaign, panel: str = "connect", **options: object) -> PanelLink:
    operation = OPERATIONS["open-panel"]
    given = operation.complete({"panel": panel, "tasks": 2, "parameter": None, "code": None,
                                "return_url": None, **options})  # fmt: skip
    made = perform(operation, campaign, given, by=NOBODY)
    return PanelLink.objects.get(key=made["link"])


def work(link: PanelLink, person: str, tasks: int, *, finish: bool = True) -> list[str]:
    """The assignments that the person submitted."""
    now = timezone.now()
    visit = visits.arrive(link, visits.Person(person), now=now)
    done = []
    for _ in range(tasks):
        taken = take(visit.member, now=now)
        assert taken is not None
        hit = Hit.objects.get(key=taken.posted_hit.annotation)
        submit(visit.member, taken.assignment_id, sheet(hit), now=now)
        done.append(taken.assignment_id)
    if finish:
        visits.finish(visit, now=now)
    return done


def rows_of(response: Response) -> list[dict[str, str]]:
    body = b"".join(response.streaming_content).decode()  # type: ignore[attr-defined]
    return list(csv.DictReader(io.StringIO(body)))


def listed(browser: Client, link: PanelLink) -> dict[str, dict[str, str]]:
    response = browser.get(f"/admin/campaigns/study/panels/{link.key}.csv")
    return {row["participant"]: row for row in rows_of(response)}


def test_the_list_says_whom_to_approve_and_for_what_sum(
    campaign: Campaign, manager: Client
) -> None:
    link, crowd = open_panel(campaign), InhouseCrowd(PANEL_SITE)
    good, bad, late = work(link, "good", 2), work(link, "bad", 1), work(link, "late", 2)
    work(link, "away", 1, finish=False)
    for assignment in (*good, late[0]):
        crowd.approve(assignment)
    crowd.reject(bad[0], reason="A control was missed.", why=RejectionReason.MISSED)
    rows = listed(manager, link)
    assert {person: (row["decision"], row["earned"]) for person, row in rows.items()} == {
        "good": ("approve", "$0.30"),
        "bad": ("reject", "$0.00"),
        "late": ("wait", "$0.15"),
        "away": ("wait", "$0.00"),
    }
    assert rows["late"]["why"] == "1 of 2 tasks not decided yet"
    assert rows["away"]["why"] == "not finished"
    program = Program(User.objects.get(username="ada"))
    visits_there = program.get(f"campaigns/study/panel-links/{link.key}/visits").json()
    assert {one["participant"]: one["decision"] for one in visits_there} == {
        person: row["decision"] for person, row in rows.items()
    }
    (there,) = program.get("campaigns/study/panel-links").json()["results"]
    assert (there["key"], there["tasks"], there["code"]) == (link.key, 2, "")
    crowd.reject(late[1], reason="A control was missed.", why=RejectionReason.MISSED)
    assert listed(manager, link)["late"]["decision"] == "approve"


def check(
    browser: Client, link: PanelLink, lines: Iterable[str], name: str = "list.csv"
) -> Response:
    sent = SimpleUploadedFile(name, "\n".join(lines).encode())
    place = f"/admin/campaigns/study/panels/{link.key}.csv"
    return browser.post(place, {"file": sent})


def test_the_panel_s_own_list_comes_back_with_the_decision_on_each_row(
    campaign: Campaign, manager: Client
) -> None:
    link, crowd = open_panel(campaign), InhouseCrowd(PANEL_SITE)
    for assignment in (*work(link, "P1", 2), *work(link, "P2", 1)):
        crowd.approve(assignment)
    code = Visit.objects.get(member__participant__external_id="P2").code
    lines = ["Submission,Who,Entered code", "s1,P1,whatever", f"s2,,{code.lower()}", "s3,P9,GUESS"]
    rows = rows_of(check(manager, link, lines))
    assert [(row["Submission"], row["Who"], row["decision"]) for row in rows] == [
        ("s1", "P1", "approve"),
        ("s2", "", "approve"),
        ("s3", "P9", "reject"),
    ]
    assert rows[2]["why"] == "nobody with this ID or code has been here"


@pytest.mark.parametrize(
    ("lines", "decisions"),
    [
        (["participantId;code", "P1;{code}"], ["approve"]),
        (["participantId\tcode", "P1\t{code}"], ["approve"]),
        (["P1"], ["approve"]),
        (["P1", "P9"], ["approve", "reject"]),
        (["id,code,note", "P1,{code},nice, thank you"], ["approve"]),
        (["id,code,note", "P1"], ["approve"]),
        (["\ufeffid,code", "P1,{code}"], ["approve"]),
        (["id,code", "", "P1,{code}", ","], ["approve"]),
        (["decision,why,id", "x,y,P1"], ["approve"]),
        # Whose it is, is not clear: a person looks at it.
        (["id,code", "fraud1,{code}", "fraud2,{code}"], ["wait", "wait"]),
        (["id,code", "P1,{code}", "fraud,{code}"], ["wait", "wait"]),
        (["id,code", "P2,{code}"], ["wait"]),
        (["id,code", "fraud,{code}"], ["wait"]),
        (["code", "{code}"], ["approve"]),
        (["id,code", "X9,{code}", "P2,"], ["wait", "approve"]),
        (["id", "P1", "P1"], ["wait", "wait"]),
    ],
)
def test_a_list_is_read_as_panels_write_it_and_nothing_is_guessed(
    campaign: Campaign, manager: Client, lines: list[str], decisions: list[str]
) -> None:
    link, crowd = open_panel(campaign), InhouseCrowd(PANEL_SITE)
    for person in ("P1", "P2"):
        for assignment in work(link, person, 1):
            crowd.approve(assignment)
    code = Visit.objects.get(member__participant__external_id="P1").code
    rows = rows_of(check(manager, link, [line.replace("{code}", code) for line in lines]))
    assert [row["decision"] for row in rows] == decisions


def test_who_came_by_another_link_of_the_campaign_is_not_rejected(
    campaign: Campaign, manager: Client
) -> None:
    first, second = open_panel(campaign), open_panel(campaign, note="autumn")
    work(first, "P1", 1)
    work(second, "P2", 1)
    rows = rows_of(check(manager, second, ["id", "P1", "P2", "P3"]))
    assert [row["decision"] for row in rows] == ["wait", "wait", "reject"]
    assert "by another link" in rows[0]["why"]


def test_a_number_in_another_column_names_nobody(campaign: Campaign, manager: Client) -> None:
    """Some panels' IDs are short numbers."""
    link, crowd = open_panel(campaign), InhouseCrowd(PANEL_SITE)
    for person in ("7", "12", "20"):
        for assignment in work(link, person, 1):
            crowd.approve(assignment)
    rows = rows_of(check(manager, link, ["who,minutes", "7,12", "12,20", "20,4", "99,5"]))
    assert [row["decision"] for row in rows] == ["approve"] * 3 + ["reject"]


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("id\nM\u00fcller P1".encode("latin-1"), "list.csv is not in UTF-8"),
        (b"id,code\nP8,ABC\n", "Is it the list of another study?"),
        (b"\0\0\0", "list"),
        (b"", "list.csv"),
    ],
)
def test_a_list_of_others_or_in_another_encoding_is_refused(
    campaign: Campaign, manager: Client, body: bytes, fault: str
) -> None:
    link = open_panel(campaign)
    work(link, "P1", 1)
    place = f"/admin/campaigns/study/panels/{link.key}.csv"
    refused = manager.post(place, {"file": SimpleUploadedFile("list.csv", body)})
    assert refused.status_code == 422
    assert fault in text(refused)


def test_our_own_list_can_be_checked_again(campaign: Campaign, manager: Client) -> None:
    link = open_panel(campaign)
    for assignment in work(link, "=1+1", 1):
        InhouseCrowd(PANEL_SITE).approve(assignment)
    place = f"/admin/campaigns/study/panels/{link.key}.csv"
    body = b"".join(manager.get(place).streaming_content)  # type: ignore[attr-defined]
    (row,) = rows_of(manager.post(place, {"file": SimpleUploadedFile("ours.csv", body)}))
    assert row["decision"] == "approve"


def test_a_code_that_everybody_has_tells_nobody_apart(campaign: Campaign, manager: Client) -> None:
    link = open_panel(campaign, code="THANKS")
    work(link, "P1", 1)
    work(link, "P2", 1)
    rows = rows_of(check(manager, link, ["code,id", "THANKS,P9", "THANKS,P1"]))
    assert [row["why"][:6] for row in rows] == ["nobody", "1 of 1"]


@pytest.mark.parametrize("name", ["list.xlsx", "list.csv"])
def test_a_list_that_cannot_be_read_is_refused_in_a_sentence(
    campaign: Campaign, manager: Client, name: str
) -> None:
    refused = check(manager, open_panel(campaign), [], name)
    assert refused.status_code == 422
    assert "list." in text(refused)


def test_cells_never_become_formulas(campaign: Campaign, manager: Client) -> None:
    link = open_panel(campaign)
    work(link, "=1+1", 1)
    (row,) = listed(manager, link).values()
    assert not row["participant"].startswith("=")


def test_the_page_shows_the_address_to_paste_and_only_to_who_may(
    campaign: Campaign, manager: Client
) -> None:
    with pytest.raises(UserError, match="in place of XXX"):
        open_panel(campaign, "sona", return_url="https://x.sona-systems.com/done?c=XXX")
    link = open_panel(campaign, "sona", return_url="https://x.sona-systems.com/done?c={person}")
    shown = text(manager.get("/admin/campaigns/study/panels/"))
    assert f"/panel/{link.key}?sona_id=%SURVEY_CODE%" in shown
    for path in ("", f"{link.key}.csv"):
        reader = signed_in(staff(f"reader{len(path)}"))
        assert reader.get(f"/admin/campaigns/study/panels/{path}").status_code == 403


def test_only_a_panel_s_campaign_has_the_page(manager: Client) -> None:
    offer_hits("own")
    assert manager.get("/admin/campaigns/own/panels/").status_code == 404
    assert "Panels" not in text(manager.get("/admin/campaigns/own/"))


def test_a_link_needs_a_published_campaign_of_a_panel(campaign: Campaign) -> None:
    (own,) = offer_hits("own")
    with pytest.raises(UserError, match="create a campaign with --crowd panel"):
        open_panel(own.campaign)
    campaign.hit_type_id = ""
    with pytest.raises(UserError, match="Publish study first"):
        open_panel(campaign)


def test_a_second_open_link_to_a_panel_needs_a_note(campaign: Campaign, manager: Client) -> None:
    link = open_panel(campaign)
    with pytest.raises(UserError, match="give this one a note"):
        open_panel(campaign, tasks=9)
    open_panel(campaign, note="autumn")
    assert "CloudResearch Connect: autumn" in text(manager.get("/admin/campaigns/study/panels/"))
    perform(OPERATIONS["close-panel"], campaign, {"link": link.key}, by=NOBODY)
    open_panel(campaign)


def test_where_no_contact_is_set_the_link_says_what_participants_lack(
    campaign: Campaign, settings: Settings
) -> None:
    operation = OPERATIONS["open-panel"]
    given = operation.complete({"panel": "connect"})
    for contact, warned in (("", True), ("lab@example.org", False)):
        settings.CONTACT, given["note"] = contact, contact
        sentences = " ".join(operation.preview(campaign, given))
        assert ("QUORUM_CONTACT is not set" in sentences) is warned
        made = perform(operation, campaign, given, by=NOBODY)
        assert ("warning" in made) is warned


def test_the_panel_s_own_id_names_a_participant_and_is_not_logged(campaign: Campaign) -> None:
    link = open_panel(campaign)
    work(link, "P1", 1)
    Account.objects.create(campaign=campaign)
    fetch_submissions(campaign, InhouseCrowd(PANEL_SITE))
    worker = Member.objects.get().worker_id
    options = {"worker": "P1", "reason": "Copied answers."}
    perform(OPERATIONS["exclude"], campaign, options, by=NOBODY)
    assert campaign.exclusions.get().worker.worker_id == worker
    OutboxMessage.objects.update(state=OutboxMessage.State.DONE)
    perform(OPERATIONS["forget-participant"], campaign, {"worker": "P1"}, by=NOBODY)
    assert not Participant.objects.exists()
    entries = AuditEntry.objects.filter(verb__in=["exclude", "forget-participant"])
    assert set(entries.values_list("subject", flat=True)) == {worker}
    assert "P1" not in str(entries.values_list("details", flat=True))


def test_an_id_that_two_links_give_to_two_people_names_nobody(campaign: Campaign) -> None:
    for note in ("", "autumn"):
        work(open_panel(campaign, "other", note=note), "7", 1)
    with pytest.raises(UserError, match="No participant"):
        perform(OPERATIONS["forget-participant"], campaign, {"worker": "7"}, by=NOBODY)


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"parameter": "1st"}, "A parameter of a link begins with a letter"),
        ({"code": "a b c d"}, "A completion code has"),
        ({"code": "abc"}, "A completion code has"),
        ({"return_url": "http://panel.example.org"}, "begins with https://"),
        ({"return_url": "javascript:alert(1)"}, "begins with https://"),
        ({"return_url": "https://[broken"}, "begins with https://"),
        ({"return_url": "https://a.example.org/" + "x" * 500}, "at most 500 characters"),
    ],
)
def test_what_a_panel_could_not_use_is_refused(
    campaign: Campaign, options: dict[str, object], fault: str
) -> None:
    with pytest.raises(UserError, match=fault):
        open_panel(campaign, **options)
    assert not PanelLink.objects.exists()


def test_closing_ends_the_arrivals_and_forgetting_deletes_the_id(campaign: Campaign) -> None:
    link = open_panel(campaign)
    work(link, "P1", 1)
    perform(OPERATIONS["close-panel"], campaign, {"link": link.key}, by=NOBODY)
    with pytest.raises(UserError, match="has closed"):
        visits.arrive(PanelLink.objects.get(), visits.Person("P2"), now=timezone.now())
    worker = Member.objects.get().worker_id
    perform(OPERATIONS["forget-participant"], campaign, {"worker": worker}, by=NOBODY)
    assert not Participant.objects.exists()
    assert Assignment.objects.count() == 1
    with pytest.raises(UserError, match="No participant"):
        perform(OPERATIONS["forget-participant"], campaign, {"worker": "ADA"}, by=NOBODY)
    with pytest.raises(UserError, match="no such link"):
        perform(OPERATIONS["close-panel"], campaign, {"link": "0" * 32}, by=NOBODY)
