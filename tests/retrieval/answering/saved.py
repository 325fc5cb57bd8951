"""Tiny real selectors on the disk, and the record of the training that made them."""

import json
from pathlib import Path

from retrieval.training.selecting import new_selector, save_selector
from tests.retrieval.training import tiny


def selector_folder(folder: Path, form: str = "QQA", *, seed: int = 7) -> Path:
    """As a training writes it; its head is random, so that it scores, but knows nothing."""
    bare = tiny.checkpoint(folder.with_name(f"{folder.name}-bare"), seed=seed)
    save_selector(new_selector(str(bare), "cpu"), folder, form)
    return folder


def training_folder(folder: Path, **changed: object) -> Path:
    """Of two models, the second of which is the best; made by `changed` into another one."""
    told = {
        "format": 1,
        "name": folder.name,
        "kind": "selector",
        "trainings": [
            {"seed": 1, "model": "seed-1/model"},
            {"seed": 2, "model": "seed-2/model"},
        ],
        "best": 2,
        "threshold": 0.37,
        **changed,
    }
    for seed in (1, 2):
        (folder / f"seed-{seed}/model").mkdir(parents=True, exist_ok=True)
    (folder / "training.json").write_text(json.dumps(told))
    return folder
