"""What the aggregator makes of the released votes: labels, and the chances of them, again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from annotation.protocol.aggregation.choice import AGGREGATORS
from annotation.protocol.aggregation.rank_prior import RankPrior
from annotation.protocol.aggregation.table import UNKNOWN, Floats, Ints, VoteTable
from annotation.protocol.labels.claims import Claims
from annotation.protocol.policy.policy import Policy
from exports.layout.files import ASSIGNMENTS, CONTROLS, JUDGMENTS
from exports.layout.manifest import has_rank_prior
from exports.layout.schemas import crowd_of
from exports.statistics.assignments import rows

Triplet = tuple[str, str]  # query, candidate


class Claim(NamedTuple):
    """As `Evidence` has the first two."""

    said: int | None
    is_sure: bool
    posterior: float | None


NO_CLAIM = Claim(None, False, None)
ByTriplet = Mapping[Triplet, Claim]


def read_claims(folder: Path, facts: Mapping[str, Any]) -> ByTriplet:
    """Empty where labels are majorities. `folder`: with the tables of the annotators."""
    policy, made = Policy.from_dict(facts["policy"]), {}
    for place, stated in enumerate(facts.get("aggregation", ())):
        sampled, rank_slope = stated["sampled"], stated.get("rank_slope", 0.0)
        claims = Claims(
            stated["aggregator"], stated["offset"], stated["slope"], sampled, rank_slope
        )
        table, triplets, ranks = crowd_votes(folder, facts, place)
        weights = AGGREGATORS[claims.aggregator](table)
        odds = weights.log_odds(table, _prior(stated, table, ranks))
        for triplet, log_odds in zip(triplets, odds.tolist(), strict=False):
            made[triplet] = Claim(
                claims.said(log_odds), claims.is_sure(log_odds, policy), claims.shown(log_odds)
            )
    return made


def _prior(stated: Mapping[str, Any], table: VoteTable, ranks: Ints | None) -> Floats | None:
    """Of each item; controls have no rank."""
    if ranks is None:
        return None
    of_triplets = RankPrior(stated["prior"], stated["rank_slope"])(ranks)
    return np.append(of_triplets, np.zeros(table.items - len(ranks)))


class CrowdVotes(NamedTuple):
    """`triplets`: the first items, the controls follow them; `ranks`: theirs, where they have a
    say."""

    table: VoteTable
    triplets: Sequence[Triplet]
    ranks: Ints | None


def crowd_votes(folder: Path, facts: Mapping[str, Any], crowd: int) -> CrowdVotes:
    """And what the crowd answered to controls, as the campaign's own table has it."""
    items: dict[Any, int] = {}
    ranks: list[int] = []
    workers: dict[str, int] = {}
    votes: list[tuple[int, int, int]] = []

    def add(item: object, worker: str, vote: int) -> None:
        number = items.setdefault(item, len(items))
        votes.append((number, workers.setdefault(worker, len(workers)), vote))

    for query, candidate, rank, worker, value, hit in rows(
        folder / JUDGMENTS, "query_id", "candidate_id", "rank", "worker", "value", "hit"
    ):
        if _is_of(facts, hit, crowd):
            add((query, candidate), worker, value)
            if len(items) > len(ranks):
                ranks.append(rank)
    triplets = list(items)
    known = [UNKNOWN] * len(triplets)
    for worker, control, expected, given in _answers(folder, facts, crowd):
        add((control, expected), worker, given)
        if len(items) > len(known):
            known.append(expected)
    item, worker, vote = np.array(votes, np.int64).reshape(-1, 3).T
    table = VoteTable(item, worker, vote, np.array(known, np.int64), len(workers) + 1)
    return CrowdVotes(table, triplets, np.array(ranks, np.int64) if has_rank_prior(facts) else None)


def _answers(
    folder: Path, facts: Mapping[str, Any], crowd: int
) -> Iterator[tuple[str, str, int, int]]:
    """To controls, in work that is reviewed, of workers who are not excluded."""
    out = set(facts.get("crowds", [facts])[crowd]["excluded_workers"])
    work = rows(folder / ASSIGNMENTS, "hit", "worker", "passed")
    reviewed = {(hit, worker) for hit, worker, passed in work if passed is not None}
    columns = "hit", "worker", "control", "expected", "given"
    for hit, worker, control, expected, given in rows(folder / CONTROLS, *columns):
        counts = given is not None and (hit, worker) in reviewed and worker not in out
        if counts and _is_of(facts, hit, crowd):
            yield worker, control, expected, given


def _is_of(facts: Mapping[str, Any], hit: int, crowd: int) -> bool:
    return "crowds" not in facts or crowd_of(hit) == crowd
