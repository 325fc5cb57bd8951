"""The pages that look. What they ask for is taken by annotation.dashboard.database, which also
shows a pair: whose queries it was found for depends on the campaigns that a reader sees."""

from django.urls import path

from retrieval.dashboard.database import database
from retrieval.dashboard.importing import import_page, imported, rejected
from retrieval.dashboard.pairs import pairs
from retrieval.dashboard.search import search

urlpatterns = [
    path("", database, name="database"),
    path("search", search, name="database-search"),
    path("import", import_page, name="database-import"),
    path("imports/<int:pk>", imported, name="database-imported"),
    path("imports/<int:pk>/<int:number>/rejected.csv", rejected, name="database-rejected"),
    path("pairs", pairs, name="database-pairs"),
]
