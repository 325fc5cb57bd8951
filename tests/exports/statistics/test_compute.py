"""Every figure of random releases, once more, in the plainest way there is."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from annotation.pipeline.labelling.votes import CHOSEN_WITHOUT_LOOKING
from annotation.protocol.estimates.label_audit import Audit, Pattern
from annotation.protocol.labels.expert_agreement import BASIS
from annotation.protocol.labels.label_error import Verdict
from exports.building.options import Options
from exports.layout import expert_votes
from exports.layout.files import CONTROLS, GOLD, STATS
from exports.layout.schemas import control_digest
from exports.splits.splits import SPLITS
from exports.statistics.compute import figures
from retrieval.ranking.records import QueryRecord, read
from tests.exports.support.built_releases import finished
from tests.exports.support.extracts import Extract, random_extract

SEEDS = range(3)


@pytest.fixture(scope="module", params=SEEDS)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """An extract, its release's folder and its figures."""
    extract = random_extract(request.param, queries=25, candidates=6)
    folder = finished(tmp_path_factory.mktemp("figures") / "release", extract)
    return extract, folder, json.loads((folder / STATS).read_bytes())


def released(folder: Path) -> list[QueryRecord]:
    return [record for split in SPLITS for record in read(folder / f"{split}.jsonl")]


def votes(extract: Extract) -> dict[tuple[str, str], list[tuple[str, int]]]:
    """By triplet: (worker, vote), in order of submission."""
    found = defaultdict(list)
    for row in extract.judgments:
        found[row["query_id"], row["candidate_id"]].append((row["worker"], row["value"]))
    return found


def test_the_campaign_counts_its_triplets_votes_and_work(made: Any) -> None:
    extract, folder, stats = made
    campaign, given = stats["campaign"], votes(extract)
    splits = [json.loads(line)["split"] for line in (folder / "placements.jsonl").open()]
    first_two = [said[:2] for said in given.values() if len(said) > 1]
    statuses = Counter(row["status"] for row in extract.assignments)
    wanted = {
        "queries": len(extract.queries),
        "queries_left_out": splits.count(None),
        **extract.campaign["triplets"],
        "votes": len(extract.judgments),
        "ties_broken": sum(
            one[1] != two[1]
            for one, two, *others in (said for said in given.values() if len(said) > 1)
            if 2 * sum(value for _, value in (one, two, *others)) != 2 + len(others)
        ),
        "workers": len({row["worker"] for row in extract.assignments}),
        "excluded_workers": 1,
        "assignments": {
            "submitted": len(extract.assignments),
            "approved": statuses["approved"],
            "rejected": statuses["rejected"],
            "paid_but_discarded": 1,
        },
        "cost_cents": extract.campaign["cost_cents"],
        "bonus_cents": 5,
    }
    assert {key: campaign[key] for key in wanted} == wanted
    assert campaign["first_two_votes"] == {
        "triplets": len(first_two),
        "agreement": stats["agreement"]["agreement"],
        "kappa": stats["agreement"]["kappa"],
    }
    assert campaign["label_error_basis"] == BASIS


def test_a_label_is_robust_if_no_workers_removal_changes_its_majority(made: Any) -> None:
    extract, folder, stats = made
    given, robust, labels = votes(extract), 0, 0
    for record in released(folder):
        for candidate in record.candidates:
            said = given[record.id, candidate.id]
            labels += 1
            robust += all(
                majority([value for other, value in said if other != worker]) == candidate.label
                for worker, _ in said
            )
    assert 0 < robust < labels
    assert stats["workers"]["robust_labels"] == robust
    assert stats["workers"]["robust_share"] == round(robust / labels, 4)


def majority(values: list[int]) -> int | None:
    yes = sum(values)
    return None if 2 * yes == len(values) else int(2 * yes > len(values))


def test_workers_are_told_by_how_they_agree_with_the_others(made: Any) -> None:
    extract, _, stats = made
    alike: dict[str, list[bool]] = defaultdict(list)
    for said in votes(extract).values():
        for worker, value in said:
            others = majority([vote for other, vote in said if other != worker])
            if others is not None:
                alike[worker].append(others == value)
    shares = [(sum(own) / len(own), len(own)) for own in alike.values() if len(own) >= 10]
    histogram = stats["workers"]["agreement_with_label"]
    edges = histogram["edges"]
    for number, (low, high) in enumerate(pairwise(edges)):
        last = number == len(edges) - 2
        inside = [n for share, n in shares if low <= share < high or (last and share == 1)]
        assert histogram["workers"][number] == len(inside)
        assert histogram["votes"][number] == sum(inside)
    busiest = Counter(row["worker"] for row in extract.judgments).most_common(1)[0][1]
    assert stats["workers"]["top_share"] == round(busiest / len(extract.judgments), 4)


def test_controls_and_failures_are_counted(made: Any) -> None:
    extract, _, stats = made
    missed = [row for row in extract.controls if row["given"] != row["expected"]]
    for kind in ("positive", "negative"):
        of_kind = [row for row in extract.controls if row["kind"] == kind]
        assert stats["controls"]["judged"][kind] == len(of_kind) > 0
        assert stats["controls"]["missed"][kind] == sum(row["kind"] == kind for row in missed)
    assert stats["controls"]["inside_release"] == 0
    failures = stats["workers"]["control_failures"]
    assert failures == {"reviewed": len(extract.assignments), "failed": 1, "workers": 1}


def test_the_retriever_is_told_by_rank_and_a_query_without_a_positive_counts(made: Any) -> None:
    _, folder, stats = made
    records = released(folder)
    ranks = range(1, 7)
    every = [(each.rank, each.label) for record in records for each in record.candidates]
    retriever = stats["retriever"]
    assert retriever["candidates_by_rank"] == [sum(r == rank for r, _ in every) for rank in ranks]
    assert retriever["positives_by_rank"] == [every.count((rank, 1)) for rank in ranks]
    assert any(not any(each.label for each in record.candidates) for record in records)
    for k in (1, 5, 10, 30):
        hits = sum(
            any(each.label and each.rank <= k for each in record.candidates) for record in records
        )
        assert retriever["hit_at"][str(k)] == round(hits / len(records), 4)


def test_the_label_error_is_of_the_released_labels_with_gold(made: Any) -> None:
    extract, folder, stats = made
    audit, patterns = Audit(), {}
    for record in released(folder):
        for each in record.candidates:
            patterns[record.id, each.id] = Pattern(each.label, each.yes, each.no)
            audit.add(patterns[record.id, each.id])
    for row in extract.gold:
        if pattern := patterns.get((row["query_id"], row["candidate_id"])):
            audit.judge(pattern, Verdict(pattern.label, row["label"], 1 - row["label"]))
    wanted = audit.error()
    assert wanted
    assert stats["campaign"]["label_error_triplets"] == wanted.triplets
    assert stats["campaign"]["label_error"] == round(wanted.share, 4)
    assert stats["campaign"]["label_error_interval"] == [
        round(wanted.low, 4),
        round(wanted.high, 4),
    ]


def test_what_experts_said_before_they_saw_the_votes_counts(made: Any, tmp_path: Path) -> None:
    _, folder, _ = made
    first = released(folder)[0]
    wrong = [1 - each.label for each in first.candidates]
    rows = [
        (0, "ada", first.candidates[0].label, wrong[0], "sample"),  # changed their mind
        (1, "ada", wrong[1], None, "adjudication"),  # no random sample
        (2, "ada", wrong[2], None, "import"),  # a tie of experts
        (2, "bob", 1 - wrong[2], None, "sample"),
    ]
    said = [
        {
            "query_id": first.id,
            "candidate_id": first.candidates[place].id,
            "expert": expert,
            "label": label,
            "blind_label": blind,
            "source": source,
        }
        for place, expert, label, blind, source in rows
    ]
    copy = copied(folder, tmp_path)
    (copy / GOLD).write_text("".join(json.dumps(row) + "\n" for row in said))
    campaign = figures(copy, annotators=copy)["campaign"]
    assert (campaign["label_error"], campaign["label_error_triplets"]) == (1.0, 1)
    assert campaign["expert"]["labels"] == 4
    assert campaign["expert"]["triplets"] == 3
    assert campaign["expert"]["agreement"] == 0.0


def test_the_sources_without_looking_are_those_of_the_database() -> None:
    assert tuple(map(str, CHOSEN_WITHOUT_LOOKING)) == expert_votes.CHOSEN_WITHOUT_LOOKING


def test_without_gold_the_label_error_is_null_with_the_reason(made: Any, tmp_path: Path) -> None:
    copy = copied(made[1], tmp_path)
    (copy / GOLD).write_text("")
    campaign = figures(copy, annotators=copy)["campaign"]
    assert (campaign["label_error"], campaign["label_error_interval"]) == (None, None)
    assert campaign["label_error_reason"] == "no gold"


def test_without_the_tables_what_needs_them_is_absent_and_all_else_the_same(made: Any) -> None:
    _, folder, stats = made
    found = figures(folder, annotators=None)
    assert stats.keys() - found.keys() == {"agreement", "controls"}
    assert stats["campaign"].keys() - found["campaign"].keys() == {
        "votes",
        "first_two_votes",
        "ties_broken",
        "workers",
        "assignments",
    }
    assert found["workers"].keys() == {"robust_labels", "robust_share"}
    assert "unresolved_adjudicated" not in found["campaign"]["expert"]
    for section, values in found.items():
        for key, value in values.items():
            if key != "expert":
                assert stats[section][key] == value, (section, key)


def test_a_control_inside_is_counted(made: Any, tmp_path: Path) -> None:
    extract, folder, _ = made
    record = released(folder)[0]
    digest = control_digest(record.query, record.candidates[0].question)
    tables = tmp_path / "tables"
    extract.controls.append({**extract.controls[0], "control": digest})
    try:
        extract.write(tables)
    finally:
        extract.controls.pop()
    assert (tables / CONTROLS).exists()
    assert figures(folder, annotators=tables)["controls"]["inside_release"] == 1


def test_a_release_of_nothing_has_figures_all_the_same(tmp_path: Path) -> None:
    """Nobody builds one, but a verifier may be given anything."""
    folder = finished(tmp_path / "release", random_extract(3), options=Options(split="random"))
    for split in SPLITS:
        (folder / f"{split}.jsonl").write_bytes(b"")
    found = figures(folder, annotators=folder)
    assert found["splits"]["all"]["queries"] == 0
    assert found["workers"]["robust_share"] is None
    assert set(found["retriever"]["hit_at"].values()) == {None}


def test_figures_need_no_django(made: Any) -> None:
    code = (
        "import sys; from pathlib import Path; from exports.statistics.compute import figures; "
        f"folder = Path({str(made[1])!r}); figures(folder, annotators=folder); "
        "print('django' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def copied(folder: Path, target: Path) -> Path:
    """Links to all of its files but gold.jsonl."""
    copy = target / "copy"
    for path in folder.rglob("*"):
        if path.is_file() and path.name != GOLD:
            link = copy / path.relative_to(folder)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(path)
    return copy
