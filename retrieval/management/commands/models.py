"""`manage.py models register|list|show|verify|card`: the models that were trained here."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from core.command import REFUSED, Error, QuorumCommand, add_subcommand, table
from core.errors import UserError
from retrieval.registry.card import card, figure_names, over_seeds, percent
from retrieval.registry.improvement import Shelf, Shown, in_points
from retrieval.registry.register import register_and_record
from retrieval.registry.registry import model_named, verify
from retrieval.registry.training_record import made


class Command(QuorumCommand):
    help = "The models that were trained here: register, list, show, verify, card."

    def add_arguments(self, parser: CommandParser) -> None:
        steps = parser.add_subparsers(dest="step", required=True, metavar="STEP")
        registered = add_subcommand(
            steps, "register", help="take up the model of a training that has ended"
        )
        registered.add_argument(
            "folder", type=Path, metavar="FOLDER", help="as `manage.py train` made it"
        )
        add_subcommand(steps, "list", help="the models, the newest first, and which are in use")
        shown = add_subcommand(
            steps,
            "show",
            help="one model with its figures and its improvement over the one before it",
        )
        shown.add_argument("name", metavar="NAME")
        verified = add_subcommand(
            steps, "verify", help="read every file again; exit status 2 where any has changed"
        )
        verified.add_argument(
            "name", nargs="?", metavar="NAME", help="of one model; without it, all are read"
        )
        printed = add_subcommand(steps, "card", help="print a model's card, as Markdown")
        printed.add_argument("name", metavar="NAME")

    def run(self, *args: Any, **options: Any) -> dict[str, object]:
        self.damaged: list[str] = []
        if options["step"] == "register":
            return register_and_record(options["folder"])
        if options["step"] == "list":
            shelf = Shelf()
            return {"models": [_row(shelf.shown(one)) for one in shelf.models]}
        if options["step"] == "verify":
            return self._verified(options["name"])
        model = model_named(options["name"])
        if options["step"] == "card":
            return {"name": model.name, "card": card(made(model.training))}
        return _facts(Shelf().shown(model))

    def _verified(self, name: str | None) -> dict[str, object]:
        models = [model_named(name)] if name else Shelf().models
        with self.progress(len(models), "Reading", unit=" models") as bar:
            for model in models:
                try:
                    verify(model)
                except UserError as error:
                    self.damaged.append(str(error))
                bar.update()
        return {"models": len(models), "damaged": self.damaged}

    def render(self, result: dict[str, Any]) -> str:
        if "card" in result:
            return str(result["card"]).rstrip()
        if "damaged" in result:
            sound = f"{_counted(result['models'])} read, all as registered"
            return "\n".join(result["damaged"]) or sound
        if "models" in result:
            return "\n".join(map(_line, result["models"])) or "there are no models yet"
        return _render(result)

    def execute(self, *args: Any, **options: Any) -> str | None:
        """The report is printed first, in full; then the exit status says what it came to."""
        output = super().execute(*args, **options)
        if self.damaged:
            verb = "is" if len(self.damaged) == 1 else "are"
            found = f"{_counted(len(self.damaged))} {verb} not as registered."
            raise Error(found, returncode=REFUSED)
        return output


def _row(shown: Shown) -> dict[str, object]:
    model = shown.model
    return {
        "name": model.name,
        "kind": model.kind,
        "form": model.form,
        "base": model.base,
        "release": model.release,
        "in_use": shown.in_use,
        "way": shown.way,
        "queries": dict(shown.training.queries),
        "test": {name: shown.training.best.test[name] for name in figure_names(shown.training)},
        "former": shown.improvement.former,
        "lift": {gain.metric: gain.difference for gain in shown.improvement.gains},
        "note": shown.improvement.note,
    }


def _facts(shown: Shown) -> dict[str, object]:
    model, training = shown.model, shown.training
    return _row(shown) | {
        "folder": str(model.path),
        "sha256": model.sha256,
        "release_sha256": model.release_sha256,
        "threshold": model.threshold,
        "seeds": len(training.seeds),
        "over_seeds": {name: over_seeds(training, "test", name) for name, _ in shown.test},
        "registered": model.created_at,
    }


def _line(row: dict[str, Any]) -> str:
    queries = row["queries"].get("test")
    rest = "" if queries is None else f", {queries:,} queries"
    metrics = ", ".join(f"{name} {percent(value)}" for name, value in row["test"].items())
    return (
        f"{row['name']}  in use: {'yes' if row['in_use'] else 'no '}  {row['kind']} {row['form']} "
        f"from {row['base']}; on test of {row['release']}{rest} ({row['way']}): {metrics}"
    )


def _render(result: dict[str, Any]) -> str:
    """Of one model; what was just registered has no figures yet."""
    plain = {name: value for name, value in result.items() if not isinstance(value, dict)}
    counted = ", ".join(
        f"{split} {number:,}" for split, number in result.get("queries", {}).items()
    )
    told = [
        table(
            {
                **plain,
                "queries": counted or None,
                "note": None,
                "former": plain.get("former") or None,
            }
        )
    ]
    for name, value in result.get("test", {}).items():
        gain = result["lift"].get(name)
        over = "" if gain is None else f", {in_points(gain)} over {result['former']}"
        told.append(f"{name} {percent(value)} (seeds: {result['over_seeds'][name]}){over}")
    return "\n".join([*told, *filter(None, [result.get("note")])])


def _counted(models: int) -> str:
    return "1 model" if models == 1 else f"{models:,} models"
