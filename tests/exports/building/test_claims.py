"""Who is at which build, and what one leaves behind that goes wrong."""

import errno
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import storages
from django.db import transaction
from django.utils import timezone

from annotation.models import Campaign
from core.errors import UserError
from core.leases import MOST_ATTEMPTS, STALE
from exports.building.export import export
from exports.building.options import Options
from exports.building.queue import release_now
from exports.building.requests import recover
from exports.building.stages import PACKING, READING, SHARES
from exports.models import Build, Deposit, Release, ReleaseFile
from retrieval.jobs.queue import GIVEN_UP, JobLost
from tests.exports.building.leftovers import prefixes
from tests.exports.support.builds import ask, at, build_queued, built, change_a_label, claim, stored
from tests.exports.support.campaigns import make_campaign
from tests.exports.support.contents import FILES

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign() -> Campaign:
    return make_campaign()


def test_a_build_is_claimed_by_one(campaign: Campaign) -> None:
    build = ask(campaign)
    taken = claim(build, "mine")
    assert taken is not None
    assert (taken.claim, taken.state, taken.attempts) == ("mine", "running", 1)
    assert claim(build, "theirs") is None


def test_a_silent_claim_is_taken_over(campaign: Campaign) -> None:
    build = ask(campaign)
    claim(build, "mine")
    almost = timezone.now() - STALE / 2
    Build.objects.update(beat_at=almost)
    assert claim(build, "theirs") is None
    Build.objects.update(beat_at=timezone.now() - STALE)
    assert claim(build, "theirs") is not None


@pytest.mark.parametrize("stage", list(SHARES))
def test_who_lost_the_claim_commits_nothing(campaign: Campaign, releases: Path, stage: str) -> None:
    def lose() -> None:
        Build.objects.update(claim="theirs", beat_at=timezone.now())

    with pytest.raises(JobLost):
        release_now(campaign, options=Options(), progress=at(stage, lose))
    assert not Release.objects.exists()
    assert not ReleaseFile.objects.exists()
    assert prefixes(campaign) == []
    build = Build.objects.get()
    assert (build.state, build.claim) == ("running", "theirs")


def test_a_command_that_lost_its_build_says_so_and_leaves_nothing(
    campaign: Campaign, tmp_path: Path
) -> None:
    def lose() -> None:
        Build.objects.update(claim="theirs", beat_at=timezone.now())

    with pytest.raises(UserError) as caught:
        export(campaign, tmp_path / "out", progress=at(PACKING, lose))
    assert str(caught.value) == (
        "This build of campaign demo was silent for so long that another process has taken it "
        "over: run the command again when that has ended."
    )
    assert list(tmp_path.iterdir()) == []


def test_a_command_waits_for_nobody_who_is_not_at_it(campaign: Campaign) -> None:
    asked = ask(campaign)
    assert built(campaign).release.number == 1
    asked.refresh_from_db()
    assert asked.state == "failed"
    assert "A command built a release" in asked.error


def test_a_command_does_not_disturb_a_build_that_runs(campaign: Campaign) -> None:
    claim(ask(campaign), "theirs")
    with pytest.raises(UserError, match="is being built already"):
        built(campaign)
    assert Build.objects.get().state == "running"


def test_a_build_that_is_broken_off_waits_for_its_next_turn_a_few_times(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fault(*args: object) -> str:
        raise ZeroDivisionError

    monkeypatch.setattr(storages["releases"], "_save", fault)
    build = ask(campaign)
    for attempt in range(1, MOST_ATTEMPTS + 1):
        with pytest.raises(ZeroDivisionError):
            build_queued(build)
        recover()
        build.refresh_from_db()
        last = attempt == MOST_ATTEMPTS
        assert (build.attempts, build.state) == (attempt, "failed" if last else "queued")
    assert build.error == GIVEN_UP
    assert not Release.objects.exists()
    monkeypatch.undo()


def test_a_command_that_is_stopped_leaves_nothing_to_wait_for(campaign: Campaign) -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        release_now(campaign, options=Options(), progress=at(READING, stop, part=0.3))
    assert Build.objects.get().state == "failed"
    assert built(campaign).release.number == 1


@pytest.mark.parametrize("write", [1, 20, len(FILES) + 1])
def test_a_disk_that_fills_up_leaves_nothing_half_released(
    campaign: Campaign, releases: Path, monkeypatch: pytest.MonkeyPatch, write: int
) -> None:
    save, writes = storages["releases"]._save, 0  # type: ignore[attr-defined]

    def filling(name: str, content: Any) -> str:
        nonlocal writes
        writes += 1
        if writes == write:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return str(save(name, content))

    monkeypatch.setattr(storages["releases"], "_save", filling)
    with pytest.raises(UserError, match=r"\(No space left on device\)"):
        built(campaign)
    assert not Release.objects.exists()
    assert prefixes(campaign) == []
    assert Build.objects.get().state == "failed"
    monkeypatch.undo()
    assert set(stored(built(campaign).release, releases)) == FILES | {"demo-1.tar.zst"}


def test_leftovers_of_killed_builds_are_cleared_by_the_next(
    campaign: Campaign, releases: Path
) -> None:
    first = built(campaign).release
    of_the_dead = releases / Path(first.prefix).parent / "2-of-the-dead" / "trec"
    of_the_dead.mkdir(parents=True)
    (of_the_dead / "test.qrels").write_text("half")
    left = Deposit.objects.create(
        campaign=campaign, prefix=str(of_the_dead.parent.relative_to(releases))
    )
    change_a_label(campaign)
    second = built(campaign).release
    assert prefixes(campaign) == [first.prefix, second.prefix]
    Deposit.objects.update(created_at=timezone.now() - timedelta(days=2))
    built(campaign, judgments=False)
    assert not Deposit.objects.filter(pk=left.pk).exists()


def test_a_release_that_an_older_database_does_not_know_is_left_alone(
    campaign: Campaign, releases: Path
) -> None:
    first = built(campaign).release
    lost = releases / Path(first.prefix).parent / "2-of-a-later-database"
    lost.mkdir()
    (lost / "test.jsonl").write_text("whole")
    change_a_label(campaign)
    second = built(campaign).release
    assert prefixes(campaign) == sorted(
        [first.prefix, second.prefix, str(lost.relative_to(releases))]
    )


def test_what_changes_while_the_release_is_made_is_for_the_next_one(
    campaign: Campaign, releases: Path
) -> None:
    undisturbed = stored(built(campaign).release, releases)
    with transaction.atomic():
        again = make_campaign(name="again")
        disturbed = release_now(
            again, options=Options(), progress=at(PACKING, lambda: change_a_label(again))
        ).release
    for name in ("train.jsonl", "dev.jsonl", "test.jsonl"):
        assert stored(disturbed, releases)[name] == undisturbed[name]
    assert built(again).release.changes["labels"]["changed"] == 1
