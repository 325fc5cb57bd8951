"""The handlers of jobs of the database, by kind."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass

from django.conf import settings
from django.contrib.auth.models import User

from core.errors import UserError
from core.progress import Progress, no_progress
from retrieval.corpus.corpora import corpus_named
from retrieval.index.lazy import lexical_index
from retrieval.indexing.build import build_index
from retrieval.indexing.plan import AUTO, BuildOptions
from retrieval.jobs import count_sources, import_files
from retrieval.jobs.queue import Handler, Result, Watch, request
from retrieval.models import IndexForm, IndexVersion, Job, TrainedModel
from retrieval.models.corpus import ALL
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
    corpus: str = ALL

    def checked(self) -> "IndexRequest":
        BuildOptions(kind=self.kind, recall=self.recall)
        corpus_named(self.corpus)
        if self.form not in IndexForm.values:
            raise UserError(f"Unknown form {self.form!r}: choose {' or '.join(IndexForm.values)}.")
        if self.model and model_named(self.model).kind != TrainedModel.Kind.RETRIEVER:
            raise UserError(f"The model {self.model} is an answer selector: choose a retriever.")
        return self


def subject_of(corpus: str) -> str:
    """Of a build's job and log entry: two corpora do not wait for each other."""
    return count_sources.SUBJECT if corpus in ("", ALL) else f"corpus {corpus}"


def request_index(wanted: IndexRequest, *, by: User | None) -> Job:
    """UserError where the corpus's is being built."""
    return request(INDEX, subject_of(wanted.corpus), asdict(wanted.checked()), by=by)


def as_before(corpus: str) -> IndexRequest:
    """The corpus's index again, by the model and in the form of the last one."""
    last = IndexVersion.objects.filter(corpus=corpus_named(corpus)).select_related("trained")
    if (index := last.order_by("-chosen_at", "-pk").first()) is None:
        return IndexRequest(corpus=corpus)
    asked = index.manifest.get("asked", {})
    return IndexRequest(
        model=index.trained.name if index.trained else "",
        form=index.form,
        kind=asked.get("kind", AUTO),
        recall=asked.get("recall", BuildOptions.recall),
        corpus=corpus,
    )


def _import(job: Job, watch: Watch) -> Result:
    """Where it was asked for, the index follows as a job of its own."""
    result = import_files.import_files(job, watch)
    if job.arguments.get("index") and result["added"]:
        with suppress(UserError):  # it is being built
            request_index(as_before(job.arguments["corpus"]), by=job.requested_by)
    return result


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
        corpus=corpus_named(wanted.corpus),
        options=BuildOptions(kind=wanted.kind, recall=wanted.recall),
        wait=True,  # for another corpus's
        announce=encoding.begin,
    )
    if wanted.words:
        lexical_index(index, watch.stage("reading the pairs' words", index.pairs))
    count_sources.ask_to_count(job.requested_by)
    return {
        "corpus": wanted.corpus,
        "form": index.form,
        "kind": index.kind,
        "pairs": index.pairs,
        "recall": index.recall,
        "unchanged": not encoding.choice,
        "choice": encoding.choice or None,
    }


HANDLERS: Mapping[str, Handler] = {
    import_files.KIND: _import,
    INDEX: _index,
    count_sources.KIND: count_sources.count_sources,
}
