"""What the rest of the package knows of answer selectors, without importing one."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

FORM_FILE = "selector.json"  # beside the model: what it reads


class Selector(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def form(self) -> str:
        """What it reads of a candidate, one of `training.forms.SELECTOR_FORMS`."""

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
