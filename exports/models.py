"""Releases and their files never change; a build is how one comes to be."""

from __future__ import annotations

import secrets
from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.utils.functional import cached_property

from annotation.models import Campaign
from retrieval.models import Job


class WorkerSalt(models.Model):
    """Hides the crowd's names of the workers in a campaign's releases; never published."""

    campaign = models.OneToOneField(Campaign, on_delete=models.CASCADE, related_name="worker_salt")
    salt = models.CharField(max_length=64, default=secrets.token_hex, editable=False)

    def __str__(self) -> str:
        return f"salt of {self.campaign}"


class Release(models.Model):
    """A numbered release, whole in the storage before its row is here. Triggers keep it so."""

    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="releases")
    number = models.PositiveIntegerField()
    prefix = models.CharField(max_length=200, unique=True)  # its folder in the storage
    options = models.JSONField()
    stats = models.JSONField()
    changes = models.JSONField()
    manifest_sha256 = models.CharField(max_length=64)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.CharField(max_length=150, blank=True)  # empty: by command

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["campaign", "number"], name="one_release_per_number")
        ]
        permissions: ClassVar = [("download_release", "Can download releases")]

    def __str__(self) -> str:
        return f"{self.campaign} {self.number}"


class ReleaseFile(models.Model):
    release = models.ForeignKey(Release, on_delete=models.PROTECT, related_name="files")
    path = models.CharField(max_length=200)  # inside the release's folder
    bytes = models.BigIntegerField()
    sha256 = models.CharField(max_length=64)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["release", "path"], name="one_file_per_path")
        ]

    def __str__(self) -> str:
        return f"{self.release} {self.path}"


class Download(models.Model):
    """A file that somebody began to fetch."""

    file = models.ForeignKey(ReleaseFile, on_delete=models.PROTECT, related_name="downloads")
    # Whose link it was.
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True)
    at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.file}"


class Deposit(models.Model):
    """A prefix under which a build puts files: no release's as long as this row is there.

    What is left under it by a build that was killed is discarded; nothing else ever is.
    """

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="deposits")
    prefix = models.CharField(max_length=200, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.prefix


class BuildManager(models.Manager["Build"]):
    def get_queryset(self) -> models.QuerySet[Build]:
        return super().get_queryset().filter(kind=Build.KIND)


class Build(Job):
    """A release that somebody asked for: the job that makes it."""

    KIND: ClassVar = "release"

    objects: ClassVar[BuildManager] = BuildManager()

    class Meta:
        proxy = True

    @cached_property
    def campaign(self) -> Campaign:
        return Campaign.objects.get(name=self.subject)

    @property
    def options(self) -> dict[str, Any]:
        options: dict[str, Any] = self.arguments
        return options

    @property
    def release(self) -> Release | None:
        """What it made; or the release of before, where nothing has changed since."""
        if not self.result:
            return None
        releases = Release.objects.filter(campaign__name=self.subject)
        return releases.filter(number=self.result["release"]).first()

    @property
    def unchanged(self) -> bool:
        return bool((self.result or {}).get("unchanged"))
