"""Finding a model and making it ready; what it is, whatever arithmetic it will be used in."""

import hashlib
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from huggingface_hub.errors import StrictDataclassError
from safetensors import SafetensorError
from sentence_transformers import CrossEncoder, SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling
from torch.nn import Module
from transformers.utils import logging as transformers_logging

from core.errors import UserError
from retrieval.encoders.bundled import bundled_folder
from retrieval.encoders.model_folder import ENTER_ANOTHER, folder_of, require_model
from retrieval.encoders.out_of_memory import wants_memory
from retrieval.encoders.selector import is_cross_encoder, is_selector
from retrieval.vectors.types import WITHOUT_CLS

DEVICES = ("auto", "cpu", "cuda")
# What the libraries raise of a checkpoint that is broken, whichever of its files it is.
BROKEN = (
    AttributeError,
    ImportError,
    LookupError,
    OSError,
    RuntimeError,
    SafetensorError,
    StrictDataclassError,
    TypeError,
    ValueError,
)


def load_model(name: str, device: str) -> tuple[SentenceTransformer, str]:
    """The model named, in fp32: an installed package that carries one, a folder, or one in the
    hub's cache; and the name to find it by again.

    Nothing is downloaded: what an index is made with is chosen, not fetched on the way.
    """
    # Bars and notes for a load of half a second are noise on standard error.
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)
    with refuse_if_broken(name):
        bundled = bundled_folder(name)
        folder = bundled or Path(name).resolve()
        local = folder.is_dir()
        if local and is_selector(folder):
            raise UserError(f"{name} is an answer selector: name a retriever here.")
        if (known := folder_of(name)) and is_cross_encoder(known):
            raise UserError(
                f"{name} is a cross-encoder, which reads two texts as one: name a model here that "
                "encodes each text by itself."
            )
        model = SentenceTransformer(
            str(folder) if local else name, device=device, local_files_only=True
        )
    # A relative path would name another folder tomorrow. Weights may be kept in half precision.
    return model.eval().float(), str(folder) if local and not bundled else name


@contextmanager
def refuse_if_broken(name: str) -> Iterator[None]:
    """UserError where what is loaded meanwhile, the model of this name, cannot be."""
    require_model(name)
    try:
        yield
    except (MemoryError, *BROKEN) as error:
        if wants_memory(error):
            raise UserError(
                f"There is not enough memory to load the model {name!r}: free some of it, or name "
                "a smaller model."
            ) from error
        reason = " ".join(str(error).split())[:300]
        raise UserError(
            f"The model {name!r} cannot be loaded ({reason}): {ENTER_ANOTHER}"
        ) from error


def chosen_device(device: str) -> str:
    if device not in DEVICES:
        raise UserError(f"There is no device {device!r}: choose one of {', '.join(DEVICES)}.")
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda" and not torch.cuda.is_available():
        raise UserError("There is no CUDA device here: use --device cpu or --device auto.")
    return device


def pooling_of(model: SentenceTransformer) -> str:
    """As a recipe names it, or the pooling layer itself; a model without one is its own."""
    modes = [module.pooling_mode for module in model if isinstance(module, Pooling)]
    if not modes:
        return "none"
    if any(without_cls(model, module) for module in model):
        return WITHOUT_CLS
    return modes[0] if isinstance(modes[0], str) else "+".join(modes[0])


def without_cls(model: SentenceTransformer, module: Module) -> bool:
    """Whether the module leaves out the first token of a text, and no other."""
    return getattr(module, "word_weights", None) == weights_of(model)


def weights_of(model: SentenceTransformer) -> dict[str, float]:
    """Of a model's tokens without the first one; any other counts 1."""
    return {model.tokenizer.cls_token: 0.0}


def fingerprint_of(model: SentenceTransformer | CrossEncoder) -> str:
    """sha256 over the weights, the vocabulary and what else decides a vector."""
    digest = hashlib.sha256()
    for name, weights in sorted(model.state_dict().items()):
        digest.update(f"{name} {weights.dtype} {tuple(weights.shape)}".encode())
        digest.update(weights.detach().cpu().reshape(-1).contiguous().view(torch.uint8).numpy())
    vocabulary = sorted(model.tokenizer.get_vocab().items())
    settings = [str(module) for module in model], model.max_seq_length, vocabulary
    digest.update(json.dumps(settings).encode())
    return digest.hexdigest()
