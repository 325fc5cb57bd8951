"""New corpora, written to the log as they are created."""

from collections.abc import Sequence

from django.db import transaction

from annotation.access.audit_log import Actor, record
from retrieval.corpus.corpora import create_corpus
from retrieval.jobs.handlers import subject_of
from retrieval.models import Corpus
from retrieval.models.corpus import sources_of


@transaction.atomic
def save_corpus(by: Actor, name: str, sources: Sequence[str]) -> Corpus:
    corpus = create_corpus(name, sources)
    details: dict[str, object] = {"corpus": name, "sources": sources_of(corpus)}
    record(by, "create corpus", subject=subject_of(name), details=details)
    return corpus
