"""The answer selector: a cross-encoder that reads a query and the parts of a candidate at once.

    [CLS] t [SEP] q [SEP]    [CLS] t [SEP] q [SEP] a [SEP]    [CLS] t [SEP] a [SEP] q [SEP]

The inputs are put together from the tokenizer's own pieces, never by writing "[SEP]" into a text:
a text that holds those letters is a text. Import it through lazy.py: it loads torch.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sentence_transformers import CrossEncoder
from tokenizers import Encoding


class SelectorModel(CrossEncoder):
    """A CrossEncoder whose second text may be several, with a separator between them."""

    def preprocess(
        self, inputs: Sequence[Any], prompt: str | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        """Pieces are shortened, the longest first, until an input has room; padded together."""
        if not inputs:
            return {}
        texts = [[query, *_parts(second)] for query, second in inputs]
        between = self._pieces([self.tokenizer.sep_token], as_texts=False)[0]
        pieces = iter(self._pieces([text for some in texts for text in some], as_texts=True))
        joined = [self._joined([next(pieces) for _ in some], between) for some in texts]
        names = self.tokenizer.model_input_names
        columns = {
            "input_ids": [one.ids for one in joined],
            "token_type_ids": [one.type_ids for one in joined],
            "attention_mask": [one.attention_mask for one in joined],
        }
        known = {name: rows for name, rows in columns.items() if name in names}
        padded = self.tokenizer.pad(known, padding=True, return_tensors="pt")
        return {**padded, "modality": "text"}

    def _pieces(self, texts: list[str], *, as_texts: bool) -> list[Encoding]:
        tokens = self.tokenizer(
            texts,
            add_special_tokens=False,
            padding=False,
            truncation=False,
            split_special_tokens=as_texts,
            verbose=False,  # it warns of long texts, which are shortened below
        )
        return list(tokens.encodings)

    def _joined(self, pieces: list[Encoding], between: Encoding) -> Encoding:
        backend = self.tokenizer.backend_tokenizer
        room = self.max_seq_length - backend.num_special_tokens_to_add(True) - len(pieces) + 2
        for piece, length in zip(
            pieces, shortened([len(piece) for piece in pieces], room), strict=True
        ):
            piece.truncate(length)
        query, first, *others = pieces
        for other in others:
            first = Encoding.merge([first, between, other], growing_offsets=False)
        whole: Encoding = backend.post_process(query, first, add_special_tokens=True)
        return whole


def shortened(lengths: Sequence[int], room: int) -> list[int]:
    """The lengths that fit into the room together, each cut only where it is among the longest.

    ValueError where not one token of each has room.
    """
    if room < len(lengths):
        raise ValueError(f"{len(lengths)} texts do not fit into {room} tokens")
    left = list(lengths)
    order = np.argsort(lengths, kind="stable").tolist()
    for place, which in enumerate(order):
        fair = room // (len(order) - place)
        left[which] = min(lengths[which], fair)
        room -= left[which]
    return left


def _parts(second: str | Sequence[str]) -> list[str]:
    return [second] if isinstance(second, str) else list(second)
