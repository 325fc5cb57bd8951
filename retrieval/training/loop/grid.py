"""From one model to the next: each combination is trained once, the best one with every seed.

Each training has a folder of its own, with the model and its loss on dev; one that a kill left
unfinished is gone on with. Import it through lazy.py: it loads torch.
"""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from core.progress import Progress
from retrieval.training.loop.fit import Plan, Rows, fit
from retrieval.training.loop.out_of_memory import freed
from retrieval.training.loop.setup import save, setup_of
from retrieval.training.recipes.recipe import Recipe, Settings, Stage
from retrieval.training.result import write

FITTED = "fitted.json"
MODEL = "model"
CHECKPOINTS = "checkpoints"


@dataclass(frozen=True)
class Trained:
    folder: Path
    settings: Settings
    seed: int
    dev_loss: float
    epochs: int

    @property
    def model(self) -> Path:
        return self.folder / MODEL


@dataclass(frozen=True)
class StageTraining:
    """Where a model starts from, and what it learns in a stage."""

    recipe: Recipe
    stage: Stage
    base: str
    train: Rows
    dev: Rows
    device: str
    order: Mapping[str, Any]  # what decides the result beside the recipe: digests of the inputs

    def search(self, folder: Path, progress: Progress) -> list[Trained]:
        """Every combination with the first seed, in the order of the grid."""
        trained = []
        for number, settings in enumerate(self.stage.grid(), 1):
            place = folder / f"grid-{number}"
            trained.append(self.trained(place, settings, self.recipe.seeds[0], progress))
        return trained

    def repeated(self, best: Trained, folder: Path, progress: Progress) -> list[Trained]:
        """The best combination with every seed; the first one has been trained."""
        others = [
            self.trained(folder / f"seed-{seed}", best.settings, seed, progress)
            for seed in self.recipe.seeds[1:]
        ]
        return [best, *others]

    def trained(self, place: Path, settings: Settings, seed: int, progress: Progress) -> Trained:
        recipe, stage = self.recipe, self.stage.at(settings)
        plan = Plan(
            settings=settings,
            epochs=stage.epochs,
            patience=stage.patience,
            warmup=stage.warmup,
            precision=recipe.precision,
            seed=seed,
            device=self.device,
            max_steps=stage.max_steps,
            weight_decay=stage.weight_decay,
            accumulation=stage.accumulation,
        )
        order = {
            **self.order,
            "recipe": recipe.to_dict(),
            "stage": self.stage.to_dict(),
            "base": self.base,
            **asdict(plan),
        }
        if known := _finished(place, order):
            return Trained(place, settings, seed, known["dev_loss"], known["epochs"])
        fitted = fit(
            setup_of(recipe, stage, settings, self.base, self.device),
            self.train,
            self.dev,
            plan,
            place / CHECKPOINTS,
            order=order,
            progress=progress,
        )
        shutil.rmtree(place / MODEL, ignore_errors=True)  # of a kill while it was written
        save(recipe, fitted.model, place / MODEL)
        trained = Trained(place, settings, seed, fitted.dev_loss, fitted.epochs)
        facts = {"dev_loss": trained.dev_loss, "epochs": trained.epochs}
        write(place / FITTED, {"order": order, **facts})
        shutil.rmtree(place / CHECKPOINTS)
        del fitted
        freed()
        return trained


def best_of(trained: Sequence[Trained]) -> Trained:
    """The lowest loss on dev; of equals the first."""
    return min(trained, key=lambda one: one.dev_loss)


def _finished(place: Path, order: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a power cut left of the file is as good as none: the model may not be whole either."""
    try:
        record = json.loads((place / FITTED).read_text(encoding="utf-8"))
        known, facts = record["order"], {name: record[name] for name in ("dev_loss", "epochs")}
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None
    if known != json.loads(json.dumps(order)):
        return None
    shutil.rmtree(place / CHECKPOINTS, ignore_errors=True)  # of a kill just before
    return facts
