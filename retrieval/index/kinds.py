"""The adapters by the names that a manifest records."""

from retrieval.index.approximate.hnsw import HnswIndex
from retrieval.index.approximate.ivf import IvfIndex
from retrieval.index.approximate.pgvector import PgVectorIndex
from retrieval.index.exact.exact import ExactIndex
from retrieval.index.exact.gpu import GpuIndex
from retrieval.index.port import VectorIndex

KINDS: dict[str, type[VectorIndex]] = {
    index.kind: index for index in (ExactIndex, GpuIndex, HnswIndex, IvfIndex, PgVectorIndex)
}
