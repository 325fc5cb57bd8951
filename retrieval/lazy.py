"""The only imports inside functions: torch takes seconds and half a gigabyte, FAISS a part of that.

The site, the worker and most commands never need them.
"""

from retrieval.index.port import VectorIndex
from retrieval.vectors import Encoder


def load_encoder(model: str, device: str = "auto") -> Encoder:
    from retrieval.encoding import encoder  # noqa: PLC0415

    return encoder.load_encoder(model, device)


def index_class(kind: str) -> type[VectorIndex]:
    """The adapter of the port; `kind` is one of IndexKind."""
    from retrieval.index import kinds  # noqa: PLC0415

    return kinds.KINDS[kind]
