"""What is in a release, by a campaign of three queries worked out by hand."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from annotation.models import Campaign, Worker
from annotation.protocol.labels.expert_agreement import BASIS
from core.text.clean import pair_key
from exports.building.export import export
from exports.building.options import Options
from tests.exports.support.campaigns import VERDICTS, make_campaign
from tests.exports.support.contents import (
    FILES,
    SPLITS,
    TABLES,
    all_queries,
    contents,
    document,
    lines,
    placements,
    queries,
    table,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign() -> Campaign:
    return make_campaign()


@pytest.fixture
def release(campaign: Campaign, tmp_path: Path) -> Path:
    return export(campaign, tmp_path / "release").folder


def labels(query: dict[str, Any]) -> dict[int, int]:
    return {candidate["rank"]: candidate["label"] for candidate in query["candidates"]}


def test_a_release_is_all_its_files_and_nothing_stays_beside_it(release: Path) -> None:
    assert set(contents(release)) == FILES
    assert [path.name for path in release.parent.iterdir()] == ["release"]


def test_a_release_may_be_read_by_whoever_may_read_any_new_folder(
    release: Path, tmp_path: Path
) -> None:
    (tmp_path / "any").mkdir()
    assert release.stat().st_mode == (tmp_path / "any").stat().st_mode


def test_each_query_is_in_one_split_and_the_one_with_a_gap_in_train(release: Path) -> None:
    assert [query["id"] for query in queries(release, "train")] == ["tea"]
    held = [query["id"] for split in ("dev", "test") for query in queries(release, split)]
    assert sorted(held) == ["moon", "rain"]


def test_labels_are_the_majorities_and_an_unresolved_one_is_left_out(release: Path) -> None:
    found = {key: labels(query) for key, query in all_queries(release).items()}
    assert found == {"moon": {1: 1, 2: 1, 3: 0}, "rain": {1: 0, 2: 0, 3: 0}, "tea": {1: 1, 3: 0}}


def test_votes_are_counted_without_discarded_ones(release: Path) -> None:
    rain = all_queries(release)["rain"]["candidates"]
    assert [each["votes"] for each in rain] == [
        {"yes": 0, "no": 2},
        {"yes": 1, "no": 2},
        {"yes": 0, "no": 2},  # eve's yes is gone
    ]
    assert all_queries(release)["tea"]["candidates"][1]["votes"] == {"yes": 0, "no": 2}


def test_a_candidate_is_told_with_its_texts_rank_and_score(release: Path) -> None:
    tea = all_queries(release)["tea"]
    assert tea["query"] == "What about tea, ü and 日本?"
    assert tea["candidates"][1] == {
        "id": pair_key("tea question 3", "tea answer ")[:20],
        "question": "tea question 3",
        "answer": "tea answer ",
        "rank": 3,
        "score": 0.333333,
        "label": 0,
        "votes": {"yes": 0, "no": 2},
    }


def test_a_file_lists_its_queries_by_id(tmp_path: Path) -> None:
    verdicts = dict.fromkeys(("b", "a", "Z", "é", "q10", "q2"), VERDICTS["moon"])
    campaign = make_campaign(verdicts, train=1.0, dev=0.0, test=0.0)
    folder = export(campaign, tmp_path / "release").folder
    listed = [query["id"] for query in queries(folder, "train")]
    assert listed == ["Z", "a", "b", "q10", "q2", "é"]  # by code point, in every database


def test_neither_controls_nor_names_of_the_crowd_get_into_a_release(
    campaign: Campaign, tmp_path: Path
) -> None:
    for name in ("ada", "bob", "eve"):
        Worker.objects.filter(worker_id=name).update(worker_id=f"WORKER-{name}")
    release = export(campaign, tmp_path / "release").folder
    for name, content in contents(release).items():
        shown = str(table(release, name)).encode() if name.endswith(".parquet") else content
        for secret in (b"CONTROL", b"HIT-", b"WORK-", b"WORKER-", b"2024-02"):
            assert secret not in shown, name


def test_the_statistics_are_those_worked_out_by_hand(release: Path) -> None:
    stats = document(release, "stats.json")
    assert list(stats["splits"]) == [*SPLITS, "all"]
    assert stats["splits"]["all"] == {
        "queries": 3,
        "triplets": 8,
        "positives": 3,
        "negatives": 5,
        "candidates_per_query": {"mean": 2.6667, "std": 0.4714},  # 3, 3, 2
        "positives_per_query": {"mean": 1.0, "std": 0.8165},  # 2, 0, 1
        "negatives_per_query": {"mean": 1.6667, "std": 0.9428},  # 1, 3, 1
        "answerable_queries": 2,
        "answerable_share": 0.6667,
        "votes": 18,  # 7 + 7 + 4
        "votes_per_triplet": 2.25,
    }
    assert stats["splits"]["train"]["candidates_per_query"] == {"mean": 2.0, "std": 0.0}
    assert stats["campaign"] == stats["campaign"] | {
        "queries": 3,
        "queries_left_out": 0,
        "triplets": 9,
        "labelled": 8,
        "open": 0,
        "unresolved": 1,
        "votes": 22,
        # 6 of 9; by chance 4/9 * 3/9 + 5/9 * 6/9 = 42/81, so kappa = (54 - 42) / (81 - 42)
        "first_two_votes": {"triplets": 9, "agreement": 0.6667, "kappa": 0.3077},
        "ties_broken": 2,
        "workers": 5,
        "excluded_workers": 1,
        "assignments": {"submitted": 24, "approved": 23, "rejected": 1, "paid_but_discarded": 1},
        "rejection_reasons": {"unanswered": 0, "missed": 1, "manual": 0},
        "cost_cents": 437,  # 23 * (15 + 3 + 1)
        "bonus_cents": 0,
        "expert": {
            "labels": 0,
            "triplets": 0,
            "unresolved_adjudicated": 0.0,
            "agreement": None,
        },
        "label_error": None,
        "label_error_interval": None,
        "label_error_triplets": 0,
        "label_error_reason": "no gold",
        "label_error_basis": BASIS,
    }


def test_paid_work_that_failed_its_controls_is_discarded_too(tmp_path: Path) -> None:
    campaign = make_campaign(
        {"moon": ["bob+! ada+ third+"]},
        candidates_per_query=1,
        on_failed_control="pay_and_discard",
        dev=0,
        test=0,
    )
    stats = document(export(campaign, tmp_path / "release").folder, "stats.json")
    assert stats["campaign"]["assignments"]["paid_but_discarded"] == 1
    assert stats["campaign"]["rejection_reasons"]["missed"] == 1
    assert stats["campaign"]["votes"] == 2


def test_a_release_tells_what_it_was_made_from(campaign: Campaign, release: Path) -> None:
    facts = document(release, "campaign.json")
    assert facts["campaign"] == "demo"
    assert facts["policy"] == campaign.policy.to_dict()
    assert facts["seeds"] == {"campaign": 7, "sample": 11, "split": 7}
    wording = (release / "instructions" / "1.md").read_bytes()
    assert wording == b"Same meaning, same answer?"
    (instructions,) = facts["instructions"]
    assert instructions["sha256"] == hashlib.sha256(wording).hexdigest()


def test_a_release_tells_what_was_asked_of_it_and_what_wrote_it(release: Path) -> None:
    facts = document(release, "release.json")
    assert (facts["format"], facts["campaign"], facts["number"]) == ("quorum-release", "demo", 1)
    assert facts["options"] == {"partial": False, "split": "clusters", "judgments": True}
    assert facts["previous"] is None
    assert {"quorum", "pyarrow", "bm25s", "matplotlib", "zstandard"} <= facts["versions"].keys()


def test_the_manifest_holds_size_and_sha256_of_every_other_file(release: Path) -> None:
    recorded = document(release, "manifest.json")["files"]
    files = contents(release)
    del files["manifest.json"]
    assert recorded == {
        name: {"bytes": len(text), "sha256": hashlib.sha256(text).hexdigest()}
        for name, text in files.items()
    }


def test_queries_in_no_split_are_listed_with_the_reason(tmp_path: Path) -> None:
    verdicts = VERDICTS | {"none": ["ada+ bob- third+ fourth-"] * 3}
    campaign = make_campaign(verdicts, train=0, dev=1, test=1)
    folder = export(campaign, tmp_path / "release").folder
    assert {
        row["id"]: row["reason"]
        for row in lines(folder, "placements.jsonl")
        if row["split"] is None
    } == {"none": "no candidate has a label", "tea": "beyond the sizes wanted"}
    assert document(folder, "stats.json")["campaign"]["queries_left_out"] == 2
    assert sorted(all_queries(folder)) == ["moon", "rain"]


def test_the_annotators_work_is_left_out_on_demand(
    campaign: Campaign, release: Path, tmp_path: Path
) -> None:
    without = export(campaign, tmp_path / "without", options=Options(judgments=False)).folder
    assert set(contents(without)) == FILES - TABLES
    assert document(without, "stats.json") == document(release, "stats.json")


def test_the_papers_way_of_splitting_is_an_option(campaign: Campaign, tmp_path: Path) -> None:
    folder = export(campaign, tmp_path / "release", options=Options(split="random")).folder
    assert document(folder, "release.json")["options"]["split"] == "random"
    assert sorted(filter(None, placements(folder).values())) == ["dev", "test", "train"]


def test_a_partial_release_leaves_open_triplets_out_of_train(tmp_path: Path) -> None:
    campaign = make_campaign(VERDICTS | {"tea": ["ada+ bob+", "ada+", "ada+ bob-"]})
    folder = export(campaign, tmp_path / "release", options=Options(partial=True)).folder
    assert labels(queries(folder, "train")[0]) == {1: 1}
    assert document(folder, "stats.json")["campaign"]["open"] == 2


def test_partial_changes_nothing_in_the_release_of_a_finished_campaign(
    campaign: Campaign, release: Path
) -> None:
    assert export(campaign, release, options=Options(partial=True)).unchanged


def test_another_campaigns_work_on_the_same_pairs_is_not_mixed_in(
    campaign: Campaign, release: Path
) -> None:
    make_campaign({"moon": ["third- fourth-"] * 3, "sea": ["eve+ bob+"] * 3}, name="other")
    assert export(campaign, release).unchanged


def test_progress_counts_thousandths(campaign: Campaign, tmp_path: Path) -> None:
    done: list[int] = []
    export(campaign, tmp_path / "release", progress=done.append)
    assert sum(done) == 1000
