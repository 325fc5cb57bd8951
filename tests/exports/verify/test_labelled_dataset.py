"""A labelled dataset is released again, with its own labels and fields."""

import json
from pathlib import Path
from typing import Any

import pytest

from annotation.pipeline.setup.import_dataset import import_dataset
from annotation.protocol.policy.policy import Policy
from exports.building.export import export
from exports.verify.verify import verify
from tests.exports.support.campaigns import MANY, make_campaign
from tests.exports.support.contents import SPLITS, lines, queries
from tests.worlds.hostile import ATTACKS

pytestmark = pytest.mark.django_db

WHAT_A_CANDIDATE_IS = ("id", "question", "answer", "rank", "score", "label")


def content(folder: Path, split: str) -> list[tuple[str, str, list[tuple[Any, ...]]]]:
    return [
        (
            query["id"],
            query["query"],
            [tuple(each[name] for name in WHAT_A_CANDIDATE_IS) for each in query["candidates"]],
        )
        for query in queries(folder, split)
    ]


def test_a_release_that_is_imported_is_released_as_it_was(tmp_path: Path) -> None:
    campaign = make_campaign(MANY, text="clean", train=0.5, dev=0.2, test=0.3)
    campaign.query_set.retrieved_with = None  # no model has to be loaded
    campaign.query_set.save()
    first = export(campaign, tmp_path / "first").folder
    files = [first / f"{split}.jsonl" for split in SPLITS]
    again = import_dataset(files, "again", policy=campaign.policy, seed=7).campaign
    second = export(again, tmp_path / "second").folder
    for split in SPLITS:
        assert content(second, split) == content(first, split), split
    report = verify(second)
    assert (report.differences, report.checked > 0) == ([], True)


def test_a_dataset_of_hostile_texts_and_any_number_of_candidates_is_released_and_verified(
    tmp_path: Path,
) -> None:
    given = [
        {
            "query": f"{text} {number}",
            "candidates": [
                {"question": f"{text} {rank}", "answer": text, "label": (number + rank) % 3 == 0}
                for rank in range(1, 2 + number % 4)
            ],
        }
        for number, text in enumerate(ATTACKS.values())
    ]
    path = tmp_path / "qrc.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in given), encoding="utf-8")
    policy = Policy(train=0.6, dev=0.2, test=0.2)
    made = import_dataset([path], "made", policy=policy, seed=7)
    folder = export(made.campaign, tmp_path / "release").folder
    assert made.queries == len(lines(folder, "placements.jsonl")) == len(given)
    report = verify(folder)
    assert (report.differences, report.checked > 0) == ([], True)
