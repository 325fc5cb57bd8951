"""Batches of the ranking loss: a text stands in a batch once, and every row in an epoch once.

The library's own sampler announces rows / batch size batches and makes more and smaller ones where
queries have several rows; the trainer stops at the number announced, and the rest of the rows are
not learned. Import it through lazy.py: it loads torch.
"""

import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence

import torch
from datasets import Dataset
from sentence_transformers.base.sampler import DefaultBatchSampler

Batch = list[int]  # numbers of rows
TRIED = 4  # orders
FURTHER = 1_000_003  # seeds, than those of an epoch and the ones after it
TASK = "dataset_name"  # the library's own column, where a stage has several


class EveryRow(DefaultBatchSampler):
    """As many batches in each epoch, however many there are: the trainer counts its steps before
    the first one. An order that needs more than those tried did is drawn again."""

    def __init__(self, dataset: Dataset, batch_size: int, *, seed: int) -> None:
        super().__init__(dataset, batch_size, drop_last=False, seed=seed)
        self._rows = _texts(dataset)
        self._length = max(len(self._dealt(epoch)) for epoch in range(TRIED))

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Batch]:
        orders = (self._dealt(self.epoch, again) for again in itertools.count())
        batches = next(one for one in orders if len(one) <= self._length)
        return iter(halved(batches, self._length))

    def _dealt(self, epoch: int, again: int = 0) -> list[Batch]:
        draw = torch.Generator().manual_seed(self.seed + epoch + again * FURTHER)
        order = torch.randperm(len(self._rows), generator=draw, dtype=torch.int32).tolist()
        return dealt(self._rows, order, self.batch_size)


def dealt(rows: Sequence[Collection[int]], order: Iterable[int], size: int) -> list[Batch]:
    """Each row into the first batch that has room, behind all that have one of its texts."""
    batches: list[Batch] = []
    after: dict[int, int] = {}  # by text, the first batch behind all that have it
    first = 0  # with room
    for row in order:
        place = max(first, *(after.get(text, 0) for text in rows[row]))
        while place < len(batches) and len(batches[place]) == size:
            place += 1
        if place == len(batches):
            batches.append([])
        batches[place].append(row)
        after |= dict.fromkeys(rows[row], place + 1)
        while first < len(batches) and len(batches[first]) == size:
            first += 1
    return batches


def halved(batches: Sequence[Batch], number: int) -> list[Batch]:
    """The fullest ones in two, until there are so many."""
    parts = list(batches)
    while len(parts) < number:
        place = max(range(len(parts)), key=lambda one: len(parts[one]))
        rows = parts[place]
        parts[place : place + 1] = [rows[: len(rows) // 2], rows[len(rows) // 2 :]]
    return parts


def _texts(dataset: Dataset) -> list[frozenset[int]]:
    """Of each row, its texts (or lists of them) by number."""
    numbers: dict[str, int] = {}
    columns = [dataset[name][:] for name in dataset.column_names if name != TASK]
    return [
        frozenset(numbers.setdefault(repr(value), len(numbers)) for value in row)
        for row in zip(*columns, strict=True)
    ]
