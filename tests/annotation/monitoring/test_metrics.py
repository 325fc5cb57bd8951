"""What Prometheus reads: true figures, cheap ones, and for nobody but people who may."""

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families
from pytest_django import Settings

from annotation.analytics.campaign.snapshots import take
from annotation.models import Account
from annotation.pipeline.collecting.collect import fetch_submissions
from annotation.pipeline.ledger.reservations import account_of
from retrieval.jobs.queue import request
from retrieval.models import Job
from tests.worlds.small_campaign import BUDGET_CENTS, Stage

pytestmark = pytest.mark.django_db
ROOT = Path(__file__).resolve().parents[3]
Labels = frozenset[tuple[str, str]]
COUNT_ONE = """
import os
from core.prometheus import CROWD_CALLS
CROWD_CALLS.labels("create", "done").inc(int(os.environ["TIMES"]))
"""
# A worker's: nobody listens where its crowd should be.
FAIL_ONCE = """
import django
django.setup()
from django.utils import timezone
from annotation.crowd.factory import open_crowd
from annotation.models import Assignment, Campaign, Hit, OutboxMessage
from annotation.pipeline.outbox.send import Known, send
work = Assignment(hit=Hit(key="faq-1"), crowd_id="A1")
message = OutboxMessage(kind="approve", assignment=work, token="t")
send(message, Campaign(name="faq"), open_crowd("mturk", live=True), Known(), timezone.now())
"""


def samples(text: str) -> dict[tuple[str, Labels], float]:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def read(client: Client) -> dict[tuple[str, Labels], float]:
    answer = client.get("/metrics")
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("text/plain")
    return samples(answer.content.decode())


def value(found: dict[tuple[str, Labels], float], name: str, **labels: str) -> float | None:
    return found.get((name, frozenset(labels.items())))


def test_money_queue_and_hits_are_the_record_s(stage: Stage, client: Client) -> None:
    stage.publish()
    take(stage.campaign)
    found, account = read(client), account_of(stage.campaign)
    assert value(found, "quorum_money_cents", campaign="faq", place="budget") == BUDGET_CENTS
    reserved = value(found, "quorum_money_cents", campaign="faq", place="reserved")
    assert reserved == account.reserved_cents > 0
    assert value(found, "quorum_hits", campaign="faq", state="open") == 5
    assert value(found, "quorum_triplets", campaign="faq", state="open") == 25
    age = value(found, "quorum_snapshot_age_seconds", campaign="faq")
    assert age is not None
    assert 0 <= age < 60
    assert value(found, "quorum_broker_up") == 1


def test_each_hit_is_in_one_state_alone(stage: Stage, client: Client) -> None:
    """HIT 1 full, 2 expired with work on it, 3 faulty though full, 4 planned, 5 at the crowd."""
    stage.publish()
    for name, number in (("ada", 1), ("bob", 1), ("ada", 2), ("ada", 3), ("bob", 3)):
        stage.work(name, number)
    fetch_submissions(stage.campaign, stage.mturk.crowd)
    hits = stage.campaign.hits
    hits.filter(number=2).update(expires_at=timezone.now() - timedelta(hours=1))
    hits.filter(number=3).update(fault="its record cannot be read")
    hits.filter(number=4).update(crowd_id=None)
    by_hand = {"planned": 1, "open": 1, "full": 1, "expired": 1, "faulty": 1}
    assert take(stage.campaign).figures["hits_by_state"] == by_hand
    found = read(client)
    report = {
        dict(labels)["state"]: count
        for (name, labels), count in found.items()
        if name == "quorum_hits"
    }
    assert report == by_hand
    hits.update(crowd_id=None, fault="")
    all_planned = {**dict.fromkeys(by_hand, 0), "planned": 5}
    assert take(stage.campaign).figures["hits_by_state"] == all_planned


def test_figures_of_an_earlier_version_tell_no_state_of_hits(stage: Stage, client: Client) -> None:
    old = take(stage.campaign)
    del old.figures["hits_by_state"]
    old.save()
    found = read(client)
    assert not any(name == "quorum_hits" for name, _ in found)
    assert value(found, "quorum_triplets", campaign="faq", state="open") == 25


def test_calls_that_wait_and_jobs_that_wait_are_counted_by_kind(
    stage: Stage, client: Client
) -> None:
    stage.publish()
    stage.campaign.outbox.filter(kind="create").update(state="pending")
    one = stage.campaign.outbox.filter(kind="create").first()
    stage.campaign.outbox.filter(pk=one.pk).update(state="claimed")
    request("collect", "faq", {}, by=None)
    Job.objects.create(kind="pack", subject="faq", arguments={}, state="done")
    found = read(client)
    assert value(found, "quorum_outbox_messages", kind="create", state="pending") == 4
    assert value(found, "quorum_outbox_messages", kind="create", state="claimed") == 1
    assert value(found, "quorum_jobs", kind="collect", state="queued") == 1
    assert value(found, "quorum_jobs", kind="pack", state="done") is None


def test_calls_to_the_crowd_are_counted_by_what_came_of_them(stage: Stage, client: Client) -> None:
    before = read(client)
    stage.publish()
    found = read(client)

    def more(outcome: str) -> float:
        labels = {"kind": "create", "outcome": outcome}
        name = "quorum_crowd_calls_total"
        return (value(found, name, **labels) or 0) - (value(before, name, **labels) or 0)

    assert (more("done"), more("refused"), more("failed")) == (5, 0, 0)


def test_requests_are_timed_by_page_and_not_by_address(client: Client) -> None:
    for number in range(3):
        client.get(f"/no-such-page-{number}")
    client.get("/sign-in")
    client.generic("FORGED", "/sign-in")
    names = {labels for name, labels in read(client) if name == "quorum_request_seconds_count"}
    views = {dict(labels)["view"] for labels in names}
    assert {"none", "sign-in"} <= views
    assert not any("no-such-page" in view for view in views)
    assert "FORGED" not in {dict(labels)["method"] for labels in names}


def test_hostile_names_stay_labels(stage: Stage, client: Client) -> None:
    account = Account.objects.get()
    account.campaign.name = 'x"} 1\nquorum_money_cents{place="paid'
    account.campaign.save()
    found = read(client)
    assert value(found, "quorum_money_cents", place="paid") is None


def test_without_a_token_this_machine_alone_reads_them(client: Client) -> None:
    assert client.get("/metrics").status_code == 200
    assert Client(REMOTE_ADDR="192.0.2.7").get("/metrics").status_code == 401
    handed_on = client.get("/metrics", headers={"X-Forwarded-For": "127.0.0.1"})
    assert handed_on.status_code == 401
    assert client.post("/metrics").status_code == 405


def test_with_a_token_whoever_has_it_reads_them_from_everywhere(settings: Settings) -> None:
    settings.METRICS_TOKEN = "a token of sixteen"
    far = Client(REMOTE_ADDR="192.0.2.7")
    right = {"Authorization": "Bearer a token of sixteen"}
    assert far.get("/metrics", headers=right).status_code == 200
    for wrong in ("", "a token of sixteen", "Bearer a token of sixteem", "Bearer ", "Bearer ü"):
        answer = Client().get("/metrics", headers={"Authorization": wrong})
        assert answer.status_code == 401
        assert answer["WWW-Authenticate"].startswith("Bearer")
        assert b"quorum_" not in answer.content
    assert Client().get("/metrics").status_code == 401


def test_they_take_few_questions_however_many_campaigns_there_are(
    stage: Stage, client: Client, django_assert_max_num_queries: object
) -> None:
    take(stage.campaign)
    with django_assert_max_num_queries(8):  # type: ignore[operator]
        client.get("/metrics")


def test_a_broker_that_is_away_is_told_and_the_rest_stays(
    client: Client, settings: Settings
) -> None:
    settings.CELERY_BROKER_URL = "redis://127.0.0.1:1/0"
    found = read(client)
    assert value(found, "quorum_broker_up") == 0
    assert not any(name == "quorum_queue_messages" for name, _ in found)


def run(script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own, that is told no folder for its counts."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PROMETHEUS")}
    return subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env=ours | {"DJANGO_SETTINGS_MODULE": "config.settings"} | variables,
        capture_output=True,
        text=True,
        check=True,
    )


def test_counts_of_several_processes_are_added_up(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = str(tmp_path / "metrics")
    for times in ("2", "3"):
        run(COUNT_ONE, TIMES=times, PROMETHEUS_MULTIPROC_DIR=folder)
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", folder)
    assert value(read(client), "quorum_crowd_calls_total", kind="create", outcome="done") == 5


@pytest.mark.parametrize("expected", [{}, {"PROMETHEUS_MULTIPROC_DIR": ""}])
def test_an_error_of_the_crowd_in_a_worker_stands_in_what_the_site_tells(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: dict[str, str]
) -> None:
    nobody = {"AWS_ENDPOINT_URL_MTURK": "http://127.0.0.1:1"}
    keys = {"AWS_ACCESS_KEY_ID": "none", "AWS_SECRET_ACCESS_KEY": "none"}
    level = {"QUORUM_LOG_LEVEL": "INFO", "QUORUM_LOG_FORMAT": "line"}
    worker = run(FAIL_ONCE, QUORUM_DATA=str(tmp_path), **nobody, **keys, **level, **expected)
    assert (
        " INFO annotation.pipeline.outbox.send [campaign=faq hit=faq-1]: approve: " in worker.stderr
    )
    # As the settings name it for the site, too.
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path / "metrics"))
    found = read(client)
    assert value(found, "quorum_crowd_calls_total", kind="approve", outcome="failed") == 1


def test_a_folder_that_somebody_has_removed_is_made_again(
    stage: Stage, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path / "away" / "metrics"))
    assert client.get("/metrics").status_code == 200


def test_the_site_is_started_with_no_counts_of_before(tmp_path: Path) -> None:
    """By the Makefile's own words."""
    lines = (ROOT / "Makefile").read_text().split("\nrun:")[1].splitlines()
    clearing, serving = (
        next(place for place, line in enumerate(lines) if line.strip().startswith(begins))
        for begins in ('rm -f "', "PATH=")
    )
    assert clearing < serving
    left = tmp_path / "metrics" / "counter_a-1.db"
    left.parent.mkdir()
    left.touch()
    words = (
        lines[clearing]
        .strip()
        .removesuffix("&& \\")
        .replace("$$", "$")
        .replace("$(QUORUM_DATA)", str(tmp_path))
    )
    alone = {"PATH": os.environ["PATH"]}
    for _ in range(2):  # where there are none, too
        subprocess.run(["bash", "-c", words], env=alone, check=True)
        assert list(left.parent.iterdir()) == []


def test_health_tells_each_part(client: Client, settings: Settings, tmp_path: Path) -> None:
    assert client.get("/health").json() == {
        "status": "ok", "database": "ok", "migrations": "ok", "disk": "ok", "broker": "ok",
    }  # fmt: skip
    settings.CELERY_BROKER_URL = "redis://127.0.0.1:1/0"
    away = client.get("/health")
    # Work waits in the database meanwhile: no reason to take the site away from its people.
    assert (away.status_code, away.json()["broker"]) == (200, "does not answer")


def test_health_says_when_tables_are_missing(client: Client) -> None:
    last = MigrationRecorder(connection).migration_qs.filter(app="annotation").latest("name")
    last.delete()
    answer = client.get("/health")
    assert answer.status_code == 503
    assert "tables of this version" in answer.json()["status"]


def test_health_says_when_the_disk_is_nearly_full(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("annotation.monitoring.health.LEAST_FREE_BYTES", 2**63)
    answer = client.get("/health")
    assert (answer.status_code, answer.json()["database"]) == (503, "ok")
    assert "nearly full" in answer.json()["disk"]
    assert str(django_settings.DATA_DIR) not in answer.content.decode()


def test_an_answer_names_its_request(client: Client) -> None:
    assert len(client.get("/sign-in")["X-Request-ID"]) == 32
    report = client.get("/sign-in", headers={"X-Request-ID": "proxy-17.4"})
    assert report["X-Request-ID"] == "proxy-17.4"
    for forged in ("a b", "x" * 65, "a\nb", "ü"):
        answer = client.get("/sign-in", headers={"X-Request-ID": forged})
        assert answer["X-Request-ID"] != forged
