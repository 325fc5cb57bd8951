"""Models that say how well an answer fits its question. Import it through lazy.py."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sentence_transformers import CrossEncoder

from core.errors import UserError
from retrieval.encoders.encoder import load_encoder
from retrieval.encoders.loading import BROKEN, chosen_device
from retrieval.encoders.model_folder import folder_of
from retrieval.encoders.selector import Scorer, form_of, is_cross_encoder, is_selector
from retrieval.vectors.types import Encoder

BATCH = 64
# Of the last digits, what a batch's company changes is not kept.
DECIMALS = 6


class CrossEncoderScorer:
    """Question and answer read together."""

    def __init__(self, model: CrossEncoder) -> None:
        self._model = model

    def scores(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        predicted = self._model.predict(list(pairs), batch_size=BATCH, show_progress_bar=False)
        return np.asarray(predicted, np.float64).round(DECIMALS)


class CosineScorer:
    """Question and answer read each for itself."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    def scores(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        questions = self._encoder.encode_questions([question for question, _ in pairs])
        answers = self._encoder.encode_questions([answer for _, answer in pairs])
        cosines: NDArray[np.float64] = np.einsum("ij,ij->i", questions, answers, dtype=np.float64)
        return cosines.round(DECIMALS)


def load_scorer(name: str, device: str) -> Scorer:
    """A CrossEncoder, or whatever the encoder is loaded from."""
    folder = folder_of(name)
    if folder is None or not is_cross_encoder(folder):
        return CosineScorer(load_encoder(name, device))
    if is_selector(folder) and (form := form_of(folder)) != "QA":
        raise UserError(
            f"The scorer {name!r} is an answer selector that reads {form}, and a question with its "
            "answer is what a scorer reads: name a selector of form QA, or an encoder."
        )
    target = chosen_device(device)
    try:
        model = CrossEncoder(str(folder.resolve()), device=target, local_files_only=True)
    except BROKEN as error:
        reason = " ".join(str(error).split())[:300]
        raise UserError(
            f"The scorer {name!r} cannot be loaded ({reason}): name a "
            "sentence-transformers CrossEncoder, or an encoder."
        ) from error
    if model.num_labels != 1:
        raise UserError(
            f"The scorer {name!r} has {model.num_labels} outputs: name one that was trained to "
            "give a single score."
        )
    return CrossEncoderScorer(model)
