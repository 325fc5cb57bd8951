"""The page of all workers: who may read it, sorting, search, filters, and what it costs."""

import csv
import io

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from lxml.html import HtmlElement

from annotation.analytics.campaign import snapshots
from annotation.analytics.workers import worker_figures
from annotation.analytics.workers.effort import BARS
from annotation.crowd.inhouse.models import Member
from annotation.models import Assignment, Exclusion, Role, Worker
from annotation.protocol.policy.crowds import INHOUSE
from annotation.protocol.policy.policy import Policy
from annotation.web.workers.columns import duration, rule_of
from tests.annotation.support.annotators import NOON, Annotators, make_annotators
from tests.annotation.support.hits import make_campaign, make_hit
from tests.support.pages import parse

pytestmark = pytest.mark.django_db

PAGE = "/admin/campaigns/faq/workers/"
REPORTS = f"{PAGE}reports"
HOSTILE = "<script>alert(1)</script>\"'&{{ 7 }}"
MOST_QUERIES = 20


@pytest.fixture
def annotators() -> Annotators:
    return make_annotators()


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("ada"))
    return client


def names(page: HtmlElement) -> list[str]:
    return [str(name) for name in page.xpath("//main//tbody//bdi/text()")] or [
        str(name) for name in page.xpath("//tbody//bdi/text()")
    ]


def lines_of(staff: Client, page: str) -> list[dict[str, str]]:
    """Of the file that the page offers."""
    text = staff.get(page, {"as": "csv"}).getvalue().decode()
    return list(csv.DictReader(io.StringIO(text)))


def exclude(annotators: Annotators, name: str, **columns: object) -> None:
    worker = Worker.objects.get(worker_id=name)
    Exclusion.objects.create(
        campaign=annotators.campaign, worker=worker, failures=1, reviewed=1, **columns
    )


@pytest.mark.parametrize(
    ("rate", "said"), [(0.1, "10%"), (0.125, "12.5%"), (0.005, "0.5%"), (0.07, "7%"), (0, "0%")]
)
def test_the_limit_is_told_as_the_policy_has_it(rate: float, said: str) -> None:
    rule = rule_of(Policy(max_failure_rate=rate))
    assert rule == f"failed more than {said} of at least 10 reviewed HITs"


def test_the_sequential_rule_is_said_with_its_bound() -> None:
    assert rule_of(Policy(exclusion_rule="sequential")) == (
        "failed more reviewed HITs than is likely of somebody who fails 10% of them: "
        "of such people 1% at most are ever excluded"
    )


# Who may read it


def test_strangers_sign_in_first_and_come_back(client: Client, annotators: Annotators) -> None:
    response = client.get(PAGE)
    assert response.status_code == 302
    assert response["location"] == f"/sign-in?next={PAGE}"


@pytest.mark.parametrize("address", [PAGE, REPORTS, f"{PAGE}times.csv"])
def test_who_has_no_part_in_it_reads_no_worker(
    client: Client, annotators: Annotators, address: str
) -> None:
    annotators.work("AEVE", 1, 10)
    user = User.objects.create_user("bob")
    client.force_login(user)
    assert client.get(address).status_code == 403
    Role.objects.create(user=user, campaign=make_campaign("other"), name="owner")
    response = client.get(address)
    assert response.status_code == 404
    assert "AEVE" not in response.content.decode()


@pytest.mark.parametrize("role", ["owner", "manager", "viewer"])
def test_whoever_sees_its_votes_may_read(client: Client, annotators: Annotators, role: str) -> None:
    user = User.objects.create_user("bob")
    Role.objects.create(user=user, campaign=annotators.campaign, name=role)
    client.force_login(user)
    for address in (PAGE, REPORTS, f"{PAGE}times.csv"):
        assert client.get(address).status_code == 200
        assert client.post(address).status_code == 405


def test_staff_without_any_other_right_may_read(client: Client, annotators: Annotators) -> None:
    client.force_login(User.objects.create_user("bob", is_staff=True))
    assert client.get(PAGE).status_code == 200


def test_a_campaign_that_is_not_there_is_not_found(staff: Client) -> None:
    assert staff.get("/admin/campaigns/nothing/workers/").status_code == 404


def test_the_old_address_leads_here(staff: Client, annotators: Annotators) -> None:
    response = staff.get("/campaigns/faq/people")
    assert (response.status_code, response["location"]) == (301, PAGE)


# What it shows


def test_before_the_first_work_the_page_says_what_brings_it(
    staff: Client, annotators: Annotators
) -> None:
    page = parse(staff.get(PAGE))
    assert "quorum campaign collect faq" in page.text_content()
    assert page.xpath("//table") == []


def test_flags_say_in_words_what_to_look_at(staff: Client, annotators: Annotators) -> None:
    for number in range(1, 5):
        annotators.work("ada", number, 90)
        annotators.work("eve", number, 20, straight=number < 3)
    annotators.work("bob", 1, 90)
    page = parse(staff.get(PAGE))
    flags = {
        row.xpath("string(.//bdi)"): [str(flag) for flag in row.xpath("./th/small/text()")]
        for row in page.xpath("//table[contains(@class, 'workers-table')]/tbody/tr")
    }
    assert flags == {
        "ada": [],
        "eve": [
            "less than a third of the usual time",
            "one answer throughout in 2 of 4 HITs",
        ],
        "bob": [],
    }


def test_failures_stand_with_their_rate_and_what_the_rule_allows(
    staff: Client, annotators: Annotators
) -> None:
    for number in range(1, 5):
        annotators.work("eve", number, 60, passed=number > 1)
    page = parse(staff.get(PAGE))
    assert "1 of 4 · 25%" in page.text_content()
    assert "more than 10% of at least 10" in " ".join(page.text_content().split())
    assert "near the limit" in page.xpath("string(//tbody/tr/th)")


def test_an_exclusion_shows_at_once_whenever_the_figures_were_made(
    staff: Client, annotators: Annotators
) -> None:
    annotators.work("eve", 1, 60)
    assert "excluded" not in parse(staff.get(PAGE)).xpath("string(//tbody/tr/th)")
    exclude(annotators, "eve")
    assert "excluded" in parse(staff.get(PAGE)).xpath("string(//tbody/tr/th)")


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
    staff: Client, annotators: Annotators, sort: str, order: list[str]
) -> None:
    annotators.work("ada", 1, 90)
    annotators.work("bob", 1, 60)
    annotators.work("cara", 1)
    annotators.work("cara", 2)
    response = staff.get(PAGE, {"sort": sort})
    assert names(parse(response)) == order
    assert b"<script>alert" not in response.content


def test_a_second_click_on_a_column_turns_it_round(staff: Client, annotators: Annotators) -> None:
    annotators.work("ada", 1, 90)
    for asked, then in (("-time", "time"), ("time", "-time"), ("hits", "-time")):
        page = parse(staff.get(PAGE, {"sort": asked, "page": "1"}))
        (link,) = page.xpath("//th[a[text() = 'Median time']]/a/@href")
        assert link == f"?sort={then}"
    (ordered,) = page.xpath("//th[@aria-sort]")
    assert (ordered.text_content(), ordered.get("aria-sort")) == ("HITs", "ascending")


@pytest.mark.parametrize(
    ("show", "found"),
    [
        ("", ["ada", "bob", "cleo", "eve"]),
        ("excluded", ["eve"]),
        ("near", ["bob"]),
        ("fast", ["cleo"]),
        ("one-answer", ["cleo"]),
        ("nonsense", ["ada", "bob", "cleo", "eve"]),
    ],
)
def test_the_table_is_filtered(
    staff: Client, annotators: Annotators, show: str, found: list[str]
) -> None:
    """Dan would be near too, had nobody taken him back by hand."""
    for number in (1, 2, 3):
        annotators.work("ada", number, 90)
    annotators.work("bob", 1, 90, passed=False)
    annotators.work("cleo", 1, 20, straight=True)
    annotators.work("eve", 1, 90, passed=False)
    exclude(annotators, "eve")
    assert names(parse(staff.get(PAGE, {"show": show, "sort": "worker"}))) == found


def test_who_was_restored_manually_is_not_called_near(
    staff: Client, annotators: Annotators
) -> None:
    annotators.work("dan", 1, 90, passed=False)
    assert names(parse(staff.get(PAGE, {"show": "near"}))) == ["dan"]
    exclude(annotators, "dan", restored_at=NOON)
    assert names(parse(staff.get(PAGE, {"show": "near"}))) == []


@pytest.mark.parametrize(
    ("q", "found"), [("ada", ["ADA1", "ADA2"]), (" A2 ", ["ADA2"]), ("\0", ["ADA1", "ADA2", "EVE"])]
)
def test_workers_are_found_by_a_part_of_their_name(
    staff: Client, annotators: Annotators, q: str, found: list[str]
) -> None:
    for name in ("ADA1", "ADA2", "EVE"):
        annotators.work(name, 1, 60)
    assert names(parse(staff.get(PAGE, {"q": q, "sort": "worker"}))) == found


def test_nobody_found_is_said(staff: Client, annotators: Annotators) -> None:
    annotators.work("ada", 1, 60)
    page = parse(staff.get(PAGE, {"q": HOSTILE}))
    assert "No results. Try removing a filter." in page.text_content()
    assert page.xpath("//input[@type='search']/@value") == [HOSTILE]


def test_one_s_own_people_are_named_and_found_as_they_sign_in(staff: Client) -> None:
    bob = Member.objects.create(user=User.objects.create_user("bob<b>"), joined_at=NOON)
    campaign = make_campaign("ours", **INHOUSE.defaults())
    worker = Worker.objects.create(crowd="inhouse", worker_id=bob.worker_id)
    Assignment.objects.create(
        hit=make_hit(campaign),
        worker=worker,
        crowd_id="w",
        accepted_at=NOON,
        submitted_at=NOON,
        answers={},
    )
    for q in ("", "bob<", bob.worker_id):
        page = staff.get("/admin/campaigns/ours/workers/", {"q": q}).content.decode()
        assert "<bdi>bob&lt;b&gt;</bdi>" in page
        assert bob.worker_id in page
    (line,) = lines_of(staff, "/admin/campaigns/ours/workers/")
    assert (line["worker"], line["name"]) == (bob.worker_id, "bob<b>")


def test_the_file_names_nobody_of_a_paid_crowd(staff: Client, annotators: Annotators) -> None:
    annotators.work("ada", 1, 60)
    (line,) = lines_of(staff, PAGE)
    assert (line["worker"], line["name"]) == ("ada", "")


def test_fifty_workers_stand_on_a_page(staff: Client, annotators: Annotators) -> None:
    for number in range(51):
        annotators.work(f"W{number:03}", 1, 60)
    first = parse(staff.get(PAGE, {"sort": "worker"}))
    assert (len(names(first)), names(first)[0]) == (50, "W000")
    (link,) = first.xpath("//a[@rel='next']/@href")
    last = parse(staff.get(PAGE + link))
    assert names(last) == ["W050"]
    assert last.xpath("//a[@rel='next']") == []
    for garbage in ("0", "-1", "99", "x", "9" * 40, HOSTILE):
        for address in (PAGE, REPORTS):
            assert staff.get(address, {"page": garbage}).status_code == 200


def test_hostile_names_and_texts_are_shown_as_they_are(staff: Client) -> None:
    annotators = make_annotators(1)
    hit = make_hit(annotators.campaign, real=[(HOSTILE, HOSTILE + "?", HOSTILE)])
    annotators = Annotators(annotators.campaign, [hit])
    done = annotators.work(HOSTILE[:20], 1, 60)
    annotators.report(done, 0, "other", HOSTILE)
    response = staff.get(PAGE)
    assert names(parse(response)) == [HOSTILE[:20]]
    assert b"<script>alert" not in response.content
    response = staff.get(REPORTS)
    page = parse(response)
    assert page.xpath("//dd[@dir]/text()") == [HOSTILE, HOSTILE + "?", HOSTILE]
    assert page.xpath("//q/text()") == [HOSTILE]
    assert b"<script>alert" not in response.content


def test_reported_items_link_to_their_hit(staff: Client, annotators: Annotators) -> None:
    annotators.report(annotators.work("ada", 1), 1)
    page = parse(staff.get(REPORTS))
    (link,) = page.xpath("//article//a/@href")
    assert link == f"/admin/campaigns/faq/hits/{annotators.hits[0].pk}"
    assert "a positive control" in page.text_content()
    assert parse(staff.get(PAGE)).xpath(f"//a[@href='{REPORTS}']")


def test_nobody_has_reported_anything(staff: Client, annotators: Annotators) -> None:
    assert "No reported items." in parse(staff.get(REPORTS)).text_content()


def test_the_bars_have_their_table_and_their_file(staff: Client, annotators: Annotators) -> None:
    for seconds in (500, 1500, 1700):
        annotators.work(f"W{seconds}", 1, seconds / 1000)
    page = parse(staff.get(PAGE))
    rows = page.xpath("//section[@aria-labelledby='chart-times-title']//tbody/tr")
    assert len(rows) == BARS
    assert [cell.text_content() for cell in rows[1]] == ["1 s to 2 s", "2"]
    (link,) = page.xpath("//section[@aria-labelledby='chart-times-title']//a/@href")
    lines = list(csv.reader(io.StringIO(staff.get(link).content.decode())))
    assert lines[:3] == [["Active time", "HITs"], ["0 s to 1 s", "1"], ["1 s to 2 s", "2"]]
    assert lines[-1][0] == "19 s and longer"


def test_without_a_reward_no_wage_is_shown(staff: Client) -> None:
    annotators = make_annotators(
        crowd="inhouse", masters=False, min_approval_percent=0, min_approved=0, reward_cents=0
    )
    annotators.work("ada", 1, 60)
    for sort in ("", "wage"):
        assert "Hourly wage" not in parse(staff.get(PAGE, {"sort": sort})).text_content()


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


# What it costs


def test_more_workers_and_reports_cost_no_more_queries(
    staff: Client, annotators: Annotators
) -> None:
    annotators.report(annotators.work("ada", 1, 60), 0)
    for address in (PAGE, REPORTS):
        staff.get(address)
        with CaptureQueriesContext(connection) as few:
            staff.get(address)
        for number in range(5):
            annotators.report(annotators.work(f"{address[-1]}{number}", number + 1, 60), 1)
        worker_figures.take(annotators.campaign)
        with CaptureQueriesContext(connection) as many:
            staff.get(address)
        assert len(many) == len(few) <= MOST_QUERIES


def test_a_large_campaign_s_page_walks_no_judgments(
    staff: Client, annotators: Annotators, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The figures are those of the last pass, however old."""
    annotators.work("ada", 1, 60)
    worker_figures.take(annotators.campaign)
    annotators.work("bob", 1, 60)
    annotators.campaign.workforce.at = NOON
    annotators.campaign.workforce.save()
    monkeypatch.setattr(snapshots, "SMALL", 0)
    with CaptureQueriesContext(connection) as seen:
        page = parse(staff.get(PAGE))
    assert names(page) == ["ada"]
    assert "2026-11-02 12:00:00 UTC" in page.text_content()
    assert len(seen) <= MOST_QUERIES
    # Whether the campaign is complete is asked of one row.
    walks = [query["sql"] for query in seen.captured_queries if "LIMIT 1" not in query["sql"]]
    tables = " ".join(walks)
    assert "annotation_judgment" not in tables
    assert "annotation_assignment" not in tables


def test_figures_that_were_never_made_are_announced(
    staff: Client, annotators: Annotators, monkeypatch: pytest.MonkeyPatch
) -> None:
    annotators.work("ada", 1, 60)
    monkeypatch.setattr(snapshots, "SMALL", 0)
    assert "appear after the next pass" in parse(staff.get(PAGE)).text_content()
