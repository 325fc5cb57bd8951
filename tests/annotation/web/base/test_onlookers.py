"""Pages that count for their readers go on while somebody else writes for long."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone

from annotation.analytics.campaign.snapshots import take
from annotation.models import Campaign, Snapshot, Workforce
from retrieval.models import QaPair
from tests.annotation.api.campaign import campaign_at_work

pytestmark = pytest.mark.django_db(transaction=True)

PAGES = [f"/admin/campaigns/faq/{path}" for path in ("", "live", "workers/", "workers/reports")]


@contextmanager
def somebody_writes() -> Iterator[None]:
    """As an import does, which ends when this does."""
    writing, ended = threading.Event(), threading.Event()

    def write() -> None:
        with transaction.atomic():
            QaPair.objects.filter(pk=0).update(question="")
            writing.set()
            ended.wait()
        connection.close()

    thread = threading.Thread(target=write)
    thread.start()
    writing.wait()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@pytest.fixture
def campaign() -> Campaign:
    return campaign_at_work(hits=2, workers=2)


@pytest.fixture
def reader(campaign: Campaign) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


@pytest.mark.parametrize("counted", [False, True])
def test_a_page_shows_the_last_figures_while_somebody_writes(
    campaign: Campaign, reader: Client, counted: bool
) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("elsewhere two may write at once")
    if counted:
        take(campaign)
        long_ago = timezone.now() - timedelta(hours=1)
        Snapshot.objects.update(at=long_ago)
        Workforce.objects.update(at=long_ago)
    with somebody_writes():
        for page in PAGES:
            assert reader.get(page).status_code == 200, page
        assert Snapshot.objects.count() == int(counted)
    for page in PAGES:
        assert reader.get(page).status_code == 200
    assert Snapshot.objects.count() == 1 + counted
    assert timezone.now() - Workforce.objects.get().at < timedelta(minutes=1)


def test_whoever_writes_waits_as_long_as_before_afterwards(
    campaign: Campaign, reader: Client
) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("SQLite's way to wait")

    def patience() -> int:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA busy_timeout")
            return int(cursor.fetchone()[0])

    before = patience()
    assert before == 30_000
    with somebody_writes():
        reader.get(PAGES[1])
        assert patience() == before
    reader.get(PAGES[1])
    assert patience() == before
