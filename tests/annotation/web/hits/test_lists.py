"""Lists that stay fast: pages by key, which together show exactly what was asked for."""

import csv
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.db.models import Q
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import html

from annotation.analytics.campaign.snapshots import take
from annotation.models import Assignment, Campaign, Hit, Triplet, Worker
from annotation.web.base import pagination as keyset
from annotation.web.base.pagination import Place
from annotation.web.hits import assignments, hits, triplets
from tests.annotation.pipeline.whole.own_crowd import own_team
from tests.annotation.web.base.readers import plays, root
from tests.exports.support.campaigns import VERDICTS, make_campaign
from tests.support.examples import examples

pytestmark = pytest.mark.django_db

HOSTILE = "<script>alert(1)</script>\"'{{ 7|add:7 }}"
JUDGED = {**VERDICTS, "sun": VERDICTS["rain"], "sea": VERDICTS["tea"]}
LISTS = ("triplets", "hits", "assignments")


def address(kind: str, name: str = "demo") -> str:
    return f"/admin/campaigns/{name}/{kind}/"


@pytest.fixture
def campaign() -> Campaign:
    """15 triplets of five queries, a HIT for each; other campaigns' rows lie before and behind."""
    make_campaign({"moon": ["ada+ bob+"]}, name="before")
    campaign = make_campaign(JUDGED)
    make_campaign({"moon": ["ada+ bob+"]}, name="behind")
    return campaign


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of three rows that look through five keys, so that there are many."""
    monkeypatch.setattr(keyset, "PAGE_SIZE", 3)
    for name, value in (("TEXT_REACH", 4), ("AT_ONCE", 2), ("MOST_PAIRS", 3)):
        monkeypatch.setattr(triplets, name, value)
    for module in (triplets, hits, assignments):
        monkeypatch.setattr(module, "REACH", 5)


def pages(client: Client, kind: str, /, **asked: object) -> Iterator[Any]:
    start: int | None = 0
    for _ in range(100):
        response = client.get(address(kind), {**asked, "from": start})
        assert response.status_code == 200
        found = response.context["window"]
        yield found
        start = found.more
        if start is None:
            return
    raise AssertionError("the pages have no end")


def walk(client: Client, kind: str, /, **asked: object) -> list[Any]:
    return [row for found in pages(client, kind, **asked) for row in found.rows]


def about_moon(triplet: Triplet) -> bool:
    return "about moon" in triplet.candidate.query.text


TRIPLETS: list[tuple[dict[str, object], Callable[[Triplet], bool]]] = [
    ({}, lambda _: True),
    ({"status": "unresolved"}, lambda row: row.status == "unresolved"),
    ({"label": "1"}, lambda row: row.label == 1),
    ({"label": "none"}, lambda row: row.label is None),
    ({"votes": 3}, lambda row: row.votes == 3),
    ({"from_rank": 2, "to_rank": 2}, lambda row: row.candidate.rank == 2),
    ({"from_rank": 3}, lambda row: row.candidate.rank >= 3),
    ({"status": "labelled", "votes": 2}, lambda row: row.label is not None and row.votes == 2),
    ({"q": "MOON"}, lambda row: "moon" in row.candidate.query.text),
    ({"q": "about moon", "label": "1"}, lambda row: about_moon(row) and row.label == 1),
    ({"q": "question 2", "within": "question"}, lambda row: row.candidate.rank == 2),
    ({"q": "ION 2", "within": "question"}, lambda row: row.candidate.rank == 2),
    ({"q": "moon", "within": "question"}, lambda row: "moon" in row.candidate.pair.question),
    ({"q": "%", "within": "question"}, lambda _: False),
    ({"q": "%"}, lambda row: "%" in row.candidate.query.text),
    ({"q": "no such word"}, lambda _: False),
    ({"votes": 9}, lambda _: False),
]  # fmt: skip


@pytest.mark.concurrent  # PostgreSQL has an index of words
@pytest.mark.usefixtures("short")
@pytest.mark.parametrize(
    ("asked", "expected"), TRIPLETS, ids=lambda one: "rows" if callable(one) else str(one)
)
def test_the_pages_of_triplets_show_what_was_asked_for(
    campaign: Campaign, asked: dict[str, object], expected: Callable[[Triplet], bool]
) -> None:
    rows = campaign.triplets.select_related("candidate__query").order_by("pk")
    assert walk(root(), "triplets", **asked) == [row for row in rows if expected(row)]


def test_a_triplet_is_found_by_its_number(campaign: Campaign) -> None:
    triplet = campaign.triplets.order_by("pk")[7]
    assert walk(root(), "triplets", q=triplet.pk) == [triplet]
    foreign = Triplet.objects.exclude(campaign=campaign).first()
    assert foreign
    assert walk(root(), "triplets", q=foreign.pk) == []


def test_of_very_many_queries_the_first_ones_are_shown_and_it_says_so(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(triplets, "MOST_QUERIES", 2)
    response = root().get(address("triplets"), {"q": "what"})
    first = campaign.query_set.queries.order_by("position")[:2]
    found = {row.candidate.query for row in response.context["window"].rows}
    assert found == set(first)
    assert "More than 2 queries have these words" in response.content.decode()


@pytest.mark.usefixtures("short")
def test_a_page_says_how_far_it_has_looked(campaign: Campaign) -> None:
    text = root().get(address("triplets"), {"votes": 9}).content.decode()
    assert "No matches among the first 5 triplets" in text
    assert "from=" in text


@pytest.mark.usefixtures("short")
@settings(
    max_examples=examples(15),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.integers(1, 9), st.integers(1, 9), st.booleans())
def test_however_long_the_pages_are_they_show_the_same(
    monkeypatch: pytest.MonkeyPatch, campaign: Campaign, size: int, reach: int, down: bool
) -> None:
    monkeypatch.setattr(keyset, "PAGE_SIZE", size)
    rows = campaign.triplets.all()
    met, start = [], 0
    while True:
        found = keyset.window(rows, at=Place(start, down), where=Q(label=1), reach=reach)
        assert len(found.rows) <= size
        met += found.rows
        if found.more is None:
            break
        assert not start or (found.more < start) == down
        start = found.more
    assert met == list(rows.filter(label=1).order_by("-pk" if down else "pk"))


def in_states(campaign: Campaign) -> dict[str, set[int]]:
    """A few HITs in each state, by the numbers they have."""
    now = timezone.now()
    expected: dict[str, set[int]] = {}
    for number, (name, columns) in enumerate(
        [
            ("faulty", {"fault": "unreadable"}),
            ("faulty", {"fault": "unreadable", "crowd_id": None}),
            ("planned", {"crowd_id": None}),
            ("open", {"max_assignments": 9, "expires_at": now + timedelta(days=1)}),
            ("open", {"max_assignments": 9}),
            ("expired", {"max_assignments": 9, "expires_at": now - timedelta(days=1)}),
            ("expired", {"max_assignments": 9, "closed_at": now}),
            ("expired", {"max_assignments": 9, "gone": True}),
            ("full", {"expires_at": now - timedelta(days=1)}),
        ]
    ):
        campaign.hits.filter(number=number).update(**columns)
        expected.setdefault(name, set()).add(number)
    expected["full"] |= set(range(9, 15))  # as many submitted as there were assignments
    return expected


@pytest.mark.usefixtures("short")
def test_every_hit_is_in_one_state(campaign: Campaign) -> None:
    client, found = root(), {}
    expected = in_states(campaign)
    for state in expected:
        numbers = [hit.number for hit in walk(client, "hits", state=state)]
        assert numbers == sorted(numbers)
        found[state] = set(numbers)
    assert found == expected
    assert [hit.number for hit in walk(client, "hits")] == list(range(15))


def test_a_hit_is_found_by_number_key_and_id(campaign: Campaign) -> None:
    hit = campaign.hits.get(number=7)
    assert hit.crowd_id
    for name in ("7", hit.key, hit.crowd_id):
        assert walk(root(), "hits", q=name) == [hit]
    foreign = Hit.objects.exclude(campaign=campaign).first()
    assert foreign
    assert walk(root(), "hits", q=foreign.key) == []


@pytest.mark.usefixtures("short")
def test_repacked_hits_can_be_told_from_the_first_round(campaign: Campaign) -> None:
    campaign.hits.filter(number__in=[3, 12]).update(repack=True)
    assert [hit.number for hit in walk(root(), "hits", round="repack")] == [3, 12]
    assert len(walk(root(), "hits", round="first")) == 13


ASSIGNMENTS: list[tuple[dict[str, object], Callable[[Assignment], bool]]] = [
    ({}, lambda _: True),
    ({"status": "rejected"}, lambda row: row.status == "rejected"),
    ({"passed": "no"}, lambda row: row.passed is False),
    ({"passed": "yes"}, lambda row: row.passed is True),
    ({"passed": "none"}, lambda row: row.passed is None),
    ({"worker": "third"}, lambda row: row.worker.worker_id == "third"),
    ({"worker": "nobody"}, lambda _: False),
    ({"hit": "4"}, lambda row: row.hit.number == 4),
]


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize(
    ("asked", "expected"), ASSIGNMENTS, ids=lambda one: "rows" if callable(one) else str(one)
)
def test_the_pages_of_assignments_show_what_was_asked_for(
    campaign: Campaign, asked: dict[str, object], expected: Callable[[Assignment], bool]
) -> None:
    campaign_works = Assignment.objects.filter(hit__campaign=campaign)
    campaign_works.filter(hit__number=14).update(passed=None, failure="")
    rows = campaign_works.select_related("hit", "worker").order_by("hit__number", "pk")
    assert walk(root(), "assignments", **asked) == [row for row in rows if expected(row)]


def test_an_assignment_is_found_by_its_id(campaign: Campaign) -> None:
    work = Assignment.objects.filter(hit__campaign=campaign)[3]
    assert walk(root(), "assignments", q=work.crowd_id) == [work]
    foreign = Assignment.objects.exclude(hit__campaign=campaign).first()
    assert foreign
    assert walk(root(), "assignments", q=foreign.crowd_id) == []


@pytest.mark.parametrize(
    ("kind", "asked"),
    [
        ("triplets", {"votes": "many"}),
        ("triplets", {"status": "strange"}),
        ("triplets", {"q": "a\0b"}),
        ("triplets", {"q": "x" * 201}),
        ("hits", {"state": "strange"}),
        ("assignments", {"passed": "perhaps"}),
    ],
)
def test_what_cannot_be_asked_for_is_said(
    campaign: Campaign, kind: str, asked: dict[str, str]
) -> None:
    response = root().get(address(kind), asked)
    assert response.status_code == 422
    assert "dash-error" in response.content.decode()
    assert "window" not in response.context


def test_an_address_made_up_begins_at_the_beginning(campaign: Campaign) -> None:
    client = root()
    for kind in LISTS:
        first = client.get(address(kind)).context["window"].rows
        for start in ("-1", "x", "9" * 30, "1 or 1=1", "²", ""):
            found = client.get(address(kind), {"from": start}).context["window"]
            assert found.rows == first, (kind, start)


def test_whoever_sees_the_campaign_sees_its_lists_and_who_owns_another_does_not(
    campaign: Campaign,
) -> None:
    """The table of all addresses says what each role gets."""
    elsewhere = plays("owner", Campaign.objects.get(name="before"))
    assert [elsewhere.get(address(kind)).status_code for kind in LISTS] == [404] * len(LISTS)


def test_a_list_takes_few_queries_and_counts_up_to_a_bound(campaign: Campaign) -> None:
    client = plays("viewer", campaign)
    for kind in LISTS:
        with CaptureQueriesContext(connection) as made:
            client.get(address(kind))
        assert len(made) <= 20, kind
        spoken = [query["sql"] for query in made]
        assert not any("OFFSET" in sql for sql in spoken)
        first = next(sql for sql in spoken if "COUNT(*)" in sql)
        assert f"LIMIT {keyset.MOST_COUNTED + 1}" in first


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize(
    ("kind", "key"), [("triplets", "triplet"), ("hits", "hit"), ("assignments", "hit")]
)
def test_from_the_end_the_pages_show_the_same_and_previous_leads_back(
    campaign: Campaign, kind: str, key: str
) -> None:
    client = root()
    rows = walk(client, kind)
    place = address(kind)
    there, response = [], client.get(place, {"sort": f"-{key}"})
    while True:
        there.append(response.context["window"].rows)
        if not response.context["next"]:
            break
        response = client.get(place + response.context["next"])
    assert {row.pk for page in there for row in page} == {row.pk for row in rows}
    assert there[0][0] in {rows[-1], rows[-2], rows[-3]}
    back = []
    while response.context["steps"].previous:
        response = client.get(place + response.context["steps"].previous)
        back.append(response.context["window"].rows)
    assert back == there[-2::-1]
    assert response.context["steps"].first == ""


@pytest.mark.parametrize(
    ("kind", "asked", "total"),
    [("triplets", {}, 15), ("triplets", {"from_rank": 3}, 5), ("hits", {"state": "full"}, 15),
     ("assignments", {"status": "rejected"}, None)],
)  # fmt: skip
def test_the_total_is_of_what_the_filter_finds(
    campaign: Campaign, kind: str, asked: dict[str, object], total: int | None
) -> None:
    found = root().get(address(kind), asked).context["window"]
    assert found.total == (len(walk(root(), kind, **asked)) if total is None else total)


def of(kind: str, campaign: Campaign) -> list[Any]:
    """In the order that equals keep."""
    every: dict[str, Any] = {
        "triplets": campaign.triplets.select_related("candidate__query", "candidate__pair"),
        "hits": campaign.hits.all(),
        "assignments": Assignment.objects.filter(hit__campaign=campaign).select_related("worker"),
    }
    return list(every[kind].order_by("pk"))


SORTED: list[tuple[str, str, Callable[[Any], Any]]] = [
    ("triplets", "rank", lambda row: row.candidate.rank),
    ("triplets", "votes", lambda row: row.votes),
    ("triplets", "question", lambda row: row.candidate.pair.question),
    ("triplets", "label", lambda row: (row.label is None, row.label)),
    ("hits", "max", lambda row: row.max_assignments),
    ("hits", "submitted", lambda row: row.assignments.count()),
    ("assignments", "worker", lambda row: row.worker.worker_id),
    ("assignments", "submitted", lambda row: row.submitted_at),
]


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize(("kind", "column", "value"), SORTED)
def test_a_list_is_sorted_by_a_column_on_all_its_pages_and_in_its_file(
    campaign: Campaign, kind: str, column: str, value: Callable[[Any], Any]
) -> None:
    client, rows = root(), of(kind, campaign)
    upwards = sorted(rows, key=value)
    assert walk(client, kind, sort=column) == upwards
    if column != "label":  # triplets without a label come last, either way
        downwards = sorted(rows, key=value, reverse=True)
        assert walk(client, kind, sort=f"-{column}") == downwards
    response = client.get(address(kind), {"sort": column, "as": "csv"})
    lines = list(csv.DictReader(response.getvalue().decode().splitlines()))
    name = {"triplets": "triplet", "hits": "hit", "assignments": "assignment"}[kind]
    key = {"triplets": "pk", "hits": "number", "assignments": "crowd_id"}[kind]
    assert [line[name] for line in lines] == [str(getattr(row, key)) for row in upwards]


def headings(client: Client, kind: str, **asked: object) -> dict[str, Any]:
    page = html.document_fromstring(client.get(address(kind), asked).content.decode())
    return {one.text_content(): one for one in page.xpath("//thead//th")}


def test_a_heading_keeps_the_filter_begins_again_and_says_the_order(campaign: Campaign) -> None:
    client = root()
    shown = headings(client, "triplets", status="labelled", sort="-votes", back="x")
    assert shown["Votes"].get("aria-sort") == "descending"
    assert shown["Votes"].xpath("a/@href") == ["?status=labelled&sort=votes"]
    assert shown["Rank"].xpath("a/@href") == ["?status=labelled&sort=-rank"]
    assert [name for name, one in shown.items() if one.get("aria-sort")] == ["Votes"]
    assert headings(client, "triplets")["Triplet"].get("aria-sort") == "ascending"
    page = html.document_fromstring(client.get(address("hits"), {"sort": "-max"}).content.decode())
    assert page.xpath("//form[@role='search']//input[@name='sort']/@value") == ["-max"]


@pytest.mark.parametrize("kind", LISTS)
def test_a_long_list_is_never_sorted_but_by_its_key(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(keyset, "MOST_COUNTED", 14)
    client = root()
    column = {"triplets": "rank", "hits": "max", "assignments": "worker"}[kind]
    assert walk(client, kind, sort=f"-{column}") == walk(client, kind)
    links = [one for one in headings(client, kind).values() if one.xpath("a")]
    assert [one.get("aria-sort") for one in links] == ["ascending"]


def test_a_file_is_read_without_counting_its_rows(campaign: Campaign) -> None:
    for kind in LISTS:
        with CaptureQueriesContext(connection) as made:
            root().get(address(kind), {"as": "csv"}).getvalue()
        assert not any("SELECT COUNT(*) FROM" in query["sql"] for query in made), kind


def test_a_long_list_is_not_counted_but_estimated(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    take(campaign)
    monkeypatch.setattr(keyset, "MOST_COUNTED", 14)
    client = root()
    assert "about 15 triplets" in client.get(address("triplets")).content.decode()
    filtered = client.get(address("triplets"), {"votes": 2})
    assert filtered.context["window"].total is None
    assert "about" not in filtered.content.decode().split('aria-label="Found"')[1][:300]


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize(
    ("kind", "asked", "column"),
    [("triplets", {"label": "1"}, "triplet"), ("hits", {}, "hit"), ("assignments", {}, "hit")],
)
def test_the_file_has_every_row_that_the_filter_finds(
    campaign: Campaign, kind: str, asked: dict[str, object], column: str
) -> None:
    response = root().get(address(kind), {**asked, "as": "csv"})
    lines = list(csv.DictReader(response.getvalue().decode().splitlines()))
    rows = walk(root(), kind, **asked)
    keys = {"triplets": lambda row: row.pk, "hits": lambda row: row.number}
    key = keys.get(kind, lambda row: row.hit.number)
    assert [line[column] for line in lines] == [str(key(row)) for row in rows]


def test_the_file_of_triplets_says_what_made_each_label(campaign: Campaign) -> None:
    decided = campaign.triplets.filter(status="labelled")[0]
    campaign.triplets.filter(pk=decided.pk).update(label_source="expert")
    response = root().get(address("triplets"), {"as": "csv"})
    lines = csv.DictReader(response.getvalue().decode().splitlines())
    assert {line["triplet"]: line["label_source"] for line in lines} == {
        str(one.pk): one.label_source or "" for one in campaign.triplets.all()
    }


def test_hostile_texts_stay_texts(campaign: Campaign) -> None:
    query = campaign.query_set.queries.first()
    assert query
    query.text = HOSTILE
    query.save()
    Worker.objects.filter(worker_id="bob").update(worker_id="<b>bob")
    client = root()
    for kind, asked in (("triplets", HOSTILE), ("hits", "</form>"), ("assignments", "</form>")):
        for q in ("", asked):
            page = client.get(address(kind), {"q": q}).content.decode()
            assert HOSTILE not in page
            assert "<b>bob" not in page
            assert f'value="{asked}' not in page


def test_the_record_of_a_hit_loads_no_selects(
    campaign: Campaign, django_assert_max_num_queries: Any
) -> None:
    client, hit = root(), campaign.hits.get(number=7)
    with django_assert_max_num_queries(12):
        page = client.get(f"/admin/annotation/hit/{hit.pk}/change/").content.decode()
    assert "<option" not in page


def test_an_empty_list_says_why_and_what_is_next() -> None:
    campaign = make_campaign({}, name="new")
    client, plan = root(), f'<a href="/admin/campaigns/{campaign}/milestones">'
    for kind in LISTS:
        page = client.get(address(kind, "new")).content.decode()
        assert plan in page.split('aria-label="Found"')[1]
        page = client.get(address(kind, "new"), {"q": "word"}).content.decode()
        assert "No results. Try removing a filter." in page


@pytest.mark.usefixtures("small_database")
def test_a_team_s_assignments_have_the_names_of_its_members(tmp_path: Path) -> None:
    team = own_team(tmp_path)
    team.publish()
    work = team.take("ada")
    assert work is not None
    team.submit(work)
    team.advance()
    place = address("assignments", "team")
    assert headings_and_cells(root().get(place).content.decode())["Worker"] == "ada"
    response = root().get(place, {"as": "csv"})
    (line,) = csv.DictReader(response.getvalue().decode().splitlines())
    assert (line["name"], line["worker"]) == ("ada", team.member("ada").worker_id)


def headings_and_cells(page: str) -> dict[str, str]:
    """Of a list of one row."""
    table = html.document_fromstring(page).xpath("//table")[0]
    cells = [one.text_content().strip() for one in table.xpath(".//tbody/tr/*")]
    return dict(
        zip((one.text_content() for one in table.xpath(".//th[@scope='col']")), cells, strict=True)
    )
