"""What trained models make of dev and test: runs on the disk, and their figures.

Each model is read from its folder again: what is measured is what will be used. Import it through
lazy.py: it loads torch.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from retrieval.answering.threshold import choose_threshold, top_answer
from retrieval.encoders.cross_encoder.load import (
    TrainedSelector,
    classes_of,
    load_selector,
    new_selector,
)
from retrieval.encoders.encoder import load_encoder
from retrieval.encoders.score_candidates import score_with_encoder, score_with_selector
from retrieval.encoders.selector import Selector
from retrieval.index.rescore import rounded_cosines
from retrieval.ranking.metrics import Way, means
from retrieval.ranking.records import QueryRecord
from retrieval.ranking.runs import ScoredQuery, ranked, write_run
from retrieval.registry.registry import digest_of_folder
from retrieval.training.data.release_splits import Release
from retrieval.training.loop.grid import Trained, best_of
from retrieval.training.recipes.recipe import Recipe

WAY: Way = "qrc"
DECIMALS = 4
# Of a query, the scores of its candidates by their ids.
Scores = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class Evaluation:
    of_seeds: Mapping[int, Mapping[str, Any]]
    before: Mapping[str, Any] | None  # of the base; None: it has no head yet, to rank with
    threshold: float | None
    way: Way


def evaluate(
    recipe: Recipe,
    base: str,
    trained: Sequence[Trained],
    release: Release,
    folder: Path,
    device: str,
) -> Evaluation:
    """`base`: what the recipe's base is loaded by."""
    runs = folder / "runs"
    runs.mkdir(exist_ok=True)
    of_seeds: dict[int, Mapping[str, Any]] = {}
    threshold = None
    for one in trained:
        scores = _scores(recipe, one.model.resolve(), release, device)
        digest = digest_of_folder(one.model)
        of_seeds[one.seed] = {
            "sha256": digest,
            **_report(scores, release, runs, f"seed-{one.seed}"),
        }
        if one == best_of(trained):
            threshold = _threshold(release.dev, scores["dev"], recipe)
    length = best_of(trained).settings.max_length
    of_base = _before(recipe, base, length, release, device)
    before = None if of_base is None else _report(of_base, release, runs, "before")
    return Evaluation(of_seeds, before, threshold, WAY)


def _scores(recipe: Recipe, model: Path, release: Release, device: str) -> dict[str, Scores]:
    if recipe.kind == "selector":
        return _by_selector(load_selector(model, device), release)
    return _by_retriever(recipe, str(model), release, device)


def _before(
    recipe: Recipe, base: str, max_length: int, release: Release, device: str
) -> dict[str, Scores] | None:
    """None of a selector's base without a head for one score: a new one ranks by chance."""
    if recipe.kind == "retriever":
        return _by_retriever(recipe, base, release, device)
    if classes_of(base) != 1:
        return None
    model = new_selector(base, device, max_length=max_length)
    return _by_selector(TrainedSelector(model.eval(), base, recipe.form), release)


def _by_selector(selector: Selector, release: Release) -> dict[str, Scores]:
    return {
        name: _by_query(score_with_selector(selector, records))
        for name, records in release.measured.items()
    }


def _by_retriever(recipe: Recipe, model: str, release: Release, device: str) -> dict[str, Scores]:
    encoder = load_encoder(model, device)
    return {
        name: _by_query(score_with_encoder(encoder, recipe.form, records))
        for name, records in release.measured.items()
    }


def _by_query(scored: Iterable[ScoredQuery]) -> Scores:
    return {query: dict(scores) for query, scores in scored}


def _report(
    scores: Mapping[str, Scores], release: Release, runs: Path, system: str
) -> dict[str, Any]:
    for name in release.measured:
        rankings = ((query, list(of.items())) for query, of in scores[name].items())
        write_run(runs / f"{name}.{system}.run", rankings, system=system)
    return {name: figures(records, scores[name]) for name, records in release.measured.items()}


def figures(records: Sequence[QueryRecord], scores: Scores) -> dict[str, float] | None:
    """None of a split without queries."""
    if not records:
        return None
    rankings = [
        ranked(scores[record.id].items(), {one.id: one.label for one in record.candidates})
        for record in records
    ]
    averages = means(rankings, WAY)
    return {name: round(value, DECIMALS) for name, value in averages.items() if value is not None}


def _threshold(records: Sequence[QueryRecord], scores: Scores, recipe: Recipe) -> float | None:
    tops = []
    for record in records:
        worth = np.array([scores[record.id][one.id] for one in record.candidates])
        if recipe.kind == "retriever":
            worth = rounded_cosines(worth)
        labels = [one.label for one in record.candidates]
        tops.append(top_answer(worth.tolist(), labels))
    chosen = choose_threshold(tops, recipe.threshold_by)
    return chosen.value if chosen else None
