"""The names that stand for workers and experts in a campaign's releases."""

from __future__ import annotations

from django.db.models import Q

from annotation.models import Assignment, Campaign, Worker
from exports.layout.schemas import worker_digest
from exports.models import WorkerSalt


class People:
    """Made before the snapshot, which writes nothing."""

    def __init__(self, campaign: Campaign) -> None:
        self._salt = WorkerSalt.objects.get_or_create(campaign=campaign)[0].salt

    def workers(self, campaign: Campaign) -> dict[int, str]:
        """Of everybody who has submitted something, or was excluded before."""
        at_work = Assignment.objects.filter(hit__campaign=campaign).values("worker")
        out = campaign.exclusions.values("worker")
        involved = Worker.objects.filter(Q(pk__in=at_work) | Q(pk__in=out))
        rows = involved.values_list("pk", "crowd", "worker_id")
        return {pk: worker_digest(self._salt, f"{crowd}:{name}") for pk, crowd, name in rows}

    def expert(self, name: str) -> str:
        return worker_digest(self._salt, f"expert:{name}")
