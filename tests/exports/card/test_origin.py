"""The card of labels that came with a dataset, judged here since or not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from exports.card.origin import labelled_by_votes
from exports.card.readme import card
from retrieval.ranking.records import QueryRecord, read
from tests.exports.card.figures import AGREEMENT, CAMPAIGN, COMPLETE, CONTROLS, WORKERS, row
from tests.exports.card.releases import RELEASED, ready
from tests.exports.card.test_readme import read as words_of
from tests.exports.card.test_readme import rows
from tests.exports.support.extracts import Extract, random_extract

IMPORT = {"queries": {"origin": "import", "duplicates_dropped": 0, "total": 20}}
FREE = {"cost_cents": 0, "bonus_cents": 0, "excluded_workers": []}
NOBODY: dict[str, Any] = {
    "splits": COMPLETE["splits"] | {"all": row(20, 100, 30) | {"votes": 0}},
    "campaign": CAMPAIGN | {"votes": 0, "assignments": dict.fromkeys(CAMPAIGN["assignments"], 0)},
    "agreement": dict.fromkeys(AGREEMENT)
    | {"triplets": 0, "votes": 0, "level": 0.95, "replicates": 1000, "seed": 7},
    "workers": WORKERS
    | {"workers": 0, "gini": None, "top_share": None, "robust_labels": 0, "robust_share": None}
    | {"agreement_with_label": {"edges": [0, 1], "workers": [0]}},
    "controls": CONTROLS | {key: {"positive": 0, "negative": 0} for key in ("judged", "missed")},
}


def nobody_judged(folder: Path, **release: Any) -> Path:
    return ready(
        folder, campaign=IMPORT | FREE | {"retriever": None}, stats=NOBODY, release=release
    )


def test_what_nobody_judged_has_no_protocol_of_judging(tmp_path: Path) -> None:
    words = words_of(nobody_judged(tmp_path / "x"))
    assert "Who made them, and how, is not recorded" in words
    assert "Nobody judged a triplet here" in words
    for report in ("Masters", "mturk", "control", "was excluded", "more vote", "annotators read"):
        assert report not in words.split("How it was made")[1].split("Splits")[0], report


def test_what_nobody_judged_has_no_figure_of_votes(tmp_path: Path) -> None:
    words = words_of(nobody_judged(tmp_path / "x"))
    trust = words.split("Label quality")[1].split("How it was made")[0]
    assert "No votes are known" in trust
    assert "Nobody judged here." in trust
    for report in ("undefined", "0 of 0", "Gini", "0 labels", "USD", "kappa"):
        assert report not in trust, report
    assert "no votes show how clear it is" in words


def test_without_the_judgments_what_nobody_judged_is_known_by_its_votes(tmp_path: Path) -> None:
    left = {key: value for key, value in CAMPAIGN.items() if key != "assignments"}
    folder = ready(
        tmp_path / "x",
        campaign=IMPORT | FREE,
        stats=NOBODY | {"campaign": left},
        release={"options": RELEASED["options"] | {"judgments": False}},
    )
    assert "Nobody judged a triplet here" in words_of(folder)


def test_what_was_imported_and_judged_here_tells_both(tmp_path: Path) -> None:
    words = words_of(ready(tmp_path / "x", campaign=IMPORT))
    assert "The labels came with the dataset and were imported unchanged." in words
    assert "Then triplets were judged here, by the steps below." in words
    assert (
        "The annotators were workers of a Mechanical Turk server, who chose the work there" in words
    )
    assert "A label is what came with the dataset or the majority of 2 to 4 votes" in words


def test_the_cost_is_shared_by_the_triplets_that_votes_labelled(tmp_path: Path) -> None:
    extract = half_imported(random_extract(5, queries=20))
    labels = {"triplets": 100, "labelled": 99_999, "open": 0, "unresolved": 0}
    folder = ready(tmp_path / "x", extract=extract, campaign={"triplets": labels})
    votes = [(each.yes, each.no) for each in released(folder)]
    made = sum(yes + no >= 2 and yes != no for yes, no in votes)
    assert 0 < made < len(votes)
    assert labelled_by_votes(folder, 2) == made
    cost = extract.campaign["cost_cents"] / 100 / made
    assert f"That is USD {cost:.3f} per released triplet labelled by votes." in words_of(folder)


def test_a_cost_without_a_label_by_votes_is_shared_by_none(tmp_path: Path) -> None:
    extract = half_imported(random_extract(5, queries=20), every=1)
    words = words_of(ready(tmp_path / "x", extract=extract))
    assert "for bonuses." in words
    assert "That is USD" not in words


def half_imported(extract: Extract, *, every: int = 2) -> Extract:
    """Of every so many queries one came labelled, its first candidate with a vote since."""
    extract.queries = [
        without_votes(query) if number % every == 0 else query
        for number, query in enumerate(extract.queries)
    ]
    extract.campaign |= IMPORT
    return extract


def without_votes(query: QueryRecord) -> QueryRecord:
    candidates = [
        replace(each, yes=int(each.rank == 1), no=0, score=None) for each in query.candidates
    ]
    return replace(query, candidates=candidates)


def released(folder: Path) -> list[Any]:
    return [
        candidate
        for split in ("train", "dev", "test")
        for record in read(folder / f"{split}.jsonl")
        for candidate in record.candidates
    ]


def test_controls_that_nobody_saw_are_not_told(tmp_path: Path) -> None:
    some = {"judged": {"positive": 9, "negative": 0}, "missed": {"positive": 1, "negative": 0}}
    words = words_of(ready(tmp_path / "x", stats={"controls": CONTROLS | some}))
    assert "by all workers: 1 of 9 positive ones. No control" in words


def test_an_order_of_no_known_retriever_is_not_called_one(tmp_path: Path) -> None:
    folder = ready(tmp_path / "x", campaign=IMPORT | {"retriever": None})
    assert rows(folder, "Baselines")[2][0] == "dev, the imported order"
    words = words_of(folder)
    assert "BM25 and the imported order rank the labelled candidates" in words
    assert "pairs that came with it as candidates" in words
    assert b'alt="Hit@k of the imported order' in card(folder)


def test_votes_of_which_no_two_meet_say_nothing_of_agreement(tmp_path: Path) -> None:
    words = words_of(ready(tmp_path / "x", stats={"agreement": NOBODY["agreement"]}))
    assert "No triplet has two valid votes" in words
    assert "No votes are known" not in words
