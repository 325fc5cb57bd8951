"""Whether the crowds of one dataset kept apart: in queries, HITs, workers and costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path

from exports.layout.files import ASSIGNMENTS, CAMPAIGN, CANNOT_JUDGE, JUDGMENTS
from exports.layout.manifest import beside_work
from exports.layout.schemas import crowd_of, first_hit
from exports.statistics.assignments import rows
from exports.verify.facts import Facts, read_policy
from exports.verify.findings import Findings, quote

SUMS = ("cost_cents", "bonus_cents", "billed_cents")
# What the first crowd's campaign says in both places.
OF_THE_FIRST = ("campaign", "crowd", "policy", "policy_sha256")


def check_crowds(facts: Facts, queries: Collection[str], findings: Findings) -> None:
    """What campaign.json says of them, against the rest of it and all the `queries`."""
    if facts.crowds:
        for fault in (*_policy_faults(facts, findings), *_faults(facts, queries)):
            findings.differ(CAMPAIGN, f"{CAMPAIGN}: crowds: {fault}")


def _policy_faults(facts: Facts, findings: Findings) -> Iterator[str]:
    for each in facts.crowds:
        name = each["campaign"]
        policy = read_policy(each, findings, f"{CAMPAIGN}: crowds: {name}")
        if policy and policy.crowd != each["crowd"]:
            yield f"the policy of {name} is of the crowd {policy.crowd}"
        if policy and not policy.decides_like(facts.policy):
            yield f"the policy of {name} makes other labels of the same votes"


def _faults(facts: Facts, queries: Collection[str]) -> Iterator[str]:
    crowds, whole = facts.crowds, facts.campaign
    if len({each["crowd"] for each in crowds}) < len(crowds):
        yield "two of them are the same crowd"
    if any(crowds[0][name] != whole[name] for name in OF_THE_FIRST):
        yield "the first is not the campaign's own"
    if [each["first_hit"] for each in crowds] != [first_hit(n) for n in range(len(crowds))]:
        yield "first_hit is not what a crowd in its place has"
    for name in SUMS:
        if sum(each.get(name, 0) for each in crowds) != whole.get(name, 0):
            yield f"{name} do not sum to the campaign's"
    excluded = [worker for each in crowds for worker in each["excluded_workers"]]
    if sorted(excluded) != sorted(whole["excluded_workers"]):
        yield "excluded_workers are not the campaign's"
    ids = [query for each in crowds for query in each["query_ids"]]
    if sorted(ids) != sorted(queries):
        yield "query_ids are not the campaign's queries, each of them once"


def check_work(folder: Path, facts: Facts, findings: Findings) -> None:
    """The annotators' tables against what campaign.json says of the crowds."""
    if not facts.crowds:
        return
    cents: Counter[int] = Counter()
    crowd_of_worker = {
        worker: number
        for number, each in enumerate(facts.crowds)
        for worker in each["excluded_workers"]
    }
    for hit, worker, cost in rows(folder / ASSIGNMENTS, "hit", "worker", "cents"):
        crowd = crowd_of(hit)
        cents[crowd] += cost
        if crowd_of_worker.setdefault(worker, crowd) != crowd:
            findings.differ(ASSIGNMENTS, f"{ASSIGNMENTS}: worker {worker} is of two crowds")
    for number, each in enumerate(facts.crowds):
        if (made := cents[number] + beside_work(each)) != each["cost_cents"]:
            findings.differ(
                CAMPAIGN,
                f"{CAMPAIGN}: crowds: cost_cents of {each['campaign']} {each['cost_cents']}, by "
                f"its assignments and bonus_cents + billed_cents {made}",
            )
    _check_queries(folder, facts, findings)


def _check_queries(folder: Path, facts: Facts, findings: Findings) -> None:
    crowd_of_query = {
        query: number for number, each in enumerate(facts.crowds) for query in each["query_ids"]
    }
    for name in (JUDGMENTS, CANNOT_JUDGE):
        judged = rows(folder / name, "query_id", "hit") if (folder / name).exists() else ()
        for query, hit in judged:
            if crowd_of_query.get(query) != crowd_of(hit):
                findings.differ(
                    name, f"{name}: HIT {hit} judged query {quote(query)} of another crowd"
                )
