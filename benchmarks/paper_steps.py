"""One step of `benchmarks.paper_size` in a process of its own; its result is a line of JSON."""

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import django

django.setup()

from django.conf import settings  # noqa: E402
from django.db import connection, transaction  # noqa: E402

from annotation.crowd.open import open_crowd  # noqa: E402
from annotation.models import Assignment, Campaign, Hit, HitItem, Judgment  # noqa: E402
from annotation.pipeline.assemble import pack_campaign  # noqa: E402
from annotation.pipeline.create import get_campaign  # noqa: E402
from annotation.pipeline.label import counts, write_labels  # noqa: E402
from annotation.pipeline.ledger import locked, settle  # noqa: E402
from annotation.pipeline.open_places import open_places  # noqa: E402
from annotation.pipeline.publish import publish  # noqa: E402
from annotation.pipeline.recompute import recompute  # noqa: E402
from annotation.pipeline.review import review  # noqa: E402
from benchmarks.paper_inputs import NAME, make_campaign  # noqa: E402
from benchmarks.paper_record import load_record  # noqa: E402


@dataclass(frozen=True)
class Measured:
    rows: int
    unit: str
    seconds: float  # of the step alone, without the start of Python
