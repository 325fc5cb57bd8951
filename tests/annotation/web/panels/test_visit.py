"""People whom a panel sends: from its link to the code that they bring back."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils import timezone

from annotation.crowd.inhouse import visits
from annotation.crowd.inhouse.adapter import PANEL_SITE, InhouseCrowd
from annotation.crowd.inhouse.models import Assignment, Member, PanelLink, Participant, Visit
from annotation.models import Hit, Role
from annotation.protocol.policy.crowds import PANEL
from annotation.web.panels.visit import ARRIVALS
from tests.annotation.web.stage import hit_at, offer_hits, sheet, staff, text

pytestmark = pytest.mark.django_db


@pytest.fixture
def hits(db: None) -> list[Hit]:
    return offer_hits("study", hits=4, traits=PANEL)


def link_to(hits: list[Hit], panel: str = "connect", **options: object) -> PanelLink:
    wanted = {"tasks": 2, "now": timezone.now(), **options}
    return visits.open_link(hits[0].campaign.hit_type_id, panel, **wanted)  # type: ignore[arg-type]


def address(link: PanelLink, person: str) -> str:
    return f"/panel/{link.key}?{link.parameter}={person}"


def come(link: PanelLink, person: str) -> tuple[Client, str]:
    """A browser that has come in, and where it was led."""
    browser = Client()
    came = browser.post(address(link, person))
    assert came.status_code == 302, text(came)
    return browser, came["Location"]


def page_of(person: str) -> str:
    """Of the visit; the only one where there is one."""
    return f"/work/visits/{Visit.objects.get(member__participant__external_id=person).pk}"


def judge(browser: Client, place: str) -> str:
    """Submits the task; where it goes on."""
    sent = browser.post(place, sheet(hit_at(place)))
    assert sent.status_code == 303
    return str(sent["Location"])


def test_a_participant_does_the_tasks_of_a_visit_and_leaves_with_a_code(hits: list[Hit]) -> None:
    link = link_to(hits, return_url="https://panel.example.org/done?who={person}&cc={code}")
    before = Client().get(address(link, "P7"))
    assert "2 tasks of 7 questions each" in text(before)
    assert "$0.30 if all are approved. That is at least $0.30 an hour" in text(before)
    assert not Visit.objects.exists()  # who only looks leaves nothing

    browser, first = come(link, "P7")
    second = judge(browser, first)
    assert second.startswith("/work/")
    assert second != first
    assert "1 of 2 tasks done" in text(browser.get(page_of("P7")))
    assert judge(browser, second) == page_of("P7")
    over = browser.get(page_of("P7"), follow=True)
    visit = Visit.objects.get()
    assert visit.finished_at
    assert len(visit.code) == 10
    assert visit.code in text(over)
    way = f'href="https://panel.example.org/done?who=P7&amp;cc={visit.code}"'
    assert way in over.content.decode()
    nothing_more = browser.post("/work/next", follow=True)
    assert nothing_more.request["PATH_INFO"] == page_of("P7")


def test_the_same_id_goes_on_in_another_browser_and_counts_as_one_person(hits: list[Hit]) -> None:
    link = link_to(hits)
    _, first = come(link, "P7")
    _, again = come(link, "P7")
    assert again == first
    assert (Member.objects.count(), Visit.objects.count()) == (1, 1)
    come(link, "P8")
    assert Member.objects.count() == 2


def test_who_has_finished_and_comes_back_reads_the_code_first(hits: list[Hit]) -> None:
    link = link_to(hits, tasks=1)
    browser, first = come(link, "P7")
    judge(browser, first)
    browser.get(page_of("P7"))
    again = text(Client().get(address(link, "P7")))
    assert Visit.objects.get().code in again
    assert "I agree" not in again


def test_nothing_is_submitted_before_the_visit_is_finished(hits: list[Hit]) -> None:
    """Who never gets the code is never paid: their work is not used."""
    crowd = InhouseCrowd(PANEL_SITE)
    browser, first = come(link_to(hits, tasks=3), "P7")
    second = judge(browser, first)
    judge(browser, second)
    done = [crowd_id(place) for place in (first, second)]
    assert [submitted(crowd, hit) for hit in done] == [0, 0]
    counts = [crowd.hit(hit_at(place).crowd_id) for place in (first, second)]
    assert [(one.pending, one.available, one.submitted) for one in counts if one] == [(1, 1, 0)] * 2
    browser.post(page_of("P7"))
    assert [submitted(crowd, hit) for hit in done] == [1, 1]


def test_work_of_a_visit_that_is_never_finished_goes_to_others(hits: list[Hit]) -> None:
    browser, first = come(link_to(hits), "P7")
    judge(browser, first)
    Assignment.objects.filter(status=Assignment.Status.HELD).update(
        submitted_at=timezone.now() - timedelta(hours=24)
    )
    crowd = InhouseCrowd(PANEL_SITE)
    assert {hit.available + hit.pending for hit in crowd.hits()} == {2}
    assert not any(submitted(crowd, hit.crowd_id) for hit in hits)
    assert Assignment.objects.get(assignment_id=first[6:]).status == Assignment.Status.LAPSED


def crowd_id(place: str) -> str:
    return hit_at(place).crowd_id


def submitted(crowd: InhouseCrowd, hit_id: str) -> int:
    return len(list(crowd.submissions(hit_id)))


def test_one_code_for_everybody_where_the_link_has_one(hits: list[Hit]) -> None:
    link = link_to(hits, code="THANKS-24")
    for person in ("P7", "P8"):
        come(link, person)
    assert set(Visit.objects.values_list("code", flat=True)) == {"THANKS-24"}


def test_who_stops_early_gets_the_code_for_what_is_done_and_frees_the_task(
    hits: list[Hit],
) -> None:
    browser, first = come(link_to(hits), "P7")
    nothing = browser.post(page_of("P7"), follow=True)
    assert Visit.objects.get().finished_at is None  # nothing was done, nothing is paid
    assert "completion code" not in text(nothing)
    judge(browser, first)
    over = browser.post(page_of("P7"), follow=True)
    assert "You have submitted 1 task." in text(over)
    assert not Assignment.objects.filter(status=Assignment.Status.ACCEPTED).exists()


def test_when_the_tasks_run_out_the_visit_can_be_finished(hits: list[Hit]) -> None:
    browser, place = come(link_to(hits, tasks=9), "P7")
    for _ in hits:
        place = judge(browser, place)
    assert place == page_of("P7")
    assert "There are no more tasks for you" in text(browser.get(place))


@pytest.mark.parametrize(
    "query",
    ["", "?participantId=", "?participantId=%25SURVEY_CODE%25", "?participantId=" + "x" * 129,
     "?participantId={{participantId}}", "?participantId=%00", "?id=P7"],
)  # fmt: skip
def test_a_link_that_does_not_say_who_comes_lets_nobody_in(hits: list[Hit], query: str) -> None:
    link = link_to(hits)
    for refused in (
        Client().get(f"/panel/{link.key}{query}"),
        Client().post(f"/panel/{link.key}{query}"),
    ):
        assert refused.status_code == 404
        assert "Open it from the panel's own page." in text(refused)
    assert not Participant.objects.exists()


def test_an_unknown_link_and_a_closed_one_let_nobody_new_in(hits: list[Hit]) -> None:
    link = link_to(hits)
    assert Client().get("/panel/" + "0" * 32 + "?participantId=P7").status_code == 404
    browser, first = come(link, "P7")
    visits.close_link(link, now=timezone.now())
    refused = Client().post(address(link, "P8"))
    assert (refused.status_code, "This study has closed" in text(refused)) == (404, True)
    assert come(link, "P7")[1] == first  # who was here goes on
    assert judge(browser, first).startswith("/work/")


def test_in_two_campaigns_at_once_each_visit_has_tasks_and_a_code_of_its_own(
    hits: list[Hit],
) -> None:
    others = offer_hits("second", hits=4, traits=PANEL)
    browser, first = come(link_to(hits), "P7")
    browser.post(address(link_to(others), "P7"))
    earlier, later = Visit.objects.order_by("pk")
    judge(browser, first)  # begun by the first link, and open when they came by the second
    for visit, mine in ((earlier, hits), (later, others)):
        place = f"/work/visits/{visit.pk}"
        hit_type = visit.link.queue.queue_id
        while (task := browser.post("/work/next", {"hit_type": hit_type})["Location"]) != place:
            assert hit_at(task) in mine
            judge(browser, task)
        assert visit.code in text(browser.get(place, follow=True))
    assert [visits.done_in(visit).handed_in for visit in (earlier, later)] == [2, 2]
    assert (
        list(later.assignments.values_list("posted_hit__queue", flat=True))
        == [later.link.queue_id] * 2
    )


def test_a_finished_visit_shows_its_code_again_while_another_one_is_open(
    hits: list[Hit],
) -> None:
    first, second = link_to(hits, tasks=1), link_to(hits, tasks=1)
    browser, place = come(first, "P7")
    judge(browser, place)
    done = Visit.objects.get()
    browser.get(page_of("P7"))
    come(second, "P7")
    _, again = come(first, "P7")
    assert again == f"/work/visits/{done.pk}"


@pytest.mark.parametrize("page", ["/", "/mails", "/password", "/admin/", "/api/v1/me"])
def test_a_participant_s_session_opens_tasks_and_nothing_else(hits: list[Hit], page: str) -> None:
    browser, _ = come(link_to(hits), "P7")
    gone = browser.get(page)
    assert (gone.status_code, gone["Location"]) == (302, "/work")


def test_a_visit_of_somebody_else_is_nobody_s_to_see(hits: list[Hit]) -> None:
    link = link_to(hits)
    come(link, "P7")
    browser, _ = come(link, "P8")
    assert browser.get(page_of("P7")).status_code == 404


def test_more_participants_than_a_network_sends_have_to_wait(
    hits: list[Hit], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("annotation.web.panels.visit.ARRIVALS", replace(ARRIVALS, most=2))
    link = link_to(hits)
    browser, _ = come(link, "P7")
    come(link, "P8")
    refused = Client().post(address(link, "P9"))
    assert (refused.status_code, "from your network" in text(refused)) == (429, True)
    assert Member.objects.count() == 2
    assert browser.get(address(link, "P7")).status_code == 200  # who has come in goes on


def test_ids_cannot_be_tried_out_to_see_which_are_known(
    hits: list[Hit], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("annotation.web.panels.visit.ARRIVALS", replace(ARRIVALS, most=3))
    link = link_to(hits, "sona")
    come(link, "10012")
    tried = [Client().get(address(link, f"100{number}")) for number in (10, 11, 12, 13)]
    assert [one.status_code for one in tried] == [200, 200, 429, 429]
    assert "Go on" not in text(tried[2])


def test_a_signed_in_reader_keeps_their_account(hits: list[Hit]) -> None:
    browser = Client()
    browser.force_login(staff("ada"))
    refused = browser.post(address(link_to(hits), "P7"))
    assert refused.status_code == 409
    assert "You are signed in as ada" in text(refused)
    assert not Visit.objects.exists()


def test_the_next_participant_at_the_same_computer_comes_in_as_themselves(
    hits: list[Hit],
) -> None:
    link = link_to(hits)
    browser, first = come(link, "P7")
    judge(browser, first)
    browser.post(address(link, "P8"))
    assert browser.get(page_of("P8")).status_code == 200
    assert browser.get(page_of("P7")).status_code == 404


@pytest.mark.parametrize("right", ["staff", "superuser", "password", "role", "group"])
def test_an_id_in_a_link_never_opens_an_account_with_rights(hits: list[Hit], right: str) -> None:
    link = link_to(hits)
    come(link, "P7")
    user = User.objects.get(member__participant__external_id="P7")
    user.is_staff, user.is_superuser = right == "staff", right == "superuser"
    if right == "password":
        user.set_password("a long sentence of theirs")
    user.save()
    if right == "role":
        Role.objects.create(user=user, campaign=hits[0].campaign, name=Role.Name.OWNER)
    if right == "group":
        user.groups.add(Group.objects.create(name="readers"))
    browser = Client()
    refused = browser.post(address(link, "P7"))
    assert refused.status_code == 403
    assert SESSION_KEY not in browser.session


def test_team_and_panel_never_get_each_other_s_tasks(hits: list[Hit]) -> None:
    """Two campaigns, one of each crowd, with the same title and reward."""
    (own,) = offer_hits("own", reward_cents=15, title=hits[0].campaign.policy.title)
    browser, place = come(link_to(hits, tasks=50), "P7")
    theirs = set()
    while place != page_of("P7"):
        theirs.add(hit_at(place).campaign.name)
        place = judge(browser, place)
    assert theirs == {"study"}
    user = User.objects.create_user("ada")
    Member.objects.create(user=user, joined_at=timezone.now())
    ada = Client()
    ada.force_login(user)
    assert hit_at(ada.post("/work/next")["Location"]) == own
    assert {hit.annotation for hit in InhouseCrowd().hits()} == {own.key}
    assert {hit.annotation for hit in InhouseCrowd(PANEL_SITE).hits()} == {hit.key for hit in hits}


def test_a_participant_of_two_campaigns_works_in_the_one_they_came_for(hits: list[Hit]) -> None:
    birds = offer_hits("birds", hits=2, traits=PANEL)
    come(link_to(hits), "P7")
    Assignment.objects.update(status=Assignment.Status.RETURNED)
    _, place = come(link_to(birds), "P7")
    assert hit_at(place).campaign.name == "birds"
    assert Member.objects.count() == 1  # known by the same panel's ID


def test_ids_of_panels_that_have_no_name_here_are_each_link_s_own(hits: list[Hit]) -> None:
    for link in (link_to(hits, "other"), link_to(hits, "other", parameter="who")):
        come(link, "7")
    assert Member.objects.count() == 2


def test_a_forgotten_participant_leaves_judgments_and_no_id(hits: list[Hit]) -> None:
    link = link_to(hits)
    browser, first = come(link, "P7")
    judge(browser, first)
    visits.forget(Member.objects.get())
    assert not Participant.objects.exists()
    statuses = Assignment.objects.order_by("pk").values_list("status", flat=True)
    assert list(statuses) == [Assignment.Status.HELD, Assignment.Status.RETURNED]
    assert browser.get("/work").status_code == 302  # signed out


def test_hostile_ids_are_shown_as_text(hits: list[Hit]) -> None:
    link = link_to(hits, "other", return_url="https://panel.example.org/?id={person}")
    browser = Client()
    browser.post(f"/panel/{link.key}", QUERY_STRING="id=a%22%26b='c")
    judge(browser, f"/work/{Assignment.objects.get().assignment_id}")
    over = browser.post(page_of("a\"&b='c"), follow=True).content.decode()
    assert "?id=a%22%26b%3D%27c" in over
