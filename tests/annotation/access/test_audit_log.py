"""The database itself keeps the log as it was written, on SQLite and PostgreSQL."""

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, connection, transaction
from django.db.models import ProtectedError

from annotation.access.audit_log import MOST_SUBJECT, by_command, by_page, record
from annotation.models import AuditEntry
from tests.annotation.support.hits import make_campaign
from tests.support.truncating import truncate

pytestmark = [pytest.mark.django_db, pytest.mark.concurrent]
REFUSED = "the audit log is append-only"


@pytest.fixture
def entry() -> AuditEntry:
    ada = User.objects.create_user("ada")
    return record(by_page(ada), "pause", campaign=make_campaign(), subject="all of it")


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE annotation_auditentry SET verb = 'resume'",
        "UPDATE annotation_auditentry SET details = '{}' WHERE verb = 'pause'",
        "DELETE FROM annotation_auditentry",
    ],
)
def test_an_operation_is_never_changed_whoever_tries(entry: AuditEntry, change: str) -> None:
    before = list(AuditEntry.objects.values())
    with (
        pytest.raises(DatabaseError, match=REFUSED),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(change)
    assert list(AuditEntry.objects.values()) == before != []


@pytest.mark.skipif(connection.vendor != "sqlite", reason="only SQLite replaces rows")
def test_no_operation_is_put_in_the_place_of_another(entry: AuditEntry) -> None:
    before = list(AuditEntry.objects.values())
    with (
        pytest.raises(DatabaseError, match=REFUSED),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute("REPLACE INTO annotation_auditentry SELECT * FROM annotation_auditentry")
    assert list(AuditEntry.objects.values()) == before != []


@pytest.mark.skipif(connection.vendor != "postgresql", reason="only PostgreSQL truncates")
def test_the_log_is_never_emptied_at_once(entry: AuditEntry) -> None:
    with pytest.raises(DatabaseError, match=REFUSED):
        truncate("annotation_auditentry")
    assert AuditEntry.objects.get() == entry


def test_the_orm_changes_none_either(entry: AuditEntry) -> None:
    entry.verb = "resume"
    for change in (entry.save, entry.delete, AuditEntry.objects.all().delete):
        with pytest.raises(DatabaseError, match=REFUSED), transaction.atomic():
            change()
    assert AuditEntry.objects.get().verb == "pause"


def test_neither_who_acted_nor_what_it_was_about_can_be_deleted(entry: AuditEntry) -> None:
    assert entry.user is not None
    assert entry.campaign is not None
    for one in (entry.user, entry.campaign):
        with pytest.raises(ProtectedError), transaction.atomic():
            one.delete()


def test_an_operation_that_fails_leaves_no_row() -> None:
    with transaction.atomic():
        record(by_command(), "pause")
        transaction.set_rollback(True)  # as what fails after it does
    assert not AuditEntry.objects.exists()


def test_a_subject_that_is_too_long_is_cut_and_the_operation_goes_on() -> None:
    assert len(record(by_command(), "exclude", subject="x" * 999).subject) == MOST_SUBJECT


def test_the_log_keeps_the_name_of_that_time(entry: AuditEntry) -> None:
    User.objects.update(username="somebody else")
    assert AuditEntry.objects.get().actor == "ada"
