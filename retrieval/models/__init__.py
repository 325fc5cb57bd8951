"""The q/a pairs, their indexes, the queries with their candidates, models and jobs; Django finds
all of it here."""

from retrieval.models.corpus import Corpus, CorpusSource
from retrieval.models.encoding import EncodingJob, EncodingShard
from retrieval.models.index import IndexForm, IndexKind, IndexVersion
from retrieval.models.job import Job
from retrieval.models.pair import QaPair
from retrieval.models.query import Candidate, Query, QuerySet
from retrieval.models.trained_model import TrainedModel

__all__ = [
    "Candidate",
    "Corpus",
    "CorpusSource",
    "EncodingJob",
    "EncodingShard",
    "IndexForm",
    "IndexKind",
    "IndexVersion",
    "Job",
    "QaPair",
    "Query",
    "QuerySet",
    "TrainedModel",
]
