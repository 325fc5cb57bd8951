"""BERT's forward pass for a few short texts, in numpy: torch and transformers take many seconds to
import. One text after the other, so nothing is padded."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file
from scipy.special import ndtr
from tokenizers import Tokenizer

from retrieval.vectors.types import Vectors

Layer = NDArray[np.float32]  # tokens x numbers


class PlainBert:
    """The mean of a text's last layer, of length 1. Whether a model makes its vectors so, its files
    do not say for certain: compare."""

    def __init__(self, folder: Path) -> None:
        """KeyError, OSError or ValueError where the folder holds something else."""
        config = _read(folder / "config.json")
        self.dimension = int(config["hidden_size"])
        self._layers = range(config["num_hidden_layers"])
        self._heads = int(config["num_attention_heads"])
        self._epsilon = float(config["layer_norm_eps"])
        self._weights = {
            name: weights.astype(np.float32, copy=False)
            for name, weights in load_file(folder / "model.safetensors").items()
        }
        tokens = _read(folder / "tokenizer_config.json") | _read(
            folder / "sentence_bert_config.json"
        )
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(tokens.get("max_seq_length", tokens["model_max_length"]))

    def encode(self, texts: Sequence[str]) -> Vectors:
        vectors = np.empty((len(texts), self.dimension), np.float32)
        for row, text in zip(vectors, texts, strict=True):
            mean = self._last_layer(self._tokenizer.encode(text).ids).mean(axis=0)
            row[:] = mean / np.linalg.norm(mean)
        return vectors

    def _last_layer(self, tokens: Sequence[int]) -> Layer:
        words, places, kinds = (
            self._weights[f"embeddings.{name}_embeddings.weight"]
            for name in ("word", "position", "token_type")
        )
        hidden = words[tokens] + places[: len(tokens)] + kinds[0]
        hidden = self._normed(hidden, "embeddings.LayerNorm")
        for number in self._layers:
            layer = f"encoder.layer.{number}"
            seen = self._linear(self._attended(hidden, layer), f"{layer}.attention.output.dense")
            hidden = self._normed(hidden + seen, f"{layer}.attention.output.LayerNorm")
            inner = self._linear(hidden, f"{layer}.intermediate.dense")
            inner *= ndtr(inner)  # GELU
            inner = self._linear(inner, f"{layer}.output.dense")
            hidden = self._normed(hidden + inner, f"{layer}.output.LayerNorm")
        return hidden

    def _attended(self, hidden: Layer, layer: str) -> Layer:
        tokens = len(hidden)
        query, key, value = (  # heads x tokens x numbers
            self._linear(hidden, f"{layer}.attention.self.{name}")
            .reshape(tokens, self._heads, -1)
            .swapaxes(0, 1)
            for name in ("query", "key", "value")
        )
        weights = query @ key.swapaxes(1, 2) / np.float32(key.shape[2] ** 0.5)
        weights = np.exp(weights - weights.max(axis=2, keepdims=True))
        weights /= weights.sum(axis=2, keepdims=True)
        attended: Layer = (weights @ value).swapaxes(0, 1).reshape(tokens, -1)
        return attended

    def _linear(self, values: Layer, name: str) -> Layer:
        product: Layer = values @ self._weights[f"{name}.weight"].T
        return product + self._weights[f"{name}.bias"]

    def _normed(self, values: Layer, name: str) -> Layer:
        centred = values - values.mean(axis=1, keepdims=True)
        spread = np.sqrt(np.square(centred).mean(axis=1, keepdims=True) + self._epsilon)
        normed: Layer = centred / spread * self._weights[f"{name}.weight"]
        return normed + self._weights[f"{name}.bias"]


def _read(path: Path) -> dict[str, int]:
    read: dict[str, int] = json.loads(path.read_text(encoding="utf-8"))
    return read
