"""Asking the database: the answer with the pair that it comes from, or that none is sure enough."""

from pathlib import Path

from django import forms
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from core.errors import UserError
from core.frame import framed
from core.text.clean import clean_text
from retrieval.answering.answer import CANDIDATES, Answered
from retrieval.answering.load_selector import training_of
from retrieval.web.access import database_page, may
from retrieval.web.answers import answered
from retrieval.web.search_runner import MAX_ASKED


class AskForm(forms.Form):
    q = forms.CharField(
        label="Question",
        max_length=MAX_ASKED,
        required=False,
        widget=forms.TextInput({"type": "search", "autocomplete": "off"}),
    )


@require_safe
@database_page()
def ask(request: HttpRequest) -> HttpResponse:
    form = AskForm(request.GET)
    asked, result, fault = "", None, ""
    if form.is_valid() and (asked := clean_text(form.cleaned_data["q"])):
        result, fault = _answered(asked)
    context = {
        "form": AskForm(initial={"q": asked}) if form.is_valid() else form,
        "asked": asked,
        "result": result,
        "fault": fault,
        "selector": settings.SELECTOR and training_of(Path(settings.SELECTOR)).name,
        "candidates": CANDIDATES,
        "may": may(request.user),
    }
    status = 422 if fault or not form.is_valid() else 200
    return framed(request, "retrieval/ask.html", context, title="Ask", status=status)


def _answered(asked: str) -> tuple[Answered | None, str]:
    """Or why there is none."""
    try:
        return answered(asked), ""
    except UserError as error:
        return None, str(error)
