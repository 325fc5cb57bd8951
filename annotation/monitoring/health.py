"""For load balancers and the person woken at night."""

import shutil
from functools import cache

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation.monitoring.metrics import broker_lengths

LEAST_FREE_BYTES = 100 * 2**20
OK = "ok"


@never_cache
@require_safe
def health(request: HttpRequest) -> JsonResponse:
    """503 where the site cannot do its work; without the queue it can, for the queue catches up."""
    try:
        needed = {"database": _database(), "migrations": _migrations(), "disk": _disk()}
    except DatabaseError:
        return JsonResponse({"status": "the database does not answer"}, status=503)
    facts = needed | {"broker": _broker()}
    well = all(said == OK for said in needed.values())
    said = next((word for word in needed.values() if word != OK), OK)
    return JsonResponse({"status": said, **facts}, status=200 if well else 503)


def _database() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return OK


def _migrations() -> str:
    applied = MigrationRecorder(connection).applied_migrations()
    return OK if _wanted() <= applied.keys() else "the database lacks tables of this version"


@cache
def _wanted() -> frozenset[tuple[str, str]]:
    """The last migration of each app, as its files say."""
    return frozenset(MigrationLoader(None).graph.leaf_nodes())


def _disk() -> str:
    free = shutil.disk_usage(settings.DATA_DIR).free
    return OK if free >= LEAST_FREE_BYTES else "the disk of the data folder is nearly full"


def _broker() -> str:
    return "does not answer" if broker_lengths() is None else OK
