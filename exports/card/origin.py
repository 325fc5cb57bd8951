"""Who made a release's labels: votes that are known, or somebody before they were imported."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from exports.splits.splits import SPLITS

Facts = Mapping[str, Any]


def is_imported(facts: Facts) -> bool:
    return bool(facts["queries"]["origin"] == "import")


def nobody_judged(facts: Facts, stats: Facts) -> bool:
    """All labels are imported, and no work was submitted since."""
    work = stats["campaign"].get("assignments")
    done = stats["splits"]["all"]["votes"] if work is None else work["submitted"]
    return is_imported(facts) and not done


def labelled_by_votes(folder: Path, annotators: int) -> int:
    """Triplets of the release; fewer votes than `annotators` leave an imported label as it is."""
    return sum(
        _labelled_by_votes(folder / "parquet" / f"{split}.parquet", annotators) for split in SPLITS
    )


def _labelled_by_votes(path: Path, annotators: int) -> int:
    table = pq.read_table(path, columns=["yes", "no"])
    yes, no = (table.column(name).to_numpy().astype(np.int64) for name in ("yes", "no"))
    return int(np.count_nonzero((yes + no >= annotators) & (yes != no)))
