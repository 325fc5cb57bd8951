"""Batches of the ranking loss: every row is learned in every epoch, whatever the batch size."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset

from retrieval.training.data.batches import EveryRow, dealt, halved
from retrieval.training.loop.terms import RetrieverSum
from retrieval.training.recipes.recipe import parse_recipe
from tests.retrieval.training.alone import examples, fit_alone, setup
from tests.retrieval.training.loop.test_fit import plan
from tests.retrieval.training.releases import records

RANKING = parse_recipe(
    {"kind": "retriever", "form": "QQ", "base": "tiny", "hard_negatives": 0, "patience": 9}
)


def uneven(queries: int) -> Dataset:
    """Query n has 1, 2, 3, 4 or 5 positives, none of them another's."""
    rows = [(f"q{n}", f"p{n}-{one}") for n in range(queries) for one in range(n % 5 + 1)]
    return Dataset.from_dict({"anchor": [q for q, _ in rows], "positive": [p for _, p in rows]})


def test_a_row_goes_into_the_first_batch_that_has_room_and_none_of_its_texts() -> None:
    rows = [{1, 2}, {1, 3}, {4, 5}, {3, 6}, {7, 8}]
    assert dealt(rows, [0, 1, 2, 3, 4], 2) == [[0, 2], [1, 4], [3]]
    assert dealt(rows, [4, 3, 2, 1, 0], 3) == [[4, 3, 2], [1], [0]]


def test_few_texts_in_many_rows_are_dealt_in_one_look_at_each() -> None:
    """As topics are: no batch is ever full."""
    rows = [{10 + row, row % 10} for row in range(100_000)]
    batches = dealt(rows, range(len(rows)), 32)
    assert {len(batch) for batch in batches} == {10}
    assert sorted(row for batch in batches for row in batch) == list(range(len(rows)))


def test_rows_of_one_text_stand_alone() -> None:
    assert dealt([{1}, {1}, {1}], [2, 0, 1], 8) == [[2], [0], [1]]


def test_the_fullest_batches_are_halved_until_there_are_enough() -> None:
    assert halved([[1, 2, 3], [4]], 2) == [[1, 2, 3], [4]]
    assert halved([[1, 2, 3], [4]], 4) == [[1], [2], [3], [4]]


@pytest.mark.parametrize("batch_size", [2, 7, 20, 25])
def test_every_epoch_has_every_row_once_in_as_many_batches(batch_size: int) -> None:
    rows = uneven(25)
    sampler = EveryRow(rows, batch_size, seed=1)
    orders = []
    for epoch in range(40):  # of as many as max_steps asks for
        sampler.set_epoch(epoch)
        batches = list(sampler)
        assert len(batches) == len(sampler) >= len(rows) / batch_size
        assert sorted(row for batch in batches for row in batch) == list(range(len(rows)))
        for batch in batches:
            assert 0 < len(batch) <= batch_size
            anchors = [rows[row]["anchor"] for row in batch]
            assert len(set(anchors)) == len(anchors)
        orders.append(batches)
        assert list(sampler) == batches  # asked again, as after a kill
    assert orders[0] != orders[1]


def test_a_training_learns_every_row_of_a_release_in_every_epoch(
    tmp_path: Path, tiny_retriever: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two positives to a query, and batches nearly as large as the number of queries: the library's
    own sampler told of 4 batches where it made more, and the trainer never asked for the others."""
    train = examples(RANKING, records("train", 24, seed=1)).rows
    dev = examples(RANKING, records("dev", 8, seed=1)).rows
    learned: list[int] = []
    forward = RetrieverSum.forward

    def spied(self: Any, features: Any, labels: Any) -> Any:
        if self.model.training:
            learned.append(len(features[0]["input_ids"]))
        return forward(self, features, labels)

    monkeypatch.setattr(RetrieverSum, "forward", spied)
    steps: list[int] = []
    wanted = replace(plan(batch=14, epochs=3), patience=9)
    made = setup(RANKING, tiny_retriever)
    fit_alone(made, train, dev, wanted, tmp_path / "a", progress=steps.append)
    each = len(steps) // 3
    assert len(steps) == len(learned) == 3 * each
    epochs = [learned[start : start + each] for start in range(0, len(learned), each)]
    assert [sum(sizes) for sizes in epochs] == [len(train)] * 3
    assert each > -(-len(train) // 14)
    assert Counter(train["anchor"]).most_common(1)[0][1] >= 2
