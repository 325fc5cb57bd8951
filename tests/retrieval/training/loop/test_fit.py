"""One training: its patience, kills, memory, lost numbers."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset

from core.errors import UserError
from core.progress import Progress, no_progress
from retrieval.encoders.cross_encoder.load import load_selector
from retrieval.training.loop.fit import Plan
from retrieval.training.loop.setup import save
from retrieval.training.recipes.recipe import Settings, parse_recipe
from tests.retrieval.training.alone import fit_alone, setup
from tests.retrieval.training.killing import killed

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
    made = setup(parse_recipe(SELECTOR), base, the_plan.settings.max_length)
    return fit_alone(made, train, dev, the_plan, folder, **options)


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


class Hungry(torch.nn.Module):
    def __init__(self, model: Any) -> None:
        super().__init__()

    def forward(self, *_: object) -> torch.Tensor:
        return torch.empty(2**60)


def test_want_of_memory_is_told_with_what_to_make_smaller(bare: Path, tmp_path: Path) -> None:
    """Real: torch asks for more than there is."""
    made = setup(parse_recipe(SELECTOR), bare)
    made = replace(made, make_losses=dict.fromkeys(made.make_losses, Hungry))
    with pytest.raises(UserError, match="There is not enough memory for batches of 32 inputs"):
        fit_alone(made, letters(64, seed=1), letters(32, seed=2), plan(), tmp_path / "a")


def test_a_loss_that_is_no_number_ends_it_in_one_sentence(bare: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError) as refusal:
        trained(bare, tmp_path / "a", letters(640, seed=1), letters(32, seed=2), plan(1e30))
    assert str(refusal.value).startswith("The loss on ")
    assert "Try a lower learning rate" in str(refusal.value)
    assert not list((tmp_path / "a").glob("checkpoint-*"))


def test_after_a_kill_its_patience_goes_on_where_it_was(bare: Path, tmp_path: Path) -> None:
    """Killed in the epoch after a worse one."""
    train, dev = letters(64, seed=1, swapped=True), letters(64, seed=9)
    undisturbed = trained(bare, tmp_path / "a", train, dev, plan(5e-3, epochs=40))
    worse = undisturbed.epochs - 1  # two steps an epoch

    def again(progress: Progress = no_progress) -> Any:
        the_plan = plan(5e-3, epochs=40)
        return trained(bare, tmp_path / "b", train, dev, the_plan, progress=progress)

    killed(again, after=2 * worse + 1)
    resumed = again()
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
        fit_alone(
            setup(wanted, tiny_retriever),
            rows,
            rows,
            plan(1e-12, epochs=1, batch=48, seed=seed),
            tmp_path / str(seed),
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
