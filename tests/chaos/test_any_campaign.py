"""Whatever people submit, in whatever order, the judge finds nothing wrong with the real steps."""

import random
from pathlib import Path

import pytest

from tests.chaos.audit import audit
from tests.conftest import SetStage
from tests.support.examples import cases
from tests.worlds.small_campaign import Stage

pytestmark = [pytest.mark.django_db, pytest.mark.hypothesis, pytest.mark.wire]

NAMES = ("ada", "bob", "cara", "dan", "eve", "finn", "gil", "hana", "ivo", "joy", "kim", "leo")
MOST_PASSES = 40
EVENTS_A_PASS = 9
CARELESS = {"ada": 0.3, "eve": 0.5, "kim": 0.5}  # how often they miss a control


def play(stage: Stage, rng: random.Random) -> bool:
    """Whether the campaign came to its end."""
    for _ in range(MOST_PASSES):
        for _ in range(rng.randint(1, EVENTS_A_PASS)):
            take_one(stage, rng)
        if stage.advance().finished:
            return True
    return False


def take_one(stage: Stage, rng: random.Random) -> None:
    """A worker to whom the crowd gives an open HIT submits it, well or badly."""
    chances = [(name, number) for name in NAMES for number in open_hits(stage)]
    rng.shuffle(chances)
    for name, number in chances:
        if assignment_id := stage.accept(name, number):
            slips = int(rng.random() < CARELESS.get(name, 0.15))
            sheet = stage.sheet(number, lambda query, rank: int(rng.random() < 0.3), slips=slips)
            stage.mturk.person(name).submit(assignment_id, sheet)
            return


def open_hits(stage: Stage) -> list[int]:
    rows = stage.mturk.rows("SELECT requester_annotation FROM hits WHERE open_assignments > 0")
    keys = [key for (key,) in rows]
    hits = stage.campaign.hits.filter(key__in=keys).order_by("number")
    return list(hits.values_list("number", flat=True))


PLAYS = [(tie_mode, seed) for tie_mode in ("extend", "repack") for seed in (12, 16)]


@pytest.mark.parametrize(("tie_mode", "seed"), cases(PLAYS, (PLAYS[0], PLAYS[-1])))
def test_nothing_is_found_in_a_campaign_that_ran_by_the_rules(
    set_stage: SetStage, tmp_path: Path, tie_mode: str, seed: int
) -> None:
    rules: dict[str, object] = {"min_assignments": 3, "max_failure_rate": 0.3}
    if seed % 4:
        rules["on_failed_control"] = "pay_and_discard"
    stage = set_stage("faq", **rules, tie_mode=tie_mode)
    stage.publish()
    ended = play(stage, random.Random(seed))
    found = audit(tmp_path / "mturk-0.sqlite3", stage.campaign)
    assert ended is (not found)
    # Where everybody known has had a triplet of a repacked HIT, nobody is left to take it.
    assert all("more are missing" in one for one in found)
