"""What is told where memory ends. Import it through lazy.py: it loads torch."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from core.errors import UserError
from retrieval.encoders.out_of_memory import wants_memory
from retrieval.training.recipes.recipe import Settings

# Of the loss on dev, whatever a model is trained with: losses of batches of other sizes do not
# compare where the batch's other rows are the negatives.
DEV_BATCH = 64


@contextmanager
def enough_memory(settings: Settings) -> Iterator[None]:
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not wants_memory(error):
            raise
        raise UserError(
            f"There is not enough memory for batches of {settings.batch_size:,} inputs "
            f"({DEV_BATCH} of dev) of up to {settings.max_length:,} tokens: nothing was "
            "overwritten; name a smaller batch_size or max_length in the recipe."
        ) from error


def freed() -> None:
    """A trainer and its model hold each other: before the next one is made."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
