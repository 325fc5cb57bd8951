"""A list's page and the API narrow alike: the same parameters, the same values, the same rows."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from annotation.access.audit_log import Actor, Via, by_page, record
from annotation.api.campaigns.log import EntryFilter
from annotation.web.base.filters import (
    AssignmentFilter,
    Choice,
    Filter,
    HitFilter,
    LabelFilter,
    LogFilter,
    TripletFilter,
)
from tests.annotation.api.people import Program, is_problem
from tests.annotation.web.hits.test_lists import JUDGED, in_states
from tests.exports.support.campaigns import make_campaign

TODAY = datetime.now(UTC).date()
# Of the fields that offer no choice.
SAMPLES: Mapping[str, tuple[object, ...]] = {
    "query": ("nosuchquery",),
    "votes": (0, 2, 3, 99),
    "from_rank": (1, 3),
    "to_rank": (1, 2),
    "hit": (0, 4, 999),
    "worker": ("third", "nobody"),
    "verb": ("pause", "nothing"),
    "actor": ("ada", "eve", "nobody"),
    "since": (TODAY, "9999-12-31"),
    "until": (TODAY, "2020-01-01"),
}
HERE = "/admin/campaigns/demo"
LISTS: Mapping[str, tuple[type[Filter], str, str]] = {
    f"{HERE}/hits/": (HitFilter, "campaigns/demo/hits", "number"),
    f"{HERE}/triplets/": (TripletFilter, "campaigns/demo/triplets", "triplet"),
    f"{HERE}/triplets/?status=labelled": (LabelFilter, "campaigns/demo/labels", "triplet"),
    f"{HERE}/assignments/": (AssignmentFilter, "campaigns/demo/assignments", "id"),
    "/admin/log/": (LogFilter, "log", "id"),
    f"{HERE}/log/": (LogFilter, "log?campaign=demo", "id"),
}


@pytest.fixture
def root(db: None) -> User:
    """Of a campaign with HITs in every state and both rounds, and a log of several people."""
    campaign = make_campaign(JUDGED)
    in_states(campaign)
    campaign.hits.filter(number__in=[3, 12]).update(repack=True)
    campaign.hits.get(number=14).assignments.update(passed=None, failure="")
    ada = User.objects.create_user("ada")
    actors = by_page(ada), Actor(ada, "ada", Via.API), Actor(None, "eve", Via.COMMAND)
    for where in (campaign, make_campaign({}, name="other"), None):
        for actor, verb in zip(actors, ("pause", "resume", "budget"), strict=True):
            record(actor, verb, campaign=where)
    return User.objects.create_superuser("root")


def asked_of(kind: type[Filter]) -> Iterator[str]:
    yield ""
    for name, field in kind.base_fields.items():
        values = field.values if isinstance(field, Choice) else SAMPLES[name]
        yield from (f"{name}={value}" for value in values)


def on_page(client: Client, address: str, key: str) -> list[object]:
    seen = client.get(address).context
    rows = [entry for entry, *_ in seen["rows"]] if "rows" in seen else seen["window"].rows
    return sorted(row.number if key == "number" else row.pk for row in rows)


@pytest.mark.parametrize("page", LISTS)
def test_page_and_api_give_the_same_rows_for_each_value(root: User, page: str) -> None:
    kind, path, key = LISTS[page]
    client, program, report = Client(), Program(root), {}
    client.force_login(root)
    for asked in asked_of(kind):
        address = f"{page}{'&' if '?' in page else '?'}{asked}"
        rows: Any = program.get(f"{path}{'&' if '?' in path else '?'}{asked}&page_size=200").json()
        report[asked] = sorted(row[key] for row in rows["results"])
        assert report[asked] == on_page(client, address, key), asked
    for name in kind.base_fields:
        assert any(
            rows != report[""] for asked, rows in report.items() if asked.startswith(name)
        ), name


@pytest.mark.parametrize(
    ("path", "parameter"),
    [
        ("hits?published=true", "published"),
        ("hits?repack=true", "repack"),
        ("hits?kind=repack", "kind"),
        ("hits?q=1", "q"),
        ("hits?state=closed", "state"),
        ("assignments?passed=true", "passed"),
        ("assignments?hit=one", "hit"),
        ("labels?label=none", "label"),
        ("triplets?votes=-1", "votes"),
        ("expert-labels?sort=1", "sort"),
    ],
)
def test_a_parameter_that_is_wrong_is_named(root: User, path: str, parameter: str) -> None:
    answer = Program(root).get(f"campaigns/demo/{path}")
    assert is_problem(answer, 400)
    assert answer.json()["errors"].keys() == {parameter}


def test_the_words_say_what_there_is_to_choose_from(root: User) -> None:
    program = Program(root)
    (words,) = program.get("log?person=ada").json()["errors"]["person"]
    names = ", ".join([*EntryFilter.base_fields, "cursor", "page_size"])
    assert words == f"Unknown parameter: choose among {names}."
    (words,) = program.get("campaigns/demo/hits?state=gone").json()["errors"]["state"]
    assert words == "Not 'gone': choose one of planned, open, full, expired, faulty."
