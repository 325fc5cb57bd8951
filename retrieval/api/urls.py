from django.urls import path

from retrieval.api.answers import Answers
from retrieval.api.corpora import Corpora
from retrieval.api.models import Model, Models
from retrieval.api.pairs import Pair, Pairs
from retrieval.api.search import Search
from retrieval.api.sources import Index, Indexes, Source, Sources

urlpatterns = [
    path("corpora", Corpora.as_view()),
    path("sources", Sources.as_view()),
    path("sources/<str:source>", Source.as_view()),
    path("pairs", Pairs.as_view()),
    path("pairs/search", Search.as_view()),
    path("pairs/answer", Answers.as_view()),
    path("pairs/<int:pk>", Pair.as_view()),
    path("indexes", Indexes.as_view()),
    path("indexes/<int:pk>", Index.as_view()),
    path("models", Models.as_view()),
    path("models/<str:name>", Model.as_view()),
]
