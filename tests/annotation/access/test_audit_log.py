"""The database itself keeps the log as it was written, whoever tries, on SQLite and PostgreSQL."""

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, connection, transaction
from django.db.models import ProtectedError

from annotation.access.audit_log import MOST_SUBJECT, by_command, by_page, record
from annotation.models import Action
from tests.annotation.hits import make_campaign
from tests.truncating import truncate

pytestmark = pytest.mark.django_db
REFUSED = "the log of actions is append-only"


@pytest.fixture
def action() -> Action:
    ada = User.objects.create_user("ada")
    return record(by_page(ada), "pause", campaign=make_campaign(), subject="all of it")


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE annotation_action SET verb = 'resume'",
        "UPDATE annotation_action SET details = '{}' WHERE verb = 'pause'",
        "DELETE FROM annotation_action",
    ],
)
def test_a_deed_is_never_changed_whoever_tries(action: Action, change: str) -> None:
    before = list(Action.objects.values())
    with (
        pytest.raises(DatabaseError, match=REFUSED),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(change)
    assert list(Action.objects.values()) == before != []


@pytest.mark.skipif(connection.vendor != "sqlite", reason="only SQLite replaces rows")
def test_no_deed_is_put_in_the_place_of_another(action: Action) -> None:
    before = list(Action.objects.values())
    with (
        pytest.raises(DatabaseError, match=REFUSED),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute("REPLACE INTO annotation_action SELECT * FROM annotation_action")
    assert list(Action.objects.values()) == before != []


@pytest.mark.skipif(connection.vendor != "postgresql", reason="only PostgreSQL truncates")
def test_the_log_is_never_emptied_at_once(action: Action) -> None:
    with pytest.raises(DatabaseError, match=REFUSED):
        truncate("annotation_action")
    assert Action.objects.get() == action


def test_the_orm_changes_none_either(action: Action) -> None:
    action.verb = "resume"
    for change in (action.save, action.delete, Action.objects.all().delete):
        with pytest.raises(DatabaseError, match=REFUSED), transaction.atomic():
            change()
    assert Action.objects.get().verb == "pause"


def test_neither_who_acted_nor_what_it_was_about_can_be_deleted(action: Action) -> None:
    assert action.user is not None
    assert action.campaign is not None
    for one in (action.user, action.campaign):
        with pytest.raises(ProtectedError), transaction.atomic():
            one.delete()


def test_a_deed_that_fails_leaves_no_row() -> None:
    with transaction.atomic():
        record(by_command(), "pause")
        transaction.set_rollback(True)  # as what fails after it does
    assert not Action.objects.exists()


def test_a_subject_that_is_too_long_is_cut_and_the_deed_goes_on() -> None:
    assert len(record(by_command(), "exclude", subject="x" * 999).subject) == MOST_SUBJECT


def test_the_log_keeps_the_name_of_that_time(action: Action) -> None:
    User.objects.update(username="somebody else")
    assert Action.objects.get().actor == "ada"
