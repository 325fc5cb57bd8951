"""Shards that workers encode for a build: each claimed by one, taken over, or given up."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from celery import current_app
from django.utils import timezone
from kombu.exceptions import OperationalError as BrokerError
from pytest_django import Settings

from core.errors import UserError
from core.leases import MOST_ATTEMPTS, STALE, take
from core.progress import Progress, no_progress
from retrieval.index.versions import index_root
from retrieval.indexing import distributed, encode
from retrieval.indexing.distributed import spread
from retrieval.indexing.encode import encode_missing, identity_of
from retrieval.indexing.shard_worker import (
    BROKEN_OFF,
    ShardHeartbeat,
    ShardLost,
    encode_row,
    keys_of,
)
from retrieval.jobs.tasks import encode_shard
from retrieval.models import EncodingJob, EncodingShard, QaPair
from retrieval.vectors.folder import store_folder
from retrieval.vectors.pair_keys import database_pairs
from retrieval.vectors.shards import Shard
from retrieval.vectors.store import VectorStore
from retrieval.vectors.types import Encoder, PairKeys, Vectors
from tests.retrieval.conftest import AddPairs
from tests.retrieval.encoders.keywords import KeywordEncoder
from tests.support.threads import together

pytestmark = [pytest.mark.django_db, pytest.mark.concurrent]

KEYWORDS = KeywordEncoder("rain snow hail")
IDENTITY = identity_of(KEYWORDS, "QQ", "float32")
PAIRS = [(f"Is {word} number {n} wet?", "Yes.") for n in range(9) for word in ("rain", "snow")]
"""18 pairs, in shards of 5: three full ones and a rest of 3."""


@pytest.fixture(autouse=True)
def small_and_quick(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    monkeypatch.setattr(encode, "SHARD_PAIRS", 5)
    monkeypatch.setattr(distributed, "POLL_SECONDS", 0.0)
    settings.LOOK_SECONDS = settings.PASS_SECONDS = 0.0


@pytest.fixture
def missing(add_pairs: AddPairs) -> PairKeys:
    add_pairs(PAIRS)
    return database_pairs().keys


def load(model: str, precision: str) -> Encoder:
    assert (model, precision) == ("keywords", "fp32")
    return KEYWORDS


class Workers:
    """Who take up what is sent, at once and in this process."""

    def __init__(self, encoder: Encoder = KEYWORDS, *, most: int = 10**6) -> None:
        self.encoder = encoder
        self.most = most
        self.sent: list[int] = []
        self.refused: list[str] = []

    def send_task(self, name: str, args: tuple[int], **options: Any) -> None:
        assert (name, options["queue"]) == (encode_shard.name, "encoding")
        assert options["expires"] >= 60
        self.sent.append(args[0])
        if len(self.sent) > self.most:
            return
        try:
            encode_row(args[0], f"claim {len(self.sent)}", lambda model, precision: self.encoder)
        except UserError as error:
            self.refused.append(str(error))


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> Workers:
    """The broker is real elsewhere: here a message is a call."""
    workers = Workers()
    monkeypatch.setattr(current_app, "send_task", workers.send_task)
    return workers


def folder_of_store() -> Path:
    return store_folder(index_root(), IDENTITY)


def spread_out(missing: PairKeys, progress: Progress = no_progress) -> list[Shard]:
    folder = folder_of_store()
    return list(spread(folder, IDENTITY, missing, model="keywords", progress=progress))


def alone(missing: PairKeys, folder: Path) -> list[Shard]:
    folder.mkdir()
    return list(encode_missing(folder, IDENTITY, KEYWORDS, missing))


def begun(missing: PairKeys) -> list[EncodingShard]:
    distributed._begin(folder_of_store(), IDENTITY, missing, "keywords")
    return list(EncodingShard.objects.order_by("number"))


def test_what_workers_make_is_what_one_process_makes(
    missing: PairKeys, workers: Workers, tmp_path: Path
) -> None:
    done: list[int] = []
    together = spread_out(missing, done.append)
    assert together == alone(missing, tmp_path / "alone")
    for shard in together:
        for name in shard.files:
            assert (folder_of_store() / name).read_bytes() == (
                tmp_path / "alone" / name
            ).read_bytes()
    assert sum(done) == len(missing) == 18
    assert EncodingJob.objects.get().state == "done"
    assert not any(EncodingShard.objects.values_list("keys", flat=True))


def test_nothing_missing_is_nothing_to_wait_for(workers: Workers, db: None) -> None:
    assert spread_out(np.zeros(0, "S32")) == []
    assert workers.sent == []


def test_a_row_is_claimed_by_one(missing: PairKeys) -> None:
    rows = begun(missing)
    one = EncodingShard.objects.filter(pk=rows[0].pk)
    assert take(one, "mine")
    assert not take(one, "theirs")
    assert encode_row(rows[0].pk, "theirs", load) is None
    assert one.get().claim == "mine"
    assert encode_row(rows[1].pk, "theirs", load) is not None


@pytest.mark.django_db(transaction=True)
def test_of_workers_who_claim_at_once_one_has_the_row(missing: PairKeys) -> None:
    for row in begun(missing):
        made = together(
            *(partial(encode_row, row.pk, name, load) for name in ("ada", "bob", "eve"))
        )
        assert len([shard for shard in made if shard]) == 1
        row.refresh_from_db()
        assert (row.attempts, row.state) == (1, "done")


def test_rows_hold_each_missing_pair_once(missing: PairKeys) -> None:
    rows = begun(missing)
    assert [row.pairs for row in rows] == [5, 5, 5, 3]
    assert np.concatenate([keys_of(row) for row in rows]).tolist() == missing.tolist()


def fall_silent(row: EncodingShard) -> None:
    EncodingShard.objects.filter(pk=row.pk).update(beat_at=timezone.now() - STALE)


def test_the_work_of_a_silent_worker_is_taken_over(missing: PairKeys) -> None:
    row = begun(missing)[0]
    take(EncodingShard.objects.filter(pk=row.pk), "theirs")
    assert encode_row(row.pk, "mine", load) is None
    fall_silent(row)
    assert encode_row(row.pk, "mine", load) is not None
    row.refresh_from_db()
    assert (row.state, row.attempts, row.done) == ("done", 2, 5)


def test_who_lost_the_claim_changes_nothing(missing: PairKeys) -> None:
    row = begun(missing)[0]

    class Slow(KeywordEncoder):
        def encode_questions(
            self, questions: Sequence[str], progress: Progress = no_progress
        ) -> Vectors:
            EncodingShard.objects.filter(pk=row.pk).update(claim="theirs")
            return super().encode_questions(questions, progress)

    with pytest.raises(ShardLost):
        encode_row(row.pk, "mine", lambda model, precision: Slow("rain snow hail"))
    row.refresh_from_db()
    assert (row.state, row.claim, row.error) == ("running", "theirs", "")


def test_who_hears_of_the_loss_stops(missing: PairKeys) -> None:
    row = begun(missing)[0]
    take(EncodingShard.objects.filter(pk=row.pk), "mine")
    row.refresh_from_db()
    beat = ShardHeartbeat(row)
    beat.count(3)
    beat._write()
    row.refresh_from_db()
    assert row.done == 3
    EncodingShard.objects.update(claim="theirs")
    beat._write()
    with pytest.raises(ShardLost):
        beat.count(1)


def test_a_worker_with_another_model_is_refused_by_what_differs(
    missing: PairKeys, workers: Workers
) -> None:
    workers.encoder = KeywordEncoder("rain snow fog")
    with pytest.raises(UserError) as caught:
        spread_out(missing)
    report = (
        "The model keywords differs between the worker and this machine (model "
        "fingerprint): install the same model on both."
    )
    assert str(caught.value) == (
        f"The workers have tried 3 times to encode 5 of the pairs and failed. {report} Fix that "
        "and run the command again. Encoded pairs are kept."
    )
    assert set(workers.refused) == {report}
    assert EncodingJob.objects.get().state == "failed"
    assert not list(folder_of_store().glob("shard-*"))


def test_a_row_of_a_job_that_failed_is_not_taken_up(missing: PairKeys) -> None:
    row = begun(missing)[0]
    EncodingJob.objects.update(state="failed")
    assert encode_row(row.pk, "mine", load) is None


class Broken(KeywordEncoder):
    def encode_questions(
        self, questions: Sequence[str], progress: Progress = no_progress
    ) -> Vectors:
        raise ZeroDivisionError


def test_work_that_breaks_off_is_tried_three_times(missing: PairKeys) -> None:
    row = begun(missing)[0]
    for attempt in range(1, MOST_ATTEMPTS + 1):
        with pytest.raises(ZeroDivisionError):
            encode_row(row.pk, "mine", lambda model, precision: Broken("rain snow hail"))
        row.refresh_from_db()
        last = attempt == MOST_ATTEMPTS
        assert (row.attempts, row.state) == (attempt, "failed" if last else "queued")
        assert row.error == BROKEN_OFF
    assert encode_row(row.pk, "mine", load) is None


def test_workers_killed_three_times_at_one_row_are_told(
    missing: PairKeys, workers: Workers
) -> None:
    """As where a machine has too little memory: nobody is left to say so."""
    workers.most = 0
    shards = spread(folder_of_store(), IDENTITY, missing, model="keywords")
    row = begun(missing)[1]
    EncodingShard.objects.filter(pk=row.pk).update(state="running", attempts=3, beat_at=None)
    watch = distributed.Watch(row.job, no_progress)
    with pytest.raises(UserError, match=r"tried 3 times to encode 5 .* out of memory"):
        watch.poll()
    shards.close()  # type: ignore[attr-defined]


def test_a_waiting_command_run_again_goes_on(missing: PairKeys, workers: Workers) -> None:
    workers.most = 2
    shards = spread(folder_of_store(), IDENTITY, missing, model="keywords")
    made = [next(shards), next(shards)]
    shards.close()  # type: ignore[attr-defined]
    # A third worker is still at its row when the command is run again.
    third = EncodingShard.objects.get(number=2)
    take(EncodingShard.objects.filter(pk=third.pk), "still at it")
    store = VectorStore(folder_of_store(), IDENTITY, made)
    rest = missing[store.positions_of(missing) < 0]
    rows = begun(rest)
    assert [(row.number, row.pairs, row.claim) for row in rows] == [
        (2, 5, "still at it"),
        (3, 3, ""),
    ]
    fall_silent(third)
    workers.most = 10**6
    made += spread_out(rest)
    assert sorted(shard.pairs for shard in made) == [3, 5, 5, 5]
    store = VectorStore(folder_of_store(), IDENTITY, made)
    assert (store.positions_of(missing) >= 0).all()


def test_a_second_command_over_the_same_store_is_noticed(
    missing: PairKeys, workers: Workers
) -> None:
    """On another machine, whose folder has a lock of its own."""
    workers.most = 2
    shards = spread(folder_of_store(), IDENTITY, missing, model="keywords")
    assert sum(next(shards).pairs for _ in range(2)) == 10
    begun(missing[10:])
    workers.most = 10**6
    with pytest.raises(UserError, match="Another command is encoding the same pairs"):
        list(shards)


def test_a_row_of_pairs_that_need_no_vector_any_more_is_dropped(missing: PairKeys) -> None:
    row = begun(missing)[0]
    take(EncodingShard.objects.filter(pk=row.pk), "at it")
    rows = begun(missing[1:])
    assert [row.claim for row in rows] == ["", "", "", ""]
    assert np.concatenate([keys_of(row) for row in rows]).tolist() == missing[1:].tolist()


def test_pairs_that_are_gone_are_told(missing: PairKeys, workers: Workers) -> None:
    QaPair.objects.all()[:1].get().delete()
    with pytest.raises(UserError, match="The q/a pairs changed while"):
        spread_out(missing)


def test_without_a_worker_the_command_says_how_to_start_one(
    missing: PairKeys, workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    workers.most = 0
    monkeypatch.setattr(distributed, "SILENCE_SECONDS", 0.0)
    with pytest.raises(UserError) as caught:
        spread_out(missing)
    assert str(caught.value) == (
        "For 0 seconds no worker has taken a shard to encode: start one by `celery --app "
        "config worker --queues encoding`, then run the command again."
    )


def test_a_broker_that_is_away_is_told(missing: PairKeys, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*args: object, **options: object) -> None:
        raise BrokerError("no route to host")

    monkeypatch.setattr(current_app, "send_task", away)
    with pytest.raises(UserError, match=r"cannot be reached \(no route to host\): check QUORUM_BR"):
        spread_out(missing)


def test_progress_counts_nothing_twice_when_a_row_is_taken_over(missing: PairKeys) -> None:
    rows = begun(missing)
    seen: list[int] = []
    watch = distributed.Watch(rows[0].job, seen.append)
    for done in (4, 0, 3, 5):
        EncodingShard.objects.filter(pk=rows[0].pk).update(done=done)
        watch._report()
    assert seen == [4, 1]
