"""What people do to the q/a database by its pages, each written to the log with the operation."""

from contextlib import suppress
from dataclasses import replace
from typing import cast

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_POST, require_safe

from annotation.access.audit_log import by_page
from annotation.access.roles import visible_campaigns
from annotation.jobs.requests import ask_for_count, ask_for_index, ask_to_import
from annotation.web.base.middleware import wants_json
from core.errors import UserError
from retrieval.models import Job, QaPair, QuerySet
from retrieval.web.access import BUILD, IMPORT, database_page
from retrieval.web.database import render_database
from retrieval.web.forms import BuildForm, ImportForm
from retrieval.web.import_view import render_import
from retrieval.web.pairs import render_pair
from retrieval.web.upload_stream import Received, receiving


@csrf_exempt  # until the files have a place to go to: the check reads the whole request
@require_POST
@database_page(IMPORT)
def upload(request: HttpRequest) -> HttpResponse:
    with receiving(request) as received:
        return _taken(request, received)


@csrf_protect
def _taken(request: HttpRequest, received: Received) -> HttpResponse:
    form = ImportForm(request.POST)
    try:
        if form.is_valid() and not received.fault:
            job = _import(request, form, received)
            return _requested(request, job)
    except UserError as error:
        received.fault = str(error)
    if wants_json(request):
        faults = [received.fault, *_faults(form)]
        return JsonResponse({"error": " ".join(filter(None, faults))}, status=422)
    return render_import(request, form, fault=received.fault, status=422)


def _import(request: HttpRequest, form: ImportForm, received: Received) -> Job:
    by = by_page(cast(User, request.user))
    wanted = form.wanted()
    if not request.user.has_perm(BUILD):  # the page does not offer it
        wanted = replace(wanted, index=False)
    job = ask_to_import(by, wanted, received.files, received.folder)
    received.kept = True
    return job


def _requested(request: HttpRequest, job: Job) -> HttpResponse:
    link = reverse("database-imported", args=[job.pk])
    if wants_json(request):
        return JsonResponse({"location": link}, status=201)
    return redirect(link)


def _faults(form: ImportForm) -> list[str]:
    return [
        f"{form[name].label}: {' '.join(map(str, errors))}"
        for name, errors in form.errors.items()
        if name in form.fields
    ]


@require_POST
@database_page(BUILD)
def build(request: HttpRequest) -> HttpResponse:
    form = BuildForm(request.POST)
    if not form.is_valid():
        return render_database(request, form, status=422)
    try:
        ask_for_index(by_page(cast(User, request.user)), form.wanted())
    except UserError as error:
        form.add_error(None, str(error))
        return render_database(request, form, status=422)
    return redirect("database")


@require_POST
@database_page()
def count(request: HttpRequest) -> HttpResponse:
    """It reads the database and changes nothing in it."""
    with suppress(UserError):  # it is being counted
        ask_for_count(by_page(cast(User, request.user)))
    return redirect("database")


@require_safe
@database_page()
def pair(request: HttpRequest, pk: int) -> HttpResponse:
    """With the queries that it was found for, of the campaigns that the reader sees."""
    query_sets = QuerySet.objects.filter(pk__in=visible_campaigns(request.user).values("query_set"))
    return render_pair(request, get_object_or_404(QaPair, pk=pk), query_sets)
