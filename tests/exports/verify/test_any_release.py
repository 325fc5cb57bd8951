"""What holds of the release of any campaign, however it was judged."""

import dataclasses
import json
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from core.errors import UserError
from exports.building.assemble import Previous, build
from exports.building.options import Options
from exports.layout.schemas import control_digest
from retrieval.ranking.records import CandidateRecord, QueryRecord
from tests.exports.support.contents import (
    FILES,
    SPLITS,
    TABLES,
    contents,
    lines,
    placements,
    queries,
    table,
)
from tests.exports.support.extracts import Extract, random_extract
from tests.support.examples import examples

pytestmark = pytest.mark.slow

some = settings(
    max_examples=examples(12),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
)
campaigns = st.builds(
    random_extract,
    st.integers(0, 10_000),
    queries=st.integers(8, 30),
    candidates=st.integers(1, 6),
    shared=st.sampled_from([0.0, 0.2, 0.5]),
)
options = st.builds(Options, judgments=st.booleans())


def released(extract: Extract, work: Path, wanted: Options) -> Path:
    """Another campaign is drawn where this one's complete clusters make no dev and test."""
    extract.write(work / "extract")
    try:
        build(work / "extract", work / "release", options=wanted, number=1)
    except UserError as error:
        if "cannot be split as its policy wants" not in str(error):
            raise
        reject()
    return work / "release"


@some
@given(campaigns, options)
def test_a_release_holds_what_was_decided_and_nothing_else(
    extract: Extract, wanted: Options
) -> None:
    with TemporaryDirectory() as work:
        folder = released(extract, Path(work), wanted)
        check_files(folder, FILES - (set() if wanted.judgments else TABLES))
        check_labels(extract, folder)
        check_splits(extract, folder)
        check_no_control(extract, folder)
        if wanted.judgments:
            check_no_discarded_vote(extract, folder)


def check_files(folder: Path, files: set[str]) -> None:
    """A plot of nothing is not drawn."""
    there = {name for name in contents(folder) if not name.startswith("plots/")}
    assert there == {name for name in files if not name.startswith("plots/")}


def check_labels(extract: Extract, folder: Path) -> None:
    """Each is the majority of the valid votes; what has none is not there."""
    votes: dict[tuple[str, str], Counter[int]] = {}
    for vote in extract.judgments:
        of = votes.setdefault((vote["query_id"], vote["candidate_id"]), Counter())
        of[vote["value"]] += 1
    for split in SPLITS:
        for query in queries(folder, split):
            for candidate in query["candidates"]:
                cast = votes[query["id"], candidate["id"]]
                assert candidate["votes"] == {"yes": cast[1], "no": cast[0]}
                assert cast[1] != cast[0]
                assert candidate["label"] == int(cast[1] > cast[0])


def check_splits(extract: Extract, folder: Path) -> None:
    complete = {row["id"] for row in extract.counts if row["complete"]}
    where = {query["id"]: split for split in SPLITS for query in queries(folder, split)}
    assert where == {name: split for name, split in placements(folder).items() if split}
    assert {name for name, split in where.items() if split != "train"} <= complete
    splits_of: dict[str, set[str]] = {}
    for row in lines(folder, "placements.jsonl"):
        if row["split"]:
            splits_of.setdefault(row["cluster"], set()).add(row["split"])
    assert all(len(splits) == 1 for splits in splits_of.values())
    check_nearness(extract, where)


def check_nearness(extract: Extract, where: dict[str, str]) -> None:
    """By brute force: what shares a positive, or reads the same, is together."""
    released = [query for query in extract.queries if query.id in where]
    for one in released:
        for other in released:
            shared = positives(one) & positives(other)
            if shared or letters(one.query) == letters(other.query):
                assert where[one.id] == where[other.id], (one.query, other.query)


def positives(query: QueryRecord) -> set[str]:
    return {candidate.id for candidate in query.candidates if candidate.label}


def letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


def check_no_control(extract: Extract, folder: Path) -> None:
    controls = {row["control"] for row in extract.controls}
    for split in SPLITS:
        for query in queries(folder, split):
            for candidate in query["candidates"]:
                assert control_digest(query["query"], candidate["question"]) not in controls


def check_no_discarded_vote(extract: Extract, folder: Path) -> None:
    failed = {
        (row["hit"], row["worker"])
        for row in table(folder, "assignments.parquet")
        if row["discarded"] or not row["passed"]
    }
    judged = table(folder, "judgments.parquet")
    assert len(judged) == len(extract.judgments)
    assert failed.isdisjoint((row["hit"], row["worker"]) for row in judged)


@some
@given(campaigns, st.randoms(use_true_random=False))
def test_the_next_release_keeps_the_places_of_the_one_before(extract: Extract, random: Any) -> None:
    with TemporaryDirectory() as work:
        first = released(extract, Path(work), Options())
        before = placements(first)
        for query in random.sample(extract.queries, k=min(3, len(extract.queries))):
            relabel(extract, query)
        extract.write(Path(work) / "extract")
        previous = Previous(1, "m" * 64, first)
        second = Path(work) / "second"
        build(
            Path(work) / "extract",
            second,
            options=Options(),
            number=2,
            previous=previous,
            published=before,
        )
        after = placements(second)
        kept = {name for name, split in before.items() if split and after[name]}
        assert {name: before[name] for name in kept} == {name: after[name] for name in kept}
        check_splits(extract, second)


def relabel(extract: Extract, query: QueryRecord) -> None:
    """All votes on its first candidate turn round."""
    if not query.candidates:
        return
    first, *others = query.candidates
    turned: CandidateRecord = dataclasses.replace(
        first, label=1 - first.label, yes=first.no, no=first.yes
    )
    position = extract.queries.index(query)
    extract.queries[position] = QueryRecord(query.id, query.query, [turned, *others])
    for vote in extract.judgments:
        if (vote["query_id"], vote["candidate_id"]) == (query.id, first.id):
            vote["value"] = 1 - vote["value"]


@some
@given(campaigns)
def test_a_release_of_the_same_record_differs_from_the_one_before_only_in_what_it_says_of_itself(
    extract: Extract,
) -> None:
    with TemporaryDirectory() as work:
        first = released(extract, Path(work), Options())
        previous = Previous(1, "m" * 64, first)
        second = Path(work) / "second"
        build(
            Path(work) / "extract",
            second,
            options=Options(),
            number=2,
            previous=previous,
            published=placements(first),
        )
        one, other = contents(first), contents(second)
        assert one.keys() == other.keys()
        assert {name for name in one if one[name] != other[name]} <= {
            "README.md",
            "changes.json",
            "croissant.json",
            "manifest.json",
            "release.json",
        }
        changes = json.loads(other["changes.json"])
        assert set(changes["labels"].values()) == {0}
        assert other["changes.jsonl"] == b""
