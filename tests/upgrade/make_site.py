"""Makes the data folder of an older version, for `test_upgrade.py`, in a checkout of that version:

    git worktree add ../older 3641898a && cd ../older
    QUORUM_DATA=$PWD/site PYTHONPATH=. python ../main/tests/upgrade/make_site.py
    cd site && tar --create --zstd --file site-3641898a.tar.zst quorum.sqlite3 index releases

For PostgreSQL, let QUORUM_DATABASE_URL name an empty database. Before tar, call `pg_dump
--format=custom --compress=0 --file=site/database.pgdump`: tar takes that in place of
quorum.sqlite3, into site-3641898a-postgresql.tar.zst.

It knows that version's own steps and worlds alone.
"""

import hashlib
import os
import tempfile
from pathlib import Path

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from django.utils import timezone  # noqa: E402

from annotation.crowd.inhouse import assignments  # noqa: E402
from annotation.crowd.inhouse.models import Assignment, Member  # noqa: E402
from annotation.models import Campaign, Hit  # noqa: E402
from annotation.pipeline.advance import advance  # noqa: E402
from annotation.pipeline.ledger.reservations import set_budget  # noqa: E402
from annotation.pipeline.publishing.pack import pack_hits  # noqa: E402
from annotation.pipeline.publishing.publish import publish  # noqa: E402
from annotation.protocol.policy.crowds import INHOUSE  # noqa: E402
from exports.building.options import Options  # noqa: E402
from exports.building.queue import release_now  # noqa: E402
from tests.worlds.small_campaign import fill_database, retrieved_campaign, sheet_of  # noqa: E402
from tests.worlds.team import Team, published_team  # noqa: E402

NAMES = ("ada", "bob", "eve")
POLICY = {**INHOUSE.defaults(), "reward_cents": 7, "min_assignments": 2}
BUDGET_CENTS = 10_000


def judged(query: str, rank: int) -> int:
    return hashlib.sha256(f"{query} {rank}".encode()).digest()[0] % 2


def packed(folder: Path, name: str, candidates: int) -> Campaign:
    campaign = retrieved_campaign(folder, name, **POLICY, candidates_per_query=candidates)
    pack_hits(campaign)
    set_budget(campaign, BUDGET_CENTS)
    return campaign


def take(member: Member) -> Assignment | None:
    return assignments.take(member, now=timezone.now())


def submit(work: Assignment, slips: int = 0) -> None:
    hit = Hit.objects.get(crowd_id=work.posted_hit.hit_id)
    sheet = sheet_of(hit, judged, slips=slips)
    assignments.submit(work.member, work.assignment_id, sheet, now=timezone.now())


def finish(team: Team) -> None:
    """Everybody takes tasks until the campaign needs no more."""
    while not team.advance().finished:
        for name in NAMES:
            if work := take(team.members[name]):
                submit(work)


def main() -> None:
    call_command("migrate", verbosity=0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fill_database(folder)
        first = published_team(packed(folder, "first", candidates=1), "http://127.0.0.1:8000")
        finish(first)
        release_now(first.campaign, options=Options())
        second = packed(folder, "second", candidates=5)
    publish(second, first.crowd)
    advance(second, first.crowd)
    ada, bob, eve = (first.members[name] for name in NAMES)
    for member, slips in ((ada, 0), (ada, 0), (bob, 0), (eve, 9)):  # eve's is rejected
        work = take(member)
        assert work
        submit(work, slips)
    advance(second, first.crowd)
    work = take(bob)
    assert work
    submit(work)  # submitted, and not yet seen by a pass
    assert take(ada)  # in hand
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            cursor.execute("VACUUM")


if __name__ == "__main__":
    main()
