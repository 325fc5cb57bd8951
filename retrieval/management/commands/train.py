import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from retrieval.cli import QuorumCommand
from retrieval.lazy import train_model
from retrieval.training.recipe import read_recipe


class Command(QuorumCommand):
    help = (
        "Trains a retriever or an answer selector on a release, as a recipe says (see recipes/). "
        "Stopped in the middle, the same command goes on."
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
        parser.add_argument("--device", default=settings.ENCODER_DEVICE, help="auto, cpu or cuda")

    def run(self, *args: Any, **options: Any) -> dict[str, object]:
        recipe = read_recipe(options["recipe"])
        with self.progress(None, "Training", unit=" steps") as bar:

            def begin(words: str) -> None:
                if not bar.disable:
                    bar.write(f"Learning {words}", file=sys.stderr)

            return train_model(
                recipe,
                release=options["release"],
                name=options["name"] or options["recipe"].stem,
                pairs=options["pairs"],
                device=options["device"],
                begin=begin,
                step=bar.update,
            )

    def render(self, result: dict[str, Any]) -> str:
        lines = [_head(result), *_figures(result)]
        folder = settings.MODELS_DIR / result["name"]
        lines.append(f"To use it: manage.py models register {folder}")
        return "\n".join(lines)


def _head(result: dict[str, Any]) -> str:
    chosen = result["chosen"]
    done = "Trained before, unchanged" if result["unchanged"] else "Trained"
    return (
        f"{done}: {result['kind']} {result['form']} from {result['base']} on "
        f"{result['release']['name']}, learning rate {chosen['learning_rate']:g}, batches of "
        f"{chosen['batch_size']}, {chosen['max_length']} tokens, "
        f"{len(result['trainings'])} seeds, {result['seconds']:,.0f} s"
    )


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
        lines.append(f"{split:10}" + "".join(f"{name:>8}" for name in names))
        for label, one in rows:
            values = "".join(f"{one[split][name] * 100:8.1f}" for name in names)
            lines.append(f"{label:10}{values}")
    return lines
