"""Facts for Prometheus that are read when it asks: each by an index, or from a short table."""

import os
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import redis
from django.conf import settings
from django.db.models import Count, OuterRef, Subquery
from django.utils import timezone
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from annotation.models import Account, Campaign, OutboxMessage, Snapshot
from annotation.pipeline.outbox.claims import UNSENT
from retrieval.models import Job

QUEUES = ("celery", "encoding")
PATIENCE_SECONDS = 2.0
SUMS = ("budget", "reserved", "paid", "discarded", "billed")
# Figures of a campaign's snapshot.
ASSIGNMENT_STATES = ("submitted", "reviewed")
TRIPLET_STATES = ("labelled", "open", "unresolved")


def exposition() -> bytes:
    """In Prometheus's text format."""
    folder = Path(os.environ["PROMETHEUS_MULTIPROC_DIR"])
    folder.mkdir(parents=True, exist_ok=True)  # somebody may have emptied it with its parent
    registry = CollectorRegistry()
    registry.register(Facts())
    MultiProcessCollector(registry, path=str(folder))  # type: ignore[no-untyped-call]
    return bytes(generate_latest(registry))


class Facts(Collector):
    def collect(self) -> Iterator[Metric]:
        yield _messages()
        yield _jobs()
        yield from _broker()
        yield from _snapshots()
        yield _spend()


def _messages() -> Metric:
    waiting = GaugeMetricFamily(
        "quorum_outbox_messages",
        "Calls to the crowd that wait or are being made",
        labels=["kind", "state"],
    )
    rows = OutboxMessage.objects.filter(state__in=UNSENT).order_by().values_list("kind", "state")
    for kind, state, count in rows.annotate(Count("pk")):
        waiting.add_metric([kind, state], count)
    return waiting


def _jobs() -> Metric:
    jobs = GaugeMetricFamily(
        "quorum_jobs", "Long work that waits or is under way", labels=["kind", "state"]
    )
    unfinished = Job.objects.filter(state__in=[Job.State.QUEUED, Job.State.RUNNING]).order_by()
    for kind, state, count in unfinished.values_list("kind", "state").annotate(Count("pk")):
        jobs.add_metric([kind, state], count)
    return jobs


def _broker() -> Iterator[Metric]:
    lengths = broker_lengths()
    up = GaugeMetricFamily("quorum_broker_up", "Whether the queue of tasks answers")
    up.add_metric([], float(lengths is not None))
    yield up
    depth = GaugeMetricFamily("quorum_queue_messages", "Tasks in the queue", labels=["queue"])
    for queue, length in (lengths or {}).items():
        depth.add_metric([queue], length)
    yield depth


def broker_lengths() -> dict[str, int] | None:
    """Messages by queue; None where the broker does not answer."""
    url = settings.CELERY_BROKER_URL
    if url == "filesystem://":
        folder = Path(str(settings.CELERY_BROKER_TRANSPORT_OPTIONS["data_folder_in"]))
        return {"all": sum(1 for _ in folder.iterdir())} if folder.is_dir() else None
    if not url.startswith(("redis://", "rediss://")):
        return {}
    try:
        with redis.Redis.from_url(
            url, socket_connect_timeout=PATIENCE_SECONDS, socket_timeout=PATIENCE_SECONDS
        ) as broker:
            return {queue: int(broker.llen(queue)) for queue in QUEUES}
    except redis.RedisError:
        return None


def _snapshots() -> Iterator[Metric]:
    """Of each campaign the newest: nothing is counted for Prometheus's sake."""
    hits = GaugeMetricFamily("quorum_hits", "HITs by state", labels=["campaign", "state"])
    assignments = GaugeMetricFamily("quorum_assignments", "Submitted", labels=["campaign", "state"])
    labels = GaugeMetricFamily("quorum_triplets", "By label", labels=["campaign", "state"])
    ages = GaugeMetricFamily(
        "quorum_snapshot_age_seconds", "Since these figures were taken", labels=["campaign"]
    )
    for snapshot in _newest():
        name, figures = snapshot.campaign.name, snapshot.figures
        for state, count in figures.get("hits_by_state", {}).items():
            hits.add_metric([name, state], count)
        for family, states in ((assignments, ASSIGNMENT_STATES), (labels, TRIPLET_STATES)):
            for state in states:
                family.add_metric([name, state], figures.get(state, 0))
        ages.add_metric([name], _age(snapshot.at))
    yield from (hits, assignments, labels, ages)
    yield _last_pass()


def _newest() -> list[Snapshot]:
    mine = Snapshot.objects.filter(campaign=OuterRef("pk")).order_by("-at", "-pk")
    newest = Campaign.objects.values_list(Subquery(mine.values("pk")[:1]), flat=True)
    return list(Snapshot.objects.filter(pk__in=list(newest)).select_related("campaign"))


def _last_pass() -> Metric:
    """Beat writes its file at each beat; some formats of it have endings."""
    beats = Path(settings.CELERY_BEAT_SCHEDULE_FILENAME)
    written = [path.stat().st_mtime for path in beats.parent.glob(f"{beats.name}*")]
    age = GaugeMetricFamily("quorum_beat_age_seconds", "Since beat last asked for a pass")
    if written:
        age.add_metric([], max(0.0, time.time() - max(written)))
    return age


def _age(at: datetime) -> float:
    return (timezone.now() - at).total_seconds()


def _spend() -> Metric:
    money = GaugeMetricFamily("quorum_money_cents", "By account", labels=["campaign", "place"])
    for account in Account.objects.select_related("campaign"):
        for place in SUMS:
            money.add_metric([account.campaign.name, place], getattr(account, f"{place}_cents"))
    return money
