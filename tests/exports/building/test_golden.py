"""Labels by majority are what they were before there were aggregators, from import to release.

`golden.json` holds the digests of what commit 3301ab7b makes of the same people. Left out are the
files that differ on purpose (the README's sentences, and what holds its digest or versions) and
those that libraries write in their own way (Parquet, plots), which hold nothing else.
"""

import hashlib
import json
from pathlib import Path

import pytest

from annotation.models import Aggregation, Entry, Posterior
from annotation.pipeline.labelling.label import write_labels
from annotation.pipeline.labelling.votes import valid_judgments
from annotation.protocol.aggregation import fit
from annotation.protocol.aggregation.choice import Choice
from exports.building.export import export
from exports.models import WorkerSalt
from tests.conftest import SetStage
from tests.worlds.small_campaign import Judge, Stage

pytestmark = pytest.mark.django_db

PEOPLE = ("ada", "bob", "cara", "dan", "eve", "fay")
LEFT_OUT = {"README.md", "croissant.json", "manifest.json"}
DIGESTS: dict[str, dict[str, str]] = json.loads(
    Path(__file__).with_name("golden.json").read_text(encoding="utf-8")
)


def judge(name: str, seed: int) -> Judge:
    """The first two candidates are duplicates; one vote in four says otherwise."""

    def of(query: str, rank: int) -> int:
        draw = hashlib.sha256(f"{seed}/{name}/{query}/{rank}".encode()).digest()[0]
        return int(rank <= 2) ^ (draw < 64)

    return of


def played(stage: Stage, seed: int = 0) -> Stage:
    """Eve misses a control in each HIT and is excluded; ties are broken until all are labelled."""
    stage.publish()
    for _ in range(12):
        for number in stage.campaign.hits.order_by("number").values_list("number", flat=True):
            for name in PEOPLE[number % 6 :] + PEOPLE[: number % 6]:
                if crowd_id := stage.accept(name, number):
                    sheet = stage.sheet(number, judge(name, seed), slips=int(name == "eve"))
                    stage.mturk.person(name).submit(crowd_id, sheet)
        if stage.advance().finished:
            return stage
    raise AssertionError("some triplets are open still")


def digests(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix not in (".parquet", ".svg") and path.name not in LEFT_OUT
    }


@pytest.mark.parametrize("tie_mode", ["extend", "repack"])
def test_its_release_is_byte_for_byte_what_it_was(
    set_stage: SetStage, tmp_path: Path, tie_mode: str
) -> None:
    stage = played(set_stage(train=3, dev=1, test=1, tie_mode=tie_mode))
    WorkerSalt.objects.create(campaign=stage.campaign, salt="the same")
    assert digests(export(stage.campaign, tmp_path / "release").folder) == DIGESTS[tie_mode]


@pytest.mark.parametrize("tie_mode", ["extend", "repack"])
@pytest.mark.parametrize("seed", range(2))
def test_without_posteriors_votes_payments_and_majorities_stay(
    set_stage: SetStage, monkeypatch: pytest.MonkeyPatch, tie_mode: str, seed: int
) -> None:
    made = Choice("two coins", {"controls": 20, "adjudicated": 0}, {"two coins": 0.1})
    monkeypatch.setattr(fit, "choose", lambda _, adjudicated: made)
    stage = played(set_stage(tie_mode=tie_mode, aggregation="best"), seed)
    votes, payments = votes_of(stage), payments_of(stage)
    assert set(labels_of(stage).values()) == {(0, "aggregator"), (1, "aggregator")}
    Posterior.objects.all().delete()
    Aggregation.objects.all().delete()
    stage.campaign.policy_data["aggregation"] = "majority"
    stage.campaign.save()
    write_labels(stage.campaign)
    assert stage.advance().finished
    assert (votes_of(stage), payments_of(stage)) == (votes, payments)
    assert labels_of(stage) == {
        triplet: (int(2 * sum(said) > len(said)), "majority") for triplet, said in votes.items()
    }


def votes_of(stage: Stage) -> dict[int, list[int]]:
    votes: dict[int, list[int]] = {}
    rows = valid_judgments(stage.campaign).order_by("pk").values_list("triplet", "value")
    for triplet, value in rows:
        votes.setdefault(triplet, []).append(value)
    return votes


def payments_of(stage: Stage) -> list[tuple[object, ...]]:
    return list(
        Entry.objects.order_by("pk").values_list("source", "target", "cents", "hit", "assignment")
    )


def labels_of(stage: Stage) -> dict[int, tuple[int | None, str | None]]:
    rows = stage.campaign.triplets.values_list("pk", "label", "label_source")
    return {triplet: (label, source) for triplet, label, source in rows}
