"""The answer selector: a cross-encoder that reads a query and the parts of a candidate at once.

    [CLS] t [SEP] q [SEP]    [CLS] t [SEP] q [SEP] a [SEP]    [CLS] t [SEP] a [SEP] q [SEP]

The inputs are put together from the tokenizer's own pieces, never by writing "[SEP]" into a text:
a text that holds those letters is a text. Import it through lazy.py: it loads torch.
"""

from collections.abc import Sequence
from functools import cached_property
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
        pieces = iter(self._pieces([text for some in texts for text in some], as_texts=True))
        joined = [self._joined([next(pieces).ids for _ in some]) for some in texts]
        names = self.tokenizer.model_input_names
        columns = {
            "input_ids": [[token for token, _ in one] for one in joined],
            "token_type_ids": [[kind for _, kind in one] for one in joined],
            "attention_mask": [[1] * len(one) for one in joined],
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

    @cached_property
    def _layout(self) -> list[tuple[int, int, bool]]:
        """Of two texts of one token each: token, its type, and whether it is not of a text."""
        two = self._pieces([self.tokenizer.sep_token] * 2, as_texts=False)
        layout = self.tokenizer.backend_tokenizer.post_process(*two, add_special_tokens=True)
        specials = map(bool, layout.special_tokens_mask)
        return list(zip(layout.ids, layout.type_ids, specials, strict=True))

    def _joined(self, pieces: list[list[int]]) -> list[tuple[int, int]]:
        """Each token with its type.

        Encodings are not put together: each keeps what is cut from it, in all combinations.
        """
        assert self.max_seq_length is not None
        special = len(self._layout) - 2
        room = self.max_seq_length - special - (len(pieces) - 2)
        lengths = shortened([len(piece) for piece in pieces], room)
        query, *others = (piece[:length] for piece, length in zip(pieces, lengths, strict=True))
        second = others[0]
        for other in others[1:]:
            second = [*second, self.tokenizer.sep_token_id, *other]
        texts = iter((query, second))
        return [
            (token, kind)
            for one, kind, is_special in self._layout
            for token in ([one] if is_special else next(texts))
        ]


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
