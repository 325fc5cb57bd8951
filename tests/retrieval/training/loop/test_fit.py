"""One training: what can be learned is, what cannot is not; kills, memory, lost numbers."""

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset

from core.errors import UserError
from retrieval.encoders.cross_encoder.load import load_selector
from retrieval.training.loop.fit import Plan, fit
from retrieval.training.loop.tasks import save, task_of
from retrieval.training.recipe import Settings, parse_recipe
from tests.retrieval.training import killing

LETTERS = "abcdefgh"

SELECTOR = {"kind": "selector", "form": "QQA", "base": "tiny"}


def plan(rate: float = 3e-3, *, epochs: int = 6, batch: int = 32, seed: int = 1) -> Plan:
    return Plan(Settings(rate, batch, 24), epochs, 2, 0.1, "fp32", seed, "cpu")


def letters(rows: int, *, seed: int, swapped: bool = False) -> Dataset:
    """A candidate fits where its question says yes. Swapped: by lot."""
    draw = random.Random(seed)
    queries, candidates, labels = [], [], []
    for number in range(rows):
        queries.append(draw.choice(LETTERS))
        labels.append(float(number % 2))
        candidates.append([f"{draw.choice(LETTERS)} {'yes' if number % 2 else 'no'}", "a"])
    if swapped:
        draw.shuffle(labels)
    return Dataset.from_dict({"query": queries, "candidate": candidates, "label": labels})


def trained(
    base: Path, folder: Path, train: Dataset, dev: Dataset, the_plan: Plan, **options: Any
) -> Any:
    task = task_of(parse_recipe(SELECTOR), str(base), the_plan.settings.max_length, "cpu")
    return fit(task, train, dev, the_plan, folder, order={}, **options)


def accuracy(model: Any, rows: Dataset) -> float:
    scores = model.predict(list(zip(rows["query"], rows["candidate"], strict=True)))
    return float(np.mean((scores > 0.5) == np.array(rows["label"])))


def test_a_task_that_can_be_learned_is_and_by_lot_nothing_is(bare: Path, tmp_path: Path) -> None:
    dev, test = letters(200, seed=2), letters(400, seed=3)
    dev_by_lot = letters(200, seed=2, swapped=True)
    learned = trained(bare, tmp_path / "a", letters(600, seed=1), dev, plan(epochs=5))
    by_lot = trained(
        bare, tmp_path / "b", letters(600, seed=1, swapped=True), dev_by_lot, plan(epochs=5)
    )
    assert accuracy(learned.model, test) > 0.95
    # One word tells all, so that of labels by lot accuracy is a toss; how sure it is, is not.
    scores = by_lot.model.predict(list(zip(test["query"], test["candidate"], strict=True)))
    assert 0.25 < scores.min() <= scores.max() < 0.75
    assert learned.dev_loss < 0.2 < 0.6 < by_lot.dev_loss


def test_it_stops_after_two_epochs_that_are_no_better_and_keeps_the_best(
    bare: Path, tmp_path: Path
) -> None:
    rows = letters(64, seed=1, swapped=True)
    found = trained(bare, tmp_path / "a", rows, letters(64, seed=9), plan(5e-3, epochs=40))
    losses = found.dev_losses
    best = losses.index(min(losses))
    assert len(losses) == found.epochs == best + 1 + 2 < 40
    loss = torch.nn.BCELoss()
    dev = letters(64, seed=9)
    scores = found.model.predict(list(zip(dev["query"], dev["candidate"], strict=True)))
    again = loss(torch.tensor(scores), torch.tensor(dev["label"], dtype=torch.float32))
    assert again.item() == pytest.approx(found.dev_loss, abs=1e-5)


def test_a_reloaded_model_gives_the_same_scores(bare: Path, tmp_path: Path) -> None:
    found = trained(bare, tmp_path / "a", letters(64, seed=1), letters(32, seed=2), plan(epochs=1))
    save(parse_recipe(SELECTOR), found.model, tmp_path / "model")
    loaded = load_selector(tmp_path / "model", "cpu")
    pairs = [("b", "c"), ("x", "y"), ("b", "a longer one of flour " * 9)]  # too long for 24 tokens
    scores = found.model.predict([("b", list(pair)) for pair in pairs])
    assert loaded.form == "QQA"
    assert loaded.score("b", pairs) == pytest.approx(scores.tolist(), abs=1e-6)


def test_a_loss_that_is_no_number_ends_it_in_one_sentence(bare: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError) as told:
        trained(bare, tmp_path / "a", letters(640, seed=1), letters(32, seed=2), plan(1e30))
    assert str(told.value).startswith("The loss on ")
    assert "Try a lower learning rate" in str(told.value)
    assert not list((tmp_path / "a").glob("checkpoint-*"))


def test_want_of_memory_is_told_with_what_to_make_smaller(bare: Path, tmp_path: Path) -> None:
    """Real: a batch's attention needs more than the address space that the process may have."""
    script = f"""
import django, os, resource, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
django.setup()
from pathlib import Path
from tests.retrieval.training.loop.test_fit import letters, plan, trained
from core.errors import UserError
import torch
from datasets import Dataset
rows = letters(16_000, seed=1).map(lambda row: {{"candidate": ["a " * 22, "b"]}})
torch.set_num_threads(1)
# What is loaded at the first training is not to be counted.
trained(Path({str(bare)!r}), Path({str(tmp_path / "warm")!r}), letters(32, seed=1),
        letters(32, seed=2), plan(epochs=1))
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 700_000_000,) * 2)
try:
    trained(Path({str(bare)!r}), Path({str(tmp_path / "a")!r}), rows, letters(32, seed=2),
            plan(batch=16_000, epochs=1))
except UserError as error:
    print("TOLD", error)
"""
    alone = {"TOKENIZERS_PARALLELISM": "false", "MALLOC_ARENA_MAX": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, **alone},
    )
    assert "TOLD There is not enough memory for batches of 16,000 inputs" in done.stdout, (
        done.stdout + done.stderr[-2000:]
    )


def killed(base: Path, folder: Path, after: int, rows: str) -> None:
    call = f"trained(Path({str(base)!r}), Path({str(folder)!r}), {rows}, progress=step)"
    killing.killed(__name__, call, after)


ROWS = "letters(256, seed=1), letters(64, seed=2)"


def test_after_a_kill_it_goes_on_to_the_same_model(bare: Path, tmp_path: Path) -> None:
    train, dev = letters(256, seed=1), letters(64, seed=2)
    undisturbed = trained(bare, tmp_path / "a", train, dev, plan(epochs=3))
    killed(bare, tmp_path / "b", 19, f"{ROWS}, plan(epochs=3)")  # 8 steps an epoch
    assert [path.name for path in (tmp_path / "b").glob("checkpoint-*/whole")] == ["whole"]
    steps = 0

    def count(done: int) -> None:
        nonlocal steps
        steps += done

    resumed = trained(bare, tmp_path / "b", train, dev, plan(epochs=3), progress=count)
    assert steps == 8  # of the last epoch alone
    pairs = [("b", ["b", "c"]), ("x", ["y", "z"])]
    assert resumed.model.predict(pairs).tolist() == undisturbed.model.predict(pairs).tolist()
    assert resumed.dev_loss == undisturbed.dev_loss


def test_a_half_written_checkpoint_is_not_gone_on_with(bare: Path, tmp_path: Path) -> None:
    train, dev = letters(256, seed=1), letters(64, seed=2)
    undisturbed = trained(bare, tmp_path / "a", train, dev, plan(epochs=2))
    killed(bare, tmp_path / "b", 11, f"{ROWS}, plan(epochs=3)")
    checkpoint = next((tmp_path / "b").glob("checkpoint-*"))
    os.remove(checkpoint / "whole")
    os.truncate(checkpoint / "model.safetensors", 1_000)
    steps: list[int] = []
    resumed = trained(bare, tmp_path / "b", train, dev, plan(epochs=2), progress=steps.append)
    assert sum(steps) == 16  # from the beginning
    assert resumed.dev_loss == undisturbed.dev_loss


def test_after_a_kill_its_patience_goes_on_where_it_was(bare: Path, tmp_path: Path) -> None:
    """Killed in the epoch after a worse one."""
    train, dev = letters(64, seed=1, swapped=True), letters(64, seed=9)
    undisturbed = trained(bare, tmp_path / "a", train, dev, plan(5e-3, epochs=40))
    worse = undisturbed.epochs - 1  # two steps an epoch
    rows = "letters(64, seed=1, swapped=True), letters(64, seed=9), plan(5e-3, epochs=40)"
    killed(bare, tmp_path / "b", 2 * worse + 1, rows)
    resumed = trained(bare, tmp_path / "b", train, dev, plan(5e-3, epochs=40))
    assert resumed.epochs == undisturbed.epochs
    assert resumed.dev_loss == undisturbed.dev_loss


def test_every_seed_is_measured_on_the_same_batches_of_dev(
    tmp_path: Path, tiny_retriever: Path
) -> None:
    """The loss of ranking depends on who stands in a batch together."""
    wanted = parse_recipe({"kind": "retriever", "form": "QQ", "base": "tiny"})
    rows = Dataset.from_dict(
        {
            "anchor": [f"{a} {b}" for a in LETTERS for b in "qrstuv"] * 2,
            "positive": [f"{b} {a}" for a in LETTERS for b in "qrstuv"] * 2,
        }
    )
    losses = {
        fit(
            task_of(wanted, str(tiny_retriever), 24, "cpu"),
            rows,
            rows,
            plan(1e-12, epochs=1, batch=48, seed=seed),
            tmp_path / str(seed),
            order={},
        ).dev_loss
        for seed in (1, 2, 3)
    }
    assert max(losses) == pytest.approx(min(losses), abs=1e-4)


def test_checkpoints_of_another_order_are_not_gone_on_with(bare: Path, tmp_path: Path) -> None:
    dev = letters(64, seed=2)
    trained(bare, tmp_path / "a", letters(64, seed=1), dev, plan(epochs=1))
    again = trained(bare, tmp_path / "a", letters(64, seed=1), dev, plan(epochs=1, seed=2))
    fresh = trained(bare, tmp_path / "b", letters(64, seed=1), dev, plan(epochs=1, seed=2))
    assert again.dev_loss == fresh.dev_loss
