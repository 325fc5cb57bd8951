"""What a training leaves in training.json: read, and refused where it is not whole. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, NoReturn

from core.errors import UserError
from core.text.clean import is_utf8
from retrieval.ranking.input_forms import FORMS
from retrieval.ranking.metrics import WAYS, Way

FILE = "training.json"  # written last: a training without it has not ended
FORMAT = 1
LARGEST_FILE = 10_000_000  # bytes
LARGEST_NUMBER = 2**63
LEAST_SCORE = {"retriever": -1, "selector": 0}
LONGEST_BASE, LONGEST_RELEASE, LONGEST_MODEL = 300, 200, 150
NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")
SHA256 = re.compile(r"[0-9a-f]{64}")

Values = Mapping[str, Any]
Figures = Mapping[str, float | None]  # by the metric's name, from 0 to 1


@dataclass(frozen=True)
class Seed:
    """One training by the settings chosen."""

    seed: int
    dev_loss: float
    epochs: int
    model: str  # its folder inside the training's
    sha256: str
    dev: Figures
    test: Figures


@dataclass(frozen=True)
class Training:
    name: str
    kind: str
    form: str
    base: str
    recipe: Values
    release: str
    release_sha256: str
    queries: Mapping[str, int]  # of each split measured; empty in trainings of before
    of_release: int | None  # what was learned of the release; None in trainings of before
    left_out: int  # queries of its train that were not learned
    beside: Mapping[str, Values]  # the files that were learned, by their names
    chosen: Values
    grid: tuple[Values, ...]
    seeds: tuple[Seed, ...]
    before: Mapping[str, Figures] | None  # the base, as it was, on dev and on test
    best: Seed
    threshold: float | None
    way: Way
    versions: Values
    device: str
    seconds: float


class Fault(ValueError):
    """What is wrong with the file, without its name and full stop."""


def read_training(folder: Path) -> dict[str, Any]:
    """training.json, which `made` takes; UserError says what is wrong with it."""
    path = folder / FILE
    if not folder.is_dir():
        raise UserError(f"There is no folder {folder}: check the path.")
    try:
        with path.open("rb") as file:
            text = file.read(LARGEST_FILE + 1)
    except FileNotFoundError as error:
        raise UserError(
            f"{folder} holds no {FILE}, so no finished training is there: name the folder of one "
            "that has, or run `quorum model train` again."
        ) from error
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror or error}.") from error
    try:
        values = _parsed(text)
        parse_training(values)
    except Fault as fault:
        raise UserError(f"{path} is not what a training leaves: {fault}.") from fault
    return values


def parse_training(values: Values) -> Training:
    """Raises Fault."""
    if values.get("format") != FORMAT:
        _refused("format", values.get("format"), f"{FORMAT}, no other is read here")
    kind = _one_of(values, "kind", tuple(FORMS))
    release = _record(values, "release")
    seeds = tuple(map(_seed, _rows(values, "trainings")))
    if not seeds or len({one.seed for one in seeds}) < len(seeds):
        raise Fault("trainings must tell of one seed or more, of each once")
    return Training(
        name=_like(values, "name", NAME),
        kind=kind,
        form=_one_of(values, "form", FORMS[kind]),
        base=_text(values, "base", LONGEST_BASE),
        recipe=_record(values, "recipe"),
        release=_text(release, "name", LONGEST_RELEASE),
        release_sha256=_like(release, "sha256", SHA256),
        queries=_queries(values),
        of_release=None if release.get("learned") is None else _whole(release, "learned"),
        left_out=_whole({"queries_left_out": 0, **values}, "queries_left_out"),
        beside=_beside(values),
        chosen=_record(values, "chosen"),
        grid=tuple(_rows(values, "grid")),
        seeds=seeds,
        before=_before(values),
        best=_best(values, seeds),
        threshold=_threshold(values, kind),
        way=_one_of(values, "way", tuple(WAYS)),  # type: ignore[arg-type]
        versions=_record(values, "versions"),
        device=_text(values, "device", LONGEST_BASE),
        seconds=_number(values, "seconds"),
    )


def _parsed(text: bytes) -> dict[str, Any]:
    if len(text) > LARGEST_FILE:
        raise Fault(f"it has over {LARGEST_FILE:,} bytes")
    try:
        values = json.loads(text.decode(), parse_constant=_no_number)
        leaves = list(_leaves(values))
    except (ValueError, RecursionError) as error:
        raise Fault(f"it is no JSON in UTF-8 ({' '.join(str(error).split())[:200]})") from error
    if not isinstance(values, dict):
        raise Fault("it is no JSON object")
    # What no database keeps.
    for value in leaves:
        if isinstance(value, str) and ("\0" in value or not is_utf8(value)):
            raise Fault(f"the text {value[:60]!r} has characters that cannot be kept")
        if isinstance(value, int | float) and not abs(value) < LARGEST_NUMBER:
            raise Fault("a number is too large")
    return values


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is not a number")


def _leaves(value: object) -> Iterator[object]:
    if isinstance(value, dict):
        yield from value
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from _leaves(one)
    else:
        yield value


def _seed(values: Values) -> Seed:
    model = PurePosixPath(_text(values, "model", LONGEST_MODEL))
    if not model.parts or model.is_absolute() or ".." in model.parts:
        _refused("model", str(model), "a folder inside the training's")
    return Seed(
        seed=_whole(values, "seed"),
        dev_loss=_number(values, "dev_loss"),
        epochs=_whole(values, "epochs"),
        model=model.as_posix(),
        sha256=_like(values, "sha256", SHA256),
        dev=_figures(values, "dev"),
        test=_figures(values, "test"),
    )


def _queries(values: Values) -> Mapping[str, int]:
    if values.get("queries") is None:
        return {}
    queries = _record(values, "queries")
    return {split: _whole(queries, split) for split in ("dev", "test")}


def _beside(values: Values) -> dict[str, Values]:
    materials = _record({"materials": {}, **values}, "materials")
    pairs = {} if values.get("pairs") is None else {"duplicate questions": values["pairs"]}
    return {name: _record(of, name) for of in (pairs, materials) for name in of}


def _before(values: Values) -> Mapping[str, Figures] | None:
    if values.get("before") is None:
        return None
    before = _record(values, "before")
    return {split: _figures(before, split) for split in ("dev", "test")}


def _best(values: Values, seeds: tuple[Seed, ...]) -> Seed:
    best = _whole(values, "best")
    for one in seeds:
        if one.seed == best:
            return one
    raise Fault(f"best is {best}, and there is no training with that seed")


def _threshold(values: Values, kind: str) -> float | None:
    if values.get("threshold") is None:
        return None
    return _number(values, "threshold", most=1, least=LEAST_SCORE[kind])


def _figures(values: Values, name: str) -> Figures:
    """None of a split without queries."""
    if values.get(name) is None:
        return {}
    figures = _record(values, name)
    return {one: None if figures[one] is None else _number(figures, one, most=1) for one in figures}


def _record(values: Values, name: str) -> dict[str, Any]:
    value = values.get(name)
    return value if isinstance(value, dict) else _refused(name, value, "an object")


def _rows(values: Values, name: str) -> list[dict[str, Any]]:
    value = values.get(name)
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        _refused(name, value, "a list of objects")
    return value


def _text(values: Values, name: str, longest: int) -> str:
    value = values.get(name)
    if not isinstance(value, str) or not 0 < len(value) <= longest:
        _refused(name, value, f"a text of at most {longest} characters")
    return value


def _like(values: Values, name: str, form: re.Pattern[str]) -> str:
    value = values.get(name)
    if not isinstance(value, str) or not form.fullmatch(value):
        _refused(name, value, f"of the form {form.pattern}")
    return value


def _one_of(values: Values, name: str, known: tuple[str, ...]) -> str:
    value = values.get(name)
    if not isinstance(value, str) or value not in known:
        _refused(name, value, f"one of {', '.join(known)}")
    return value


def _whole(values: Values, name: str) -> int:
    value = values.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        _refused(name, value, "a whole number from 0 on")
    return value


def _number(values: Values, name: str, most: float = LARGEST_NUMBER, *, least: int = 0) -> float:
    value = values.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        _refused(name, value, f"a number from {least} " + ("to 1" if most == 1 else "on"))
    return float(value)


def _refused(name: str, value: object, wanted: str) -> NoReturn:
    shown = "left out" if value is None else repr(value)[:60]
    raise Fault(f"{name} is {shown}, and must be {wanted}")
