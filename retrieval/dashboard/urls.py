"""The pages that look. What they ask for is taken by annotation.dashboard.database, which also
shows a pair: whose queries it was found for depends on the campaigns that a reader sees."""

from django.urls import path

from retrieval.dashboard.ask import ask
from retrieval.dashboard.database import database
from retrieval.dashboard.importing import import_page, imported, rejected
from retrieval.dashboard.models import model, models
from retrieval.dashboard.pairs import pairs
from retrieval.dashboard.search import search

urlpatterns = [
    path("", database, name="database"),
    path("search", search, name="database-search"),
    path("ask", ask, name="database-ask"),
    path("import", import_page, name="database-import"),
    path("imports/<int:pk>", imported, name="database-imported"),
    path("imports/<int:pk>/<int:number>/rejected.csv", rejected, name="database-rejected"),
    path("pairs", pairs, name="database-pairs"),
    path("models", models, name="database-models"),
    path("models/<str:name>", model, name="database-model"),
]
