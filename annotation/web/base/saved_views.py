"""Saved views of a list: its filters, order and columns under a name, each for the person who saved
it; and which columns of a list are seen."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import cast

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.urls import Resolver404, resolve
from django.views.decorators.http import require_POST

from annotation.models import SavedView
from annotation.web.base.columns import Heading

LISTS = {
    "campaign-triplets", "campaign-hits", "campaign-assignments", "campaign-workers",
    "campaign-log", "log", "controls", "history", "known-workers",
}  # fmt: skip
COLUMNS = "columns"  # of an address: the names of those that are seen; none: all
OF_A_PAGE = ("from", "back", "page", "as")  # what says where in the list one is
MOST = 20  # of a list and a person


class SaveForm(forms.Form):
    name = forms.CharField(max_length=60)
    path = forms.CharField(max_length=200)
    query = forms.CharField(max_length=2000, required=False)

    def clean_path(self) -> str:
        """Of one of our lists: the reader is sent back there."""
        path: str = self.cleaned_data["path"]
        try:
            is_list = resolve(path).url_name in LISTS
        except Resolver404:
            is_list = False
        if not is_list:
            raise forms.ValidationError("This is no list.")
        return path


class Views:
    """In templates: what the reader has saved of this list, asked only where it is listed."""

    def __init__(self, request: HttpRequest) -> None:
        self._request = request

    def __iter__(self) -> Iterator[SavedView]:
        rows = SavedView.objects.filter(user=cast(User, self._request.user))
        return iter(rows.filter(path=self._request.path).order_by("name"))

    @property
    def query(self) -> str:
        """Of this page, wherever in the list it is."""
        asked = self._request.GET.copy()
        for name in OF_A_PAGE:
            asked.pop(name, None)
        return asked.urlencode()

    @property
    def without_columns(self) -> list[tuple[str, str]]:
        """Name and value of what the choice of columns leaves as it is."""
        asked = QueryDict(self.query)
        return [(n, value) for n, values in asked.lists() for value in values if n != COLUMNS]

    @property
    def columns(self) -> list[str]:
        return self._request.GET.getlist(COLUMNS)


def seen(headings: Iterable[Heading], request: HttpRequest) -> list[Heading]:
    """As the address chooses columns; names that are none choose nothing."""
    every = list(headings)
    chosen = {*request.GET.getlist(COLUMNS)} & {one.name for one in every}
    return [replace(one, hidden=bool(chosen) and one.name not in chosen) for one in every]


@require_POST
@login_required
def save_view(request: HttpRequest) -> HttpResponse:
    form, user = SaveForm(request.POST), cast(User, request.user)
    if not form.is_valid():
        return redirect(_complain(request, form))
    said = form.cleaned_data
    with transaction.atomic():
        # One after the other: two tabs save no more than is allowed.
        User.objects.select_for_update().get(pk=user.pk)
        mine = SavedView.objects.filter(user=user, path=said["path"])
        if mine.exclude(name=said["name"]).count() < MOST:
            mine.update_or_create(
                user=user, path=said["path"], name=said["name"], defaults={"query": said["query"]}
            )
        else:
            messages.error(request, f"You have {MOST} views of this list: delete one first.")
    return redirect(f"{said['path']}?{said['query']}")


def _complain(request: HttpRequest, form: SaveForm) -> str:
    """The page to go back to."""
    if "path" in form.errors:
        return "/"
    fault = "Give the view a name of up to 60 characters."
    if "query" in form.errors:
        fault = "This view has too many filters to be saved: remove some."
    messages.error(request, fault)
    return str(form.cleaned_data["path"])


@require_POST
@login_required
def delete_view(request: HttpRequest, pk: int) -> HttpResponse:
    view = get_object_or_404(SavedView, pk=pk, user=cast(User, request.user))
    view.delete()
    return redirect(view.path)
