"""Looking for pairs: by words, by meaning, by both, or by an id."""

from dataclasses import dataclass, field
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from core.errors import UserError
from core.frame import framed
from core.text.clean import clean_text
from retrieval.corpus.corpora import corpus_named
from retrieval.corpus.withdraw import KEY_LENGTH, NAME
from retrieval.index.versions import approximate, not_indexed
from retrieval.jobs.count_sources import newest_figures
from retrieval.models import QaPair
from retrieval.models.corpus import ALL
from retrieval.ranking.fusion import BM25, DENSE
from retrieval.web.access import database_page, may
from retrieval.web.answers import warm_selector
from retrieval.web.forms import corpus_field
from retrieval.web.search_runner import MAX_ASKED, SearchResult, find, is_loaded, warm

BY_ID = "id"
RETRIEVERS = {"both": (DENSE, BM25), "meaning": (DENSE,), "words": (BM25,)}
SHOWN_ALIKE = 50  # pairs with one id, in as many sources


class SearchForm(forms.Form):
    q = forms.CharField(
        label="Question or id",
        max_length=MAX_ASKED,
        required=False,
        widget=forms.TextInput({"type": "search", "autocomplete": "off"}),
    )
    by = forms.ChoiceField(
        label="By",
        choices=[
            ("both", "words and meaning"),
            ("meaning", "meaning"),
            ("words", "words (BM25)"),
            (BY_ID, "id: of the database, of the source, or the key"),
        ],
        required=False,
    )
    corpus = corpus_field()


@dataclass(frozen=True)
class Answer:
    results: list[SearchResult] = field(default_factory=list)
    pairs: list[QaPair] = field(default_factory=list)  # by an id
    fault: str = ""
    lacking: str = ""  # that there are pairs which the index does not find
    approximate: str = ""  # that it may miss some of the nearest


@require_safe
@database_page()
def search(request: HttpRequest) -> HttpResponse:
    form = SearchForm(request.GET)
    asked, said = "", {"by": "both", "corpus": ALL}
    answer = Answer()
    if form.is_valid():
        asked = clean_text(form.cleaned_data["q"])
        said = {name: form.cleaned_data[name] or value for name, value in said.items()}
        answer = _answer(asked, **said) if asked else answer
    kept = newest_figures()
    context = {
        "form": SearchForm(initial={"q": asked} | said) if form.is_valid() else form,
        "asked": asked,
        "is_loaded": is_loaded(),
        "by": said["by"],
        "answer": answer,
        "sources": kept.sources if kept else [],
        "may": may(request.user),
    }
    status = 422 if answer.fault or not form.is_valid() else 200
    return framed(request, "retrieval/search.html", context, title="Search", status=status)


@require_safe
@database_page()
def warm_up(_: HttpRequest) -> HttpResponse:
    """Asked for by the pages, while their reader types."""
    warm()
    warm_selector()
    return HttpResponse(status=204)


def _answer(asked: str, by: str, corpus: str) -> Answer:
    if by == BY_ID:
        return Answer(pairs=_with_id(asked))
    try:
        hits = find(asked, RETRIEVERS[by], corpus_named(corpus))
        return Answer(
            hits.results,
            lacking=not_indexed(hits.pairs_not_indexed),
            approximate=approximate(hits.recall),
        )
    except UserError as error:
        return Answer(fault=str(error))


def _with_id(asked: str) -> list[QaPair]:
    """A key, a number of the database, or a source's own id: of the sources that are known."""
    matching: dict[Any, QaPair] = {}
    if NAME.fullmatch(asked):
        named = {"pair_key": asked} if len(asked) == KEY_LENGTH else {"pk": int(asked)}
        matching |= {one.pk: one for one in QaPair.objects.filter(**named)}
    kept = newest_figures()
    names = [one.source for one in kept.sources] if kept else []
    alike = QaPair.objects.filter(source__in=names, source_id=asked).order_by("source")
    return list({**matching, **{one.pk: one for one in alike[:SHOWN_ALIKE]}}.values())
