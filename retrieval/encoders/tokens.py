"""Texts as tokens, made once for many and padded batch by batch."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Transformer

from retrieval.encoders.batches import Batch, Rows, packed

# Tokenised in one go: enough to sort well, little enough not to keep the first batch waiting.
SLICE = 4_096
# Whatever a model's own settings say of padding: batches are padded here.
UNPADDED = {
    "text": {"padding": False, "return_attention_mask": False},
    "common": {"return_tensors": None},
}

Inputs = Sequence[str] | Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Tokens:
    """Of several texts, laid end to end: text n has the places starts[n] to starts[n + 1]."""

    starts: NDArray[np.int64]
    columns: Mapping[str, NDArray[np.int64]]
    fill: Mapping[str, int]  # what a column is padded with
    padded_left: bool
    same_for_all: Mapping[str, Any]

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.starts)

    def padded(self, rows: Rows) -> dict[str, Any]:
        """The model's input: columns of rows x tokens, and a mask of what is no padding."""
        lengths = self.lengths[rows, np.newaxis]
        width = max(1, int(lengths.max()))
        places = np.arange(width)
        real = places >= width - lengths if self.padded_left else places < lengths
        features = dict(self.same_for_all)
        for name, column in self.columns.items():
            features[name] = np.full(real.shape, self.fill[name])
            features[name][real] = np.concatenate(
                [column[self.starts[row] : self.starts[row + 1]] for row in rows]
            )
        return features | {"attention_mask": real.astype(np.int64)}


def reads_tokens(model: SentenceTransformer) -> bool:
    """Whether its texts become plain rows of tokens: not so static models and chat templates."""
    first = model[0]
    return (
        isinstance(first, Transformer)
        and list(first.modalities) == ["text"]
        and not first.can_flatten_inputs
    )


def token_batches(model: SentenceTransformer, inputs: Inputs, budget: int) -> Iterator[Batch]:
    """Each input once, the longest first; by characters over all, by tokens within a slice."""
    characters = np.array([_characters(one) for one in inputs], np.int64)
    order = np.argsort(-characters, kind="stable")
    for start in range(0, len(order), SLICE):
        among = order[start : start + SLICE]
        tokens = tokenised(model, [inputs[row] for row in among])
        for rows in packed(tokens.lengths, budget):
            yield Batch(among[rows], tokens.padded(rows))


def tokenised(model: SentenceTransformer, inputs: Inputs) -> Tokens:
    # The prompt that `encode` would put in front; most models have none.
    prompt = model.prompts.get(model.default_prompt_name or "") or None
    tokens = model.preprocess(list(inputs), prompt=prompt, processing_kwargs=UNPADDED)
    lists = {name: column for name, column in tokens.items() if isinstance(column, list)}
    lengths = [len(ids) for ids in lists["input_ids"]]
    padding = {
        "input_ids": model.tokenizer.pad_token_id,
        "token_type_ids": model.tokenizer.pad_token_type_id,
    }
    return Tokens(
        starts=np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]),
        columns={
            name: np.fromiter(chain.from_iterable(column), np.int64, sum(lengths))
            for name, column in lists.items()
        },
        fill={name: padding.get(name) or 0 for name in lists},
        padded_left=model.tokenizer.padding_side == "left",
        same_for_all={name: value for name, value in tokens.items() if name not in lists},
    )


def _characters(text: str | tuple[str, str]) -> int:
    return len(text) if isinstance(text, str) else len(text[0]) + len(text[1])
