"""`quorum model`: trains retrievers and answer selectors, and keeps them."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from django.conf import settings

from core.command import Device, Noun, ReleaseFolder, Result, announce, progress
from core.errors import UserError
from core.output import Facts, Rendered
from core.text.words import plural
from retrieval.registry.card import card, figure_names, over_seeds, percent
from retrieval.registry.improvement import ModelReport, ModelReports, in_points
from retrieval.registry.names import require_own_name, require_untaken
from retrieval.registry.register import register_and_record
from retrieval.registry.registry import model_named, verify
from retrieval.registry.training_record import parse_training
from retrieval.training.lazy import train_model
from retrieval.training.recipes.recipe import read_recipe

app = Noun("Trained models: train, register, list, show, verify, card, evaluate-answers.")
ALWAYS_CHOSEN = ("learning_rate", "batch_size", "max_length")
# Of a material's rows, by how training.json counts them.
NOT_LEARNED = {
    "left_out": "left out by the objective",
    "held_out": "more with a question of a release's dev or test",
    "beside_dev": "more with a text of those that tell when to stop",
}
Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the model.")]


def _trained(result: Result) -> Rendered:
    lines = [_head(result), *_defaults(result), *_learned(result), *_figures(result), _best(result)]
    if report := result.get("registered"):
        done = "Registered before, unchanged" if report["unchanged"] else "Registered"
        lines.append(f"{done}: {report['name']}, sha256 {report['sha256']}")
    else:
        folder = settings.MODELS_DIR / result["name"]
        lines.append(f"To use it: quorum model register {folder}")
    return lines


@app.verb("train", render=_trained)
def train(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE", help="YAML file, see recipes/.")],
    release: ReleaseFolder,
    name: Annotated[
        str | None, typer.Option(help="Name of the model; without it, the recipe's file name.")
    ] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Duplicate questions to learn first: question1, question2, is_duplicate.",
        ),
    ] = None,
    register: Annotated[
        bool,
        typer.Option(
            "--register", help="Register the model after training, as `quorum model register` does."
        ),
    ] = False,
    device: Device = settings.ENCODER_DEVICE,
) -> Result:
    """Train a retriever or an answer selector on a release, following a recipe.

    Interrupted, the same command continues. With --register you can use the model by its name.
    """
    wanted = read_recipe(recipe)
    name = name or recipe.stem
    # Hours before the registry would refuse it.
    require_own_name(name, wanted.base)
    require_untaken(name)
    with progress(None, "Training", " steps") as bar:
        trained = train_model(
            wanted,
            release=release,
            name=name,
            pairs=pairs,
            device=device,
            begin=announce(bar),
            step=bar.update,
        )
    if register:
        trained["registered"] = register_and_record(settings.MODELS_DIR / name)
    return trained


def _head(result: dict[str, Any]) -> str:
    chosen = result["chosen"]
    done = "Trained before, unchanged" if result["unchanged"] else "Trained"
    tried = len(result["grid"])
    others = [f"{chosen['max_length']} tokens"]
    others += [f"{name} {value}" for name, value in chosen.items() if name not in ALWAYS_CHOSEN]
    best = f" (the best of {tried})" if tried > 1 else ""
    release = result["release"]
    on = "measured on" if release.get("learned") == 0 else "on"
    return (
        f"{done}: {result['kind']} {result['form']} from {result['base']} {on} "
        f"{release['name']}, learning rate {chosen['learning_rate']:g}, batches of "
        f"{chosen['batch_size']}, {', '.join(others)}{best}, "
        f"{plural(len(result['trainings']), 'seed')}, {result['seconds']:,.0f} s"
    )


def _defaults(result: dict[str, Any]) -> list[str]:
    """Trainings of before did not say."""
    words = [f"{', '.join(of)} from {source}" for source, of in result.get("defaults", {}).items()]
    return [f"Left out of the recipe: {'; '.join(words)}."] if words else []


def _learned(result: dict[str, Any]) -> Iterator[str]:
    """And what was not. Trainings of before counted only the pairs."""
    pairs = {"pairs": result["pairs"]} if result["pairs"] else {}
    for name, counts in {**pairs, **result.get("materials", {})}.items():
        learned = plural(counts["learned"], "example")  # as often as a task has one
        parts = [f"{name}: {plural(counts['rows'], 'row')}, learned as {learned}"]
        parts += [
            f"{counts[count]:,} {why}" for count, why in NOT_LEARNED.items() if counts.get(count)
        ]
        yield f"{', '.join(parts)}."
    if left_out := result.get("queries_left_out"):
        queries = plural(left_out, "query", "queries")
        yield f"{queries} of train left out: asked in dev or test too, or nothing to learn from."


def _best(result: dict[str, Any]) -> str:
    sentence = f"The model is that of seed {result['best']}, whose loss on dev is the lowest"
    if result["threshold"] is None:
        return f"{sentence}; dev gave it no threshold, so it answers every question."
    return f"{sentence}; it answers from a score of {result['threshold']:.4f} on."


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
        lines.append(_figure_line(_split_words(result, split), names))
        for label, one in rows:
            lines.append(_figure_line(label, [f"{one[split][name] * 100:.1f}" for name in names]))
    return lines


def _split_words(result: dict[str, Any], split: str) -> str:
    """Trainings of before did not tell how many queries."""
    queries = result.get("queries", {}).get(split)
    return split if queries is None else f"{split}, {queries:,} queries"


def _figure_line(label: str, cells: Iterable[str]) -> str:
    return f"{label:22}" + "".join(f"{cell:>8}" for cell in cells)


def _model_details(result: Result) -> Rendered:
    """What was just registered has no figures yet."""
    plain = {name: value for name, value in result.items() if not isinstance(value, dict)}
    if not plain.get("unchanged"):  # of a new one there is nothing to compare
        plain.pop("unchanged", None)
    counted = ", ".join(
        f"{split} {number:,}" for split, number in result.get("queries", {}).items()
    )
    former = plain.get("former") or None
    facts = Facts({**plain, "queries": counted or None, "note": None, "former": former})
    report = []
    for name, value in result.get("test", {}).items():
        gain = result["improvement"].get(name)
        over = "" if gain is None else f", {in_points(gain)} over {result['former']}"
        report.append(f"{name} {percent(value)} (seeds: {result['over_seeds'][name]}){over}")
    return [facts, *report, *filter(None, [result.get("note")])]


@app.verb("register", render=_model_details)
def register_model(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Folder that `quorum model train` made.")
    ],
) -> Result:
    """Register a trained model, so that you can use it by its name."""
    return register_and_record(folder)


def _listed(result: Result) -> Rendered:
    lines = [_line(row) for row in result["models"]]
    return lines or "There are no models yet: train one with `quorum model train`."


@app.verb("list", render=_listed)
def list_models() -> Result:
    """List the models, the newest first, and which are in use."""
    reports = ModelReports()
    return {"models": [_row(reports.of(one)) for one in reports.models]}


@app.verb("show", render=_model_details)
def show_model(name: Name) -> Result:
    """Show a model with its figures and its improvement over the model before it."""
    return _facts(ModelReports().of(model_named(name)))


def _verified(result: Result) -> Rendered:
    return result["damaged"] or f"{plural(result['models'], 'model')} read, all as registered"


def _damage(result: Result) -> str | None:
    number = len(result["damaged"])
    verb = "is" if number == 1 else "are"
    return f"{plural(number, 'model')} {verb} not as registered." if number else None


@app.verb("verify", render=_verified, fault=_damage)
def verify_models(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="One model; without it, all models.")
    ] = None,
) -> Result:
    """Read every file of the models again. Exit status 2 if any has changed."""
    models = [model_named(name)] if name else ModelReports().models
    damaged = []
    with progress(len(models), "Reading", " models") as bar:
        for model in models:
            try:
                verify(model)
            except UserError as error:
                damaged.append(str(error))
            bar.update()
    return {"models": len(models), "damaged": damaged}


@app.verb("card", render=lambda result: result["card"].rstrip())
def print_card(name: Name) -> Result:
    """Print the model's card as Markdown."""
    model = model_named(name)
    return {"name": model.name, "card": card(parse_training(model.training))}


def _row(report: ModelReport) -> dict[str, object]:
    model = report.model
    return {
        "name": model.name,
        "kind": model.kind,
        "form": model.form,
        "base": model.base,
        "release": model.release,
        "in_use": report.in_use,
        "way": report.way,
        "queries": dict(report.training.queries),
        "test": {name: report.training.best.test[name] for name in figure_names(report.training)},
        "former": report.improvement.former,
        "improvement": {gain.metric: gain.difference for gain in report.improvement.gains},
        "note": report.improvement.note,
    }


def _facts(report: ModelReport) -> dict[str, object]:
    model, training = report.model, report.training
    return _row(report) | {
        "folder": str(model.path),
        "sha256": model.sha256,
        "release_sha256": model.release_sha256,
        "threshold": model.threshold,
        "seeds": len(training.seeds),
        "over_seeds": {name: over_seeds(training, "test", name) for name, _ in report.test},
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
