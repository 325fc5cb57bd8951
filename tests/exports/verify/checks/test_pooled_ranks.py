"""A release whose candidates two retrievers found: who found what is told, counted and verified."""

import json
import re
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from annotation.pipeline.setup.import_dataset import import_dataset
from annotation.protocol.policy.policy import Policy
from exports.building.options import Options
from exports.extract.extract import extract
from exports.extract.facts import plan
from exports.layout.files import CAMPAIGN, CARD, MANIFEST, QUERIES, RELEASE, STATS
from exports.layout.manifest import manifest
from exports.splits.splits import SPLITS
from exports.statistics.text_table import render_table
from exports.verify.verify import verify
from retrieval.models import Candidate
from retrieval.ranking.records import CandidateRecord, QueryRecord, document, line, parse, read
from tests.exports.support.built_releases import finished
from tests.exports.support.campaigns import make_campaign
from tests.exports.support.extracts import Extract, random_extract
from tests.exports.verify.tampering import change_lines, change_object, found

Row = dict[str, Any]


def pooled_extract() -> Extract:
    """Rank 1 is both's first; then each retriever's next in turn."""
    made = random_extract(5, queries=18, shared=0)
    for number, query in enumerate(made.queries):
        candidates = [
            replace(one, found_by=found_at(one.rank), score=score_at(one.rank))
            for one in query.candidates
        ]
        made.queries[number] = replace(query, candidates=candidates)
    made.campaign["queries"]["retrievers"] = ["dense", "bm25"]
    return made


def found_at(rank: int) -> dict[str, int]:
    if rank == 1:
        return {"dense": 1, "bm25": 1}
    return {("dense", "bm25")[rank % 2]: 1 + rank // 2}


def score_at(rank: int) -> float:
    """What BM25 alone found may have any cosine."""
    return round(1 - rank / 100, 6) if "dense" in found_at(rank) else round(rank / 100, 6)


def sealed(folder: Path) -> None:
    facts = manifest(folder, campaign="demo", number=1, version=3)
    (folder / MANIFEST).write_bytes(document(facts))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return finished(tmp_path_factory.mktemp("pooled") / "demo-1", pooled_extract())


@pytest.fixture
def release(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "demo-1"))


def test_it_is_of_a_format_of_its_own_and_verified(whole: Path) -> None:
    assert orjson.loads((whole / MANIFEST).read_bytes())["format_version"] == 3
    assert orjson.loads((whole / RELEASE).read_bytes())["format_version"] == 3
    report = verify(whole)
    assert (report.differences, report.checked > 0) == ([], True)


def test_every_table_has_the_ranks_of_the_records(whole: Path) -> None:
    for split in SPLITS:
        wanted = [
            ((one.found_by or {}).get("dense"), (one.found_by or {}).get("bm25"))
            for query in read(whole / f"{split}.jsonl")
            for one in query.candidates
        ]
        tables = [
            pq.read_table(whole / "parquet" / f"{split}.parquet"),
            csv.read_csv(
                whole / "tsv" / f"{split}.tsv", parse_options=csv.ParseOptions(delimiter="\t")
            ),
        ]
        for table in tables:
            ranks = table.column("dense_rank").to_pylist(), table.column("bm25_rank").to_pylist()
            assert list(zip(*ranks, strict=True)) == wanted


def test_positives_are_counted_by_who_found_them(whole: Path) -> None:
    counted: Counter[tuple[str, ...]] = Counter()
    positive: Counter[tuple[str, ...]] = Counter()
    for split in SPLITS:
        for query in read(whole / f"{split}.jsonl"):
            for one in query.candidates:
                finders = tuple(sorted(one.found_by or ()))
                counted[finders] += 1
                positive[finders] += one.label
    stats = orjson.loads((whole / STATS).read_bytes())
    order = [("bm25",), ("dense",), ("bm25", "dense")]
    assert [
        (tuple(row["found_by"]), row["candidates"], row["positives"]) for row in stats["retrievers"]
    ] == [(finders, counted[finders], positive[finders]) for finders in order]
    report = render_table(stats)
    row = f"{counted['dense',]:,} +{positive['dense',]:,} "
    assert re.search(rf"^dense alone +{row}", report, re.MULTILINE)


def test_the_card_says_who_found_the_candidates(whole: Path) -> None:
    card = (whole / CARD).read_text(encoding="utf-8")
    assert "## Which retriever found the candidates" in card
    assert "dense and bm25 rank highest together, by reciprocal rank fusion" in card
    assert "5 of the pool of dense and bm25 were judged" in card
    assert "the pool of the retrievers" in card


def test_a_release_of_the_dense_one_alone_says_nothing_of_retrievers(tmp_path: Path) -> None:
    made = random_extract(5, queries=6)
    folder = finished(tmp_path / "demo-1", made, options=Options(split="random"))
    assert orjson.loads((folder / MANIFEST).read_bytes())["format_version"] == 2
    assert "retrievers" not in orjson.loads((folder / STATS).read_bytes())
    assert b"found_by" not in b"".join((folder / f"{split}.jsonl").read_bytes() for split in SPLITS)
    columns = pq.read_schema(folder / "parquet" / "train.parquet").names
    assert columns[-1] == "no"
    assert "Which retriever found the candidates" not in (folder / CARD).read_text(encoding="utf-8")


def exchange(rows: list[Row]) -> None:
    first, *_, last = rows[0]["candidates"]
    first["found_by"], last["found_by"] = last["found_by"], first["found_by"]


def forget(rows: list[Row]) -> None:
    del rows[0]["candidates"][1]["found_by"]


def name_another(rows: list[Row]) -> None:
    rows[0]["candidates"][1]["found_by"] = {"splade": 1}


def repeat(rows: list[Row]) -> None:
    rows[0]["candidates"][1]["found_by"] = {"bm25": 1, "dense": 1}


def raise_a_score(rows: list[Row]) -> None:
    last = [one for one in rows[0]["candidates"] if "dense" in one["found_by"]][-1]
    last["score"] = 1.0


@pytest.mark.parametrize(
    ("tamper", "named"),
    [
        (exchange, "ranks are not those of the pool that found_by makes"),
        (forget, "nothing says which retriever found it"),
        (name_another, "'splade' is no field of it"),
        (repeat, "two candidates of rank 1 by"),
        (raise_a_score, "scores rise with the dense ranks"),
    ],
)
def test_a_provenance_that_cannot_be_is_named(
    release: Path, tamper: Callable[[list[Row]], None], named: str
) -> None:
    change_lines(release / "train.jsonl", tamper)
    sealed(release)
    assert named in found(release)


@pytest.mark.parametrize("retrievers", [["dense", "dense"], ["bm25", "dense"], [], "dense", ["x"]])
def test_retrievers_that_no_release_names_are_refused(release: Path, retrievers: object) -> None:
    change_object(release / CAMPAIGN, lambda facts: facts["queries"].update(retrievers=retrievers))
    sealed(release)
    assert "queries.retrievers must be some of dense, bm25, each once" in found(release)


def test_a_format_that_does_not_fit_the_retrievers_is_named(release: Path) -> None:
    change_object(release / CAMPAIGN, lambda facts: facts["queries"].pop("retrievers"))
    sealed(release)
    assert (
        f"format_version is not that of the retrievers and policy that {CAMPAIGN} names"
        in found(release)
    )


@pytest.mark.django_db
def test_the_record_says_what_the_database_knows(tmp_path: Path) -> None:
    campaign = make_campaign()
    campaign.query_set.retrieval = {"retrievers": ["dense", "bm25"]}
    campaign.query_set.save()
    for candidate in Candidate.objects.all():
        candidate.found_by = {"dense": candidate.rank, "bm25": 1 + candidate.rank}
        candidate.save()
    extract(campaign, tmp_path, partial=False)
    facts = orjson.loads((tmp_path / CAMPAIGN).read_bytes())
    assert facts["queries"]["retrievers"] == ["dense", "bm25"]
    found = [one for query in read(tmp_path / QUERIES) for one in query.candidates]
    assert found
    assert all(one.found_by == {"bm25": 1 + one.rank, "dense": one.rank} for one in found)


def test_a_record_is_written_alike_however_the_names_are_ordered() -> None:
    def written(found_by: dict[str, int]) -> bytes:
        one = CandidateRecord("c", "why", "so", 1, 0.5, 1, 2, 0, found_by)
        return line(QueryRecord("q", "why", [one]))

    text = written({"dense": 2, "bm25": 1})
    assert text == written({"bm25": 1, "dense": 2})
    assert parse(text).candidates[0].found_by == {"bm25": 1, "dense": 2}


@pytest.mark.django_db
def test_who_found_a_candidate_is_imported_with_it(whole: Path) -> None:
    files = [whole / f"{split}.jsonl" for split in SPLITS]
    made = import_dataset(files, "again", policy=Policy(), seed=7).campaign
    wanted = {
        (query.id, one.rank): one.found_by
        for file in files
        for query in read(file)
        for one in query.candidates
    }
    rows = Candidate.objects.values_list("query__key", "rank", "found_by")
    assert {(query, rank): by for query, rank, by in rows} == wanted
    assert made.query_set.pool == ("dense", "bm25")
    assert plan(made)["queries"] == {
        "origin": "import",
        "duplicates_dropped": 0,
        "total": len({query for query, _ in wanted}),
        "retrievers": ["dense", "bm25"],
    }


@pytest.mark.django_db
@pytest.mark.parametrize(
    "given",
    ["alice", 3, {}, [], {"splade": 1}, {"dense": 0}, {"dense": True}, {"dense": 1, "x": 2}],
)
def test_a_found_by_of_another_meaning_says_nothing(tmp_path: Path, given: object) -> None:
    candidate = {"question": "why so", "answer": "so", "label": 1, "found_by": given}
    path = tmp_path / "made.jsonl"
    path.write_text(json.dumps({"query": "why", "candidates": [candidate]}) + "\n")
    made = import_dataset([path], "made", policy=Policy(), seed=7).campaign
    assert Candidate.objects.get().found_by is None
    assert made.query_set.pool == ()
