"""Tiny real selectors on the disk, and the record of the training that made them."""

from pathlib import Path

from tests.retrieval.registry.trainings import PRECISION, SELECTOR, values, write, write_model
from tests.retrieval.training import tiny


def selector_folder(folder: Path, form: str = "QQA", *, seed: int = 7) -> Path:
    """As a training writes it; its head is random, so that it scores, but knows nothing."""
    from retrieval.encoders.cross_encoder.load import new_selector, save_selector  # noqa: PLC0415

    bare = tiny.checkpoint(folder.with_name(f"{folder.name}-bare"), seed=seed)
    save_selector(new_selector(str(bare), "cpu"), folder, form)
    return folder


def training_folder(folder: Path, **changed: object) -> Path:
    """Of three models, the second of which is the best; made by `changed` into another one."""
    for seed in PRECISION:
        write_model(folder / f"seed-{seed}/model", {"note.txt": b"no model yet"})
    write(folder, {**values(folder, folder.name), **SELECTOR, "best": 2, **changed})
    return folder
