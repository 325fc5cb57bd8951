"""Where a release comes from: its corpus; who made its labels, votes that are known or not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from exports.splits.splits import SPLITS

Facts = Mapping[str, Any]


def is_retrieved(facts: Facts) -> bool:
    """A retriever that is known ranked the candidates."""
    return facts["retriever"] is not None


def is_imported(facts: Facts) -> bool:
    return bool(facts["queries"]["origin"] == "import")


def corpus_in_words(facts: Facts) -> str:
    """Empty: the oldest releases do not name it."""
    corpus = facts.get("corpus")
    if corpus is None:
        return ""
    if corpus["sources"] is None:
        return f"{corpus['name']}, which has every source of the database"
    many = "sources" if len(corpus["sources"]) != 1 else "source"
    return f"{corpus['name']} ({many}: {', '.join(corpus['sources']) or 'none'})"


def is_of_all(facts: Facts) -> bool:
    return (facts.get("corpus") or {}).get("sources") is None


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
