"""The whole comparison: no false alarms, whatever is under way; the command that reports it."""

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError
from django.db import transaction
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.models import Campaign, OutboxMessage
from annotation.pipeline.collecting.collect import fetch_submissions
from annotation.pipeline.collecting.review import review
from annotation.pipeline.outbox.deliver import deliver
from annotation.pipeline.publishing.publish import publish
from annotation.pipeline.recompute import recompute
from tests.annotation.pipeline.reconcile.drift import compare, create_there, delete_there
from tests.conftest import SetStage, StartMTurk
from tests.support.command_line import quorum
from tests.support.examples import examples
from tests.support.threads import together
from tests.worlds.mturk import Killed, MortalCrowd
from tests.worlds.small_campaign import Stage, packed_campaign

pytestmark = pytest.mark.django_db

NAMES = ("ada", "bob", "eve", "cara", "dan")


def submit(stage: Stage, name: str, number: int) -> None:
    """Where the crowd lets them: eve errs, and bob differs from the others."""
    hit = stage.hit(number)
    if hit.crowd_id and (assignment_id := stage.accept(name, number)):
        answers = stage.sheet(number, int(name == "bob"), slips=int(name == "eve"))
        stage.mturk.person(name).submit(assignment_id, answers)


def accept_only(stage: Stage, name: str, number: int) -> None:
    if stage.hit(number).crowd_id:
        stage.accept(name, number)


def die(stage: Stage, name: str, number: int) -> None:
    """A sender is killed, before or after its call is carried out."""
    crowd = MortalCrowd(stage.mturk.url, calls=number, answered=name in ("ada", "eve"))
    try:
        deliver(stage.campaign, crowd, clock=stage.mturk.clock.now, threads=1)
    except Killed:
        return


def fail(stage: Stage, name: str, number: int) -> None:
    """What was claimed waits for its next turn, as after a call without an answer."""
    later = stage.mturk.clock.now()
    claimed = OutboxMessage.objects.filter(campaign=stage.campaign, state="claimed")
    claimed.update(state="pending", retry_at=later)


STEPS: dict[str, Callable[[Stage, str, int], object]] = {
    "submit": submit,
    "accept": accept_only,
    "die": die,
    "fail": fail,
    "publish": lambda stage, *_: publish(stage.campaign, stage.mturk.crowd),
    "deliver": lambda stage, *_: stage.deliver(),
    "collect": lambda stage, *_: fetch_submissions(stage.campaign, stage.mturk.crowd),
    "review": lambda stage, *_: review(stage.campaign),
    "recompute": lambda stage, *_: recompute(stage.campaign),
    "advance": lambda stage, *_: stage.advance(),
    "wait": lambda stage, *_: stage.mturk.clock.move_on(minutes=6),
}
OFTEN = ["submit"] * 5 + ["collect", "review", "die", "fail"] * 2
CHOICES = st.tuples(
    st.sampled_from(OFTEN + sorted(STEPS)), st.sampled_from(NAMES), st.integers(1, 5)
)


@pytest.mark.parametrize("tie_mode", ["extend", "repack"])
def test_a_campaign_in_full_swing_is_no_drift(
    small_database: None, tmp_path: Path, start_mturk: StartMTurk, tie_mode: str
) -> None:
    """Between any two steps, wherever a process has died, there is nothing to mend."""

    @settings(max_examples=examples(8), deadline=None)
    @given(published=st.booleans(), steps=st.lists(CHOICES, min_size=12, max_size=25))
    def run(published: bool, steps: list[tuple[str, str, int]]) -> None:
        mturk = start_mturk()
        with transaction.atomic():
            stage = Stage(packed_campaign(tmp_path, tie_mode=tie_mode), mturk)
            publish(stage.campaign, mturk.crowd)
            if published:
                stage.deliver()
            for number, (step, name, hit) in enumerate(steps):
                STEPS[step](stage, name, hit)
                before = list(stage.campaign.outbox.order_by("pk").values())
                report = compare(stage, full=number % 2 == 0)
                assert (report.done, report.manual, report.stopped_by) == ([], [], None)
                assert list(stage.campaign.outbox.order_by("pk").values()) == before
            transaction.set_rollback(True)
        mturk.close()

    run()


def test_a_hit_whose_answer_was_lost_for_long_has_no_other_time(stage: Stage) -> None:
    """It expires as its first call said; that it was asked for again later is no drift."""
    publish(stage.campaign, stage.mturk.crowd)
    die(stage, "ada", 2)
    stage.mturk.clock.move_on(minutes=12)
    stage.deliver()
    assert compare(stage).done == []
    stage.mturk.alter("UPDATE hits SET expires_at = expires_at - 3600")
    assert len(compare(stage).done) == 5


@pytest.mark.django_db(transaction=True)
def test_a_comparison_beside_its_senders_finds_nothing(stage: Stage) -> None:
    publish(stage.campaign, stage.mturk.crowd)

    def pass_by() -> list[str]:
        campaign = Campaign.objects.get(pk=stage.campaign.pk)
        for _ in range(3):
            deliver(campaign, stage.mturk.crowd)
            fetch_submissions(campaign, stage.mturk.crowd)
        return []

    def compare_too() -> list[str]:
        other = Stage(Campaign.objects.get(pk=stage.campaign.pk), stage.mturk)
        return [sentence for _ in range(6) for sentence in compare(other, full=True).done]

    assert together(pass_by, compare_too, compare_too) == [[], [], []]
    assert stage.mturk.count("hits") == 5


@pytest.mark.django_db(transaction=True)
def test_two_comparisons_at_once_mend_each_drift_once(stage: Stage) -> None:
    stage.publish()
    delete_there(stage, 4)

    def mend() -> int:
        other = Stage(Campaign.objects.get(pk=stage.campaign.pk), stage.mturk)
        return compare(other).repaired["published_again"]

    assert sum(together(mend, mend)) == 1
    assert stage.deliver().sent == 1
    assert len(stage.outbox("create")) == 6


# The command


def run(*arguments: str) -> str:
    out = StringIO()
    quorum("campaign", "reconcile", *arguments, stdout=out)
    return out.getvalue()


def test_the_command_says_what_it_mended_and_what_is_left(stage: Stage) -> None:
    stage.publish()
    extra = create_there(stage, stage.hit(1).key)
    stage.mturk.person("ada").work(extra, stage.sheet(1))
    lines = run("faq", "--quiet").splitlines()
    assert lines[0] == "faq: 6 HITs compared, 1 repairs"
    assert lines[1].startswith(f"  mended: HIT {extra} at the crowd")
    assert lines[2].startswith(f"  left to you: HIT {extra} at the crowd")
    found = json.loads(run("--full", "--json"))["campaigns"]["faq"]
    assert (found["hits"], found["read"], sum(found["repaired"].values())) == (6, 5, 0)


def test_the_command_compares_all_that_are_published_here(
    set_stage: SetStage, start_mturk: StartMTurk
) -> None:
    set_stage("unpublished")
    assert run() == "No campaign is published at this crowd.\n"
    for name in ("one", "two"):
        set_stage(name).publish()
    assert run("--quiet").splitlines() == [
        "one: 5 HITs compared, 0 repairs",
        "two: 5 HITs compared, 0 repairs",
    ]
    with pytest.raises(CommandError, match="unpublished is not published: there is nothing"):
        run("unpublished")


def test_the_command_says_that_the_crowd_was_not_reached(stage: Stage) -> None:
    stage.publish()
    stage.mturk.stop()
    with pytest.raises(CommandError, match="The comparison of faq ended early") as refusal:
        run("faq", "--quiet")
    assert refusal.value.returncode == 2
