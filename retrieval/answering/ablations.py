"""A question answering system, and what it is without one of its parts (QUADRo, section 5.5)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from core.errors import UserError
from retrieval.answering.answer import Answerer
from retrieval.answering.load_selector import NamedSelector, find_selector, training_of
from retrieval.encoders.lazy import load_selector
from retrieval.encoders.selector import Selector
from retrieval.index.versions import index_root, require_fresh
from retrieval.models import IndexForm, IndexVersion
from retrieval.ranking.fusion import ALONE, BM25
from retrieval.search.search_session import Searcher
from retrieval.vectors.folder import verify

FULL = "full"
DATASET, NEURAL, SELECTOR, ANSWER = "dataset", "neural", "selector", "answer"
WORDS: Mapping[str, str] = {
    FULL: "all of it",
    DATASET: "not tuned on our dataset",
    NEURAL: "BM25 for the neural search",
    SELECTOR: "no selector",
    ANSWER: "retriever and selector without the answer",
}
PAPER_SOURCE = (
    "QUADRo, Table 4: another database, other questions (Quora 200, Natural Questions 200, "
    "TriviaQA 150), and people judged the answers"
)


class PaperFigures(NamedTuple):
    """Accuracy in percent."""

    quora: float
    nq: float
    triviaqa: float


PAPER: Mapping[str, PaperFigures] = {
    FULL: PaperFigures(58.0, 50.5, 29.3),
    DATASET: PaperFigures(53.0, 47.0, 28.0),
    NEURAL: PaperFigures(39.0, 37.5, 29.3),
    SELECTOR: PaperFigures(51.5, 40.0, 19.0),
    ANSWER: PaperFigures(50.0, 45.0, 25.3),
}


@dataclass(frozen=True)
class System:
    name: str  # of WORDS
    index: IndexVersion
    selector: str | None  # as it is named
    retrievers: tuple[str, ...] = ALONE


def untuned(system: System, index: IndexVersion, selector: str) -> System:
    """`index`: by the retriever that was not tuned on the release; `selector`: likewise."""
    return replace(system, name=DATASET, index=index, selector=selector)


def by_words(system: System) -> System:
    return replace(system, name=NEURAL, retrievers=(BM25,))


def without_selector(system: System) -> System:
    if system.selector is None:
        raise UserError("There is no selector to leave out: name one by --selector.")
    return replace(system, name=SELECTOR, selector=None)


def without_answer(system: System, index: IndexVersion, selector: str) -> System:
    """Both of the form QQ; the selector's is looked at when it is loaded."""
    if index.form != IndexForm.QQ:
        raise UserError(
            f"The index {index.path} reads the answers too: name one of the form QQ, as `quorum "
            "index build --form QQ` makes."
        )
    return replace(system, name=ANSWER, index=index, selector=selector)


def index_named(path: str, *, fresh: bool = False) -> IndexVersion:
    """As `quorum index list` names it; `fresh`: refused where pairs have come since."""
    index = IndexVersion.objects.filter(path=path).first()
    if index is None or "store" not in index.manifest:
        raise UserError(f"There is no index {path!r}: `quorum index list` names them.")
    verify(index_root(), index.path, index.manifest)
    if fresh:
        require_fresh(index)
    return index


class OpenSystems:
    """Each index and each selector is loaded once, however many systems share it."""

    def __init__(self, device: str) -> None:
        self._device = device
        self._searchers: dict[int, Searcher] = {}
        self._selectors: dict[str, tuple[NamedSelector, Selector]] = {}
        self._full: System | None = None  # once it is opened

    def answerer(self, system: System) -> Answerer:
        if system.name == FULL:
            self._full = system
        if system.name == DATASET and self._full is not None:
            self._require_untuned(system, self._full)
        searcher = self._searchers.get(system.index.pk)
        if searcher is None:
            searcher = Searcher(system.index, self._device)
            self._searchers[system.index.pk] = searcher
        if system.selector is None:
            return Answerer(searcher, retrievers=system.retrievers)
        model, selector = self._selector(system.selector)
        if system.name == ANSWER and "A" in selector.form:
            raise UserError(
                f"The selector {system.selector} is of the form {selector.form} and reads the "
                "answers too: name one of the form QQ."
            )
        return Answerer(
            searcher,
            selector,
            name=model.name,
            threshold=model.threshold,
            retrievers=system.retrievers,
        )

    def pairs_not_indexed(self) -> int:
        """Of the index that lacks the most."""
        return max(one.pairs_not_indexed() for one in self._searchers.values())

    def _require_untuned(self, system: System, full: System) -> None:
        if system.index == full.index and system.index.trained is not None:
            raise UserError(
                f"The index {system.index.path} is the full system's own, of the trained model "
                f"{system.index.trained.name}: name one whose model was not tuned on the release."
            )
        if system.selector is None or full.selector is None:
            return
        own, other = (self._selector(one)[0].folder for one in (full.selector, system.selector))
        if training_of(own) == training_of(other):
            raise UserError(
                f"The selector {system.selector} is the full system's own, or another seed of it: "
                "name one that was not tuned on the release."
            )

    def _selector(self, named: str) -> tuple[NamedSelector, Selector]:
        if named not in self._selectors:
            model = find_selector(named)
            self._selectors[named] = model, load_selector(model.folder, self._device)
        return self._selectors[named]
