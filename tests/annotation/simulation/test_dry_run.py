"""A whole campaign is played elsewhere; of the real one nothing changes."""

import fcntl
import json
import os
import socket
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from pytest_django import Settings

from annotation.jobs.handlers import HANDLERS
from annotation.models import (
    Assignment,
    Campaign,
    Control,
    ExpertLabel,
    Hit,
    HitItem,
    OutboxMessage,
    Worker,
)
from annotation.pipeline.publishing.pack import pack_hits
from annotation.pipeline.setup.import_dataset import import_dataset
from annotation.protocol.policy.crowds import INHOUSE
from annotation.protocol.policy.policy import Policy
from annotation.simulation.options import Options, read_options
from annotation.simulation.populate import fill
from annotation.simulation.report import figures, render
from annotation.simulation.run import dry_run
from annotation.simulation.sample import Plan, counterpart, make_plan, most_queries, usual_queries
from annotation.simulation.schema import KEPT
from annotation.simulation.workspace import MARKER, scratch
from core.errors import UserError
from retrieval.indexing.build import build_index
from retrieval.jobs.queue import request, run
from retrieval.models import Job
from tests.annotation.pipeline.publishing.test_own_controls import add_own
from tests.worlds.small_campaign import ENCODER, POLICY, retrieved_campaign

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("small_database")]

PERFECT = Options(workers=5, careless=0, spammers=0, accuracy=1, control_accuracy=1, seed=2)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all: the first dry run leaves an empty database there."""
    return tmp_path_factory.mktemp("data")


@pytest.fixture
def campaign(tmp_path: Path, data: Path, settings: Settings) -> Campaign:
    settings.DATA_DIR = data
    return retrieved_campaign(tmp_path)


def left_behind() -> list[Path]:
    """Besides the empty database that the next dry run begins with."""
    found = (django_settings.DATA_DIR / "dry-runs").iterdir()
    return [path for path in found if not path.name.endswith(KEPT)]


def test_a_job_plays_the_campaign_with_good_and_bad_people(campaign: Campaign) -> None:
    options = Options(workers=8, careless=0, spammers=0.25, accuracy=0.9, seed=1)
    job = run(request("dry-run", "faq", options.to_dict(), by=None).pk, "mine", HANDLERS)
    assert job is not None
    assert (job.state, job.error) == (Job.State.DONE, "")
    found: dict[str, Any] = job.result or {}
    assert found["end"] == "finished"
    assert (found["queries"], found["triplets"], found["open"]) == (5, 25, 0)
    assert found["labelled"] + found["unresolved"] == 25
    people = found["people"]
    assert [people[kind]["people"] for kind in ("careful", "careless", "spammer")] == [6, 0, 2]
    fates = ("counted", "failed", "discarded")
    assert sum(people[kind][fate] for kind in people for fate in fates) == found["assignments"]
    assert found["rejected"] == sum(people[kind]["failed"] for kind in people)
    assert found["paid_assignments"] == found["assignments"] - found["rejected"]
    assert found["spent_cents"] == 19 * found["paid_assignments"]
    assert found["whole"]["triplets"] == 25
    assert found["options"]["queries"] == 5
    [kept] = (django_settings.DATA_DIR / "dry-runs").glob(f"*{KEPT}")
    with sqlite3.connect(kept) as empty:
        assert empty.execute("SELECT COUNT(*) FROM annotation_campaign").fetchone() == (0,)
    for model in (Hit, OutboxMessage, Assignment, Worker):
        assert not model.objects.exists()
    assert Campaign.objects.get().endpoint == ""
    assert not Control.objects.filter(campaign=campaign).exists()
    assert left_behind() == []


def test_people_who_are_always_right_give_true_labels_at_the_estimated_price(
    campaign: Campaign,
) -> None:
    stages: dict[str, int] = {}

    def stage(name: str, total: int | None) -> Any:
        return lambda done: stages.update({name: stages.get(name, 0) + done})

    found = dry_run(campaign, PERFECT, stage=stage)
    assert (found["accuracy"], found["agreement"], found["ties"]) == (1, 1, 0)
    assert found["rejected"] == found["unresolved"] == 0
    assert found["assignments"] == 10  # two on each of five HITs
    assert found["spent_cents"] == found["whole"]["cents_min"] == 190
    assert 0 < found["positives"] == found["positives_that_are"] < 25
    assert found["people"]["careful"]["excluded"] == 0
    assert stages == {"setting the stage": 0, "publishing HITs": 5, "people judge": 10}
    assert render(found)["true_labels"] == "100.0% (86.7% to 100.0%)"


def test_what_the_real_steps_refuse_is_the_dry_runs_refusal(campaign: Campaign) -> None:
    Control.objects.filter(campaign=None).delete()
    with pytest.raises(UserError, match="dry run of faq was refused: The pool holds 0 positive"):
        dry_run(campaign, PERFECT)
    assert left_behind() == []


def test_the_emulators_calls_are_not_counted_as_the_crowds(
    campaign: Campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path / "metrics"))
    assert dry_run(campaign, PERFECT)["end"] == "finished"
    assert not (tmp_path / "metrics").exists()


def test_whoever_loses_the_asker_ends_and_leaves_nothing(campaign: Campaign) -> None:
    plan = json.dumps(make_plan(campaign, PERFECT).to_dict())
    ours = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    numbers = [each.fileno() for each in ours]
    with scratch() as (folder, _), ours[0], ours[1]:
        child = subprocess.run(
            [sys.executable, "-m", "annotation.simulation", *map(str, numbers)],
            pass_fds=numbers,
            cwd=django_settings.BASE_DIR,
            env=os.environ
            | {"QUORUM_DATA": str(folder), "DJANGO_SETTINGS_MODULE": "config.settings"},
            input=plan + "\n",  # and then it is closed, as by a process that was killed
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert child.returncode == 1
        assert not folder.exists()


def test_in_a_folder_that_is_no_dry_runs_nothing_is_played(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    child = subprocess.run(
        [sys.executable, "-m", "annotation.simulation", "3", "4"],
        cwd=django_settings.BASE_DIR,
        env=os.environ
        | {"QUORUM_DATA": str(tmp_path / "data"), "DJANGO_SETTINGS_MODULE": "config.settings"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "start one by `campaign dry-run NAME`" in child.stderr
    assert child.returncode == 1
    assert (tmp_path / "data").exists()


def test_folders_of_the_dead_are_cleared_and_those_in_use_stay(
    tmp_path: Path, settings: Settings
) -> None:
    settings.DATA_DIR = tmp_path
    root = django_settings.DATA_DIR / "dry-runs"
    for name in ("dead", "alive", "no-dry-run"):
        (root / name).mkdir(parents=True)
    for name in ("dead", "alive"):
        (root / name / MARKER).touch()
    with (root / "alive" / MARKER).open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with scratch() as (folder, _):
            names = {path.name for path in left_behind()}
            assert names == {"alive", "no-dry-run", folder.name}
    assert {path.name for path in left_behind()} == {"alive", "no-dry-run"}


def test_a_plan_goes_through_json_unchanged(campaign: Campaign) -> None:
    plan = make_plan(campaign, Options())
    assert Plan.from_dict(json.loads(json.dumps(plan.to_dict()))) == plan
    assert plan.instructions == campaign.instructions.get().text
    assert len(plan.positives) == 6
    assert plan.triplets == 25


def test_the_seed_draws_the_queries(campaign: Campaign) -> None:
    drawn = {
        seed: frozenset(q.key for q in make_plan(campaign, Options(queries=2, seed=seed)).queries)
        for seed in range(6)
    }
    assert all(len(keys) == 2 for keys in drawn.values())
    assert len(set(drawn.values())) > 1


def test_a_packed_campaign_brings_its_own_negative_controls(campaign: Campaign) -> None:
    before = make_plan(campaign, Options()).negatives
    pack_hits(campaign)
    stored = campaign.controls.order_by("key").values_list("query", "question", "answer")
    assert make_plan(campaign, Options()).negatives == list(stored)[: len(before)] == before


def test_a_campaign_with_controls_of_its_own_is_dry_run_with_those(campaign: Campaign) -> None:
    own = {kind: add_own(campaign, kind) for kind in Control.Kind.values}
    plan = make_plan(campaign, PERFECT)
    for kind, planned in (("positive", plan.positives), ("negative", plan.negatives)):
        assert set(planned) == {(one.query, one.question, one.answer) for one in own[kind]}
    copy = fill(replace(plan, name="copy"))
    assert list(copy.controls.values_list("drafted", flat=True).distinct()) == [True]
    pack_hits(copy)
    items = HitItem.objects.filter(hit__campaign=copy, control__isnull=False)
    assert not items.exclude(control__campaign=copy).exists()
    assert dry_run(campaign, PERFECT)["end"] == "finished"


def test_a_campaign_that_was_packed_with_the_pool_is_dry_run_with_the_pool(
    campaign: Campaign,
) -> None:
    pack_hits(campaign)
    before = make_plan(campaign, PERFECT)
    add_own(campaign, "positive")
    assert make_plan(campaign, PERFECT) == before


def test_a_retired_control_stays_away(campaign: Campaign) -> None:
    Control.objects.filter(query="how many a").update(retired_at="2026-01-01T00:00Z")
    assert "how many a" not in {query for query, _, _ in make_plan(campaign, Options()).positives}


def test_what_experts_have_said_is_true(campaign: Campaign) -> None:
    pack_hits(campaign)
    drawn = make_plan(campaign, Options())
    opposite: dict[tuple[str, int], int] = {}
    for triplet in campaign.triplets.select_related("candidate__query")[:10]:
        candidate = triplet.candidate
        planned = next(q for q in drawn.queries if q.key == candidate.query.key)
        [label] = [one.label for one in planned.candidates if one.rank == candidate.rank]
        opposite[planned.key, candidate.rank] = 1 - label
        ExpertLabel.objects.create(triplet=triplet, expert="ada", label=1 - label, source="import")
    plan = make_plan(campaign, Options())
    said = {(q.key, one.rank): one for q in plan.queries for one in q.candidates}
    assert {key: said[key].label for key in opposite} == opposite
    assert {key for key, one in said.items() if one.by_experts} == set(opposite)


def test_of_an_imported_dataset_what_is_open_is_dry_run(tmp_path: Path) -> None:
    rows = [
        {"question": f"why {number}", "answer": "so", "label": None if number % 2 else 1}
        for number in range(4)
    ]
    path = tmp_path / "made.jsonl"
    path.write_text(json.dumps({"query": "why", "candidates": rows}) + "\n")
    made = import_dataset([path], "made", policy=Policy.from_dict(POLICY), seed=1).campaign
    build_index("keywords", "QQA", encoder=ENCODER)  # pairs have come
    [query] = make_plan(made, Options()).queries
    assert [one.question for one in query.candidates] == ["why 1", "why 3"]


def test_a_campaign_without_candidates_is_refused(campaign: Campaign) -> None:
    campaign.query_set.queries.all().delete()
    with pytest.raises(UserError, match="has no candidates to judge yet: retrieve them"):
        make_plan(campaign, Options())


def test_a_dry_run_takes_no_more_than_minutes(campaign: Campaign) -> None:
    assert most_queries(campaign) == usual_queries(campaign) == 5
    campaign.policy_data = replace(campaign.policy, candidates_per_query=200).to_dict()
    assert (usual_queries(campaign), most_queries(campaign)) == (2, 5)


def test_a_team_is_dry_run_by_the_same_rules_at_the_emulator() -> None:
    team = Policy.from_dict({**INHOUSE.defaults(), "qualification_items": 4, "max_votes": 3})
    there = counterpart(team)
    assert (there.crowd, there.qualification_items, there.reward_cents) == ("mturk", 0, 1)
    assert there.max_votes == 3


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"queries": 0}, "queries must be a whole number from 1"),
        ({"workers": 201}, "workers must be a whole number from 1 to 200"),
        ({"workers": True}, "workers must be a whole number"),
        ({"accuracy": 1.1}, "accuracy must be a share from 0 to 1, not 1.1"),
        ({"careless": float("nan")}, "careless must be a share"),
        ({"careless": 0.6, "spammers": 0.6}, "together are more than all"),
        ({"wokers": 3}, "no option 'wokers'"),
    ],
)
def test_impossible_options_are_refused(values: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        read_options(values)


def made_up(**changes: Any) -> dict[str, Any]:
    kind = {"people": 4, "worked": 4, "excluded": 1}
    fates = {"counted": 30, "failed": 5, "discarded": 3}
    result = {
        "queries": 10,
        "triplets": 50,
        "labels_by_experts": 0,
        "hits": 10,
        "assignments": 40,
        "paid_assignments": 35,
        "rejected": 5,
        "spent_cents": 665,
        "discarded_cents": 57,
        "ties": 9,
        "agreement": 0.82,
        "labelled": 48,
        "unresolved": 2,
        "open": 0,
        "accuracy": 0.9375,
        "accuracy_interval": [0.83, 0.98],
        "positives": 10,
        "true_positives": 8,
        "positives_that_are": 9,
        "people": {
            "careful": kind | fates,
            "careless": {**kind, **fates, "worked": 2, "excluded": 0},
            "spammer": {**kind, **fates, "worked": 3, "excluded": 3},
        },
        "end": "finished",
        "options": Options(queries=10).to_dict(),
        "whole": {
            "triplets": 1000,
            "queries": 200,
            "hits": 200,
            "assignments": 546,
            "cents": 10374,
            "cents_min": 7600,
            "cents_max": 19000,
        },
        "has_fee": True,
        "reward_cents": 15,
    }
    return result | changes


def test_figures_are_scaled_to_the_whole_campaign() -> None:
    found = figures(made_up())
    assert (found.cents, found.whole_cents, found.whole_assignments) == (665, 13300, 800)
    assert found.cents_per_label == pytest.approx(665 / 48)
    assert (found.precision, found.recall) == (0.8, pytest.approx(8 / 9))
    assert (found.lost, found.caught, found.bad) == (1, 3, 5)
    shown = render(made_up())
    assert shown["whole_campaign"] == "$133.00"
    assert shown["estimated_before"] == "$103.74"
    assert shown["cost_per_label"] == "$0.139"
    assert shown["careless_and_spammers_excluded"] == "3 of 5"


def test_a_team_is_priced_without_the_crowds_fees() -> None:
    assert figures(made_up(has_fee=False, reward_cents=10)).cents == 350
    free = render(made_up(has_fee=False, reward_cents=0))
    assert "cost" not in free
    assert "whole_campaign" not in free
