"""The only imports inside functions: torch takes seconds and half a gigabyte, FAISS and pyarrow
a part of that.

The site, the worker and most commands never need them.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.files.rows import Row
from core.progress import Progress, no_progress
from retrieval.corpus.sources.top_share import Scorer
from retrieval.encoders.cross_encoder.port import Selector
from retrieval.index.port import VectorIndex
from retrieval.training.recipe import Recipe
from retrieval.vectors.store import VectorStore
from retrieval.vectors.types import Encoder, Mask, Positions, Vectors

if TYPE_CHECKING:
    from retrieval.encoders.precision import Precision
    from retrieval.index.lexical.index import LexicalIndex
    from retrieval.index.recall import Recall
    from retrieval.models import IndexVersion


def load_encoder(
    model: str, device: str = "auto", *, precision: str = "fp32", processes: int | None = 1
) -> Encoder:
    """`precision`: fp32, bf16 or fp16; `processes`: None for as many as are usual on the device."""
    from retrieval.encoders import encoder  # noqa: PLC0415

    return encoder.load_encoder(model, device, precision=precision, processes=processes)


def chosen_device(device: str) -> str:
    """cpu or cuda."""
    from retrieval.encoders import loading  # noqa: PLC0415

    return loading.chosen_device(device)


def choose_precision(
    model: str, device: str, wanted: str, texts: Sequence[tuple[str, str]], form: str
) -> "Precision":
    """`wanted`: auto, or one of the precisions; `texts`: a sample of the pairs to be encoded."""
    from retrieval.encoders import precision  # noqa: PLC0415

    return precision.choose(model, device, wanted, texts, form)


def load_scorer(model: str, device: str = "auto") -> Scorer:
    from retrieval.encoders.cross_encoder import reranker as scorer  # noqa: PLC0415

    return scorer.load_scorer(model, device)


def load_selector(folder: Path, device: str = "auto") -> Selector:
    """Of a folder that `manage.py train` made; see there."""
    from retrieval.encoders.cross_encoder import load as selecting  # noqa: PLC0415

    return selecting.load_selector(folder, device)


def train_model(
    recipe: Recipe,
    *,
    release: Path,
    name: str,
    pairs: Path | None,
    device: str,
    begin: Callable[[str, int], object],
    step: Progress,
) -> dict[str, Any]:
    """What training.json holds; see there."""
    from retrieval.training import preflight as asked  # noqa: PLC0415
    from retrieval.training import run  # noqa: PLC0415

    order = asked.Order(recipe, release, name, pairs, device)
    return run.train(order, run.Watch(begin, step))


def parquet_rows(path: Path, progress: Progress) -> Iterator[Row]:
    from retrieval.corpus.sources import parquet  # noqa: PLC0415

    return parquet.parquet_rows(path, progress)


def parquet_bytes(path: Path) -> int:
    """Unpacked, as the file itself tells."""
    from retrieval.corpus.sources import parquet  # noqa: PLC0415

    return parquet.unpacked_bytes(path)


def index_class(kind: str) -> type[VectorIndex]:
    """The adapter of the port; `kind` is one of IndexKind."""
    from retrieval.index import kinds  # noqa: PLC0415

    return kinds.KINDS[kind]


def free_on_gpu() -> int:
    """Bytes."""
    from retrieval.index.exact import gpu  # noqa: PLC0415

    return gpu.free_bytes("cuda")


def measure_recall(
    index: VectorIndex, store: VectorStore, queries: Vectors, own: Positions, excluded: Mask
) -> "Recall":
    """Against exact search; see there."""
    from retrieval.index import recall  # noqa: PLC0415

    return recall.measure(index, store, queries, own, excluded)


def lexical_index(version: "IndexVersion", progress: Progress = no_progress) -> "LexicalIndex":
    """Made if there is none yet: see there."""
    from retrieval.index.lexical import index as lexical  # noqa: PLC0415

    return lexical.lexical_index(version, progress)


def words_are_read(version: "IndexVersion") -> bool:
    """Whether `lexical_index` would find it made."""
    from retrieval.index.lexical import index as lexical  # noqa: PLC0415

    return lexical.lexical_folder(version).is_dir()
