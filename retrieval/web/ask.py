"""Asking the database: the answer with the pair that it comes from, or that none is sure enough."""

from pathlib import Path

from django import forms
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from core.errors import UserError
from core.frame import framed
from core.text.clean import clean_text
from retrieval.answering.answer import CANDIDATES
from retrieval.answering.load_selector import training_of
from retrieval.corpus.corpora import corpus_named
from retrieval.index.versions import approximate, not_indexed
from retrieval.models.corpus import ALL
from retrieval.web.access import database_page, may
from retrieval.web.answers import answered
from retrieval.web.forms import corpus_field
from retrieval.web.search_runner import MAX_ASKED, is_loaded


class AskForm(forms.Form):
    q = forms.CharField(
        label="Question",
        max_length=MAX_ASKED,
        required=False,
        widget=forms.TextInput({"type": "search", "autocomplete": "off"}),
    )
    corpus = corpus_field()


@require_safe
@database_page()
def ask(request: HttpRequest) -> HttpResponse:
    form = AskForm(request.GET)
    asked, corpus, result, lacking, missing, fault = "", ALL, None, "", "", ""
    if form.is_valid() and (asked := clean_text(form.cleaned_data["q"])):
        corpus = form.cleaned_data["corpus"] or ALL
        try:
            result, among = answered(asked, corpus=corpus_named(corpus))
            lacking = not_indexed(among["pairs_not_indexed"])
            missing = approximate(among["recall"])
        except UserError as error:
            fault = str(error)
    context = {
        "form": AskForm(initial={"q": asked, "corpus": corpus}) if form.is_valid() else form,
        "asked": asked,
        "is_loaded": is_loaded(),
        "result": result,
        "lacking": lacking,
        "approximate": missing,
        "fault": fault,
        "selector": settings.SELECTOR and training_of(Path(settings.SELECTOR)).name,
        "candidates": CANDIDATES,
        "may": may(request.user),
    }
    status = 422 if fault or not form.is_valid() else 200
    return framed(request, "retrieval/ask.html", context, title="Ask", status=status)
