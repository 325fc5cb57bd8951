"""What processes do that build releases, to be killed, and what is looked at afterwards.

Each is forked from a process that has loaded all this, with the test's data folder in QUORUM_DATA.
"""

import hashlib
import os
import signal
from pathlib import Path

from django.db import transaction

from annotation.models import Campaign, Judgment, Triplet
from annotation.pipeline.labelling.label import write_labels
from annotation.simulation.schema import make_database
from core.errors import UserError
from core.progress import Progress
from exports.building.export import export
from exports.building.options import Options
from exports.building.queue import release_now
from exports.delivery.storage import discard, key, storage
from exports.models import Build, Release
from tests.exports.building.leftovers import prefixes
from tests.exports.support.builds import ask, build_queued
from tests.exports.support.campaigns import MANY, make_campaign

REFUSED = 3
OVER = Build.State.DONE, Build.State.FAILED


def campaign_of_two_releases(empty: Path) -> None:
    """The first of them made; a label has changed since."""
    make_database(Path(os.environ["QUORUM_DATA"], "quorum.sqlite3"), empty)
    with transaction.atomic():
        campaign = make_campaign(MANY, train=0.5, dev=0.2, test=0.3)
        campaign.query_set.retrieved_with = None  # no model has to be loaded
        campaign.query_set.save()
    release_now(campaign, options=Options())
    triplet = Triplet.objects.get(candidate__query__key="rain", candidate__rank=1)
    Judgment.objects.filter(triplet=triplet).update(value=1)
    write_labels(campaign)


def next_release(out: Path, killed_at: int | None = None, paused_at: int | None = None) -> None:
    """By command; `killed_at`, `paused_at`: at that call of the progress."""
    try:
        export(Campaign.objects.get(), out, progress=_stopping(killed_at, paused_at))
    except UserError:
        raise SystemExit(REFUSED) from None


def queued_release() -> None:
    """As the worker does."""
    build = Build.objects.exclude(state__in=OVER).first()
    if build is None:
        build = ask(Campaign.objects.get())
    build_queued(build)


def _stopping(killed_at: int | None, paused_at: int | None) -> Progress:
    calls = 0

    def progress(increment: int) -> None:
        nonlocal calls
        calls += 1
        if calls == killed_at:
            os.kill(os.getpid(), signal.SIGKILL)
        if calls == paused_at:
            os.kill(os.getpid(), signal.SIGSTOP)

    return progress


def count_calls(target: Path) -> None:
    """Of the progress of a build, all of which is then undone."""
    calls: list[int] = []
    with transaction.atomic():
        made = release_now(Campaign.objects.get(), options=Options(), progress=calls.append)
        transaction.set_rollback(True)
    discard(made.release.prefix)
    target.write_text(str(len(calls)))


def every_release_is_whole() -> None:
    """Each file of each row lies in the storage as it was recorded."""
    for release in Release.objects.order_by("number"):
        files = list(release.files.select_related("release"))
        assert {"train.jsonl", "manifest.json", f"demo-{release.number}.tar.zst"} <= {
            file.path for file in files
        }
        for file in files:
            with storage().open(key(file)) as content:
                assert hashlib.sha256(content.read()).hexdigest() == file.sha256, file
    numbers = list(Release.objects.order_by("number").values_list("number", flat=True))
    assert numbers == list(range(1, len(numbers) + 1))


def nothing_lies_about() -> None:
    """Neither in the storage nor where releases are built; and every release is whole."""
    every_release_is_whole()
    campaign = Campaign.objects.get()
    assert prefixes(campaign) == list(
        campaign.releases.order_by("number").values_list("prefix", flat=True)
    )
    assert not Build.objects.exclude(state__in=OVER).exists()
    data = Path(os.environ["QUORUM_DATA"])
    assert list((data / "builds").iterdir()) == []


def the_claim_is_old() -> None:
    assert Build.objects.filter(state="running").update(beat_at="2020-01-01T00:00Z") == 1
