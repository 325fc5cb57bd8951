"""What the rest of the package knows of scorers and answer selectors, without importing one."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from core.errors import UserError
from retrieval.ranking.input_forms import SELECTOR_FORMS

FORM_FILE = "selector.json"  # beside the model: what it reads


class Scorer(Protocol):
    """How likely each answer is right, by a model."""

    def scores(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]: ...


class Selector(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def form(self) -> str:
        """What it reads of a candidate, one of `ranking.input_forms.SELECTOR_FORMS`."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever the model would give other scores."""

    def score(self, query: str, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """How surely each (question, answer) fits the query, from 0 to 1, in their order."""

    def score_all(self, triplets: Sequence[tuple[str, str, str]]) -> list[float]:
        """The same of (query, question, answer), those of many queries at once."""


def is_selector(folder: Path) -> bool:
    """Else it would load as a retriever, one that ranks by chance."""
    return (folder / FORM_FILE).is_file()


def is_cross_encoder(folder: Path) -> bool:
    """As sentence-transformers writes it since version 4, or as transformers names what classifies.

    It reads two texts as one; as an encoder it would load too, with its head left out.
    """
    library, model = (
        _settings(folder / name) for name in ("config_sentence_transformers.json", "config.json")
    )
    architectures = str(model.get("architectures", ""))
    return library.get("model_type") == "CrossEncoder" or "SequenceClassification" in architectures


def _settings(path: Path) -> dict[str, object]:
    try:
        settings = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return settings if isinstance(settings, dict) else {}


def form_of(folder: Path) -> str:
    """UserError where the folder holds no selector."""
    path = folder / FORM_FILE
    try:
        form = str(json.loads(path.read_text(encoding="utf-8"))["form"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{folder} holds no answer selector, {FORM_FILE} is missing or broken: name the folder "
            "of one that `quorum model train` made."
        ) from error
    if form not in SELECTOR_FORMS:
        raise UserError(f"{path} names the form {form[:60]!r}: it is one of {SELECTOR_FORMS}.")
    return form
