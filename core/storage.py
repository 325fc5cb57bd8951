"""Storages that the settings name, each a folder or S3: how their errors are told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

from botocore.exceptions import BotoCoreError, ClientError
from django.conf import settings
from django.core.files.base import File

from core.errors import UserError

# By their aliases, which are also the words for what they hold.
VARIABLES = {"releases": "QUORUM_RELEASES", "vectors": "QUORUM_VECTORS"}
STEP = 1 << 20


@contextmanager
def translated(alias: str, done: str) -> Iterator[None]:
    """UserError in the place of whatever a folder or S3 raises."""
    try:
        yield
    except OSError as error:
        raise _refused(alias, done, error.strerror or str(error)) from error
    except (BotoCoreError, ClientError) as error:
        raise _refused(alias, done, " ".join(str(error).split())) from error


def steps(alias: str, content: File[bytes]) -> Iterator[bytes]:
    while True:
        with translated(alias, "read"):
            step = content.read(STEP)
        if not step:
            return
        yield step


def location_of(alias: str) -> str:
    options = cast(Mapping[str, Any], settings.STORAGES[alias])["OPTIONS"]
    if "bucket_name" in options:
        return f"s3://{options['bucket_name']}/{options['location']}"
    return str(options["location"])


def _refused(alias: str, done: str, reason: str) -> UserError:
    return UserError(
        f"The storage of the {alias}, {location_of(alias)}, cannot be {done} ({reason}): repair "
        f"that and try again, or let {VARIABLES[alias]} name another place."
    )
