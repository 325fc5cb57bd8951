"""Who works and how: the owner's figures and their page."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from lxml import html
from lxml.html import HtmlElement

from annotation.crowd.inhouse.models import Member
from annotation.item_reports import Complaint, read_items, reported_items
from annotation.models import (
    Account,
    Assignment,
    Campaign,
    Exclusion,
    Hit,
    Intent,
    ItemReport,
    Observation,
    Worker,
)
from annotation.people import BARS, Effort, Person, effort_of, histogram, hourly, people_of
from annotation.progress import progress
from annotation.protocol.policy import INHOUSE
from annotation.views.people import duration
from tests.annotation.hits import make_campaign, make_hit

pytestmark = pytest.mark.django_db

PAGE = "/campaigns/faq/people"
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
HOSTILE = "<script>alert(1)</script>\"'&{{ 7 }}"


@dataclass
class Crew:
    """A campaign of some HITs, and what its workers have handed in."""

    campaign: Campaign
    hits: Sequence[Hit]

    def work(
        self,
        name: str,
        number: int,
        seconds: float | None = None,
        *,
        status: str = "approved",
        passed: bool = True,
        changes: int = 0,
        straight: bool = False,
    ) -> Assignment:
        assignment = Assignment.objects.create(
            hit=self.hits[number - 1],
            worker=Worker.objects.get_or_create(crowd="mturk", worker_id=name)[0],
            crowd_id=f"{name}-{number}",
            status=status,
            accepted_at=NOON,
            submitted_at=NOON + timedelta(hours=1),
            answers={},
            passed=passed,
        )
        Observation.objects.create(
            assignment=assignment,
            active_ms=None if seconds is None else round(seconds * 1000),
            changes=changes,
            straight=straight,
        )
        return assignment

    def bonus(self, assignment: Assignment, cents: int, *, state: str = "done") -> None:
        Intent.objects.create(
            campaign=self.campaign,
            kind="bonus",
            token=f"{assignment.crowd_id}-{cents}",
            assignment=assignment,
            worker=assignment.worker,
            cents=cents,
            state=state,
        )

    def report(
        self, assignment: Assignment, position: int, reason: str = "unclear", text: str = ""
    ) -> None:
        item = assignment.hit.items.get(position=position)
        ItemReport.objects.create(assignment=assignment, item=item, reason=reason, text=text)

    def people(self) -> dict[str, Person]:
        return {person.worker: person for person in people_of(self.campaign)}


def make_crew(hits: int = 6, **policy: object) -> Crew:
    campaign = make_campaign("faq", **policy)
    Account.objects.create(campaign=campaign)
    real = [[(f"query {number}", f"question {number}", "answer")] for number in range(hits)]
    return Crew(campaign, [make_hit(campaign, real=rows) for rows in real])


@pytest.fixture
def crew() -> Crew:
    return make_crew()


def test_medians_and_wages_are_those_worked_out_by_hand(crew: Crew) -> None:
    """At 15 cents a HIT.

    Ada: 100, 110 and 210 s, all approved: 45 cents in 420 s are 386 (385.7) an hour; median 110.
    Bob: 40 s approved, 60 s rejected, 500 s undecided: 15 cents in 100 s are 540; median 60.
    Cara: 200 s approved with bonuses of 5 and, only asked for, 90 cents: 20 in 200 s are 360.
    Dan: two HITs without a time: no wage, no median.
    All: 40 60 100 110 200 210 500: median 110; 80 cents in 720 s are 400 an hour;
    the worker in the middle of 360, 386 and 540 has 386.
    """
    for number, seconds in ((1, 100), (2, 110), (3, 210)):
        crew.work("ada", number, seconds)
    crew.work("bob", 1, 40)
    crew.work("bob", 2, 60, status="rejected", passed=False)
    crew.bonus(crew.work("bob", 3, 500, status="submitted"), 70)
    done = crew.work("cara", 1, 200)
    crew.bonus(done, 5)
    crew.bonus(done, 90, state="pending")
    crew.work("dan", 1)
    crew.work("dan", 2)
    found = crew.people()
    figures = {
        name: (person.handed_in, person.failed, person.median_ms, person.hourly_cents)
        for name, person in found.items()
    }
    assert figures == {
        "ada": (3, 0, 110_000, 386),
        "bob": (3, 1, 60_000, 540),
        "cara": (1, 0, 200_000, 360),
        "dan": (2, 0, None, None),
    }
    assert effort_of(found.values()) == Effort(
        timed=7, median_ms=110_000, hourly_cents_median=386, hourly_cents_pooled=400
    )


def test_the_median_of_an_even_number_lies_between(crew: Crew) -> None:
    for number, seconds in enumerate((10, 20, 31, 400), start=1):
        crew.work("ada", number, seconds)
    assert crew.people()["ada"].median_ms == 25_500


def test_where_nothing_is_paid_by_the_piece_there_is_no_wage() -> None:
    crew = make_crew(
        crowd="inhouse", masters=False, min_approval_percent=0, min_approved=0, reward_cents=0
    )
    crew.work("ada", 1, 60)
    assert crew.people()["ada"].hourly_cents is None
    effort = effort_of(crew.people().values())
    assert (effort.median_ms, effort.hourly_cents_median, effort.hourly_cents_pooled) == (
        60_000,
        None,
        None,
    )


def test_all_work_rejected_earns_nothing_an_hour(crew: Crew) -> None:
    crew.work("eve", 1, 60, status="rejected", passed=False)
    assert crew.people()["eve"].hourly_cents == 0


def test_no_time_at_all_divides_nothing(crew: Crew) -> None:
    crew.work("eve", 1, 0)
    assert crew.people()["eve"].hourly_cents is None
    assert hourly(15, 0) is None
    assert hourly(None, 1000) is None


def test_a_bonus_for_work_without_a_time_is_in_no_wage(crew: Crew) -> None:
    crew.work("ada", 1, 60)
    crew.bonus(crew.work("ada", 2), 500)
    assert crew.people()["ada"].hourly_cents == 15 * 60


def test_changes_and_straight_lines_are_counted_by_hit(crew: Crew) -> None:
    """Changes by HITs with a time, straight lines by all that were observed."""
    crew.work("ada", 1, 60, changes=3)
    crew.work("ada", 2, 60, changes=2, straight=True)
    crew.work("ada", 3)
    crew.work("ada", 4, straight=True)
    ada = crew.people()["ada"]
    assert (ada.changes_per_hit, ada.straight_share) == (2.5, 0.5)


def test_reports_and_exclusions_are_those_of_this_campaign(crew: Crew) -> None:
    done = crew.work("ada", 1, 60)
    crew.report(done, 0)
    crew.report(done, 1)
    crew.work("eve", 1, 60)
    other = make_campaign("other")
    for campaign, restored_at in ((other, None), (crew.campaign, NOON)):
        Exclusion.objects.create(
            campaign=campaign, worker=done.worker, failures=1, reviewed=1, restored_at=restored_at
        )
    eve = Worker.objects.get(worker_id="eve")
    Exclusion.objects.create(campaign=crew.campaign, worker=eve, failures=1, reviewed=1)
    found = crew.people()
    assert (found["ada"].reports, found["ada"].excluded) == (2, False)
    assert (found["eve"].reports, found["eve"].excluded) == (0, True)
    assert people_of(other) == []


@pytest.mark.parametrize(("seconds", "fast"), [(29.9, True), (30, False), (30.1, False)])
def test_fast_is_under_a_third_of_the_campaign_s_median(
    crew: Crew, seconds: float, fast: bool
) -> None:
    """The campaign's is 90 seconds, whatever eve takes."""
    for number in (1, 2, 3):
        crew.work("ada", number, 90)
    crew.work("eve", 4, seconds)
    assert crew.people()["eve"].is_fast is fast
    assert not crew.people()["ada"].is_fast


@pytest.mark.parametrize(("straight", "told"), [(0, False), (1, False), (2, True)])
def test_more_than_a_fifth_of_straight_lines_is_worth_a_look(
    crew: Crew, straight: int, told: bool
) -> None:
    for number in range(1, 6):
        crew.work("eve", number, 60, straight=number <= straight)
    assert crew.people()["eve"].is_straight is told


@pytest.mark.parametrize(
    ("times", "step", "counts"),
    [
        ([], 1, {}),
        ([0, 999, 1000, 18_999], 1, {0: 2, 1: 1, 18: 1}),
        ([19_000] * 20, 2, {9: 20}),
        ([30_000] * 99 + [3_600_000], 2, {15: 99, 19: 1}),
        ([10**12], 21_600, {19: 1}),
    ],
)
def test_the_bars_hold_every_time_and_the_last_one_the_longest(
    times: list[int], step: int, counts: dict[int, int]
) -> None:
    found = histogram(times)
    assert found.step_s == step
    assert list(found.counts) == [counts.get(bar, 0) for bar in range(BARS)]


def test_status_tells_of_times_and_wages_once_there_are_some(crew: Crew) -> None:
    crew.work("ada", 1)
    assert "median_active_seconds" not in progress(crew.campaign)
    crew.work("ada", 2, 45.25)
    crew.work("bob", 2, 60)
    found = progress(crew.campaign)
    assert found["median_active_seconds"] == 52.6
    assert (found["hourly_cents_median"], found["hourly_cents_pooled"]) == (1046, 1026)
    out = StringIO()
    call_command("campaign", "status", "faq", stdout=out)
    (told,) = (line for line in out.getvalue().splitlines() if "worker in the middle" in line)
    assert told.endswith("$10.46")


def test_items_that_most_have_reported_come_first(crew: Crew) -> None:
    ada, bob, cara = (crew.work(name, 1) for name in ("ada", "bob", "cara"))
    crew.report(ada, 0, "other", "Dull.")
    crew.report(ada, 1)
    crew.report(bob, 1, "personal")
    crew.report(cara, 1, text="Which?")
    first, second = read_items(list(reported_items(crew.campaign)))
    assert (first.position, first.workers) == (2, 3)
    assert first.complaints == [
        Complaint("It cannot be understood", 2, ["Which?"]),
        Complaint("It holds personal data", 1),
    ]
    assert (second.query, second.control, second.workers) == ("query 0", "", 1)
    assert second.complaints == [Complaint("Something else", 1, ["Dull."])]
    assert list(reported_items(make_campaign("other"))) == []


@pytest.mark.parametrize(
    ("ms", "words"),
    [
        (0, "0 s"),
        (59_400, "59 s"),
        (59_600, "1 min"),
        (90_000, "1 min 30 s"),
        (3_600_000, "1 h"),
        (5_430_000, "1 h 30 min"),
    ],
)
def test_times_are_told_as_people_say_them(ms: float, words: str) -> None:
    assert duration(ms) == words


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("ada"))
    return client


def test_one_s_own_people_are_named_as_they_sign_in(staff: Client) -> None:
    bob = Member.objects.create(user=User.objects.create_user("bob<b>"), joined_at=NOON)
    campaign = make_campaign("ours", **INHOUSE)
    worker = Worker.objects.create(crowd="inhouse", worker_id=bob.worker_id)
    Assignment.objects.create(
        hit=make_hit(campaign),
        worker=worker,
        crowd_id="w",
        accepted_at=NOON,
        submitted_at=NOON,
        answers={},
    )
    page = staff.get("/campaigns/ours/people").content.decode()
    assert "bob&lt;b&gt;" in page
    assert bob.worker_id in page


def parse(response: HttpResponse) -> HtmlElement:
    assert response.status_code == 200
    return html.document_fromstring(response.content.decode())


def names(page: HtmlElement) -> list[str]:
    return [str(name) for name in page.xpath("//tbody//bdi/text()")]


def test_strangers_sign_in_first_and_come_back(client: Client, crew: Crew) -> None:
    response = client.get(PAGE)
    assert response.status_code == 302
    assert response["location"] == f"/sign-in?next={PAGE}"


def test_who_is_not_of_the_staff_reads_a_refusal_and_no_worker(client: Client, crew: Crew) -> None:
    crew.work("AEVE", 1, 10)
    client.force_login(User.objects.create_user("bob"))
    response = client.get(PAGE)
    assert response.status_code == 403
    assert "AEVE" not in response.content.decode()


def test_staff_without_any_other_right_may_read(client: Client, crew: Crew) -> None:
    client.force_login(User.objects.create_user("bob", is_staff=True))
    assert client.get(PAGE).status_code == 200
    assert client.post(PAGE).status_code == 405


def test_a_campaign_that_is_not_there_is_not_found(staff: Client) -> None:
    assert staff.get("/campaigns/nothing/people").status_code == 404


def test_before_the_first_work_the_page_says_what_brings_it(staff: Client, crew: Crew) -> None:
    page = parse(staff.get(PAGE))
    assert "manage.py campaign collect faq" in page.text_content()
    assert page.xpath("//table") == []


def test_flags_say_in_words_what_to_look_at(staff: Client, crew: Crew) -> None:
    for number in range(1, 5):
        crew.work("ada", number, 90)
        crew.work("eve", number, 20, straight=number < 3)
    crew.work("bob", 1, 90)
    page = parse(staff.get(PAGE))
    flags = {
        row.xpath("string(.//bdi)"): [str(flag) for flag in row.xpath(".//small/text()")]
        for row in page.xpath("//tbody/tr")
    }
    assert flags == {
        "ada": [],
        "eve": [
            "less than a third of the usual time",
            "one answer throughout in 2 of 4 HITs",
        ],
        "bob": [],
    }


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("", ["cara", "ada", "bob"]),
        ("-hits", ["cara", "ada", "bob"]),
        ("hits", ["ada", "bob", "cara"]),
        ("worker", ["ada", "bob", "cara"]),
        ("-worker", ["cara", "bob", "ada"]),
        ("time", ["bob", "ada", "cara"]),
        ("-time", ["ada", "bob", "cara"]),  # cara has none
        ("nonsense", ["cara", "ada", "bob"]),
        (HOSTILE, ["cara", "ada", "bob"]),
    ],
)
def test_the_table_sorts_by_its_links(
    staff: Client, crew: Crew, sort: str, order: list[str]
) -> None:
    crew.work("ada", 1, 90)
    crew.work("bob", 1, 60)
    crew.work("cara", 1)
    crew.work("cara", 2)
    response = staff.get(PAGE, {"sort": sort})
    assert names(parse(response)) == order
    assert b"<script>" not in response.content


def test_a_second_click_on_a_column_turns_it_round(staff: Client, crew: Crew) -> None:
    crew.work("ada", 1, 90)
    for asked, then in (("-time", "time"), ("time", "-time"), ("hits", "-time")):
        page = parse(staff.get(PAGE, {"sort": asked, "page": "1"}))
        (link,) = page.xpath("//th[a[text() = 'Median time']]/a/@href")
        assert link == f"?sort={then}"
    (ordered,) = page.xpath("//th[@aria-sort]")
    assert (ordered.text_content(), ordered.get("aria-sort")) == ("HITs", "ascending")


def test_a_hundred_workers_stand_on_a_page(staff: Client, crew: Crew) -> None:
    for number in range(101):
        crew.work(f"W{number:03}", 1, 60)
    first = parse(staff.get(PAGE, {"sort": "worker"}))
    assert (len(names(first)), names(first)[0]) == (100, "W000")
    (link,) = first.xpath("//a[@rel='next']/@href")
    assert names(parse(staff.get(PAGE + link))) == ["W100"]
    for garbage in ("0", "-1", "99", "x", HOSTILE):
        assert staff.get(PAGE, {"page": garbage, "items": garbage}).status_code == 200


def test_hostile_names_and_texts_are_shown_as_they_are(staff: Client) -> None:
    campaign = make_campaign("faq")
    crew = Crew(campaign, [make_hit(campaign, real=[(HOSTILE, HOSTILE + "?", HOSTILE)])])
    done = crew.work(HOSTILE[:20], 1, 60)
    crew.report(done, 0, "other", HOSTILE)
    response = staff.get(PAGE)
    page = parse(response)
    assert names(page) == [HOSTILE[:20]]
    assert page.xpath("//dd[@dir]/text()") == [HOSTILE, HOSTILE + "?", HOSTILE]
    assert page.xpath("//q/text()") == [HOSTILE]
    assert b"<script>" not in response.content


def test_reported_items_link_to_their_hit(staff: Client, crew: Crew) -> None:
    crew.report(crew.work("ada", 1), 1)
    page = parse(staff.get(PAGE))
    (link,) = page.xpath("//article//a/@href")
    assert staff.get(link).status_code == 200
    assert "a positive control" in page.text_content()


def test_the_page_needs_neither_scripts_nor_inline_styles(staff: Client, crew: Crew) -> None:
    crew.work("ada", 1, 60)
    page = parse(staff.get(PAGE))
    assert page.xpath("//script | //style | //@style | //@onclick") == []
    assert len(page.xpath("//rect")) == BARS


def test_without_a_reward_no_wage_is_shown(staff: Client) -> None:
    crew = make_crew(
        crowd="inhouse", masters=False, min_approval_percent=0, min_approved=0, reward_cents=0
    )
    crew.work("ada", 1, 60)
    for sort in ("", "wage"):
        assert "Hourly wage" not in parse(staff.get(PAGE, {"sort": sort})).text_content()


def test_more_workers_and_reports_cost_no_more_queries(staff: Client, crew: Crew) -> None:
    crew.report(crew.work("ada", 1, 60), 0)
    staff.get(PAGE)
    with CaptureQueriesContext(connection) as few:
        staff.get(PAGE)
    for number in range(5):
        crew.report(crew.work(f"W{number}", number + 1, 60), 1)
    with CaptureQueriesContext(connection) as many:
        staff.get(PAGE)
    assert len(many) == len(few)


def test_each_campaign_s_card_leads_to_its_pages(staff: Client, crew: Crew) -> None:
    page = parse(staff.get("/"))
    links = page.xpath("//article//nav/a/@href")
    assert links == [
        PAGE,
        "/campaigns/faq/instructions",
        "/campaigns/faq/adjudicate",
        "/campaigns/faq/releases",
    ]
    for link in links:
        assert staff.get(link).status_code == 200


@pytest.mark.parametrize("name", ["observation", "itemreport"])
def test_the_staff_look_at_the_records_and_change_none(
    staff: Client, crew: Crew, name: str
) -> None:
    work = crew.work("ada", 1, 60)
    crew.report(work, 0, "other", HOSTILE)
    row = work.observation if name == "observation" else work.reports.get()
    listed = reverse(f"admin:annotation_{name}_changelist")
    shown = reverse(f"admin:annotation_{name}_change", args=[row.pk])
    for page in (listed, f"{listed}?q=ada", shown):
        response = staff.get(page)
        assert response.status_code == 200
        assert HOSTILE not in response.content.decode()
    assert staff.post(shown, {}).status_code == 403
    assert staff.get(reverse(f"admin:annotation_{name}_add")).status_code == 403
    assert staff.post(reverse(f"admin:annotation_{name}_delete", args=[row.pk])).status_code == 403
