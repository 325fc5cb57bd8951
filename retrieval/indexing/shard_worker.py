"""A worker's part of an encoding: one row claimed, its pairs encoded, its shard written."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict

import numpy as np
from django.db.models import QuerySet

from core.errors import UserError
from core.leases import MOST_ATTEMPTS, Heartbeat, take
from retrieval.index.versions import index_root
from retrieval.indexing.encode import encode_missing, identity_of
from retrieval.models import EncodingJob, EncodingShard
from retrieval.vectors.folder import store_folder
from retrieval.vectors.remote import publish
from retrieval.vectors.shards import Identity, Shard
from retrieval.vectors.types import Encoder, PairKeys

BROKEN_OFF = "The worker ended before it had encoded them: see its log."

State = EncodingShard.State
# The encoder of a model's name and a precision.
Load = Callable[[str, str], Encoder]


class ShardLost(Exception):
    """Another worker has taken it over, or nobody needs it any more."""


class ShardHeartbeat(Heartbeat):
    """Tells the row how many of its pairs are encoded."""

    def __init__(self, row: EncodingShard) -> None:
        super().__init__(_held(row))
        self._done = 0

    def facts(self) -> dict[str, object]:
        return {"done": self._done}

    def count(self, increment: int) -> None:
        if self._lost:
            raise ShardLost
        self._done += increment


def encode_row(row_id: int, mine: str, load: Load) -> Shard | None:
    """None where another worker has it, or nobody waits for it; `mine` names the claim."""
    # No join: PostgreSQL looks again only at the row itself when another claim came first.
    wanted = EncodingJob.objects.filter(state=EncodingJob.State.RUNNING)
    if not take(EncodingShard.objects.filter(pk=row_id, job__in=wanted), mine):
        return None
    row = EncodingShard.objects.select_related("job").get(pk=row_id)
    with _accounted(row), ShardHeartbeat(row) as beat:
        shard = _encoded_shard(row, load, beat)
        # The builder may ask for it as soon as the row says that it is done.
        done = {"state": State.DONE, "shard": asdict(shard), "done": row.pairs}
        if not _held(row).update(keys=b"", error="", **done):
            raise ShardLost
    return shard


def keys_of(row: EncodingShard) -> PairKeys:
    return np.frombuffer(bytes(row.keys), "S32")


def _encoded_shard(row: EncodingShard, load: Load, beat: ShardHeartbeat) -> Shard:
    identity = Identity(**row.job.identity)
    encoder = load(row.job.model, identity.precision)
    _require_same(identity, identity_of(encoder, identity.form, identity.dtype))
    folder = store_folder(index_root(), identity)
    [shard] = encode_missing(folder, identity, encoder, keys_of(row), beat.count)
    publish(folder, shard)
    return shard


def _require_same(wanted: Identity, mine: Identity) -> None:
    mine_by_name = asdict(mine)
    differing = [name for name, value in asdict(wanted).items() if mine_by_name[name] != value]
    if differing:
        raise UserError(
            f"The model {wanted.model} differs between the worker and this machine "
            f"({', '.join(differing).replace('_', ' ')}): install the same model on both."
        )


def _held(row: EncodingShard) -> "QuerySet[EncodingShard]":
    """The row, for as long as it is this worker's."""
    return EncodingShard.objects.filter(pk=row.pk, claim=row.claim, state=State.RUNNING)


@contextmanager
def _accounted(row: EncodingShard) -> Iterator[None]:
    """However the work ends, its row says so, if it still is ours."""
    reason = BROKEN_OFF
    try:
        yield
    except UserError as error:
        reason = str(error)
        raise
    finally:
        ended = {"claim": "", "error": reason, "done": 0}
        # Whatever it was, it may have passed by the next time.
        _held(row).filter(attempts__lt=MOST_ATTEMPTS).update(state=State.QUEUED, **ended)
        _held(row).update(state=State.FAILED, **ended)
