"""While a record is read, others write: they do not wait, and what they write is not seen."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.db import connection, transaction

from annotation.models import Campaign, Judgment, Triplet
from exports.extract import assignments, queries, votes
from exports.extract.extract import extract
from exports.extract.transaction import snapshot
from tests.exports.extract.oracle import contents, salted
from tests.exports.support.campaigns import make_campaign

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.concurrent]
PATIENCE = 5  # seconds; SQLite's writers would wait for thirty


@pytest.fixture
def campaign() -> Campaign:
    return salted(make_campaign())


def elsewhere(act: Callable[[], object]) -> None:
    """In another connection, to its end; fails where it has to wait."""

    def run() -> None:
        try:
            with transaction.atomic():
                act()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(run).result(PATIENCE)


def flip_all_labels() -> None:
    for triplet in Triplet.objects.filter(status="labelled"):
        assert triplet.label is not None
        Triplet.objects.filter(pk=triplet.pk).update(label=1 - triplet.label)


def test_a_write_meanwhile_neither_waits_nor_shows(campaign: Campaign) -> None:
    before = list(Triplet.objects.order_by("pk").values_list("label", flat=True))
    with snapshot(campaign):
        elsewhere(flip_all_labels)
        assert list(Triplet.objects.order_by("pk").values_list("label", flat=True)) == before
    after = list(Triplet.objects.order_by("pk").values_list("label", flat=True))
    assert after == [None if label is None else 1 - label for label in before]


def test_the_state_is_that_of_the_beginning(campaign: Campaign) -> None:
    """Before anything of it was read, too."""
    with snapshot(campaign) as (seen,):
        elsewhere(lambda: Campaign.objects.update(seed=99))
        assert Campaign.objects.get().seed == seen.seed == 7


def test_a_record_that_changes_while_it_is_read_is_read_as_it_was(
    campaign: Campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    extract(campaign, tmp_path / "quiet", partial=False)
    monkeypatch.setattr(queries, "CANDIDATES_PER_STEP", 1)
    for module in (queries, votes, assignments):
        monkeypatch.setattr(module, "ROWS", 2)
    report: list[int] = []

    def write(increment: int) -> None:
        report.append(increment)
        elsewhere(flip_all_labels)
        elsewhere(Judgment.objects.all().delete)

    extract(campaign, tmp_path / "busy", partial=False, progress=write)
    assert len(report) == 3
    assert contents(tmp_path / "busy") == contents(tmp_path / "quiet")


def test_transactions_begin_as_before_afterwards(campaign: Campaign) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("SQLite's way to begin")
    for failing in (False, True):
        try:
            with snapshot(campaign):
                assert not failing
        except AssertionError:
            assert failing
        assert connection.transaction_mode == "IMMEDIATE"  # type: ignore[attr-defined]


def test_a_connection_that_is_not_open_yet_reads_without_the_lock_too(campaign: Campaign) -> None:
    connection.close()
    with snapshot(campaign):
        elsewhere(flip_all_labels)


def test_nothing_can_be_written_by_the_reader_on_postgresql(campaign: Campaign) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("a rule of PostgreSQL")
    with pytest.raises(Exception, match="read-only"), snapshot(campaign):
        Campaign.objects.update(seed=1)


def test_within_a_transaction_of_the_callers_the_campaign_is_locked(
    campaign: Campaign, tmp_path: Path
) -> None:
    with transaction.atomic():
        extract(campaign, tmp_path / "inside", partial=False)
    extract(campaign, tmp_path / "outside", partial=False)
    assert contents(tmp_path / "inside") == contents(tmp_path / "outside")
