"""What a training is asked to do: looked through before hours are spent on it. Import it through
lazy.py: it loads torch."""

from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

from core.errors import UserError
from retrieval.encoders.forward import require_precision
from retrieval.encoders.loading import chosen_device
from retrieval.encoders.model_folder import folder_of
from retrieval.registry.registry import digest_of_folder, resolve_base
from retrieval.registry.training_record import FORMAT, LONGEST_RELEASE, NAME
from retrieval.training.data.duplicates import Duplicates, read_duplicates
from retrieval.training.data.examples import ANCHOR, Examples, of_duplicates, of_release
from retrieval.training.data.release_splits import Release, read_release
from retrieval.training.loop.out_of_memory import freed
from retrieval.training.loop.tasks import task_of
from retrieval.training.recipe import Recipe
from retrieval.vectors.checksums import sha256_of

LIBRARIES = (
    "accelerate",
    "datasets",
    "sentence-transformers",
    "tokenizers",
    "torch",
    "transformers",
)
SMALLEST_BATCH = 2  # that a recipe may name


@dataclass(frozen=True)
class TrainingRequest:
    recipe: Recipe
    release: Path
    name: str
    pairs: Path | None
    device: str


@dataclass(frozen=True)
class Base:
    name: str  # what it is loaded by
    sha256: str | None  # of its files; None where it cannot be told which they are


@dataclass(frozen=True)
class StageData:
    """What one stage learns, and what tells when to stop."""

    train: Examples
    dev: Examples


@dataclass(frozen=True)
class Inputs:
    release: Release
    base: Base
    device: str  # cpu or cuda
    first: StageData | None  # of the duplicate questions
    data: StageData
    facts: dict[str, Any]  # what training.json says of the request

    @property
    def digests(self) -> dict[str, Any]:
        """Of the inputs: with recipe and device they decide the result."""
        pairs = self.facts["pairs"]
        return {
            "release": self.release.sha256,
            "pairs": pairs and pairs["sha256"],
            "base_sha256": self.base.sha256,
        }


def checked_inputs(request: TrainingRequest) -> Inputs:
    """UserError for whatever would end the training, or make its model of no use."""
    _require_names(request)
    device = chosen_device(request.device)
    _require_arithmetic(request.recipe.precision, device)
    release = read_release(request.release)
    if len(release.name) > LONGEST_RELEASE:
        raise UserError(
            f"The name of the folder {release.name[:60]}... has over {LONGEST_RELEASE} characters: "
            "give the release's folder a shorter one."
        )
    pairs = None if request.pairs is None else read_duplicates(request.pairs, release.held_out())
    recipe = request.recipe
    first = None
    if pairs is not None:
        first = StageData(of_duplicates(recipe, pairs.train), of_duplicates(recipe, pairs.dev))
        _require_pairs(recipe, first, request.pairs)
    data = StageData(of_release(recipe, release.train), of_release(recipe, release.dev))
    _require_rows(recipe, data, request.release)
    base = check_base(recipe)
    facts = _facts(request, release, pairs, first, base, device)
    return Inputs(release, base, device, first, data, facts)


def _require_names(request: TrainingRequest) -> None:
    if not NAME.fullmatch(request.name):
        raise UserError(
            f"The name {request.name[:60]!r} cannot be a model's: use up to 100 lowercase "
            "letters, digits, dots, dashes and underscores, starting with a letter or digit."
        )
    base = request.recipe.base
    if request.name == base:
        raise UserError(
            f"The model would have the name of its base, {base}: choose another name with --name."
        )


def _require_arithmetic(precision: str, device: str) -> None:
    require_precision(precision, device)
    if precision == "bf16" and device == "cuda" and not torch.cuda.is_bf16_supported():
        raise UserError("This GPU does not compute in bf16: name fp16 or fp32 in the recipe.")


def _require_rows(recipe: Recipe, data: StageData, release: Path) -> None:
    for name, examples in (("train", data.train), ("dev", data.dev)):
        if not len(examples.rows):
            raise UserError(
                f"{release} leaves nothing for {recipe.loss} in {name}: it wants queries that have "
                "a positive, and with hard_negatives a negative too."
            )
    if recipe.in_batch_negatives:
        _require_batches(recipe, data, str(release))


def _require_pairs(recipe: Recipe, data: StageData, pairs: Path | None) -> None:
    what = "duplicate" if recipe.in_batch_negatives else "pair"
    for words, examples in (
        ("to learn from", data.train),
        ("to tell when to stop, for which one in ten is kept", data.dev),
    ):
        if not len(examples.rows):
            raise UserError(
                f"{pairs}, without the questions of the release's dev and test, has no {what} "
                f"{words}: name a file with more of them, or leave --pairs out."
            )
    if recipe.in_batch_negatives:
        _require_batches(recipe, data, str(pairs))


def _require_batches(recipe: Recipe, data: StageData, where: str) -> None:
    queries, largest = len(set(data.train.rows[ANCHOR])), max(recipe.batch_size)
    if queries < SMALLEST_BATCH:
        raise UserError(
            f"train of {where} has one query that can be learned from, and {recipe.loss} tells "
            "queries from each other: name a release with more."
        )
    if largest > queries:
        # As large as the number of queries, the batches after the first would be half empty.
        advised = max(SMALLEST_BATCH, queries // 2)
        raise UserError(
            f"A batch of {recipe.loss} holds a query once, and train of {where} has "
            f"{queries:,} that can be learned from: name a batch_size of at most {advised:,} in "
            f"the recipe, not {largest:,}."
        )


def check_base(recipe: Recipe) -> Base:
    """UserError where it cannot be loaded, or has no places for the recipe's longest inputs."""
    name = resolve_base(recipe.base, recipe.kind)
    task_of(recipe, name, max(recipe.max_length), "cpu").make_model()
    freed()
    folder = folder_of(name)
    return Base(name, None if folder is None else digest_of_folder(folder, with_links=True))


def _facts(
    request: TrainingRequest,
    release: Release,
    pairs: Duplicates | None,
    first: StageData | None,
    base: Base,
    device: str,
) -> dict[str, Any]:
    recipe = request.recipe
    facts_of_pairs = None
    if pairs is not None and first is not None and request.pairs is not None:
        facts_of_pairs = {
            "file": request.pairs.name,
            "sha256": sha256_of(request.pairs),
            "rows": len(pairs.train) + len(pairs.dev),
            "held_out": pairs.held_out,
            "learned": len(first.train.rows),
            "left_out": first.train.left_out + first.dev.left_out,
        }
    return {
        "format": FORMAT,
        "name": request.name,
        "kind": recipe.kind,
        "form": recipe.form,
        "base": recipe.base,
        "base_sha256": base.sha256,
        "recipe": recipe.to_dict(),
        "release": {"name": release.name, "sha256": release.sha256},
        "queries": {name: len(records) for name, records in release.measured.items()},
        "pairs": facts_of_pairs,
        "versions": {name: metadata.version(name) for name in LIBRARIES},
        "device": device,
    }
