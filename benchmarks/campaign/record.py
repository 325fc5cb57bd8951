"""The crowd's record of a first round, made by a seed: who judged which HIT how."""

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

from django.db import transaction
from django.db.models import F, Value
from django.db.models.functions import Concat
from django.utils import timezone

from annotation.models import Assignment, Campaign, HitItem, OutboxMessage, Worker
from annotation.pipeline.collecting.review import FIELD
from benchmarks.campaign.inputs import SEED, copy

WORKERS = 600  # from a tenth of the paper's size on
POSITIVES = 0.19  # of the triplets, as in the paper
DISAGREEMENT = 0.22  # of two votes on a triplet, as in the paper
MISTAKE = (1 - (1 - 2 * DISAGREEMENT) ** 0.5) / 2  # a worker's, where both err alike
SLIP = 0.01  # of a careful worker's HITs fail a control
CARELESS = 0.05  # of the workers, who fail this share of their HITs:
CARELESS_SLIP = 0.3
COLUMNS = ("hit_id", "worker_id", "crowd_id", "status", "accepted_at", "submitted_at", "answers")


@dataclass(frozen=True)
class Work:
    """What one worker submits for a HIT: form field -> value."""

    hit: int
    worker: int  # from 0
    number: int  # in order of submission, from 0
    answers: Mapping[str, str]


def first_round(campaign: Campaign, workers: int = WORKERS) -> Iterator[Work]:
    """All works on all HITs, HIT by HIT."""
    rng = random.Random(SEED)
    careless = set(rng.sample(range(workers), max(1, round(workers * CARELESS))))
    number = 0
    for hit, items in _items(campaign):
        truth = {key: _truth(control, rng) for key, control in items.items()}
        for worker in rng.sample(range(workers), campaign.policy.annotators):
            slips = rng.random() < (CARELESS_SLIP if worker in careless else SLIP)
            yield Work(hit, worker, number, _answers(items, truth, slips, rng))
            number += 1


def _items(campaign: Campaign) -> Iterator[tuple[int, dict[str, str | None]]]:
    """HIT -> its items' keys, with the kind of control; None: a triplet."""
    rows = HitItem.objects.filter(hit__campaign=campaign).order_by("hit_id", "position")
    found = rows.values_list("hit_id", "key", "control__kind").iterator(chunk_size=10_000)
    for hit, items in groupby(found, key=lambda row: row[0]):
        yield hit, {key: kind for _, key, kind in items}


def _truth(control: str | None, rng: random.Random) -> int:
    return int(rng.random() < POSITIVES) if control is None else int(control == "positive")


def _answers(
    items: Mapping[str, str | None], truth: Mapping[str, int], slips: bool, rng: random.Random
) -> dict[str, str]:
    answers = {}
    for key, control in items.items():
        wrong = rng.random() < MISTAKE if control is None else slips and control == "positive"
        answers[FIELD + key] = str(truth[key] ^ wrong)
    return answers


@transaction.atomic
def load_record(campaign: Campaign, share: float) -> int:
    """As if all HITs had been published and collected; how many assignments."""
    people = max(6, min(WORKERS, round(10 * share * WORKERS)))
    began = timezone.now() - timedelta(days=1)
    campaign.hits.update(
        crowd_id=Concat(Value("H"), F("key")),
        published_at=began,
        expires_at=began + timedelta(days=campaign.policy.lifetime_days),
    )
    campaign.outbox.update(state=OutboxMessage.State.DONE, first_sent_at=began, attempts=1)
    crowd = campaign.policy.crowd
    names = [Worker(crowd=crowd, worker_id=f"A{number:05d}") for number in range(people)]
    workers = [worker.pk for worker in Worker.objects.bulk_create(names)]
    rows = (_row(work, workers, began) for work in first_round(campaign, people))
    copy(Assignment._meta.db_table, (*COLUMNS, "failure", "account"), rows)
    return Assignment.objects.count()


@transaction.atomic
def load_third_votes(campaign: Campaign, most: int) -> int:
    """On HITs that were to get one more assignment, one each; how many."""
    began = timezone.now()
    grown = campaign.hits.filter(max_assignments=campaign.policy.annotators + 1).order_by("number")
    workers = Worker.objects.filter(crowd=campaign.policy.crowd, exclusions=None).order_by("pk")
    people = list(workers.values_list("pk", flat=True))
    rng = random.Random(SEED)
    first = Assignment.objects.count()
    made = []
    for number, hit in enumerate(grown.prefetch_related("assignments", "items__control")[:most]):
        before = {assignment.worker_id for assignment in hit.assignments.all()}
        items = {one.key: one.control.kind if one.control else None for one in hit.items.all()}
        truth = {key: _truth(control, rng) for key, control in items.items()}
        worker = rng.choice([person for person in people if person not in before])
        made.append(
            Assignment(
                hit=hit,
                worker_id=worker,
                crowd_id=f"W{first + number:029d}",
                accepted_at=began - timedelta(minutes=3),
                submitted_at=began + timedelta(seconds=number / 4),
                answers=_answers(items, truth, False, rng),
            )
        )
    return len(Assignment.objects.bulk_create(made))


def _row(work: Work, workers: list[int], began: datetime) -> tuple[object, ...]:
    submitted = began + timedelta(seconds=work.number / 4)
    accepted = submitted - timedelta(minutes=3)
    return (
        work.hit,
        workers[work.worker],
        f"W{work.number:029d}",
        Assignment.Status.SUBMITTED.value,
        accepted.isoformat(),
        submitted.isoformat(),
        json.dumps(work.answers),
        "",  # not reviewed
        "",
    )
