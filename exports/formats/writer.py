"""What every format is: a file of a split that is open for as long as its batches come."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from exports.formats.batch import Batch

Write = Callable[[Batch], None]
Writer = Callable[[Path, str], AbstractContextManager[Write]]  # the release's folder, the split
