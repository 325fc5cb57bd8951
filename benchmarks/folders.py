"""Where benchmarks read real data, work and keep results; tests point all three elsewhere."""

import json
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from demo.processes import ROOT

DATA = ROOT.parent / "shared" / "data"
WORK = ROOT / "var" / "bench"
RESULTS = ROOT / "benchmarks" / "results"
PAIRS = Path("qa_db") / "qa_pairs.jsonl.gz"  # in DATA


def missing(files: Iterable[Path]) -> list[Path]:
    """Of these files of DATA."""
    return [path for file in files if not (path := DATA / file).is_file()]


def fresh(name: str) -> Path:
    """An empty folder to work in."""
    folder = WORK / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def keep(name: str, figures: Mapping[str, object]) -> None:
    path = RESULTS / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(figures, indent=2) + "\n")
    print(f"kept in {os.path.relpath(path, ROOT)}")
