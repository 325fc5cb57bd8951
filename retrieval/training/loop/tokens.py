"""Objectives on tokens: some tokens of what a model reads are changed, and it says which they were,
or which were changed. A sum changes them once: all its terms are computed from that one reading, as
the AS2 paper does.

    mlm          the tokens are hidden and named again: of them 80 % are read as the mask, 10 % as
                 any other, 10 % as they are (Devlin et al., 2019)
    rts          any others stand in their place, and are to be detected (Di Liello et al., 2022)
    mlm and rtd  a generator that is trained beside names the hidden ones, and what it says is to be
                 detected in their place (Clark et al., 2020)

In each, 15 % of a text's tokens, rounded up; separators and the like are never among them. Which
ones is drawn by (seed, epoch, row), the row being its tokens. Import it through lazy.py: torch.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy
from transformers import AutoModelForMaskedLM, ElectraConfig, ElectraForMaskedLM
from transformers.modeling_outputs import BaseModelOutput

from core.errors import UserError

PERCENT = 15
MASKED, REPLACED = 0.8, 0.9  # of a number from 0 to 1: below the first, else below the second
NARROWER = 3  # than the model, by so many times, is ELECTRA-base's generator
OF_DEV = (0, 0)  # seed and epoch, whatever is trained: losses of other draws do not compare

# Of the last states of what was read (rows x tokens x width), the loss of each term.
OfStates = Callable[[Tensor], Mapping[str, Tensor]]


class Drawn(NamedTuple):
    """Tokens to be changed."""

    ids: Tensor  # rows x tokens, as they were
    real: Tensor  # which of them are no padding
    chosen: Tensor  # which of them are to be changed
    dice: Tensor  # chosen tokens x 2, each from 0 to 1


class TokenTerms(nn.Module):
    """What a sum's terms on tokens have of their own, and learn beside the model."""

    drawn_by = OF_DEV  # seed and epoch

    def __init__(self, model: Any) -> None:
        super().__init__()
        tokenizer = model.tokenizer
        self._mask = tokenizer.mask_token_id
        self._special = np.array(tokenizer.all_special_ids)
        every = np.arange(len(tokenizer))
        self._ordinary = torch.from_numpy(every[~np.isin(every, self._special)])

    def change(self, features: dict[str, Any], *, training: bool) -> OfStates:
        """The features' tokens, in place."""
        self.train(training)
        drawn = _drawn(features, self._special, self.drawn_by if training else OF_DEV)
        features["input_ids"], of_states = self._changed(drawn, features)
        return of_states

    def _changed(self, drawn: Drawn, features: Mapping[str, Any]) -> tuple[Tensor, OfStates]:
        raise NotImplementedError

    def _any(self, dice: Tensor) -> Tensor:
        ordinary = self._ordinary.to(dice.device)
        return ordinary[(dice * len(ordinary)).long()]


class Masked(TokenTerms):
    """mlm, by the head that the model's files bring, else a new one."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self.head = _head(model)

    def _changed(self, drawn: Drawn, features: Mapping[str, Any]) -> tuple[Tensor, OfStates]:
        were = drawn.ids[drawn.chosen]
        how, which = drawn.dice.T
        replaced = torch.where(how < REPLACED, self._any(which), were)
        read = drawn.ids.clone()
        read[drawn.chosen] = torch.where(how < MASKED, self._mask, replaced)

        def of_states(states: Tensor) -> Mapping[str, Tensor]:
            return {"mlm": _naming(self.head(states[drawn.chosen]), were)}

        return read, of_states


class Swapped(TokenTerms):
    """rts."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self.head = _detector(model)

    def _changed(self, drawn: Drawn, features: Mapping[str, Any]) -> tuple[Tensor, OfStates]:
        read = drawn.ids.clone()
        read[drawn.chosen] = self._any(drawn.dice[:, 0])
        return read, lambda states: {"rts": _detecting(self.head(states), read, drawn)}


class Generated(TokenTerms):
    """mlm of the generator, and rtd."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self.generator = _generator(model)
        self.head = _detector(model)

    def _changed(self, drawn: Drawn, features: Mapping[str, Any]) -> tuple[Tensor, OfStates]:
        logits = self._logits(drawn, features)
        read = drawn.ids.clone()
        read[drawn.chosen] = _sampled(logits.detach().float(), drawn.dice[:, 0])

        def of_states(states: Tensor) -> Mapping[str, Tensor]:
            return {
                "mlm": _naming(logits, drawn.ids[drawn.chosen]),
                "rtd": _detecting(self.head(states), read, drawn),
            }

        return read, of_states

    def _logits(self, drawn: Drawn, features: Mapping[str, Any]) -> Tensor:
        """Of the chosen tokens: chosen x vocabulary."""
        states = self.generator.electra(
            drawn.ids.masked_fill(drawn.chosen, self._mask),
            attention_mask=features["attention_mask"],
            token_type_ids=features.get("token_type_ids"),
        )[0]
        predictions = self.generator.generator_predictions(states[drawn.chosen])
        logits: Tensor = self.generator.generator_lm_head(predictions)
        return logits


def token_terms(model: Any, names: Sequence[str]) -> TokenTerms | None:
    """Of a sum's terms by their names; UserError where the model has no place for them."""
    ways: Mapping[str, type[TokenTerms]] = {"rtd": Generated, "rts": Swapped, "mlm": Masked}
    way = next((way for name, way in ways.items() if name in names), None)
    if way is None:
        return None
    if not hasattr(model[0], "auto_model") or model.tokenizer.mask_token_id is None:
        raise UserError(
            f"The base has no transformer with a mask token, which {' and '.join(names)} needs: "
            "name another base in the recipe, such as a BERT."
        )
    return way(model)


def encoder_of(model: Any) -> Any:
    """Without a head."""
    return model[0].auto_model.base_model


@contextmanager
def last_states(model: Any) -> Iterator[list[Tensor]]:
    """Of each reading meanwhile. Without a head, the encoder is the library's own module's."""
    states: list[Tensor] = []
    module, name = encoder_of(model), "last_hidden_state"
    if module is model[0].auto_model:
        module, name = model[0], "token_embeddings"
    handle = module.register_forward_hook(lambda *given: states.append(given[-1][name]))
    try:
        yield states
    finally:
        handle.remove()


def _drawn(features: Mapping[str, Any], special: NDArray[Any], by: tuple[int, int]) -> Drawn:
    ids, real = features["input_ids"], features["attention_mask"].bool()
    rows, theirs = ids.cpu().numpy(), real.cpu().numpy()
    may_be = theirs & ~np.isin(rows, special)
    chosen, dice = np.zeros_like(theirs), []
    for number, row in enumerate(rows):
        draw = np.random.default_rng([*by, crc32(row[theirs[number]].tobytes())])
        places = np.flatnonzero(may_be[number])
        some = draw.permutation(places)[: -(-len(places) * PERCENT // 100)]
        chosen[number, some] = True
        dice.append(draw.random((len(some), 2), np.float32))
    device = ids.device
    numbers = torch.from_numpy(np.concatenate(dice)).to(device)
    return Drawn(ids, real, torch.from_numpy(chosen).to(device), numbers)


def _sampled(logits: Tensor, dice: Tensor) -> Tensor:
    """A token of each row by its probability, where a number from 0 to 1 falls."""
    sums = logits.softmax(-1).cumsum(-1)
    places = torch.searchsorted(sums, dice[:, None] * sums[:, -1:], right=True)
    return places.squeeze(1).clamp(max=logits.shape[1] - 1)


def _naming(logits: Tensor, were: Tensor) -> Tensor:
    return cross_entropy(logits.float(), were, reduction="sum") / max(1, len(were))


def _detecting(logits: Tensor, read: Tensor, drawn: Drawn) -> Tensor:
    """Of all tokens; one that came back by chance is as it was."""
    changed = (read != drawn.ids)[drawn.real]
    return binary_cross_entropy_with_logits(logits.squeeze(-1)[drawn.real].float(), changed.float())


class _Given(nn.Module):
    """Stands in a head's model where its encoder was, and hands on the states it is given."""

    def forward(self, *_: Any, inputs_embeds: Tensor, **__: Any) -> BaseModelOutput:
        return BaseModelOutput(last_hidden_state=inputs_embeds)


class _Head(nn.Module):
    """That of a masked language model of the model's own architecture, tied to its words."""

    def __init__(self, whole: Any, words: nn.Embedding) -> None:
        super().__init__()
        setattr(whole, whole.base_model_prefix, _Given())
        whole.get_output_embeddings().weight = words.weight
        self.whole = whole

    def forward(self, states: Tensor) -> Tensor:
        """Tokens x width to tokens x vocabulary."""
        logits: Tensor = self.whole(inputs_embeds=states[None]).logits[0]
        return logits


def _head(model: Any) -> _Head:
    encoder = encoder_of(model)
    try:
        whole = AutoModelForMaskedLM.from_pretrained(
            encoder.name_or_path, local_files_only=True, dtype=torch.float32
        )
    except ValueError as error:  # of an architecture that was never pre-trained so
        raise UserError(
            f"{encoder.name_or_path} is of an architecture that names no masked tokens, which mlm "
            "needs: name another base in the recipe, such as a BERT."
        ) from error
    return _Head(whole, encoder.get_input_embeddings())


def _generator(model: Any) -> Any:
    """As ELECTRA's: as many layers, narrower, and with the model's own words."""
    encoder = encoder_of(model)
    config, words = encoder.config, encoder.get_input_embeddings()
    heads = max(1, config.num_attention_heads // NARROWER)
    width = heads * config.hidden_size // config.num_attention_heads
    generator: Any = ElectraForMaskedLM(
        ElectraConfig(
            vocab_size=words.num_embeddings,
            embedding_size=words.embedding_dim,
            hidden_size=width,
            intermediate_size=4 * width,
            num_attention_heads=heads,
            num_hidden_layers=config.num_hidden_layers,
            max_position_embeddings=config.max_position_embeddings,
            pad_token_id=config.pad_token_id,
        )
    )
    generator.set_input_embeddings(words)
    generator.get_output_embeddings().weight = words.weight
    return generator


def _detector(model: Any) -> nn.Module:
    width = encoder_of(model).config.hidden_size
    return nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, 1))
