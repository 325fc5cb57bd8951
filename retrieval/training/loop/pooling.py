"""How a retriever makes one vector of its tokens'. Import it through lazy.py: it loads torch."""

from typing import Any

from sentence_transformers.sentence_transformer.modules import Pooling, WordWeights

from core.errors import UserError
from retrieval.encoders.loading import weights_of, without_cls
from retrieval.vectors.types import WITHOUT_CLS


def pool(model: Any, base: str, pooling: str | None) -> None:
    """None: as it does. Weights of 0 and 1, which are not learned, leave a token out wherever
    sentence-transformers loads the model."""
    ours = [place for place, module in enumerate(model) if without_cls(model, module)]
    if pooling is not None:
        for place in ours:
            model.pop(place)
        ours = _changed(model, base, pooling)
    for place in ours:
        model[place].requires_grad_(False)


def _changed(model: Any, base: str, pooling: str) -> list[int]:
    """Where the weights are, if they are needed."""
    place = next((n for n, module in enumerate(model) if isinstance(module, Pooling)), None)
    if place is None:
        raise UserError(f"{base} has no pooling of tokens: leave pooling out of the recipe.")
    model[place].pooling_mode = pooling.partition("-")[0]
    if pooling != WITHOUT_CLS:
        return []
    vocabulary = model.tokenizer.convert_ids_to_tokens(range(len(model.tokenizer)))
    model.insert(place, WordWeights(vocabulary, weights_of(model)).to(model.device))
    return [place]
