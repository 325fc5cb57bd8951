"""Steps that are lost, repeated or run out of turn end where the straight run ends."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.conf import settings
from django.db import transaction

from annotation.analytics.campaign.progress import progress
from annotation.models import Assignment
from annotation.pipeline.collecting.collect import fetch_submissions
from annotation.pipeline.collecting.review import review
from annotation.pipeline.outbox.deliver import deliver
from annotation.pipeline.publishing.publish import publish
from annotation.pipeline.recompute import recompute
from tests.conftest import StartMTurk
from tests.worlds.mturk import Killed, MortalCrowd
from tests.worlds.small_campaign import Stage, packed_campaign

pytestmark = pytest.mark.django_db

Between = Callable[[Stage], None]


@dataclass(frozen=True)
class End:
    """What must not depend on how the steps were run."""

    labels: object
    votes: object
    decisions: object
    max_assignments: object
    excluded: object
    progress: object
    spent_cents: int
    on_hold_cents: int


def run(stage: Stage, between: Between) -> End:
    """Three rounds of work, with `between` before each pass of the pipeline."""
    publish(stage.campaign, stage.mturk.crowd)
    between(stage)
    stage.deliver()
    for number in range(1, 6):
        stage.work("ada", number, lambda _, rank: int(rank <= 2))
    for number in (1, 2):
        stage.work("bob", number, lambda _, rank: int(rank <= 3))
    for number, slips in ((3, 0), (4, 1), (5, 2)):
        stage.work("eve", number, 1, slips=slips)
    between(stage)
    stage.advance()
    for number in range(1, 6):
        if stage.hit(number).max_assignments > 2:
            stage.work("cara", number, lambda query, rank: int(rank <= 2 or query == "piano"))
    between(stage)
    stage.advance()
    for number in range(1, 6):
        if stage.hit(number).max_assignments > 3:
            stage.work("dan", number, 0)
    between(stage)
    assert stage.advance().finished
    return end(stage)


def end(stage: Stage) -> End:
    triplets = stage.campaign.triplets.order_by("candidate__query__key", "candidate__rank")
    done = Assignment.objects.filter(hit__campaign=stage.campaign)
    columns = "hit__number", "worker__worker_id", "status", "passed"
    return End(
        labels=stage.labels(),
        votes=list(triplets.values_list("votes", "positive_votes")),
        decisions=sorted(done.values_list(*columns)),
        max_assignments=list(
            stage.campaign.hits.order_by("number").values_list("number", "max_assignments")
        ),
        excluded=list(stage.campaign.exclusions.values_list("worker__worker_id", "failures")),
        progress=progress(stage.campaign) | {"crowd": None},
        spent_cents=stage.mturk.spent_cents,
        on_hold_cents=stage.mturk.on_hold_cents,
    )


def straight(stage: Stage) -> None:
    return None


def disorder(seed: int) -> Between:
    """Runs the steps in any order, some twice, and some in a process that dies at a call."""
    rng = random.Random(seed)

    def die(stage: Stage) -> None:
        crowd = MortalCrowd(stage.mturk.url, calls=rng.randrange(4), answered=rng.random() < 0.5)
        try:
            deliver(stage.campaign, crowd, clock=stage.mturk.clock.now, threads=1)
        except Killed:
            if rng.random() < 0.5:
                stage.deliver()  # the claim of the dead still holds
            later = settings.CLAIM_SECONDS + 1 if rng.random() < 0.7 else 25 * 3600
            stage.mturk.clock.move_on(seconds=later)

    def steps(stage: Stage) -> None:
        crowd = stage.mturk.crowd
        chosen: list[Callable[[], object]] = [
            lambda: fetch_submissions(stage.campaign, crowd),
            lambda: review(stage.campaign),
            lambda: recompute(stage.campaign),
            lambda: die(stage),
            lambda: publish(stage.campaign, crowd),
        ]
        for step in rng.sample(chosen * 2, k=7):
            step()

    return steps


@pytest.mark.usefixtures("small_database")
def test_lost_and_repeated_steps_end_where_the_straight_run_ends(
    start_mturk: StartMTurk, tmp_path: Path
) -> None:
    ends = []
    for between in (straight, *map(disorder, range(5))):
        with transaction.atomic():
            stage = Stage(packed_campaign(tmp_path), start_mturk())
            ends.append(run(stage, between))
            stage.mturk.close()
            transaction.set_rollback(True)
    assert ends[0].excluded == [("AEVE", 2)]
    for other in ends[1:]:
        assert other == ends[0]
