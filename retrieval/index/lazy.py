"""Imports inside functions: torch and FAISS take seconds and half a gigabyte, bm25s less."""

from typing import TYPE_CHECKING

from core.errors import UserError
from core.progress import Progress, no_progress
from retrieval.index.port import VectorIndex
from retrieval.models import IndexKind, IndexVersion

if TYPE_CHECKING:
    from retrieval.index.approximate.engine_index import EngineIndex
    from retrieval.index.lexical.bm25_index import LexicalIndex


def index_class(kind: str) -> type[VectorIndex]:
    """The adapter of the port; `kind` is one of IndexKind."""
    match IndexKind(kind):
        case IndexKind.EXACT:
            from retrieval.index.exact.exact import ExactIndex  # noqa: PLC0415

            return ExactIndex
        case IndexKind.GPU:
            from retrieval.index.exact.gpu import GpuIndex  # noqa: PLC0415

            return GpuIndex
        case IndexKind.HNSW:
            from retrieval.index.approximate.hnsw import HnswIndex  # noqa: PLC0415

            return HnswIndex
        case IndexKind.IVF:
            from retrieval.index.approximate.ivf import IvfIndex  # noqa: PLC0415

            return IvfIndex
        case IndexKind.IVF_GPU:
            from retrieval.index.approximate.ivf_gpu import IvfGpuIndex  # noqa: PLC0415

            return IvfGpuIndex
        case IndexKind.PGVECTOR | IndexKind.MILVUS:
            return engine_class(kind)


def engine_class(kind: str) -> "type[EngineIndex]":
    """The adapter of one of ENGINES."""
    if kind == IndexKind.PGVECTOR:
        from retrieval.index.approximate.pgvector import PgVectorIndex  # noqa: PLC0415

        return PgVectorIndex
    try:
        from retrieval.index.approximate.milvus import MilvusIndex  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise UserError(
            f"An index of the kind milvus needs the package {error.name}, which is not installed: "
            "install the extra milvus (requirements/milvus.txt), or choose another kind."
        ) from error
    return MilvusIndex


def lexical_index(version: IndexVersion, progress: Progress = no_progress) -> "LexicalIndex":
    """Built if there is none yet."""
    from retrieval.index.lexical import bm25_index  # noqa: PLC0415

    return bm25_index.lexical_index(version, progress)


def has_lexical_index(version: IndexVersion) -> bool:
    """Whether `lexical_index` would find it built."""
    from retrieval.index.lexical import bm25_index  # noqa: PLC0415

    return bm25_index.lexical_folder(version).is_dir()
