"""The handlers of jobs of the database, by kind."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from django.conf import settings
from django.contrib.auth.models import User

from core.errors import UserError
from core.progress import Progress, no_progress
from retrieval.index.lazy import lexical_index
from retrieval.indexing.build import build_index
from retrieval.indexing.plan import AUTO, BuildOptions
from retrieval.jobs import count_sources, import_files
from retrieval.jobs.queue import Handler, Result, Watch, request
from retrieval.models import IndexForm, Job, TrainedModel
from retrieval.registry.registry import model_named, resolve_model

INDEX = "index"


@dataclass(frozen=True)
class IndexRequest:
    """BM25 reads the words as well, if `words`."""

    model: str = ""  # a registered one's name; empty: the encoder of the settings
    form: str = IndexForm.QQA
    kind: str = AUTO
    recall: float = BuildOptions.recall
    words: bool = True

    def checked(self) -> "IndexRequest":
        BuildOptions(kind=self.kind, recall=self.recall)
        if self.form not in IndexForm.values:
            raise UserError(f"Unknown form {self.form!r}: choose {' or '.join(IndexForm.values)}.")
        if self.model and model_named(self.model).kind != TrainedModel.Kind.RETRIEVER:
            raise UserError(f"The model {self.model} is an answer selector: choose a retriever.")
        return self


def request_index(wanted: IndexRequest, *, by: User | None) -> Job:
    """UserError where one is being built."""
    return request(INDEX, count_sources.SUBJECT, asdict(wanted.checked()), by=by)


class _Encoding:
    """What a build tells of itself."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._count: Progress = no_progress
        self.choice = ""  # empty: the index was there

    def begin(self, missing: int, choice: str) -> None:
        self.choice = choice
        self._count = self._watch.stage("encoding the pairs", missing)

    def count(self, pairs: int) -> None:
        self._count(pairs)


def _index(job: Job, watch: Watch) -> Result:
    """What is encoded stays: a build that is cut off goes on from it."""
    wanted = IndexRequest(**job.arguments)
    encoding = _Encoding(watch)
    index = build_index(
        resolve_model(wanted.model or settings.ENCODER_MODEL),
        wanted.form,
        settings.ENCODER_DEVICE,
        encoding.count,
        options=BuildOptions(kind=wanted.kind, recall=wanted.recall),
        announce=encoding.begin,
    )
    if wanted.words:
        lexical_index(index, watch.stage("reading the pairs' words", index.pairs))
    count_sources.ask_to_count(job.requested_by)
    return {
        "form": index.form,
        "kind": index.kind,
        "pairs": index.pairs,
        "recall": index.recall,
        "unchanged": not encoding.choice,
        "choice": encoding.choice or None,
    }


HANDLERS: Mapping[str, Handler] = {
    import_files.KIND: import_files.import_files,
    INDEX: _index,
    count_sources.KIND: count_sources.count_sources,
}
