"""A site of an older version is upgraded in place, and its campaign goes on to its end."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from pytest_django import DjangoDbBlocker, Settings

from annotation.crowd.inhouse.models import Assignment as Task
from annotation.crowd.inhouse.models import Member
from annotation.models import Assignment, AssignmentCount, Triplet, TripletCount
from annotation.pipeline.labelling.running_counts import mend
from exports.layout.files import ARCHIVE_SUFFIX
from exports.layout.manifest import checksum
from exports.models import ReleaseFile
from exports.verify.verify import verify
from retrieval.index.versions import chosen_index, folder_of
from tests.annotation.pipeline.ledger.ledger_book import money
from tests.worlds.older_site import Office, judged, site_in, unpack_older_site, upgrade
from tests.worlds.small_campaign import Stage

pytestmark = pytest.mark.concurrent  # on PostgreSQL, too

REWARD = 7  # cents, and a team costs no fee
NEW = {
    ("annotation", "0003_cannot_judge"),
    ("annotation", "0008_drafted_controls"),
    ("retrieval", "0002_pair_license"),
    ("retrieval", "0003_question_words"),
}


@pytest.fixture
def older(
    tmp_path: Path, settings: Settings, django_db_setup: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[Path]:
    unpack_older_site(tmp_path / "site")
    with site_in(tmp_path / "site", settings, django_db_blocker) as folder:
        yield folder


@pytest.fixture
def upgraded(older: Path) -> Path:
    upgrade()
    return older


def test_the_site_was_made_before_the_migrations_that_the_upgrade_adds(older: Path) -> None:
    applied = MigrationRecorder(connection).applied_migrations().keys()
    assert not NEW & applied
    upgrade()
    assert MigrationRecorder(connection).applied_migrations().keys() >= NEW


def test_what_was_in_flight_is_there_after_the_upgrade(upgraded: Path) -> None:
    office = Office()
    states = Assignment.objects.filter(hit__campaign=office.campaign).values_list("status")
    assert Counter(state for (state,) in states) == {"approved": 3, "rejected": 1}
    reserved, paid, discarded = money(Stage(office.campaign, None))
    assert (paid, discarded) == (3 * REWARD, 0)
    assert reserved > 0
    assert (folder_of(chosen_index()) / "manifest.json").is_file()


def test_what_triggers_count_begins_with_what_there_is_and_goes_on(upgraded: Path) -> None:
    office = Office()
    assert sum(TripletCount.objects.values_list("more", flat=True)) == Triplet.objects.count()
    assert sum(AssignmentCount.objects.values_list("more", flat=True)) == Assignment.objects.count()
    assert mend(office.campaign) == 0
    office.finish()
    assert mend(office.campaign) == 0


def test_the_campaign_goes_on_to_its_end_and_every_cent_is_accounted_for(upgraded: Path) -> None:
    office = Office()
    office.finish()
    approved = Counter(
        Task.objects.filter(
            posted_hit__hit_id__in=office.campaign.hits.values("crowd_id"), status="approved"
        ).values_list("member__user__username", flat=True)
    )
    # What eve was paid for counts no more, once she had failed too many controls.
    assert approved == {"ada": 5, "bob": 5, "eve": 1}
    assert office.excluded() == {"eve"}
    assert money(Stage(office.campaign, None)) == (0, 10 * REWARD, 1 * REWARD)
    office.reconcile()
    assert money(Stage(office.campaign, None)) == (0, 10 * REWARD, 1 * REWARD)


def test_every_label_is_the_majority_of_the_votes_old_and_new(upgraded: Path) -> None:
    office = Office()
    before = set(office.votes().values_list("pk", flat=True))
    office.finish()
    assert before
    assert set(office.votes().values_list("pk", flat=True)) > before
    for triplet in office.campaign.triplets.select_related("candidate__query"):
        votes = Counter(office.votes().filter(triplet=triplet).values_list("value", flat=True))
        assert votes == {judged(triplet.candidate.query.key, triplet.candidate.rank): 2}
        assert (triplet.label, triplet.votes) == (next(iter(votes)), 2)


def test_the_release_of_before_is_still_what_was_stored(upgraded: Path) -> None:
    for file in ReleaseFile.objects.select_related("release"):
        path = upgraded / "releases" / file.release.prefix / file.path
        assert checksum(path) == {"bytes": file.bytes, "sha256": file.sha256}


def test_the_verifier_finds_no_fault_in_the_release_of_before(upgraded: Path) -> None:
    """But that this version's card has other words."""
    release = ReleaseFile.objects.get(path__endswith=ARCHIVE_SUFFIX)
    folder = upgraded / "releases" / release.release.prefix
    (folder / release.path).unlink()  # no part of the folder, which it holds
    report = verify(folder)
    assert report.checked > 300
    assert {line.partition(":")[0] for line in report.differences} == {
        "README.md",
        "croissant.json",
    }


def test_members_find_their_tasks_on_the_upgraded_site(upgraded: Path) -> None:
    client = Client()
    client.force_login(Member.objects.get(user__username="ada").user)
    assert client.get("/work").status_code == 200
