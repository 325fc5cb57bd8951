"""A release of two crowds: they kept apart, and whatever says otherwise is named."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from annotation.protocol.policy.policy import Policy, policy_digest
from exports.layout.files import ASSIGNMENTS, CAMPAIGN, JUDGMENTS
from exports.layout.schemas import first_hit
from exports.verify.verify import verify
from tests.exports.support.built_releases import finished, sealed
from tests.exports.support.extracts import Extract, digest, random_extract
from tests.exports.verify.tampering import change_object, change_table, found

Change = Callable[[Any], object]
SECOND = first_hit(1)
OTHERS = {f"q{number:03d}" for number in range(12, 18)}  # the second crowd's queries


def two_crowds() -> Extract:
    """Of a random one: the last queries were judged by people of another crowd."""
    extract = random_extract(5, queries=18)
    facts = extract.campaign
    apart = {row["hit"] for row in extract.judgments if row["query_id"] in OTHERS}
    for row in (*extract.judgments, *extract.assignments, *extract.controls):
        if row["hit"] in apart:
            row["hit"] += SECOND - 1
            row["worker"] = digest(f"second {row['worker']}")
    policy = Policy.from_dict(facts["policy"]).for_crowd("inhouse")
    second = {
        "campaign": "demo-inhouse",
        "crowd": "inhouse",
        "policy": policy.to_dict(),
        "policy_sha256": policy.digest(),
        "excluded_workers": [],
        "bonus_cents": 0,
    }
    facts["crowds"] = [_crowd(facts, extract, 0), _crowd(second, extract, 1)]
    return extract


def _crowd(facts: dict[str, Any], extract: Extract, number: int) -> dict[str, Any]:
    names = "campaign", "crowd", "policy", "policy_sha256", "excluded_workers", "bonus_cents"
    work = [row["cents"] for row in extract.assignments if (row["hit"] >= SECOND) == bool(number)]
    return {
        **{name: facts[name] for name in names},
        "seed": 7,
        "first_hit": first_hit(number),
        "cost_cents": sum(work) + facts["bonus_cents"],
        "query_ids": [one.id for one in extract.queries if (one.id in OTHERS) == bool(number)],
    }


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return finished(tmp_path_factory.mktemp("crowds") / "demo-1", two_crowds())


@pytest.fixture
def release(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "demo-1"))


def test_nothing_differs_and_the_card_says_who_judged_what(release: Path) -> None:
    assert verify(release).differences == []
    card = (release / "README.md").read_text()
    assert (
        "Different crowds judged different queries: 12 queries by a Mechanical Turk server "
        "(campaign demo) and 6 queries by an in-house team (campaign demo-inhouse)."
    ) in card
    assert "Campaign demo-inhouse: The annotators were a team" in card
    assert "went to a Mechanical Turk server (campaign demo) and USD" in card


def _other_rules(crowd: dict[str, Any]) -> None:
    crowd["policy"]["annotators"] = 1
    crowd["policy_sha256"] = policy_digest(crowd["policy"])


def _swap(facts: dict[str, Any]) -> None:
    one, other = (each["query_ids"] for each in facts["crowds"])
    one[-1], other[0] = other[0], one[-1]


def of_second(**values: Any) -> Change:
    return lambda facts: facts["crowds"][1].update(values)


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (lambda facts: _other_rules(facts["crowds"][1]), "demo-inhouse makes other labels of the"),
        (of_second(policy_sha256="0"), "crowds: demo-inhouse: policy_sha256 is not that of the"),
        (of_second(crowd="panel"), "the policy of demo-inhouse is of the crowd inhouse"),
        (lambda facts: facts["crowds"][1].update(facts["crowds"][0]), "two of them are the same"),
        (lambda facts: facts["crowds"].reverse(), "the first is not the campaign's own"),
        (of_second(first_hit=7), "first_hit is not what a crowd in its place has"),
        (of_second(cost_cents=1), "cost_cents do not sum to the campaign's"),
        (of_second(cost_cents=1), "cost_cents of demo-inhouse 1, by its assignments and bonus"),
        (of_second(bonus_cents=1), "bonus_cents do not sum to the campaign's"),
        (of_second(billed_cents=1), "billed_cents do not sum to the campaign's"),
        (of_second(excluded_workers=["nobody"]), "excluded_workers are not the campaign's"),
        (lambda facts: facts["crowds"][1]["query_ids"].pop(), "query_ids are not the campaign's"),
        (lambda facts: facts["crowds"][1]["query_ids"].append("q000"), "each of them once"),
        (_swap, "judged query 'q012' of another crowd"),
        (of_second(seed="7"), "crowds 2.seed must be a whole number"),
        (lambda facts: facts["crowds"][1].pop("query_ids"), "crowds 2.query_ids is missing"),
        (lambda facts: facts.pop("crowds"), "README.md"),
    ],
)
def test_crowds_that_contradict_the_files_are_named(
    release: Path, change: Change, wanted: str
) -> None:
    change_object(release / CAMPAIGN, change)
    sealed(release)
    assert wanted in found(release)


def test_a_worker_of_both_crowds_is_named(release: Path) -> None:
    def mix(rows: list[dict[str, Any]]) -> None:
        worker = next(row["worker"] for row in rows if row["hit"] < SECOND)
        next(row for row in rows if row["hit"] >= SECOND).update(worker=worker)

    change_table(release / ASSIGNMENTS, mix)
    sealed(release)
    assert "is of two crowds" in found(release)


def test_a_vote_of_the_other_crowd_is_named(release: Path) -> None:
    def mix(rows: list[dict[str, Any]]) -> None:
        next(row for row in rows if row["query_id"] in OTHERS).update(hit=1)

    change_table(release / JUDGMENTS, mix)
    sealed(release)
    assert "HIT 1 judged query 'q012' of another crowd" in found(release)
