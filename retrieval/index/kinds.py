"""The adapters by the names that a manifest records."""

from retrieval.index.exact import ExactIndex
from retrieval.index.gpu import GpuIndex
from retrieval.index.hnsw import HnswIndex
from retrieval.index.ivf import IvfIndex
from retrieval.index.pgvector import PgVectorIndex
from retrieval.index.port import VectorIndex

KINDS: dict[str, type[VectorIndex]] = {
    index.kind: index for index in (ExactIndex, GpuIndex, HnswIndex, IvfIndex, PgVectorIndex)
}
