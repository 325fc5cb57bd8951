"""What is read out of a campaign's record, by hand and against a slow second reader."""

import hashlib
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from pytest_django import Settings

from annotation.models import Assignment, Campaign, ExpertLabel, Hit, HitItem, Judgment, Triplet
from annotation.pipeline.labelling.label import write_labels
from annotation.pipeline.ledger.settlements import excluded_workers, restore
from exports.building.split_encoder import query_encoder
from exports.extract import assignments, parquet_table, votes
from exports.extract import queries as queries_module
from exports.extract.extract import extract
from exports.models import WorkerSalt
from retrieval.corpus.corpora import create_corpus
from retrieval.models import Candidate, IndexVersion, QaPair
from retrieval.registry.registry import register
from tests.exports.extract.oracle import (
    contents,
    expected_assignments,
    expected_controls,
    expected_judgments,
    expected_queries,
    lines,
    person,
    rows,
    salted,
)
from tests.exports.support.campaigns import START, VERDICTS, make_campaign
from tests.retrieval.registry.trainings import trained
from tests.support.examples import examples

pytestmark = [pytest.mark.django_db, pytest.mark.concurrent]
ADA, BOB, EVE, THIRD = (person(f"mturk:{name}") for name in ("ada", "bob", "eve", "third"))
HOSTILE = 'tab\t"quotes" NA \\N\n<b>html</b> \u2028 \U0001f980 null'


@pytest.fixture
def campaign() -> Campaign:
    return salted(make_campaign())


def extracted(campaign: Campaign, folder: Path, *, partial: bool = False) -> Path:
    extract(campaign, folder, partial=partial)
    return folder


def facts(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "campaign.json").read_bytes())
    return found


def assert_as_the_oracle(campaign: Campaign, folder: Path) -> None:
    assert lines(folder / "queries.jsonl") == expected_queries(campaign)
    assert rows(folder / "judgments.parquet") == expected_judgments(campaign)
    assert rows(folder / "assignments.parquet") == expected_assignments(campaign)
    assert rows(folder / "controls.parquet") == expected_controls(campaign)


def test_a_retriever_that_was_trained_here_is_told_by_its_name(
    campaign: Campaign, tmp_path: Path, settings: Settings
) -> None:
    settings.MODELS_DIR = tmp_path / "models"
    model = register(trained("faq-qqa"))
    IndexVersion.objects.update(model=str(model.path), trained=model)
    report = facts(extracted(campaign, tmp_path))["retriever"]
    assert report["model"] == "faq-qqa"
    (model.path / "config.json").write_bytes(b"[]")
    encoder = query_encoder(report)
    assert encoder.encode is None
    assert encoder.note.startswith("The model faq-qqa has changed since it was registered: ")


def test_labels_and_votes_are_those_worked_out_by_hand(campaign: Campaign, tmp_path: Path) -> None:
    found = {query["id"]: query for query in lines(extracted(campaign, tmp_path) / "queries.jsonl")}
    assert list(found) == ["moon", "rain", "tea"]
    report = {
        key: [
            (one["rank"], one["label"], one["votes"]["yes"], one["votes"]["no"])
            for one in query["candidates"]
        ]
        for key, query in found.items()
    }
    assert report == {
        "moon": [(1, 1, 2, 0), (2, 1, 2, 1), (3, 0, 0, 2)],
        "rain": [(1, 0, 0, 2), (2, 0, 1, 2), (3, 0, 0, 2)],
        "tea": [(1, 1, 2, 0), (3, 0, 0, 2)],
    }
    assert found["tea"]["query"] == "What about tea, ü and 日本?"
    assert found["tea"]["candidates"][1] == {
        "id": QaPair.objects.get(question="tea question 3").pair_key[:20],
        "question": "tea question 3",
        "answer": "tea answer ",
        "rank": 3,
        "score": 0.333333,
        "label": 0,
        "votes": {"yes": 0, "no": 2},
    }


def test_every_query_is_counted_and_a_gap_makes_it_incomplete(
    campaign: Campaign, tmp_path: Path
) -> None:
    assert lines(extracted(campaign, tmp_path) / "counts.jsonl") == [
        {"id": "moon", "candidates": 3, "labelled": 3, "complete": True},
        {"id": "rain", "candidates": 3, "labelled": 3, "complete": True},
        {"id": "tea", "candidates": 3, "labelled": 2, "complete": False},
    ]


def test_valid_votes_alone_are_judgments_by_triplet_and_time(
    campaign: Campaign, tmp_path: Path
) -> None:
    """Rain's third and tea's third candidate were judged by eve, who is excluded."""
    found = rows(extracted(campaign, tmp_path) / "judgments.parquet")
    of_interest = [
        (row["position"], row["worker"], row["value"], row["hit"])
        for row in found
        if (row["query_id"], row["rank"]) in {("rain", 3), ("tea", 3)}
    ]
    assert of_interest == [(1, ADA, 0, 5), (2, BOB, 0, 5), (1, ADA, 0, 8), (2, THIRD, 0, 8)]
    assert EVE not in {row["worker"] for row in found}
    assert len(found) == 22


def test_work_tells_what_became_of_it_and_what_it_cost(campaign: Campaign, tmp_path: Path) -> None:
    found = rows(extracted(campaign, tmp_path) / "assignments.parquet")
    assert len(found) == 24
    of_eve = [row for row in found if row["worker"] == EVE]
    approved = {"status": "approved", "passed": True, "discarded": True, "cents": 19}
    rejected = {"status": "rejected", "passed": False, "discarded": False, "cents": 0}
    assert of_eve == [
        {"hit": 5, "worker": EVE, **approved},
        {"hit": 8, "worker": EVE, **rejected},
    ]
    assert {row["cents"] for row in found if row["worker"] != EVE} == {19}


def test_controls_tell_the_answer_beside_the_expected_one(
    campaign: Campaign, tmp_path: Path
) -> None:
    found = rows(extracted(campaign, tmp_path) / "controls.parquet")
    assert len(found) == 48
    digest = hashlib.sha256(b"CONTROL\x1fCONTROL").hexdigest()[:20]
    assert [row for row in found if row["hit"] == 8 and row["worker"] == EVE] == [
        {
            "hit": 8,
            "worker": EVE,
            "kind": kind,
            "control": digest,
            "expected": expected,
            "given": 0,
        }
        for kind, expected in (("positive", 1), ("negative", 0))
    ]


def test_the_facts_are_those_of_the_campaign(campaign: Campaign, tmp_path: Path) -> None:
    found = facts(extracted(campaign, tmp_path))
    text = b"Same meaning, same answer?"
    assert (tmp_path / "instructions" / "1.md").read_bytes() == text
    assert found.pop("policy") == campaign.policy.to_dict()
    assert found == {
        "campaign": "demo",
        "crowd": "mturk",
        "policy_sha256": campaign.policy.digest(),
        "seeds": {"campaign": 7, "sample": 11, "split": 7},
        "queries": {"origin": "sample", "duplicates_dropped": 0, "total": 3},
        "corpus": {"name": "all", "sources": None},
        "retriever": {
            "model": "small-model",
            "form": "QQA",
            "dimension": 4,
            "pairs": 100,
            "database_digest": "d1" * 32,
            "model_fingerprint": "f1" * 32,
            "versions": {"faiss": "1"},
        },
        "instructions": [
            {
                "version": 1,
                "file": "instructions/1.md",
                "sha256": hashlib.sha256(text).hexdigest(),
            }
        ],
        "sources": [{"source": "tests", "license": "", "pairs": 9}],
        "triplets": {"triplets": 9, "labelled": 8, "open": 0, "unresolved": 1},
        "excluded_workers": [EVE],
        "rejection_reasons": {"unanswered": 0, "missed": 1, "manual": 0},
        "cost_cents": 23 * 19,
        "bonus_cents": 0,
    }


def test_wordings_that_no_hit_has_used_are_left_out(campaign: Campaign, tmp_path: Path) -> None:
    campaign.instructions.create(version=2, text="Nobody read this.")
    assert [one["version"] for one in facts(extracted(campaign, tmp_path))["instructions"]] == [1]
    assert not (tmp_path / "instructions" / "2.md").exists()


def test_sources_are_counted_by_distinct_pairs(campaign: Campaign, tmp_path: Path) -> None:
    shared = QaPair.objects.get(question="moon question 1")
    QaPair.objects.filter(question__startswith="tea").update(license="CC0-1.0")
    Candidate.objects.filter(pair__question="rain question 1").update(pair=shared)
    assert facts(extracted(campaign, tmp_path))["sources"] == [
        {"source": "tests", "license": "", "pairs": 5},
        {"source": "tests", "license": "CC0-1.0", "pairs": 3},
    ]


def test_a_corpus_is_named_with_its_sources(campaign: Campaign, tmp_path: Path) -> None:
    there = QaPair.objects.filter(question__startswith="tea")
    there.update(source="brews")
    campaign.query_set.corpus = create_corpus("tea", ["tests", "brews"])
    campaign.query_set.save()
    assert facts(extracted(campaign, tmp_path))["corpus"] == {
        "name": "tea",
        "sources": ["brews", "tests"],
    }


def test_experts_labels_are_gold_by_query_rank_and_published_name(
    campaign: Campaign, tmp_path: Path
) -> None:
    def say(query: str, rank: int, expert: str, **said: Any) -> None:
        triplet = Triplet.objects.get(candidate__query__key=query, candidate__rank=rank)
        ExpertLabel.objects.create(triplet=triplet, expert=expert, source="sample", **said)

    say("tea", 2, "cleo", label=1)
    say("moon", 3, "dan", label=0)
    say("moon", 3, "ada", label=1, blind_label=0)
    found = lines(extracted(campaign, tmp_path) / "gold.jsonl")
    both = sorted([person("expert:dan"), person("expert:ada")])
    assert [(row["query_id"], row["expert"]) for row in found] == [
        ("moon", both[0]),
        ("moon", both[1]),
        ("tea", person("expert:cleo")),
    ]
    assert {row["expert"]: row for row in found}[person("expert:ada")] == {
        "query_id": "moon",
        "candidate_id": QaPair.objects.get(question="moon question 3").pair_key[:20],
        "expert": person("expert:ada"),
        "label": 1,
        "blind_label": 0,
        "source": "sample",
    }


def test_a_restored_workers_votes_come_back(campaign: Campaign, tmp_path: Path) -> None:
    out = excluded_workers(campaign)
    campaign.exclusions.update(restored_at=timezone.now())
    restore(campaign, out)
    write_labels(campaign)
    found = rows(extracted(campaign, tmp_path) / "judgments.parquet")
    mine = [
        (row["query_id"], row["rank"], row["position"]) for row in found if row["worker"] == EVE
    ]
    assert mine == [("rain", 3, 1)]  # not the work that was rejected
    assert facts(tmp_path)["excluded_workers"] == []
    assert not any(row["discarded"] for row in rows(tmp_path / "assignments.parquet"))


def test_failed_work_that_was_paid_is_discarded(tmp_path: Path) -> None:
    campaign = salted(make_campaign(on_failed_control="pay_and_discard"))
    found = rows(extracted(campaign, tmp_path) / "assignments.parquet")
    failed = [row for row in found if row["passed"] is False]
    assert [(row["status"], row["discarded"], row["cents"]) for row in failed] == [
        ("approved", True, 19)
    ]
    assert_as_the_oracle(campaign, tmp_path)


def test_work_that_waits_for_review_has_no_answers_yet(campaign: Campaign, tmp_path: Path) -> None:
    hit = Hit.objects.get(number=0)
    dan = Assignment.objects.get(hit__number=8, worker__worker_id="third").worker
    new = {"accepted_at": START, "submitted_at": START, "crowd_id": "B-NEW", "answers": {}}
    Assignment.objects.create(hit=hit, worker=dan, **new)
    extracted(campaign, tmp_path)
    waiting = [row for row in rows(tmp_path / "assignments.parquet") if row["passed"] is None]
    assert waiting == [
        {
            "hit": 0,
            "worker": THIRD,
            "status": "submitted",
            "passed": None,
            "discarded": False,
            "cents": 0,
        }
    ]
    controls = rows(tmp_path / "controls.parquet")
    assert [row["given"] for row in controls if (row["hit"], row["worker"]) == (0, THIRD)] == [
        None,
        None,
    ]
    assert_as_the_oracle(campaign, tmp_path)


def test_a_repacked_triplet_has_votes_from_both_hits(campaign: Campaign, tmp_path: Path) -> None:
    tied = Triplet.objects.get(candidate__query__key="tea", candidate__rank=2)
    hit = Hit.objects.create(
        campaign=campaign,
        key="again",
        number=99,
        seed=1,
        instructions=campaign.instructions.get(),
        max_assignments=1,
        price_cents=0,
        repack=True,
    )
    item = HitItem.objects.create(hit=hit, position=0, key="again-0", triplet=tied)
    fifth = Assignment.objects.create(
        hit=hit,
        worker=campaign.exclusions.model.objects.get(campaign=campaign).worker,
        crowd_id="again-1",
        status="approved",
        accepted_at=START,
        submitted_at=START,
        answers={},
        passed=True,
    )
    Judgment.objects.create(assignment=fifth, item=item, triplet=tied, worker=fifth.worker, value=1)
    campaign.exclusions.update(restored_at=timezone.now())
    write_labels(campaign)
    found = rows(extracted(campaign, tmp_path) / "judgments.parquet")
    on_tied = [row for row in found if (row["query_id"], row["rank"]) == ("tea", 2)]
    # It was submitted before all others.
    assert [(row["hit"], row["value"]) for row in on_tied] == [
        (99, 1),
        (7, 1),
        (7, 0),
        (7, 0),
        (7, 1),
    ]
    assert [row["position"] for row in on_tied] == [1, 2, 3, 4, 5]
    assert_as_the_oracle(campaign, tmp_path)


def test_imported_labels_stand_without_votes_and_give_way_to_them(tmp_path: Path) -> None:
    campaign = salted(make_campaign({"moon": ["", "ada+ bob+", "ada+"], "rain": [""]}))
    queries = campaign.query_set
    queries.origin, queries.seed = "import", None
    queries.save()
    Triplet.objects.update(imported_label=0)
    Candidate.objects.filter(query__key="rain").update(score=None)
    write_labels(campaign)
    extracted(campaign, tmp_path)
    moon, rain = lines(tmp_path / "queries.jsonl")
    report = [(one["label"], one["votes"]["yes"], one["votes"]["no"]) for one in moon["candidates"]]
    assert report == [(0, 0, 0), (1, 2, 0), (0, 1, 0)]
    sources = [one["label_source"] for one in moon["candidates"]]
    assert sources == ["import", "majority", "import"]
    assert rain["candidates"][0]["score"] is None
    # Any number of candidates is complete there.
    assert [row["complete"] for row in lines(tmp_path / "counts.jsonl")] == [True, True]
    assert len(rows(tmp_path / "judgments.parquet")) == 3
    assert_as_the_oracle(campaign, tmp_path)


def test_a_query_without_candidates_is_counted_and_never_complete(
    campaign: Campaign, tmp_path: Path
) -> None:
    campaign.query_set.queries.create(key="zebra", text="Stripes?", question_key="z", position=9)
    extracted(campaign, tmp_path)
    assert lines(tmp_path / "queries.jsonl")[-1] == {
        "id": "zebra",
        "query": "Stripes?",
        "candidates": [],
    }
    assert lines(tmp_path / "counts.jsonl")[-1] == {
        "id": "zebra",
        "candidates": 0,
        "labelled": 0,
        "complete": False,
    }


def test_queries_are_in_the_order_of_code_points(tmp_path: Path) -> None:
    keys = ["a", "B", "_", "é", "z", "Y", "10", "9", "日", "\U0001f980", "\uff23"]
    extracted(make_campaign(dict.fromkeys(keys, ["ada+ bob+"] * 3)), tmp_path)
    assert [query["id"] for query in lines(tmp_path / "queries.jsonl")] == sorted(keys)
    found = [row["query_id"] for row in rows(tmp_path / "judgments.parquet")]
    assert found == sorted(found)


def test_hostile_texts_come_out_as_they_went_in(tmp_path: Path) -> None:
    campaign = salted(make_campaign(text=HOSTILE))
    extracted(campaign, tmp_path)
    assert_as_the_oracle(campaign, tmp_path)
    answers = {
        candidate["answer"]
        for query in lines(tmp_path / "queries.jsonl")
        for candidate in query["candidates"]
    }
    assert answers == {f"{key} answer {HOSTILE}" for key in VERDICTS}


def test_no_name_of_a_worker_and_no_clock_time_is_told(campaign: Campaign, tmp_path: Path) -> None:
    written = b"".join(contents(extracted(campaign, tmp_path)).values())
    assert not [name for name in (b"ada", b"bob", b"third", b"2024") if name in written]


def test_a_salt_is_made_once_and_hides_the_names(tmp_path: Path) -> None:
    campaign = make_campaign()
    first = contents(extracted(campaign, tmp_path / "one"))
    assert contents(extracted(campaign, tmp_path / "two")) == first
    assert len(WorkerSalt.objects.get().salt) == 64
    assert ADA not in {row["worker"] for row in rows(tmp_path / "one" / "judgments.parquet")}


def test_progress_counts_the_queries(campaign: Campaign, tmp_path: Path) -> None:
    report: list[int] = []
    extract(campaign, tmp_path, partial=False, progress=report.append)
    assert sum(report) == 3


def test_rows_stored_in_another_order_make_the_same_bytes(tmp_path: Path) -> None:
    made = []
    for backwards in (False, True):
        folder = tmp_path / str(backwards)
        with transaction.atomic():
            extracted(salted(make_campaign(backwards=backwards)), folder)
            transaction.set_rollback(True)
        made.append(contents(folder))
    assert made[0] == made[1]


@pytest.mark.parametrize("size", [1, 2, 5])
def test_the_size_of_the_steps_changes_no_byte(
    campaign: Campaign, tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = contents(extracted(campaign, tmp_path / "whole"))
    monkeypatch.setattr(queries_module, "CANDIDATES_PER_STEP", size)
    for module in (queries_module, votes, assignments):
        monkeypatch.setattr(module, "ROWS", size)
    assert contents(extracted(campaign, tmp_path / "steps")) == whole


def test_tables_are_cut_into_groups_of_the_same_rows(
    campaign: Campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_table, "ROWS", 5)
    monkeypatch.setattr(queries_module, "CANDIDATES_PER_STEP", 1)
    extracted(campaign, tmp_path)
    assert_as_the_oracle(campaign, tmp_path)
    one = contents(tmp_path)
    monkeypatch.setattr(queries_module, "CANDIDATES_PER_STEP", 100)
    assert contents(extracted(campaign, tmp_path / "other")) == one


WORKERS = ["ada", "bob", "cleo", "dan", "eve"]
ANSWERS = st.sampled_from(["+", "-", "+!", "-!"])
VERDICT = st.lists(st.sampled_from(WORKERS), unique=True, max_size=5).flatmap(
    lambda names: st.tuples(*(ANSWERS.map(name.__add__) for name in names)).map(" ".join)
)
CAMPAIGNS = st.dictionaries(
    st.sampled_from(["a", "B", "c1", "c10", "é", "_"]),
    st.lists(VERDICT, min_size=1, max_size=3),
    min_size=1,
    max_size=4,
)


@settings(max_examples=examples(40), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    verdicts=CAMPAIGNS,
    backwards=st.booleans(),
    paid=st.booleans(),
    back=st.booleans(),
    imported=st.lists(st.sampled_from([None, 0, 1]), min_size=12, max_size=12),
)
def test_any_record_is_read_as_the_oracle_reads_it(
    verdicts: dict[str, list[str]],
    backwards: bool,
    paid: bool,
    back: bool,
    imported: list[int | None],
) -> None:
    review = "pay_and_discard" if paid else "reject"
    with transaction.atomic(), tempfile.TemporaryDirectory() as folder:
        campaign = salted(make_campaign(verdicts, backwards=backwards, on_failed_control=review))
        if back:
            out = excluded_workers(campaign)
            campaign.exclusions.update(restored_at=timezone.now())
            restore(campaign, out)
        for triplet, label in zip(Triplet.objects.order_by("pk"), imported, strict=False):
            Triplet.objects.filter(pk=triplet.pk).update(imported_label=label)
        write_labels(campaign)
        assume(Triplet.objects.filter(status="labelled").exists())
        extract(campaign, Path(folder), partial=True)
        assert_as_the_oracle(campaign, Path(folder))
        transaction.set_rollback(True)
