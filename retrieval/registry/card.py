"""The card of a trained model, as Markdown, from what its training left. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import mean, stdev

from core.text.markdown import Markdown, escape, table
from core.text.words import plural
from retrieval.ranking.metrics import METRICS, WAYS
from retrieval.registry.training_record import Figures, Seed, Training, Values

SPLITS = ("dev", "test")
NONE = "-"
KINDS = {"retriever": "retriever", "selector": "answer selector"}


def card(training: Training) -> str:
    """Whatever is written in the training's record is text here, never Markdown."""
    parts = [
        f"# {escape(training.name)}",
        _summary(training),
        _facts(training),
        "## Figures",
        _counted(training),
        _figures(training),
        "## Seeds",
        _seeds(training),
        "## Grid",
        _grid(training),
        "## Recipe",
        table(("", ""), values_in_words(training.recipe), left=2),
        "## Software",
        table(("", ""), values_in_words(training.versions), left=2),
    ]
    return "\n\n".join(parts) + "\n"


def figure_names(training: Training) -> list[str]:
    """Those that are ours in our order, then any others."""
    named = training.best.test
    return [*(name for name in METRICS if name in named), *sorted(named.keys() - METRICS.keys())]


def over_seeds(training: Training, split: str, name: str) -> str:
    """Mean and standard deviation, in percent."""
    figures = [_of(one, split).get(name) for one in training.seeds]
    values = [value for value in figures if value is not None]
    if len(values) < len(figures):
        return NONE
    spread = f" ± {stdev(values) * 100:.1f}" if len(values) > 1 else ""
    return f"{mean(values) * 100:.1f}{spread}"


def percent(value: float | None) -> str:
    return NONE if value is None else f"{value * 100:.1f}"


def before(training: Training, split: str, name: str) -> float | None:
    return None if training.before is None else training.before[split].get(name)


def of_the_best(training: Training, split: str, name: str) -> float | None:
    return _of(training.best, split).get(name)


def values_in_words(values: Values) -> list[tuple[str, str]]:
    """By their names: a database keeps no order of them."""
    return [(name, _text(values[name])) for name in sorted(values)]


def _of(seed: Seed, split: str) -> Figures:
    return seed.dev if split == "dev" else seed.test


def _summary(training: Training) -> str:
    files = " and ".join(filter(None, map(escape, training.beside)))
    learned = f"on the release {escape(training.release)}" + (f" and {files}" if files else "")
    if training.of_release == 0:
        learned = f"on {files} alone, and measured on the release {escape(training.release)}"
    return (
        f"{KINDS[training.kind].capitalize()} of the form {training.form}, tuned from "
        f"{escape(training.base)} {learned}, by "
        f"{plural(len(training.seeds), 'seed')}; the model is that of seed "
        f"{training.best.seed}, whose loss on dev is the lowest."
    )


def _facts(training: Training) -> Markdown:
    facts = {
        "Model, sha256": training.best.sha256,
        "Release": training.release,
        "Release's manifest, sha256": training.release_sha256,
        "Base": training.base,
        "Form": training.form,
        "Settings chosen": _in_words(training.chosen),
        "Threshold": NONE if training.threshold is None else f"{training.threshold:g}",
        "Device": training.device,
        "Seconds": f"{training.seconds:,.1f}",
    }
    if training.left_out:
        facts["Queries of train left out"] = f"{training.left_out:,}"
    facts |= {f"Learned: {name}": _in_words(of) for name, of in training.beside.items()}
    return table(("", ""), list(facts.items()), left=2)


def _counted(training: Training) -> str:
    unmeasured = " The base was not measured: without a trained head it would rank by chance."
    without = "" if training.before else unmeasured
    return (
        f"In percent; counted: {escape(WAYS[training.way])}.{_rest_on(training)} Over seeds: mean "
        f"± standard deviation of {len(training.seeds)}.{without}"
    )


def _rest_on(training: Training) -> str:
    """How many queries; trainings of before did not tell."""
    counted = [
        f"{plural(number, 'query', 'queries')} of {split}"
        for split, number in training.queries.items()
    ]
    return f" The figures rest on {' and '.join(counted)}." if counted else ""


def _figures(training: Training) -> Markdown:
    header = ("Split", "Metric", "Base, as it was", "Over seeds", f"Seed {training.best.seed}")
    rows = [
        (
            split,
            name,
            percent(before(training, split, name)),
            over_seeds(training, split, name),
            percent(of_the_best(training, split, name)),
        )
        for split in SPLITS
        for name in figure_names(training)
    ]
    return table(header, rows, left=2)


def _seeds(training: Training) -> Markdown:
    names = figure_names(training)[:1]
    header = ["Seed", "Epochs", "Loss on dev", *(f"{name}, test" for name in names), "sha256"]
    rows = [
        [
            str(one.seed),
            str(one.epochs),
            f"{one.dev_loss:.4f}",
            *(percent(one.test.get(name)) for name in names),
            one.sha256,
        ]
        for one in training.seeds
    ]
    return table(header, rows, left=0)


def _grid(training: Training) -> Markdown:
    """Every combination that was tried, and what came of it."""
    tried = training.grid or (training.chosen,)
    others = {name for one in tried for name in one} - training.chosen.keys()
    names = [*sorted(training.chosen), *sorted(others)]
    return table(names, [[_text(one.get(name)) for name in names] for one in tried], left=0)


def _in_words(values: Values) -> str:
    return ", ".join(map(" ".join, values_in_words(values))) or NONE


def _text(value: object) -> str:
    if value is None:
        return NONE
    if isinstance(value, Mapping):
        return _in_words(value)
    if isinstance(value, Iterable) and not isinstance(value, str):
        return ", ".join(map(_text, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
