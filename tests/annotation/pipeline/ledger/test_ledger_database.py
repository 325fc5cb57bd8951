"""What the database itself sees to: entries stay, add up, and never pass the budget."""

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.utils import timezone

from annotation.models import Account, Entry
from annotation.pipeline.ledger.reservations import account_of
from tests.annotation.pipeline.ledger.ledger_book import PRICE, entry, money
from tests.conftest import SetStage
from tests.support.truncating import truncate
from tests.worlds.small_campaign import BUDGET_CENTS, Stage

pytestmark = [pytest.mark.django_db, pytest.mark.concurrent]


def refused(stage: Stage, entries: list[Entry]) -> None:
    """Nothing of them stays."""
    before = money(stage), Entry.objects.count()
    with pytest.raises(IntegrityError), transaction.atomic():
        Entry.objects.bulk_create(entries)
    assert (money(stage), Entry.objects.count()) == before


@pytest.mark.parametrize(
    "change", ["UPDATE annotation_entry SET cents = 1", "DELETE FROM annotation_entry"]
)
def test_an_entry_is_never_changed_whoever_tries(stage: Stage, change: str) -> None:
    before = list(Entry.objects.values())
    with (
        pytest.raises(DatabaseError, match="the ledger is append-only"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(change)
    assert list(Entry.objects.values()) == before != []


@pytest.mark.skipif(connection.vendor != "sqlite", reason="only SQLite replaces rows")
def test_no_entry_is_put_in_the_place_of_another(stage: Stage) -> None:
    entry(stage, PRICE).save()
    before = money(stage), list(Entry.objects.values())
    with (
        pytest.raises(DatabaseError, match="the ledger is append-only"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute("REPLACE INTO annotation_entry SELECT * FROM annotation_entry")
    assert (money(stage), list(Entry.objects.values())) == before


@pytest.mark.skipif(connection.vendor != "postgresql", reason="only PostgreSQL truncates")
def test_the_ledger_is_never_emptied_at_once(stage: Stage) -> None:
    before = list(Entry.objects.values())
    with pytest.raises(DatabaseError, match="the ledger is append-only"):
        truncate("annotation_entry")
    assert list(Entry.objects.values()) == before != []


def test_the_orm_changes_none_either(stage: Stage) -> None:
    for change in (Entry.objects.get().save, Entry.objects.all().delete):
        with pytest.raises(DatabaseError, match="the ledger is append-only"), transaction.atomic():
            change()


def test_an_entry_past_the_budget_is_refused(stage: Stage) -> None:
    refused(stage, [entry(stage, BUDGET_CENTS + 1)])
    entry(stage, BUDGET_CENTS).save()
    assert money(stage) == (BUDGET_CENTS, 0, 0)
    refused(stage, [entry(stage, 1, "one cent more")])


def test_entries_that_only_together_pass_the_budget_are_refused_together(stage: Stage) -> None:
    half = BUDGET_CENTS // 2 + 1
    refused(stage, [entry(stage, half, "one"), entry(stage, half, "two")])


def test_what_is_spent_counts_against_the_budget_too(stage: Stage) -> None:
    entry(stage, BUDGET_CENTS).save()
    entry(stage, 600_000, "paid", source="reserved", target="paid").save()
    entry(stage, 400_000, "discarded", source="reserved", target="discarded").save()
    assert money(stage) == (0, 600_000, 400_000)
    refused(stage, [entry(stage, 1, "one cent more")])


def test_an_insert_by_hand_is_held_to_the_budget_as_well(stage: Stage) -> None:
    columns = "account_id, key, source, target, cents, at"
    values = [account_of(stage.campaign).pk, "by hand", BUDGET_CENTS + 1, timezone.now()]
    with (
        pytest.raises(IntegrityError, match="never_over_budget"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(
            f"INSERT INTO annotation_entry ({columns})"
            " VALUES (%s, %s, 'available', 'reserved', %s, %s)",
            values,
        )
    assert money(stage) == (0, 0, 0)


def test_no_place_can_give_what_it_does_not_hold(stage: Stage) -> None:
    for source in ("reserved", "paid", "discarded"):
        refused(stage, [entry(stage, 1, source=source, target="available")])


def test_an_effect_is_booked_once(stage: Stage) -> None:
    entry(stage, PRICE, "the same").save()
    refused(stage, [entry(stage, PRICE, "the same")])
    refused(stage, [entry(stage, PRICE, "another"), entry(stage, PRICE, "another")])


def test_an_entry_moves_money_between_two_places(stage: Stage) -> None:
    refused(stage, [entry(stage, 0)])
    refused(stage, [entry(stage, PRICE, target="available")])


def test_the_account_cannot_be_talked_over_its_budget(stage: Stage) -> None:
    with pytest.raises(IntegrityError, match="never_over_budget"), transaction.atomic():
        Account.objects.update(reserved_cents=BUDGET_CENTS + 1)
    with pytest.raises(IntegrityError, match="never_over_budget"), transaction.atomic():
        Account.objects.update(budget_cents=-1)


def test_each_campaign_has_money_of_its_own(stage: Stage, set_stage: SetStage) -> None:
    entry(stage, PRICE).save()
    other = set_stage("other", candidates_per_query=1)
    both = [entry(stage, 1, "here"), entry(other, 2, "there"), entry(other, 3, "there too")]
    Entry.objects.bulk_create(both)
    assert (money(stage), money(other)) == ((PRICE + 1, 0, 0), (5, 0, 0))
