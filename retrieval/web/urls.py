"""The pages that look. What they ask for is taken by annotation.web.database, which also
shows a pair: whose queries it was found for depends on the campaigns that a reader sees."""

from django.urls import path

from retrieval.web.ask import ask
from retrieval.web.database import database
from retrieval.web.import_view import import_page, imported, rejected
from retrieval.web.models import model, models
from retrieval.web.pairs import pairs
from retrieval.web.search import search, warm_up

urlpatterns = [
    path("", database, name="database"),
    path("search", search, name="database-search"),
    path("search/warm", warm_up, name="database-warm"),
    path("ask", ask, name="database-ask"),
    path("import", import_page, name="database-import"),
    path("imports/<int:pk>", imported, name="database-imported"),
    path("imports/<int:pk>/<int:number>/rejected.csv", rejected, name="database-rejected"),
    path("pairs", pairs, name="database-pairs"),
    path("models", models, name="database-models"),
    path("models/<str:name>", model, name="database-model"),
]
