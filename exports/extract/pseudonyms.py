"""The names that stand for workers and experts in a campaign's releases."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Q

from annotation.models import Assignment, Campaign, Exclusion, Worker
from exports.layout.schemas import worker_digest
from exports.models import WorkerSalt


class People:
    """Made before the snapshot, which writes nothing."""

    def __init__(self, campaign: Campaign) -> None:
        self._salt = WorkerSalt.objects.get_or_create(campaign=campaign)[0].salt

    def workers(self, campaigns: Sequence[Campaign]) -> dict[int, str]:
        """Of everybody who has submitted something, or was excluded before."""
        at_work = Assignment.objects.filter(hit__campaign__in=campaigns).values("worker")
        out = Exclusion.objects.filter(campaign__in=campaigns).values("worker")
        involved = Worker.objects.filter(Q(pk__in=at_work) | Q(pk__in=out))
        rows = involved.values_list("pk", "crowd", "worker_id")
        return {pk: worker_digest(self._salt, f"{crowd}:{name}") for pk, crowd, name in rows}

    def expert(self, name: str) -> str:
        return worker_digest(self._salt, f"expert:{name}")
