"""A file of rows that came with a form, for as long as it is read."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest

from core.errors import UserError

ENDINGS = (".jsonl", ".csv", ".tsv")


@contextmanager
def sent_file(request: HttpRequest, *, most_bytes: int, wanted: str) -> Iterator[tuple[Path, str]]:
    """Where it lies, and its name; UserError where it cannot be one of rows."""
    upload = request.FILES.get("file")
    if upload is None:
        raise UserError("No file was sent: choose one.")
    name = upload.name or "the file"
    _check(upload, name, most_bytes=most_bytes, wanted=wanted)
    with tempfile.NamedTemporaryFile(suffix=Path(name.lower()).suffix) as kept:
        for chunk in upload.chunks():
            kept.write(chunk)
        kept.flush()
        yield Path(kept.name), name


def _check(upload: "UploadedFile[Any]", name: str, *, most_bytes: int, wanted: str) -> None:
    if not name.lower().endswith(ENDINGS):
        raise UserError(f"{name} has an unknown type: its name must end in {', '.join(ENDINGS)}.")
    if (upload.size or 0) > most_bytes:
        raise UserError(f"{name} is larger than {most_bytes:,} bytes: give {wanted}.")
