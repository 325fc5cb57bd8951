"""Checks a demo's release from outside: `python .ci/check_release.py var/demo`.

Imports nothing of Quorum. Every label is recomputed from the emulator's own records (which
assignment said what, in which order) by rules written down here a second time; from Quorum's
database comes only what stood on the page under each item's name. Prints what was checked; exits
1 at the first difference.
"""

import hashlib
import json
import re
import sqlite3
import statistics
import sys
import xml.etree.ElementTree as ET
from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path

GOLD = Path(__file__).parents[1] / "demo" / "gold.jsonl"
QUERIES, CANDIDATES = 40, 30
LABELS = QUERIES * CANDIDATES
FILES = 10 + 1 + 3 + 3 * 10 + 2 * 4  # documents, instructions, tables, of the splits, plots
ANSWERABLE = (0.6, 0.9)
POSITIVES = range(3, 9)
CENTS = 15 + 4  # reward and fee of an approved assignment
FAILURES_ALLOWED, FROM_REVIEWS = 0.10, 10
ANSWERS = "{http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2005-10-01/QuestionFormAnswers.xsd}"


def main(folder: Path) -> None:
    items = shown_items(folder / "quorum.sqlite3")
    work = submitted(folder / "mturk_emulator.sqlite3")
    released, splits = read_release(folder / "release")
    check_files(folder / "release", splits)
    check_splits(splits)
    excluded = check_reviews(items, work)
    votes = valid_votes(items, work, excluded)
    check_every_triplet_was_judged(items, votes)
    check_labels(released, votes)
    check_no_control(released, items)
    check_statistics(folder / "release", splits, work, votes, excluded)
    check_answerable(splits)
    check_money(folder / "mturk_emulator.sqlite3")
    print(
        f"release checked: {len(released)} labels of {QUERIES} queries equal the majority of "
        f"{sum(map(len, votes.values()))} votes of {len(work)} assignments, "
        f"{len(excluded)} workers excluded, no control in it"
    )


def expect(truth: bool, complaint: str) -> None:
    if not truth:
        sys.exit(f"release check failed: {complaint}")


def rows(path: Path, query: str) -> list[sqlite3.Row]:
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
        connection.row_factory = sqlite3.Row
        return connection.execute(query).fetchall()


def shown_items(path: Path) -> dict[str, sqlite3.Row]:
    """Item name -> the texts that stood under it, and what a control expects (else null)."""
    found = rows(
        path,
        """
        SELECT i.key, h.crowd_id AS hit,
               coalesce(q.text, c.query) AS query,
               coalesce(p.question, c.question) AS question,
               coalesce(p.answer, c.answer) AS answer,
               CASE c.kind WHEN 'positive' THEN 1 WHEN 'negative' THEN 0 END AS expected
        FROM annotation_hititem i JOIN annotation_hit h ON h.id = i.hit_id
        LEFT JOIN annotation_control c ON c.id = i.control_id
        LEFT JOIN annotation_triplet t ON t.id = i.triplet_id
        LEFT JOIN retrieval_candidate d ON d.id = t.candidate_id
        LEFT JOIN retrieval_query q ON q.id = d.query_id
        LEFT JOIN retrieval_qapair p ON p.id = d.pair_id
        """,
    )
    per_hit = defaultdict(list)
    for row in found:
        per_hit[row["hit"]].append(row["expected"])
    expect(
        all(sorted(map(str, kinds)) == ["0", "1", *["None"] * 5] for kinds in per_hit.values()),
        "not every HIT holds 5 real items and a control of each kind",
    )
    return {row["key"]: row for row in found}


def submitted(path: Path) -> list[dict[str, object]]:
    """The assignments that the emulator holds as submitted, in order of submission."""
    found = rows(
        path,
        """
        SELECT assignment_id, hit_id, worker_id, status, answer FROM assignments
        WHERE status IN ('Submitted', 'Approved', 'Rejected') ORDER BY submit_number
        """,
    )
    return [dict(row) | {"answers": answers(row["answer"])} for row in found]


def answers(xml: str) -> dict[str, int]:
    given = {}
    for answer in ET.fromstring(xml).iter(f"{ANSWERS}Answer"):
        field = answer.findtext(f"{ANSWERS}QuestionIdentifier", "")
        if name := re.fullmatch(r"item-(\w+)", field):
            given[name[1]] = int(answer.findtext(f"{ANSWERS}FreeText", ""))
    return given


def read_release(folder: Path) -> tuple[dict[tuple[str, str, str], dict], dict[str, list[dict]]]:
    splits = {
        name: [json.loads(line) for line in (folder / f"{name}.jsonl").open(encoding="utf-8")]
        for name in ("train", "dev", "test")
    }
    released = {}
    for query in (query for split in splits.values() for query in split):
        for candidate in query["candidates"]:
            key = (query["query"], candidate["question"], candidate["answer"])
            expect(key not in released, f"twice in the release: {key}")
            released[key] = candidate
    return released, splits


def check_files(folder: Path, splits: dict[str, list[dict]]) -> None:
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    expect(files == {*manifest["files"], "manifest.json"}, "the manifest lists other files")
    expect(len(files) == FILES, f"{len(files)} files, not {FILES}")
    for name, entry in manifest["files"].items():
        digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        expect(digest == entry["sha256"], f"{name} is not the file of the manifest")
    ids = [query["id"] for split in splits.values() for query in split]
    expect(
        len(ids) == len(set(ids)) == QUERIES, f"{len(ids)} queries, not {QUERIES} different ones"
    )
    for name, split in splits.items():
        expect(bool(split), f"{name} is empty")
        for query in split:
            ranks = [candidate["rank"] for candidate in query["candidates"]]
            complete = ranks == list(range(1, CANDIDATES + 1))
            expect(
                complete or (name == "train" and ranks == sorted(ranks)), f"ranks of {query['id']}"
            )
            scores = [candidate["score"] for candidate in query["candidates"]]
            expect(scores == sorted(scores, reverse=True), f"scores of {query['id']}")


def check_splits(splits: dict[str, list[dict]]) -> None:
    """No two splits share a positive candidate."""
    positives = {
        name: {(c["question"], c["answer"]) for q in split for c in q["candidates"] if c["label"]}
        for name, split in splits.items()
    }
    for one, other in combinations(positives, 2):
        shared = positives[one] & positives[other]
        expect(not shared, f"{one} and {other} share positives: {sorted(shared)[:3]}")


def failure(items: dict[str, sqlite3.Row], work: dict[str, object]) -> str:
    """Why it fails; empty: it passes."""
    hit = {key: item for key, item in items.items() if item["hit"] == work["hit_id"]}
    given = work["answers"]
    if given.keys() != hit.keys():
        return "unanswered"
    right = all(given[k] == i["expected"] for k, i in hit.items() if i["expected"] is not None)
    return "" if right else "missed"


def check_reviews(items: dict[str, sqlite3.Row], work: list[dict[str, object]]) -> set[str]:
    """Failed work is rejected, all other approved; returns who had to be excluded."""
    reviewed, failed, excluded = Counter(), Counter(), set()
    for one in work:
        one["failure"] = failure(items, one)
        one["passed"] = not one["failure"]
        wanted = "Approved" if one["passed"] else "Rejected"
        expect(one["status"] == wanted, f"{one['assignment_id']} is {one['status']}, not {wanted}")
        worker = one["worker_id"]
        reviewed[worker] += 1
        failed[worker] += not one["passed"]
        over = failed[worker] > FAILURES_ALLOWED * reviewed[worker]
        if over and reviewed[worker] >= FROM_REVIEWS:
            excluded.add(worker)
    expect(any(not one["passed"] for one in work), "no assignment was rejected")
    expect(bool(excluded), "no worker was excluded")
    return excluded


def valid_votes(
    items: dict[str, sqlite3.Row], work: list[dict[str, object]], excluded: set[str]
) -> dict[tuple[str, str, str], list[int]]:
    votes, seen = defaultdict(list), set()
    for one in work:
        if not one["passed"] or one["worker_id"] in excluded:
            continue
        for key, value in one["answers"].items():
            item = items[key]
            if item["expected"] is None:
                triplet = (item["query"], item["question"], item["answer"])
                expect((triplet, one["worker_id"]) not in seen, f"voted twice on {triplet}")
                seen.add((triplet, one["worker_id"]))
                votes[triplet].append(value)
    return votes


def check_every_triplet_was_judged(
    items: dict[str, sqlite3.Row], votes: dict[tuple[str, str, str], list[int]]
) -> None:
    real = [item for item in items.values() if item["expected"] is None]
    packed = {(item["query"], item["question"], item["answer"]) for item in real}
    expect(len(real) == len(packed), "a triplet stands in two HITs")
    without = packed - votes.keys()
    expect(not without, f"{len(without)} packed triplets have no valid vote: {sorted(without)[:3]}")


def check_labels(released: dict, votes: dict[tuple[str, str, str], list[int]]) -> None:
    expect(len(released) == LABELS, f"{len(released)} labels, not {LABELS}")
    expect(any(len(set(given)) == 2 for given in votes.values()), "there was no tie to break")
    for triplet, given in votes.items():
        yes, no = sum(given), len(given) - sum(given)
        candidate = released.get(triplet)
        if candidate is None:
            expect(yes == no and len(given) >= 2, f"missing in the release: {triplet}")
            continue
        expect(len(given) >= 2 and yes != no, f"released without a majority: {triplet}")
        expect(candidate["label"] == int(yes > no), f"wrong label: {triplet}")
        expect(candidate["votes"] == {"yes": yes, "no": no}, f"wrong votes: {triplet}")
    expect(released.keys() <= votes.keys(), "a released triplet has no votes")


def check_no_control(released: dict, items: dict[str, sqlite3.Row]) -> None:
    controls = {(i["query"], i["question"]) for i in items.values() if i["expected"] is not None}
    inside = controls & {(query, question) for query, question, _ in released}
    expect(not inside, f"controls in the release: {inside}")


def check_money(path: Path) -> None:
    """Every approved assignment was paid once: 15 cents and the fee of 4."""
    approved = rows(path, "SELECT count(*) n FROM assignments WHERE status = 'Approved'")[0]["n"]
    spent = rows(path, "SELECT spent FROM account")[0]["spent"]
    expect(
        spent == CENTS * approved, f"{spent} cents were spent on {approved} approved assignments"
    )


def check_statistics(
    folder: Path,
    splits: dict[str, list[dict]],
    work: list[dict[str, object]],
    votes: dict[tuple[str, str, str], list[int]],
    excluded: set[str],
) -> None:
    """stats.json says what the data files and the emulator's records say."""
    stats = json.loads((folder / "stats.json").read_text(encoding="utf-8"))
    everything = [query for split in splits.values() for query in split]
    for name, queries in {**splits, "all": everything}.items():
        compare(f"splits.{name}", stats["splits"][name], split_counts(queries))
    compare("campaign", stats["campaign"], campaign_counts(work, votes, excluded))


def compare(where: str, stated: dict, counted: dict) -> None:
    for name, value in counted.items():
        if isinstance(value, dict):
            compare(f"{where}.{name}", stated[name], value)
            continue
        same = abs(stated[name] - value) < 0.0001 if value is not None else stated[name] is None
        expect(same, f"stats.json says {where}.{name} is {stated[name]}, not {value}")


def split_counts(queries: list[dict]) -> dict[str, object]:
    labels = [[candidate["label"] for candidate in query["candidates"]] for query in queries]
    positives = [sum(given) for given in labels]
    negatives = [len(given) - sum(given) for given in labels]
    votes = sum(sum(c["votes"].values()) for query in queries for c in query["candidates"])
    answerable = sum(number > 0 for number in positives)
    return {
        "queries": len(queries),
        "triplets": sum(map(len, labels)),
        "positives": sum(positives),
        "negatives": sum(negatives),
        "candidates_per_query": spread(list(map(len, labels))),
        "positives_per_query": spread(positives),
        "negatives_per_query": spread(negatives),
        "answerable_queries": answerable,
        "answerable_share": answerable / len(queries),
        "votes": votes,
        "votes_per_triplet": votes / sum(map(len, labels)),
    }


def spread(numbers: list[int]) -> dict[str, float]:
    return {"mean": statistics.fmean(numbers), "std": statistics.pstdev(numbers)}


def campaign_counts(
    work: list[dict[str, object]],
    votes: dict[tuple[str, str, str], list[int]],
    excluded: set[str],
) -> dict[str, object]:
    status = Counter(one["status"] for one in work)
    paid = [one for one in work if one["status"] == "Approved"]
    undecided = sum(2 * sum(given) == len(given) for given in votes.values())
    first_two = [(given[0], given[1]) for given in votes.values() if len(given) >= 2]
    differ = sum(one != other for one, other in first_two)
    return {
        "queries": QUERIES,
        "queries_left_out": 0,
        "triplets": LABELS,
        "labelled": LABELS,
        "open": 0,
        "unresolved": undecided,
        "votes": sum(map(len, votes.values())),
        "first_two_votes": {
            "triplets": len(first_two),
            "agreement": 1 - differ / len(first_two),
            "kappa": kappa(first_two),
        },
        "ties_broken": differ - undecided,
        "workers": len({one["worker_id"] for one in work}),
        "excluded_workers": len(excluded),
        "assignments": {
            "submitted": len(work),
            "approved": status["Approved"],
            "rejected": status["Rejected"],
            "paid_but_discarded": sum(one["worker_id"] in excluded for one in paid),
        },
        "rejection_reasons": {
            **{why: sum(one["failure"] == why for one in work) for why in ("unanswered", "missed")},
            "manual": 0,
        },
        "cost_cents": CENTS * len(paid),
    }


def kappa(pairs: list[tuple[int, int]]) -> float:
    """Cohen's, of the first and the second vote."""
    observed = sum(one == other for one, other in pairs) / len(pairs)
    first, second = (sum(votes) / len(pairs) for votes in zip(*pairs, strict=True))
    chance = first * second + (1 - first) * (1 - second)
    return (observed - chance) / (1 - chance)


def check_answerable(splits: dict[str, list[dict]]) -> None:
    """By the crowd's labels, and by the gold, in which there is no noise."""
    lines = map(json.loads, GOLD.open(encoding="utf-8"))
    meaning = {row["question"]: row["meaning"] for row in lines}
    queries = [query for split in splits.values() for query in split]
    labelled = sum(any(c["label"] for c in query["candidates"]) for query in queries)
    positives = {
        query["id"]: sum(
            meaning[candidate["question"]] == meaning[query["query"]]
            for candidate in query["candidates"]
        )
        for query in queries
    }
    answerable = {name: number for name, number in positives.items() if number}
    low, high = ANSWERABLE
    for source, number in (("labels", labelled), ("gold", len(answerable))):
        share = number / len(queries)
        expect(low <= share <= high, f"{share:.0%} of the queries are answerable by the {source}")
    outside = {name: number for name, number in answerable.items() if number not in POSITIVES}
    expect(not outside, f"answerable queries without 3 to 8 positives in the gold: {outside}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
