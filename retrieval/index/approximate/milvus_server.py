"""The Milvus that holds vectors: its client, and what is wrong with it, without its token."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import unquote, urlsplit

import grpc
from django.conf import settings
from pymilvus import MilvusClient
from pymilvus.exceptions import MilvusException

from core.errors import UserError

CONNECT_SECONDS = 5
# For what a user waits for. Loading and indexing take what they take; that a server has stopped to
# answer meanwhile, the client notices by itself, after a minute or two.
SOON = {"timeout": 30}

# What they log of an error holds the whole request; ours says what is wrong.
for _name in ("pymilvus", "milvus_lite"):
    logging.getLogger(_name).setLevel(logging.CRITICAL)


def connect() -> MilvusClient:
    """The same for a file of milvus-lite, a server and a cluster."""
    if not settings.MILVUS:
        raise UserError(
            "An index of the kind milvus needs QUORUM_MILVUS: a file that ends in .db for "
            "milvus-lite, or http://host:19530 for a server; or choose another kind."
        )
    address, token = _parts(settings.MILVUS)
    try:
        return MilvusClient(address, token=token, timeout=CONNECT_SECONDS)
    except (MilvusException, grpc.RpcError, OSError) as error:
        raise UserError(
            f"Milvus at {address} cannot be reached ({_reason(error)}): check QUORUM_MILVUS and "
            "the server; a file of milvus-lite can be opened by one process at a time, and its "
            "folder must exist."
        ) from error


@contextmanager
def asked() -> Iterator[None]:
    """Errors of the engine in one sentence."""
    try:
        yield
    except (MilvusException, grpc.RpcError) as error:
        raise UserError(
            f"Milvus at {server_address()} could not do what the index of vectors asked of it "
            f"({_reason(error)}): look at the server, then run `quorum index build`."
        ) from error


def server_address() -> str:
    """Without the token."""
    return _parts(settings.MILVUS)[0]


def _parts(address: str) -> tuple[str, str]:
    """The address, and the token that stood in it: `user:password`, or a key."""
    if address.endswith(".db"):
        return address, ""
    parts = urlsplit(address)
    token, _, host = parts.netloc.rpartition("@")
    return parts._replace(netloc=host).geturl(), unquote(token)


def _reason(error: Exception) -> str:
    said = error.message if isinstance(error, MilvusException) else str(error)
    if isinstance(error, grpc.RpcError):
        said = f"{error.code().name}: {error.details()}"
    return " ".join(said.split())[:300]
