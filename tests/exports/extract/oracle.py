"""An extract worked out slowly, row by row in Python, from a campaign's stored objects."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from annotation.models import Assignment, Campaign, Judgment, Triplet
from exports.models import WorkerSalt
from retrieval.models import Query

SALT = "salt of the tests"
Row = dict[str, Any]


def salted(campaign: Campaign) -> Campaign:
    """With a salt that is known: the names of the workers are then the same again and again."""
    WorkerSalt.objects.create(campaign=campaign, salt=SALT)
    return campaign


def person(name: str) -> str:
    return hmac.new(SALT.encode(), name.encode(), "sha256").hexdigest()[:20]


def lines(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


def rows(path: Path) -> list[Row]:
    found: list[Row] = pq.read_table(path).to_pylist()
    return found


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def in_order(works: Iterable[Assignment]) -> list[Assignment]:
    return sorted(works, key=lambda work: (work.submitted_at, work.crowd_id))


def excluded(campaign: Campaign) -> set[int]:
    return {one.worker_id for one in campaign.exclusions.all() if one.restored_at is None}


def votes_on(triplet: Triplet) -> list[Judgment]:
    """The valid ones, in order of submission."""
    out = excluded(triplet.campaign)
    given = {judgment.assignment_id: judgment for judgment in triplet.judgments.all()}
    works = in_order(Assignment.objects.filter(pk__in=given))
    return [
        given[work.pk]
        for work in works
        if work.passed and work.status != "rejected" and work.worker_id not in out
    ]


def label_of(triplet: Triplet, votes: list[Judgment]) -> int | None:
    yes, no = sum(vote.value == 1 for vote in votes), sum(vote.value == 0 for vote in votes)
    if yes == no or yes + no < triplet.campaign.policy.annotators:
        return triplet.imported_label
    return int(yes > no)


def expected_queries(campaign: Campaign) -> list[Row]:
    found = []
    for query in sorted(campaign.query_set.queries.all(), key=lambda query: query.key):
        candidates = [_candidate(one.triplet) for one in query.candidates.order_by("rank")]
        labelled = [one for one in candidates if one["label"] is not None]
        found.append({"id": query.key, "query": query.text, "candidates": labelled})
    return found


def _candidate(triplet: Triplet) -> Row:
    candidate, votes = triplet.candidate, votes_on(triplet)
    yes = sum(vote.value for vote in votes)
    return {
        "id": candidate.pair.pair_key[:20],
        "question": candidate.pair.question,
        "answer": candidate.pair.answer,
        "rank": candidate.rank,
        "score": candidate.score,
        "label": (label := label_of(triplet, votes)),
        **_source(triplet, label, votes),
        "votes": {"yes": yes, "no": len(votes) - yes},
    }


def _source(triplet: Triplet, label: int | None, votes: list[Judgment]) -> Row:
    """Of no expert: these campaigns have none."""
    if triplet.campaign.query_set.origin != "import" or label is None:
        return {}
    yes = sum(vote.value for vote in votes)
    enough = len(votes) >= triplet.campaign.policy.annotators
    return {"label_source": "majority" if enough and 2 * yes != len(votes) else "import"}


def expected_judgments(campaign: Campaign) -> list[Row]:
    return [
        {
            "query_id": query.key,
            "candidate_id": candidate.pair.pair_key[:20],
            "rank": candidate.rank,
            "position": position,
            "worker": person(f"{vote.worker.crowd}:{vote.worker.worker_id}"),
            "value": vote.value,
            "hit": vote.assignment.hit.number,
        }
        for query in sorted(campaign.query_set.queries.all(), key=_key)
        for candidate in query.candidates.order_by("rank")
        for position, vote in enumerate(votes_on(candidate.triplet), start=1)
    ]


def _key(query: Query) -> str:
    return query.key


def expected_assignments(campaign: Campaign) -> list[Row]:
    out = excluded(campaign)
    return [
        {
            "hit": work.hit.number,
            "worker": person(f"{work.worker.crowd}:{work.worker.worker_id}"),
            "status": work.status,
            "passed": work.passed,
            "discarded": work.status == "approved"
            and (work.passed is False or work.worker_id in out),
            "cents": sum(
                entry.cents
                for entry in work.entries.all()
                if entry.source == "reserved" and entry.target in ("paid", "discarded")
            ),
        }
        for work in in_order(Assignment.objects.filter(hit__campaign=campaign))
    ]


def expected_controls(campaign: Campaign) -> list[Row]:
    found = []
    for work in in_order(Assignment.objects.filter(hit__campaign=campaign)):
        for item in work.hit.items.order_by("position"):
            if item.control is None:
                continue
            given = work.judgments.filter(item=item).first()
            both = f"{item.control.query}\x1f{item.control.question}"
            found.append(
                {
                    "hit": work.hit.number,
                    "worker": person(f"{work.worker.crowd}:{work.worker.worker_id}"),
                    "kind": item.control.kind,
                    "control": hashlib.sha256(both.encode()).hexdigest()[:20],
                    "expected": int(item.control.kind == "positive"),
                    "given": given.value if given else None,
                }
            )
    return found
