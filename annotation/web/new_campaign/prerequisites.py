"""The prerequisites of a campaign: pairs, an index and controls, and how to get what is missing."""

from dataclasses import dataclass

from django.conf import settings
from django.urls import reverse

from annotation.access.roles import CHANGE_CONTROLS, Account
from annotation.pipeline.publishing.pack import positive_names
from annotation.protocol.policy.policy import Policy
from core.errors import UserError
from retrieval.corpus.corpora import corpus_named
from retrieval.index.versions import chosen_index
from retrieval.models import IndexVersion
from retrieval.models.corpus import pairs_of
from retrieval.registry.improvement import retriever_line
from retrieval.web.access import BUILD, IMPORT


@dataclass(frozen=True)
class Repair:
    title: str
    place: str  # the page's name
    permission: str


PAIRS = Repair("Import pairs", "database-import", IMPORT)
INDEX = Repair("Build an index", "database", BUILD)
CONTROLS = Repair("Import controls", "import-controls", CHANGE_CONTROLS)


@dataclass(frozen=True)
class Fault:
    """What is missing, and what mends it."""

    sentence: str
    repair: Repair
    reader: Account

    @property
    def link(self) -> str:
        """Empty where the reader may not mend it."""
        return reverse(self.repair.place) if self.reader.has_perm(self.repair.permission) else ""


@dataclass(frozen=True)
class Prerequisites:
    """Read without a count over the pairs; the work itself checks the rest, the files included."""

    index: IndexVersion | None
    controls: int
    faults: tuple[Fault, ...]

    @property
    def retriever(self) -> str:
        """What its training has gained; empty: it was not trained here."""
        return retriever_line(self.index) if self.index else ""

    @property
    def pairs(self) -> str:
        return f"{self.index.pairs:,}" if self.index else ""


def prerequisites_of(reader: Account, *, corpus: str, policy: Policy) -> Prerequisites:
    index, missing = _index(corpus)
    controls, controls_wanted = len(positive_names(policy.task)), policy.control_pool_size
    if controls < controls_wanted:
        sentence = (
            f"The pool holds {controls:,} positive controls, and the policy wants "
            f"{controls_wanted:,}: add some, or draft controls of the campaign's own once its "
            "candidates are retrieved."
        )
        missing.append((sentence, CONTROLS))
    faults = tuple(Fault(sentence, repair, reader) for sentence, repair in missing)
    return Prerequisites(index, controls, faults)


def _index(name: str) -> tuple[IndexVersion | None, list[tuple[str, Repair]]]:
    try:
        corpus = corpus_named(name)
    except UserError as error:
        return None, [(str(error), INDEX)]
    newest = pairs_of(corpus).order_by("-pk").values_list("pk", flat=True).first()
    if newest is None:
        what = f"corpus {corpus}" if corpus else "q/a database"
        sentence = f"The {what} is empty: a campaign needs pairs, and an index over them."
        return None, [(sentence, PAIRS)]
    try:
        index = chosen_index(corpus)
    except UserError:
        whose = f"The corpus {corpus} has" if corpus else "The pairs have"
        return None, [(f"{whose} no index yet: without one, no candidates are found.", INDEX)]
    if index.model_setting != settings.ENCODER_MODEL:
        made_for = f"The index was made for the encoder {index.model_setting}"
        return index, [(f"{made_for}, and the setting is now {settings.ENCODER_MODEL}.", INDEX)]
    if newest > index.newest_pair:
        return index, [("Pairs have come since the index was made: it does not find them.", INDEX)]
    return index, []
