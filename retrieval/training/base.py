"""What a training starts from: found, loaded once, and known by its bytes before anything is begun.
Import it through lazy.py: it loads torch."""

from dataclasses import dataclass

from retrieval.encoders.loading import folder_of
from retrieval.registry.registry import digest_of_folder, resolve_base
from retrieval.training.loop.out_of_memory import freed
from retrieval.training.loop.tasks import task_of
from retrieval.training.recipe import Recipe


@dataclass(frozen=True)
class Base:
    name: str  # what it is loaded by
    sha256: str | None  # of its files; None where it cannot be told which they are


def found_base(recipe: Recipe) -> Base:
    """UserError where it cannot be loaded, or has no places for the recipe's longest inputs."""
    name = resolve_base(recipe.base, recipe.kind)
    task_of(recipe, name, max(recipe.max_length), "cpu").make_model()
    freed()
    folder = folder_of(name)
    return Base(name, None if folder is None else digest_of_folder(folder, with_links=True))
