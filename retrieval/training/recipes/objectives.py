"""The objectives that a recipe can name, alone or as a sum of weighted terms. Pure.

To add one, add its row here, its term to `loop/terms.py` and its line to docs/training.md.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from retrieval.training.recipes.settings import (
    Fault,
    known_only,
    one_of,
    part,
    render,
    several,
    weight,
)


@dataclass(frozen=True)
class Objective:
    kinds: tuple[str, ...]  # of the models that are trained with it
    # It reads queries with a positive, and the other rows of a batch are negatives; any other
    # reads queries with a candidate and its label.
    ranked: bool = False
    needs_teacher: bool = False  # it reads a teacher's scores beside the labels
    needs_lambda: bool = False
    # It changes tokens of what is read, and reads no label.
    on_tokens: bool = False


BOTH = ("retriever", "selector")
# The first of a kind is its default.
OBJECTIVES: Mapping[str, Objective] = {
    "mnr": Objective(("retriever",), ranked=True),
    "mnr-symmetric": Objective(("retriever",), ranked=True),
    "contrastive": Objective(("retriever",)),
    "binary": Objective(("selector",)),
    "distil-hinton": Objective(("selector",), needs_teacher=True, needs_lambda=True),
    "distil-gabburo": Objective(("selector",), needs_teacher=True),
    "mlm": Objective(BOTH, on_tokens=True),
    "rts": Objective(BOTH, on_tokens=True),
    "rtd": Objective(BOTH, on_tokens=True),
}
# As a flat recipe's `loss` may call them.
LOSSES = {
    "multiple-negatives-ranking": "mnr",
    "online-contrastive": "contrastive",
    "binary-cross-entropy": "binary",
}


def objectives_of(kind: str) -> tuple[str, ...]:
    return tuple(name for name, one in OBJECTIVES.items() if kind in one.kinds)


def losses_of(kind: str) -> tuple[str, ...]:
    return tuple(loss for loss, name in LOSSES.items() if kind in OBJECTIVES[name].kinds)


@dataclass(frozen=True)
class Term:
    """A part of a sum. Numbers of which a recipe names several are an axis of its grid."""

    name: str
    weight: tuple[float, ...] = (1.0,)
    lambda_: tuple[float, ...] = ()

    @property
    def objective(self) -> Objective:
        return OBJECTIVES[self.name]

    def variants(self) -> Iterator[Term]:
        """With one number of each."""
        lambdas: list[tuple[float, ...]] = [(one,) for one in self.lambda_] or [()]
        for of_weight, of_lambda in itertools.product(self.weight, lambdas):
            yield replace(self, weight=(of_weight,), lambda_=of_lambda)

    def axes(self) -> dict[str, float]:
        """Of a variant: its numbers by their names."""
        numbers = {f"{self.name} weight": self.weight[0]}
        return numbers | {f"{self.name} lambda": one for one in self.lambda_}

    def to_dict(self) -> dict[str, Any]:
        facts: dict[str, Any] = {"weight": list(self.weight)}
        return facts | ({"lambda": list(self.lambda_)} if self.lambda_ else {})


Terms = tuple[Term, ...]


def is_ranked(terms: Terms) -> bool:
    return any(term.objective.ranked for term in terms)


def needs_teacher(terms: Terms) -> bool:
    return any(term.objective.needs_teacher for term in terms)


def on_tokens(terms: Terms) -> list[str]:
    return [term.name for term in terms if term.objective.on_tokens]


def reads_labels(terms: Terms) -> bool:
    return len(on_tokens(terms)) < len(terms) and not is_ranked(terms)


def variants(terms: Terms) -> Iterator[Terms]:
    yield from itertools.product(*(term.variants() for term in terms))


def plain(kind: str, terms: Terms) -> Terms:
    """What models of all variants can be compared by: the labels alone, or the terms unweighted."""
    others = [term for term in terms if not term.objective.on_tokens]
    if kind == "selector" and others:
        return (Term("binary"),)
    return tuple(Term(term.name) for term in others or terms)


def parse_objective(kind: str, value: object) -> Terms:
    """A name, or a mapping of names to weights, or to `weight` and `lambda`; raises Fault."""
    if value is None:
        value = objectives_of(kind)[0]
    given = {value: 1.0} if isinstance(value, str) else value
    if not isinstance(given, Mapping) or not given:
        raise Fault(
            f"objective is {render(value)}, and must name an objective, or several with weights"
        )
    terms = tuple(_term(kind, name, numbers) for name, numbers in given.items())
    _require_one_change(terms)
    return terms


def _require_one_change(terms: Terms) -> None:
    """Of tokens; and another term, where numbers are searched: by a loss without such terms."""
    names = on_tokens(terms)
    if "rtd" in names and "mlm" not in names:
        raise Fault("rtd lacks mlm beside it, which trains the generator of its tokens")
    if "rts" in names and len(names) > 1:
        raise Fault("mlm and rts each change the tokens: leave one of them out")
    if len(names) == len(terms) and any(len(term.weight) > 1 for term in terms):
        raise Fault(
            f"the weight of {terms[0].name} cannot be searched: there is no other term whose loss "
            "compares the models"
        )


def require_kind(
    what: str, kind: str, given: object, names: Mapping[str, str] | None = None
) -> None:
    """Raises Fault where it is known, but for the other kind of model. `names`: of objectives."""
    name = names.get(given) if names and isinstance(given, str) else given
    if isinstance(name, str) and name in OBJECTIVES and kind not in OBJECTIVES[name].kinds:
        [other] = OBJECTIVES[name].kinds
        known = losses_of(kind) if names else objectives_of(kind)
        raise Fault(
            f"the {what} {given} is for a {other}, and this recipe is for a {kind}: choose one of "
            f"{', '.join(known)}"
        )


def _term(kind: str, name: object, numbers: object) -> Term:
    require_kind("objective", kind, name)
    known = one_of("objective", name, objectives_of(kind))
    if not isinstance(numbers, Mapping):
        numbers = {"weight": numbers}
    needs_lambda = OBJECTIVES[known].needs_lambda
    values = known_only(numbers, ["weight", *(["lambda"] if needs_lambda else [])], known)
    if needs_lambda and "lambda" not in values:
        raise Fault(f"{known} lacks its lambda, from 0 to 1: how much the teacher counts")
    return Term(
        known,
        several(f"the weight of {known}", values.get("weight", 1.0), weight),
        several(f"the lambda of {known}", values["lambda"], part) if needs_lambda else (),
    )
