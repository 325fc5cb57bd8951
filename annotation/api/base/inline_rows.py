"""Rows of a request, read as those of a file are."""

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rest_framework.exceptions import ValidationError

from annotation.pipeline.gold.rejected_rows import BadRows


@contextmanager
def as_file(rows: Sequence[Mapping[str, Any]], field: str) -> Iterator[Path]:
    """Where they lie, as `field`.jsonl; rows that cannot be used are told by their places in it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{field}.jsonl")
        path.write_text("".join(json.dumps(one) + "\n" for one in rows))
        try:
            yield path
        except BadRows as error:
            faults = {f"{field}.{row.line - 1}": [row.reason] for row in error.rows}
            raise ValidationError(faults) from error
