"""Who is at which build, and what one leaves behind that goes wrong."""

import errno
import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import storages
from django.db import transaction
from django.utils import timezone
from kombu.simple import SimpleQueue

from annotation.models import Campaign
from config import celery
from core.errors import UserError
from core.leases import MOST_ATTEMPTS, STALE
from exports.building.export import export
from exports.building.lease import GIVEN_UP, Beat, BuildLost, claim
from exports.building.options import Options
from exports.building.queue import build_queued, release_now
from exports.building.steps import PACKING, READING, SHARES
from exports.models import Build, Deposit, Release, ReleaseFile
from exports.tasks import build_release, build_releases
from tests.exports.asking import ask, at, built, change_a_label, stored
from tests.exports.building.leftovers import prefixes
from tests.exports.campaigns import make_campaign
from tests.exports.reading import FILES

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign() -> Campaign:
    return make_campaign()


def test_a_build_is_claimed_by_one(campaign: Campaign) -> None:
    build = ask(campaign)
    taken = claim(build.pk, "mine")
    assert taken is not None
    assert (taken.claim, taken.state, taken.attempts) == ("mine", "running", 1)
    assert claim(build.pk, "theirs") is None


def test_a_silent_claim_is_taken_over(campaign: Campaign) -> None:
    build = ask(campaign)
    claim(build.pk, "mine")
    almost = timezone.now() - STALE + timedelta(seconds=30)
    Build.objects.update(beat_at=almost)
    assert claim(build.pk, "theirs") is None
    Build.objects.update(beat_at=timezone.now() - STALE)
    assert claim(build.pk, "theirs") is not None


@pytest.mark.parametrize("stage", list(SHARES))
def test_who_lost_the_claim_commits_nothing(campaign: Campaign, releases: Path, stage: str) -> None:
    def lose() -> None:
        Build.objects.update(claim="theirs", beat_at=timezone.now())

    with pytest.raises(BuildLost):
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


def test_who_has_ended_the_build_has_not_lost_it(campaign: Campaign) -> None:
    """Even where the beat comes between the end and the last word of the progress."""
    build = claim(ask(campaign).pk, "mine")
    assert build is not None
    done: list[int] = []
    beat = Beat(build, SHARES, done.append)
    Build.objects.update(state=Build.State.FAILED)
    beat._tell()
    with pytest.raises(BuildLost):
        beat.begin(PACKING, 1)
    beat.end()
    assert sum(done) == sum(SHARES.values())


def test_a_command_waits_for_nobody_who_is_not_at_it(campaign: Campaign) -> None:
    asked = ask(campaign)
    assert built(campaign).release.number == 1
    asked.refresh_from_db()
    assert asked.state == "failed"
    assert "when a command built a release" in asked.error


def test_a_command_does_not_disturb_a_build_that_runs(campaign: Campaign) -> None:
    claim(ask(campaign).pk, "theirs")
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
            build_queued(build.pk)
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
    save, writes = storages["releases"]._save, 0

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


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleQueue]:
    """What the tasks send, on kombu's transport in memory."""
    monkeypatch.setitem(celery.conf, "broker_url", "memory://")
    monkeypatch.setitem(celery.conf, "broker_transport_options", {})
    monkeypatch.setattr(celery.amqp, "_producer_pool", None)
    monkeypatch.setattr(celery, "_pool", None)
    with celery.connection_for_read() as connection:
        queue = connection.SimpleQueue(celery.conf.task_default_queue)
        queue.clear()
        yield queue
        queue.close()


def sent(queue: SimpleQueue) -> list[int]:
    builds: list[int] = []
    while True:
        try:
            message = queue.get_nowait()
        except queue.Empty:
            return builds
        message.ack()
        assert message.headers["task"] == "quorum.build_release"
        assert message.headers["expires"] is not None
        (arguments, _, _) = message.payload
        builds.append(arguments[0])


def test_the_clock_beats_for_builds_that_nobody_is_at(
    campaign: Campaign, queue: SimpleQueue
) -> None:
    waits, runs, silent, ended = (
        ask(make_campaign({}, name=name)) for name in ("waits", "runs", "silent", "ended")
    )
    for build in (runs, silent):
        claim(build.pk, "mine")
    Build.objects.filter(pk=silent.pk).update(beat_at=timezone.now() - STALE)
    Build.objects.filter(pk=ended.pk).update(state="failed")
    build_releases()
    assert sent(queue) == [waits.pk, silent.pk]


def test_the_task_builds_what_was_asked_for_and_logs_a_refusal(
    campaign: Campaign, caplog: pytest.LogCaptureFixture
) -> None:
    build_release(ask(campaign).pk)
    assert Build.objects.get().state == "done"
    empty = ask(make_campaign({}, name="empty"))
    build_release(empty.pk)
    empty.refresh_from_db()
    assert (empty.state, "has a label yet" in empty.error) == ("failed", True)
    assert empty.error in caplog.text
