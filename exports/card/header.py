"""The card's first lines, which the Hugging Face Hub and `datasets.load_dataset` read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import yaml

from annotation.protocol.policy.tasks import task_of
from core.text.markdown import one_line
from exports.card.licences import of_the_release
from exports.layout.files import OF_THE_ANNOTATORS
from exports.splits.splits import SPLITS

# The Hub's own steps.
SIZES = (
    (10**3, "n<1K"),
    (10**4, "1K<n<10K"),
    (10**5, "10K<n<100K"),
    (10**6, "100K<n<1M"),
    (10**7, "1M<n<10M"),
    (10**8, "10M<n<100M"),
)
WHOLE = "campaign"  # the one split of a table that knows none


def header(folder: Path, facts: Mapping[str, Any], triplets: int) -> str:
    """YAML; no language, which nobody told us."""
    task = task_of(facts["policy"])
    name = f"{facts['campaign']}: {task.keywords[0]}"
    values = {
        "pretty_name": one_line(name),
        **{key: one_line(text) for key, text in of_the_release(facts["sources"]).items()},
        "task_categories": ["text-ranking", "sentence-similarity"],
        "tags": list(task.tags),
        "size_categories": [_size(triplets)],
        "configs": _configs(folder),
    }
    return yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=10**9)


def _size(rows: int) -> str:
    return next((name for limit, name in SIZES if rows < limit), "100M<n<1B")


def _configs(folder: Path) -> list[dict[str, Any]]:
    """Parquet only: `datasets` reads all configurations of a folder by one reader.

    A split without a row is not listed, which `datasets` would refuse to load.
    """
    splits = [
        {"split": split, "path": f"parquet/{split}.parquet"}
        for split in SPLITS
        if _rows(folder / "parquet" / f"{split}.parquet")
    ]
    configs: list[dict[str, Any]] = [
        {"config_name": "default", "default": True, "data_files": splits}
    ]
    for name in OF_THE_ANNOTATORS:
        if _rows(folder / name):
            files = [{"split": WHOLE, "path": name}]
            configs.append({"config_name": Path(name).stem, "data_files": files})
    return configs


def _rows(path: Path) -> int:
    return int(pq.read_metadata(path).num_rows) if path.exists() else 0
