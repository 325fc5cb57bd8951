"""Celery is the clock: each row is found in the database and may be lost or sent twice."""

import logging
import uuid
from functools import lru_cache

from celery import shared_task
from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings
from django.db import OperationalError

from core.errors import UserError
from retrieval.encoders.lazy import load_encoder
from retrieval.indexing.shard_worker import ShardLost, encode_row
from retrieval.vectors.types import Encoder

log = logging.getLogger(__name__)

# Then a task ends by itself, before it is killed.
SOFT_LIMIT = settings.CELERY_TASK_TIME_LIMIT - 300
# Whatever else goes wrong is Celery's to log; the row waits for its next turn all the same.
FAULTS = (UserError, ShardLost, SoftTimeLimitExceeded, OperationalError)


@shared_task(name="quorum.encode_shard", soft_time_limit=SOFT_LIMIT)
def encode_shard(row_id: int) -> None:
    try:
        shard = encode_row(row_id, uuid.uuid4().hex, _encoder)
    except FAULTS as error:
        log.warning("encoding %s: %s", row_id, error or type(error).__name__)
    else:
        log.info("encoding %s: %s", row_id, shard)


@lru_cache(maxsize=1)
def _encoder(model: str, precision: str) -> Encoder:
    """Loaded once by each process: it takes seconds and much memory."""
    return load_encoder(model, settings.ENCODER_DEVICE, precision=precision)
