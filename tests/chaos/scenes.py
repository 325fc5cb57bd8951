"""Campaigns played to their end, and what tests ask of them."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.db import transaction
from django.test import override_settings

from annotation.models import Assignment, Campaign
from tests.chaos.audit import audit
from tests.worlds.mturk import MTurk
from tests.worlds.small_campaign import Judge, Stage, fill_database, packed_campaign

RULES: dict[str, object] = {"min_assignments": 3, "max_failure_rate": 0.4}


@dataclass(frozen=True)
class Scene:
    """A campaign at its end, and the file of the crowd that it ran on."""

    campaign: Campaign
    state: Path

    def edit(self, *statements: str) -> None:
        """Change what the crowd has recorded, its append-only money too."""
        with closing(sqlite3.connect(self.state)) as db, db:
            for name in ("changed", "deleted"):
                db.execute(f"DROP TRIGGER IF EXISTS money_is_never_{name}")
            for statement in statements:
                db.execute(statement)


def truth(query: str, rank: int) -> int:
    return int(rank <= 2)


def doubting(stage: Stage, number: int, *queries: str) -> Judge:
    """True, save for these queries' triplets."""
    assert {query for query, _ in stage.triplets(number)} >= set(queries)
    return lambda query, rank: int((query in queries) != bool(truth(query, rank)))


def play_extend(stage: Stage) -> None:
    """Eve is excluded, which takes her good vote back; cara and dan break the ties."""
    for number in range(1, 6):
        stage.work("ada", number, truth)
    stage.work("bob", 1, truth)
    stage.work("bob", 2, doubting(stage, 2, "bread"))
    stage.work("eve", 3, 1)
    stage.work("eve", 4, slips=1)
    stage.work("eve", 5, slips=2)
    stage.advance()
    for number in range(2, 6):
        stage.work("cara", number, doubting(stage, number, *["piano"] * (number == 3)))
    stage.advance()
    stage.work("dan", 3, truth)


def play_repack(stage: Stage) -> None:
    """Six ties: five go into a HIT of their own at once, the sixth when nothing more can come."""
    disputed = {1: ["bread", "piano"], 2: ["rocket", "garden"], 3: ["candle", "bread"]}
    for number, queries in disputed.items():
        stage.work("ada", number, truth)
        stage.work("bob", number, doubting(stage, number, *queries))
    stage.work("eve", 4, slips=1)
    stage.work("cara", 4, truth)
    stage.work("cara", 5, truth)
    stage.work("dan", 5, truth)
    stage.advance()
    assert stage.accept("bob", 6) is None
    stage.work("dan", 4, truth)
    stage.work("dan", 6, truth)
    stage.advance()
    stage.work("cara", 7, truth)


PLAYS = {"extend": play_extend, "repack": play_repack}


def of_mode(tie_mode: str) -> pytest.MarkDecorator:
    """For tests that ask for `at_its_end` in one mode alone."""
    return pytest.mark.parametrize("finished", [tie_mode], indirect=True)


@contextmanager
def scene(folder: Path, play: Callable[[Stage], None], **policy: object) -> Iterator[Scene]:
    """All of it in one transaction, which is undone."""
    with transaction.atomic(), override_settings(INDEX_DIR=folder / "index"):
        fill_database(folder)
        mturk = MTurk(folder / "mturk.sqlite3")
        try:
            with override_settings(MTURK_ENDPOINT=mturk.url):
                stage = Stage(packed_campaign(folder, "faq", **(RULES | policy)), mturk)
                stage.publish()
                play(stage)
                assert stage.advance().finished
        finally:
            mturk.close()
        yield Scene(stage.campaign, folder / "mturk.sqlite3")
        transaction.set_rollback(True)


def sentences(scene: Scene) -> str:
    found = audit(scene.state, scene.campaign)
    assert found, "nothing was noticed"
    return "\n".join(found)


def first_work(scene: Scene) -> Assignment:
    """Ada's on the first HIT: it passed."""
    return Assignment.objects.filter(hit__campaign=scene.campaign).earliest("submitted_at")


def key(number: int, scene: Scene) -> str:
    return f"{scene.campaign.uid.hex[:16]}-{number:06d}"


def of_hit(number: int, scene: Scene) -> str:
    return f"requester_annotation = '{key(number, scene)}'"
