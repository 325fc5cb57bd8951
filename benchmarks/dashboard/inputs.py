"""The database of `benchmarks.dashboard`: a campaign of the paper's size at work, others beside it.

1. 400,000 q/a pairs with an index, and the paper's 15,211 queries with 30 candidates each.
2. Smaller campaigns; one of them is finished, has a release and was piloted.
3. What the crowd has done with the large one and the finished one (`benchmarks.release.record`).
4. What else a campaign gathers (`rows`), 600,000 more pairs among it.
5. The figures that pages read, taken as the site's own jobs take them.
"""

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import islice
from pathlib import Path

import numpy as np
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import connection
from django.utils import timezone

from annotation.analytics.campaign import snapshots
from annotation.jobs.tasks import run_job
from annotation.models import Campaign, Role
from annotation.pipeline.controls.candidates import find_candidates
from annotation.pipeline.ledger.reservations import set_budget
from annotation.pipeline.publishing.pack import pack_hits
from annotation.pipeline.setup.create import create_campaign, get_campaign
from annotation.pipeline.setup.create_pilot import create_pilot
from annotation.protocol.policy.policy import Policy
from benchmarks.campaign.inputs import (
    NAME,
    QUESTION_WORDS,
    SEED,
    STREAM_WORDS,
    draw_candidates,
    make_campaign,
    random_texts,
    vocabulary,
    write_lines,
    zipf,
)
from benchmarks.dashboard.rows import (
    PEOPLE,
    add_rows,
    exclude_some,
    past_snapshots,
    publish_all,
    reopen_some,
)
from benchmarks.judging.inputs import session_of
from benchmarks.release.record import load_finished_record
from exports.building.options import Options
from exports.building.queue import release_now
from retrieval.jobs.count_sources import ask_to_count
from retrieval.models import IndexVersion

FINISHED, PILOT = "finished", "pilot"
SMALL_CAMPAIGNS = 55  # more than a page of the list
SMALL_QUERIES = 4
FINISHED_QUERIES = 60
PILOT_TRIPLETS = 200
OWNER, ROOT = "ada", "root"
SESSIONS = "sessions.json"


def main() -> None:
    folder, share = Path(settings.DATA_DIR), float(sys.argv[1])
    with report("pairs, queries, candidates"):
        make_campaign(folder, share)
    with report("other campaigns"):
        make_others(folder)
    paper, finished = get_campaign(NAME), get_campaign(FINISHED)
    for campaign in (paper, finished):
        with report(f"pack {campaign}"):
            pack_hits(campaign)
    for campaign in (paper, finished):
        exclude_some(campaign)
        with report(f"the crowd's record of {campaign}"):
            load_finished_record(campaign, people=PEOPLE)
            publish_all(campaign)
    with report("what else there is"):
        reopen_some(paper)
        owner = make_readers(folder / SESSIONS)
        add_rows(paper, owner, share)
    with report("figures"):
        take_figures(paper, finished)
    with report("a pilot, a release"):
        create_pilot(finished, PILOT, triplets=PILOT_TRIPLETS, seed=SEED)
        release_now(finished, options=Options(partial=True, split="random"))
    with report("VACUUM ANALYZE"), connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")  # as the server does by itself in the minutes after it


@contextmanager
def report(what: str) -> Iterator[None]:
    began = time.monotonic()
    yield
    print(f"  {what}: {time.monotonic() - began:.0f} s", flush=True)


def make_others(folder: Path) -> None:
    rng = np.random.default_rng(SEED + 1)
    words = vocabulary(rng)
    stream = [words[place] for place in zipf(rng, STREAM_WORDS)]
    counts = {FINISHED: FINISHED_QUERIES}
    counts |= {f"small-{number:02d}": SMALL_QUERIES for number in range(SMALL_CAMPAIGNS)}
    for name, count in counts.items():
        texts = random_texts(rng, stream, count * 2, QUESTION_WORDS)
        different = islice(dict.fromkeys(texts), count)
        queries = ({"id": f"q{n:03d}", "query": text} for n, text in enumerate(different, 1))
        path = write_lines(folder / "others.jsonl", queries)
        create_campaign(name, policy=Policy(), seed=SEED, queries=path)
    finished = get_campaign(FINISHED)
    set_budget(finished, 1_000_000)
    draw_candidates(finished, IndexVersion.objects.get(), rng)


def make_readers(path: Path) -> User:
    """The owner of all campaigns, and the superuser; signed in, without a password."""
    owner = User.objects.create(username=OWNER, password="!")
    root = User.objects.create(username=ROOT, password="!", is_superuser=True, is_staff=True)
    Role.objects.bulk_create(
        Role(user=owner, campaign=campaign, name=Role.Name.OWNER)
        for campaign in Campaign.objects.all()
    )
    sessions = [session_of(owner), session_of(root)]
    Session.objects.bulk_create(sessions)
    keys = [session.session_key for session in sessions]
    path.write_text(json.dumps(dict(zip((OWNER, ROOT), keys, strict=True))))
    return owner


def take_figures(paper: Campaign, finished: Campaign) -> None:
    began = timezone.now() - timedelta(days=1)
    for campaign in (paper, finished):
        snapshots.take(campaign)
        find_candidates(campaign)
        past_snapshots(campaign, began)
    job = ask_to_count(None)
    assert job is not None
    run_job(job.pk)


if __name__ == "__main__":
    main()
