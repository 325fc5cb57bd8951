import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from core.command import QuorumCommand
from retrieval.registry.names import require_own_name, require_untaken
from retrieval.registry.register import register_and_record
from retrieval.training.lazy import train_model
from retrieval.training.recipe import Recipe, read_recipe


class Command(QuorumCommand):
    help = (
        "Trains a retriever or an answer selector on a release, as a recipe says (see recipes/). "
        "Stopped in the middle, the same command goes on. With --register its model can be used by "
        "its name as soon as it has ended."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("recipe", type=Path, metavar="RECIPE", help="a YAML file")
        parser.add_argument(
            "--release", type=Path, required=True, metavar="DIR", help="the release's folder"
        )
        parser.add_argument("--name", help="of the model (default: the recipe's file name)")
        parser.add_argument(
            "--pairs",
            type=Path,
            metavar="FILE",
            help="duplicate questions to learn first: question1, question2, is_duplicate",
        )
        parser.add_argument(
            "--register",
            action="store_true",
            help="register the model when the training has ended, as `manage.py models register`",
        )
        parser.add_argument("--device", default=settings.ENCODER_DEVICE, help="auto, cpu or cuda")

    def run(self, *args: Any, **options: Any) -> dict[str, object]:
        recipe = read_recipe(options["recipe"])
        name = options["name"] or options["recipe"].stem
        # Hours before the registry would refuse it.
        require_own_name(name, recipe.base)
        require_untaken(name)
        found = self._trained(recipe, name, options)
        if options["register"]:
            found["registered"] = register_and_record(settings.MODELS_DIR / name)
        return found

    def _trained(self, recipe: Recipe, name: str, options: dict[str, Any]) -> dict[str, Any]:
        with self.progress(None, "Training", unit=" steps") as bar:

            def begin(words: str, steps: int) -> None:
                if not bar.disable:
                    bar.write(words, file=sys.stderr)
                bar.total = bar.n + steps if steps else None
                bar.refresh()

            return train_model(
                recipe,
                release=options["release"],
                name=name,
                pairs=options["pairs"],
                device=options["device"],
                begin=begin,
                step=bar.update,
            )

    def render(self, result: dict[str, Any]) -> str:
        lines = [_head(result), *_figures(result), _best(result)]
        folder = settings.MODELS_DIR / result["name"]
        if told := result.get("registered"):
            done = "Registered before, unchanged" if told["unchanged"] else "Registered"
            lines.append(f"{done}: {told['name']}, sha256 {told['sha256']}")
        else:
            lines.append(f"To use it: manage.py models register {folder}")
        return "\n".join(lines)


def _head(result: dict[str, Any]) -> str:
    chosen = result["chosen"]
    done = "Trained before, unchanged" if result["unchanged"] else "Trained"
    seeds = len(result["trainings"])
    return (
        f"{done}: {result['kind']} {result['form']} from {result['base']} on "
        f"{result['release']['name']}, learning rate {chosen['learning_rate']:g}, batches of "
        f"{chosen['batch_size']}, {chosen['max_length']} tokens, "
        f"{seeds} {'seed' if seeds == 1 else 'seeds'}, {result['seconds']:,.0f} s"
    )


def _best(result: dict[str, Any]) -> str:
    told = f"The model is that of seed {result['best']}, whose loss on dev is the lowest"
    if result["kind"] == "retriever":
        return f"{told}."
    if result["threshold"] is None:
        return f"{told}; dev gave it no threshold, so it answers every question."
    return f"{told}; it answers from a score of {result['threshold']:.4f} on."


def _figures(result: dict[str, Any]) -> list[str]:
    rows = [(f"seed {one['seed']}", one) for one in result["trainings"]]
    if result["before"]:
        rows.insert(0, ("before", result["before"]))
    names = list(rows[0][1]["dev"])
    lines = []
    for split in ("dev", "test"):
        if rows[0][1][split] is None:
            lines.append(f"{split}: no queries")
            continue
        lines.append(_cells(_counted(result, split), names))
        for label, one in rows:
            lines.append(_cells(label, [f"{one[split][name] * 100:.1f}" for name in names]))
    return lines


def _counted(result: dict[str, Any], split: str) -> str:
    """Trainings of before did not tell how many queries."""
    queries = result.get("queries", {}).get(split)
    return split if queries is None else f"{split}, {queries:,} queries"


def _cells(label: str, cells: Iterable[str]) -> str:
    return f"{label:22}" + "".join(f"{cell:>8}" for cell in cells)
