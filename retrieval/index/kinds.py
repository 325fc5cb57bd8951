"""The adapters by the names that a manifest records."""

from retrieval.index.exact import ExactIndex
from retrieval.index.port import VectorIndex

KINDS: dict[str, type[VectorIndex]] = {index.kind: index for index in (ExactIndex,)}
