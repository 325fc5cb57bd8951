"""A query that is written and planned once answers as Django's own does, for every value."""

from decimal import Decimal

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection
from django.db.models import Exists, OuterRef, QuerySet
from django.test.utils import CaptureQueriesContext

from core.files.prepared import NUMBER, TEXT, Prepared, ask

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


def test_it_may_need_no_value() -> None:
    Group.objects.create(name="100%")
    prepared = Prepared(lambda _: Group.objects.filter(name="100%").values_list("name"))
    assert [prepared.rows() for _ in range(2)] == [[("100%",)]] * 2


def test_a_statement_that_is_written_out_takes_its_values_by_name() -> None:
    User.objects.bulk_create(User(username=name) for name in HOSTILE)
    statement = (
        "SELECT username, '50%%' FROM auth_user"
        " WHERE username = %(name)s OR username = %(name)s AND id > %(least)s"
    )
    # More often than it takes PostgreSQL to keep one plan for all values.
    for name in HOSTILE * 3:
        given = {"least": 0, "name": name, "other": "not asked for"}
        assert ask(statement, given) == [(name, "50%")]


@pytest.mark.django_db(transaction=True)
def test_another_connection_plans_it_anew() -> None:
    prepared = Prepared(by_name, TEXT)
    pk = User.objects.create(username="ada").pk
    for _ in range(2):
        assert prepared.rows("ada") == [(pk,)]
        connection.close()


@pytest.mark.django_db(transaction=True)
def test_a_column_may_get_another_type_in_between() -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite plans nothing ahead")
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE sizes (size integer)")
    try:
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO sizes VALUES (1)")
        statement = "SELECT size FROM sizes WHERE size > %(least)s"
        assert ask(statement, {"least": 0}) == [(1,)]
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE sizes ALTER COLUMN size TYPE numeric(3, 1)")
        for _ in range(2):
            assert ask(statement, {"least": 0}) == [(Decimal("1.0"),)]
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE sizes")


def test_a_table_may_get_an_index_in_between() -> None:
    prepared = Prepared(by_name, TEXT)
    pk = User.objects.create(username="ada").pk
    assert prepared.rows("ada") == [(pk,)]
    with connection.cursor() as cursor:
        cursor.execute("CREATE INDEX users_by_name ON auth_user (is_active, username)")
    assert prepared.rows("ada") == [(pk,)]


def test_it_is_written_once_and_asked_each_time() -> None:
    calls = []

    def make(name: str) -> QuerySet[User, tuple[int]]:
        calls.append(name)
        return by_name(name)

    prepared = Prepared(make, TEXT)
    with CaptureQueriesContext(connection) as queries:
        assert [prepared.rows("ada") for _ in range(3)] == [[]] * 3
    planned = [one for one in queries if one["sql"].startswith("PREPARE")]
    assert (len(calls), len(queries) - len(planned)) == (1, 3)
    assert len(planned) == (connection.vendor == "postgresql")
