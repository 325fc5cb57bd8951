"""A query that is written once answers as Django's own does, for every value."""

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection
from django.db.models import Exists, OuterRef, QuerySet
from django.test.utils import CaptureQueriesContext

from core.files.prepared import NUMBER, TEXT, Prepared

pytestmark = [pytest.mark.django_db, pytest.mark.concurrent]

HOSTILE = ("ada", "%s", "it's", '"; DROP TABLE auth_user; --', "", "naïve ﷽")


def by_name(name: str) -> QuerySet[User, tuple[int]]:
    return User.objects.filter(username=name, is_active=True).values_list("pk")


def without_group(user: int) -> QuerySet[Group, tuple[str]]:
    mine = User.groups.through.objects.filter(group=OuterRef("pk"), user=user)
    return Group.objects.filter(~Exists(mine)).order_by("name").values_list("name")


def test_each_text_is_a_value_and_nothing_else() -> None:
    for name in HOSTILE[:-1]:
        User.objects.create(username=name)
    prepared = Prepared(by_name, TEXT)
    for name in HOSTILE:
        assert prepared.rows(name) == list(by_name(name))


def test_a_number_stands_wherever_it_is_asked_for() -> None:
    groups = [Group.objects.create(name=name) for name in ("a", "b")]
    users = [User.objects.create(username=name) for name in ("ada", "bob")]
    users[0].groups.add(groups[0])
    prepared = Prepared(without_group, NUMBER)
    assert [prepared.rows(user.pk) for user in users] == [[("b",)], [("a",), ("b",)]]


def test_it_is_written_once_and_asked_each_time() -> None:
    calls = []

    def make(name: str) -> QuerySet[User, tuple[int]]:
        calls.append(name)
        return by_name(name)

    prepared = Prepared(make, TEXT)
    with CaptureQueriesContext(connection) as queries:
        assert [prepared.rows("ada") for _ in range(3)] == [[]] * 3
    assert (len(calls), len(queries)) == (1, 3)
