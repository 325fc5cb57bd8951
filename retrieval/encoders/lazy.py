"""Imports inside functions: torch takes seconds and half a gigabyte, and the site, the worker and
most commands never need it."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from retrieval.encoders.selector import Scorer, Selector
from retrieval.vectors.types import Encoder

if TYPE_CHECKING:
    from retrieval.encoders.plain_bert import PlainBert
    from retrieval.encoders.precision import Precision


def load_encoder(
    model: str, device: str = "auto", *, precision: str = "fp32", processes: int | None = 1
) -> Encoder:
    """`precision`: fp32, bf16 or fp16; `processes`: None for as many as are usual on the device."""
    require_model(model)
    from retrieval.encoders import encoder  # noqa: PLC0415

    return encoder.load_encoder(model, device, precision=precision, processes=processes)


def classes_of(base: str) -> int:
    from retrieval.encoders.cross_encoder import load  # noqa: PLC0415

    return load.classes_of(base)


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
    require_model(model)
    from retrieval.encoders.cross_encoder import reranker  # noqa: PLC0415

    return reranker.load_scorer(model, device)


def load_selector(folder: Path, device: str = "auto") -> Selector:
    """`folder`: a model that `quorum model train` made."""
    from retrieval.encoders.cross_encoder import load  # noqa: PLC0415

    return load.load_selector(folder, device)


def load_cross_encoder(name: str, form: str, device: str = "auto") -> Selector:
    from retrieval.encoders.cross_encoder import load  # noqa: PLC0415

    return load.load_cross_encoder(name, form, device)


def plain_bert(folder: Path) -> "PlainBert":
    from retrieval.encoders import plain_bert  # noqa: PLC0415

    return plain_bert.PlainBert(folder)


def model_folder(name: str) -> Path | None:
    """Where the files of a model lie that is found without a hub."""
    from retrieval.encoders import model_folder  # noqa: PLC0415

    return model_folder.folder_of(name)


def require_model(name: str) -> None:
    """UserError where nothing has this name."""
    from retrieval.encoders import model_folder  # noqa: PLC0415

    model_folder.require_model(name)
