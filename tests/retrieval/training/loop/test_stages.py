"""Stages of several tasks, in the real trainer with a tiny model."""

import random
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset

from retrieval.encoders.cross_encoder.load import new_selector
from retrieval.training.loop.fit import Fitted, Plan, fit
from retrieval.training.loop.setup import name_of, save, setup_of
from retrieval.training.recipes.recipe import Recipe, Settings, Stage, parse_recipe
from tests.retrieval.training.killing import killed

LETTERS = "abcdefgh"
MATERIALS = {name: {"kind": "spans", "file": f"{name}.tsv"} for name in ("plain", "turned")}
BOTH = [{"material": "plain"}, {"material": "turned"}]


def recipe(*stages: dict[str, Any]) -> Recipe:
    return parse_recipe(
        {
            "kind": "selector",
            "form": "QQ",
            "base": "tiny",
            "materials": MATERIALS,
            "stages": list(stages),
        }
    )


def rows(task: str, count: int, *, seed: int) -> Dataset:
    """Plain: it fits where it says yes. Turned, which a first word says: where it says no."""
    draw = random.Random(f"{task}/{seed}")
    labels = [float(draw.random() < 0.5) for _ in range(count)]
    word = {1.0: ("yes", "no"), 0.0: ("no", "yes")}
    return Dataset.from_dict(
        {
            "query": [
                f"{'red' if task == 'turned' else 'blue'} {draw.choice(LETTERS)}" for _ in labels
            ],
            "candidate": [
                [f"{draw.choice(LETTERS)} {word[label][task == 'turned']}"] for label in labels
            ],
            "label": labels,
        }
    )


def learn(
    whole: Recipe, stage: Stage, base: Path, folder: Path, *, epochs: int, **options: Any
) -> Fitted:
    plan = Plan(Settings(3e-3, 16, 24), epochs, 99, 0.1, "fp32", 1, "cpu")
    setup = setup_of(whole, stage, plan.settings, str(base), "cpu")
    train, dev = (
        {name_of(task): rows(task.material, count, seed=seed) for task in stage.tasks}
        for count, seed in ((128, 1), (32, 2))
    )
    return fit(setup, train, dev, plan, folder, order={}, **options)


def right(model: Any, task: str) -> float:
    asked = rows(task, 100, seed=3)
    scores = model.predict(list(zip(asked["query"], asked["candidate"], strict=True)))
    return float(((scores > 0.5) == (torch.tensor(asked["label"]).numpy() > 0.5)).mean())


def with_teacher(some: Dataset, score: float = 0.5) -> Dataset:
    """Who says the same of everything."""
    columns = {name: some[name][:] for name in ("query", "candidate")}
    return Dataset.from_dict({**columns, "label": [[label, score] for label in some["label"]]})


def test_one_by_one_forgets_its_first_task_and_round_robin_does_not(
    bare: Path, tmp_path: Path
) -> None:
    together = recipe({"tasks": BOTH})
    robin = learn(together, together.last, bare, tmp_path / "rr", epochs=12).model
    assert min(right(robin, "plain"), right(robin, "turned")) > 0.9

    one_by_one = recipe({"tasks": BOTH, "curriculum": "one-by-one"})
    base = bare
    for number, stage in enumerate(one_by_one.stages):
        fitted = learn(one_by_one, stage, base, tmp_path / f"obo-{number}", epochs=12)
        base = tmp_path / f"model-{number}"
        save(one_by_one, fitted.model, base)
    first = new_selector(str(tmp_path / "model-0"), "cpu").eval()
    assert right(first, "plain") > 0.9
    assert right(fitted.model, "turned") > 0.9
    assert right(fitted.model, "plain") < 0.6


def test_objectives_are_compared_by_a_loss_that_is_the_same_for_all(
    bare: Path, tmp_path: Path
) -> None:
    """Of the largest lambda, the loss itself is the lowest, whatever the model has learned."""
    task = {
        "material": "plain",
        "objective": {"distil-hinton": {"lambda": [0, 1]}},
        "teacher": "t",
    }
    whole = recipe({"tasks": [task], "learning_rate": 3e-3, "batch_size": 16, "max_length": 24})
    by_labels, by_teacher = (
        setup_of(whole, whole.last, settings, str(bare), "cpu") for settings in whole.last.grid()
    )
    [name] = by_labels.make_losses
    train, dev = (
        {name: with_teacher(rows("plain", count, seed=seed))} for count, seed in ((96, 1), (32, 2))
    )
    plan = Plan(Settings(3e-3, 16, 24), 6, 99, 0.1, "fp32", 1, "cpu")
    learned = fit(by_labels, train, dev, plan, tmp_path / "a", order={})
    copied = fit(by_teacher, train, dev, plan, tmp_path / "b", order={})
    assert min(copied.dev_losses) < min(learned.dev_losses)  # a teacher that says 0.5 of all
    assert learned.dev_loss < copied.dev_loss


def test_without_the_teachers_part_distillation_is_plain_training_bit_for_bit(
    bare: Path, tmp_path: Path
) -> None:
    def weights(name: str, objective: object, score: float | None = None) -> bytes:
        teacher = {} if score is None else {"teacher": "t"}
        task = {"material": "plain", "objective": objective, **teacher}
        whole = recipe({"tasks": [task]})
        plan = Plan(Settings(3e-3, 16, 24), 3, 99, 0.1, "fp32", 1, "cpu")
        train, dev = (rows("plain", count, seed=seed) for count, seed in ((64, 1), (32, 2)))
        if score is not None:
            train, dev = with_teacher(train, score), with_teacher(dev, score)
        [task_name] = map(name_of, whole.last.tasks)
        fitted = fit(
            setup_of(whole, whole.last, plan.settings, str(bare), "cpu"),
            {task_name: train},
            {task_name: dev},
            plan,
            tmp_path / name,
            order={},
        )
        save(whole, fitted.model, tmp_path / f"{name}-model")
        return (tmp_path / f"{name}-model" / "model.safetensors").read_bytes()

    plain = weights("plain", "binary")
    assert weights("hinton", {"distil-hinton": {"lambda": 0}}, 0.7) == plain
    assert weights("gabburo", "distil-gabburo", 0.0) == plain
    assert weights("taught", {"distil-hinton": {"lambda": 0.5}}, 0.7) != plain


def test_weights_of_tasks_are_compared_without_them() -> None:
    stage = {"tasks": [{**BOTH[0], "weight": [1, 9]}, {**BOTH[1], "weight": 3}]}
    whole = recipe({**stage, "learning_rate": 1e-5, "batch_size": 8, "max_length": 24})

    def weights(losses: Any) -> list[float]:
        return [one.keywords["weight"] for one in losses.values()]

    light, heavy = (
        setup_of(whole, whole.last.at(one), one, "no-model", "cpu") for one in whole.last.grid()
    )
    assert (weights(light.make_losses), weights(heavy.make_losses)) == ([1, 3], [9, 3])
    assert weights(light.comparable) == weights(heavy.comparable) == [1, 3]


def test_the_loss_on_dev_is_the_sum_of_the_tasks(bare: Path, tmp_path: Path) -> None:
    whole = recipe({"tasks": [BOTH[0], {**BOTH[1], "weight": 3}]})
    fitted = learn(whole, whole.last, bare, tmp_path / "a", epochs=1)
    losses = []
    for task, weight in (("plain", 1), ("turned", 3)):
        dev = rows(task, 32, seed=2)
        scores = fitted.model.predict(list(zip(dev["query"], dev["candidate"], strict=True)))
        own = torch.nn.BCELoss()(torch.tensor(scores), torch.tensor(dev["label"]).float())
        losses.append(weight * own.item())
    assert fitted.dev_loss == pytest.approx(sum(losses), abs=1e-4)


def test_a_task_has_batches_of_its_own_size(
    bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = recipe({"tasks": [BOTH[0], {**BOTH[1], "batch_size": 8}], "curriculum": "proportional"})
    steps: list[int] = []
    learn(whole, whole.last, bare, tmp_path / "a", epochs=1, progress=steps.append)
    assert len(steps) == 128 // 16 + 128 // 8


def test_a_task_that_ranks_beside_one_of_its_kind_learns_every_row(
    tiny_retriever: Path, tmp_path: Path
) -> None:
    """The library's own column with the task's name is no text of a row."""
    whole = parse_recipe(
        {
            "kind": "retriever",
            "form": "QQ",
            "base": "tiny",
            "materials": {name: {**one, "kind": "positives"} for name, one in MATERIALS.items()},
            "stages": [{"tasks": [{"material": "plain"}, {"material": "turned"}]}],
        }
    )
    plan = Plan(Settings(1e-4, 8, 24), 1, 9, 0.1, "fp32", 1, "cpu")
    setup = setup_of(whole, whole.last, plan.settings, str(tiny_retriever), "cpu")
    some = Dataset.from_dict({"anchor": list("abcdefgh"), "positive": list("qrstuvwx")})
    both = {name_of(task): some for task in whole.last.tasks}
    steps: list[int] = []
    fit(setup, both, both, plan, tmp_path / "a", order={}, progress=steps.append)
    assert len(steps) == 2


def test_a_stage_of_several_tasks_is_gone_on_with_after_a_kill(bare: Path, tmp_path: Path) -> None:
    whole = recipe({"tasks": BOTH})
    undisturbed = learn(whole, whole.last, bare, tmp_path / "a", epochs=3)

    def again(**options: Any) -> Fitted:
        return learn(whole, whole.last, bare, tmp_path / "b", epochs=3, **options)

    killed(lambda progress: again(progress=progress), after=20)
    resumed = again()
    assert resumed.dev_losses == undisturbed.dev_losses
    for name, weights in undisturbed.model.state_dict().items():
        assert torch.equal(weights, resumed.model.state_dict()[name])
