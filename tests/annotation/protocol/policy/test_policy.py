from __future__ import annotations

import hashlib
import json
from dataclasses import FrozenInstanceError, fields
from typing import Any

import pytest

from annotation.protocol.policy.crowds import CROWDS, INHOUSE
from annotation.protocol.policy.policy import Policy, PolicyError
from annotation.protocol.policy.presets import TEAM, Preset
from annotation.protocol.policy.tasks import TASKS


def faults(**values: Any) -> tuple[str, ...]:
    with pytest.raises(PolicyError) as refusal:
        Policy.from_dict(values)
    return refusal.value.faults


def test_the_defaults_are_the_papers_values() -> None:
    values = Policy().to_dict()
    for text in ("title", "description", "keywords"):
        assert values.pop(text).strip()
    assert values == {
        "candidates_per_query": 30,
        "hit_size": 7,
        "positive_controls": 1,
        "negative_controls": 1,
        "control_pool_size": 60,
        "negative_max_cosine": 0.30,
        "annotators": 2,
        "tie_mode": "extend",
        "max_votes": 5,
        "cannot_judge_limit": 0,
        "adjudication": "measure",
        "on_failed_control": "reject",
        "max_failure_rate": 0.10,
        "min_assignments": 10,
        "exclude_by": "qualification",
        "crowd": "mturk",
        "reward_cents": 15,
        "masters": True,
        "min_approval_percent": 95,
        "min_approved": 100,
        "qualification_items": 0,
        "qualification_pass_percent": 80,
        "show_answer": True,
        "mark_differences": False,
        "assignment_minutes": 30,
        "lifetime_days": 7,
        "auto_approval_days": 3,
        "train": 0.77,
        "dev": 0.099,
        "test": 0.131,
    }


def test_five_of_seven_items_are_real() -> None:
    assert Policy().real_items == 5
    assert Policy(hit_size=10, positive_controls=2, negative_controls=3).real_items == 5


def test_a_policy_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Policy().annotators = 3  # type: ignore[misc]


def test_a_policy_survives_its_own_json() -> None:
    policy = Policy(tie_mode="repack", train=11711, dev=1500, test=2000, masters=False)
    assert Policy.from_dict(json.loads(json.dumps(policy.to_dict()))) == policy


def test_fields_not_given_keep_the_papers_values() -> None:
    assert Policy.from_dict({}) == Policy()
    assert Policy.from_dict({"annotators": 3}) == Policy(annotators=3)


def test_all_faults_are_listed_at_once() -> None:
    assert faults(annotator=2, hit_size="seven", reward_cents=-1, train=0.5) == (
        "unknown field 'annotator'; did you mean annotators?",
        "hit_size must be a whole number from 3 to 100, not 'seven'",
        "reward_cents must be a whole number from 0 to 100000, not -1",
        "train, dev and test are shares that sum to 0.73, not to 1",
    )


def test_the_message_holds_every_fault() -> None:
    with pytest.raises(PolicyError, match=r"^masters must be true or false, not 1; title must be"):
        Policy.from_dict({"masters": 1, "title": ""})


def test_an_unknown_field_like_no_other_gets_no_hint() -> None:
    assert faults(xyzzy=1) == ("unknown field 'xyzzy'",)


def test_a_policy_that_is_no_object_is_refused() -> None:
    with pytest.raises(PolicyError, match=r"^a policy must be an object of fields, not \[1, 2\]$"):
        Policy.from_dict([1, 2])  # type: ignore[arg-type]


def test_a_policy_made_in_code_is_checked_too() -> None:
    with pytest.raises(PolicyError, match="min_assignments must be a whole number"):
        Policy(min_assignments=0)


@pytest.mark.parametrize(
    ("field", "accepted", "refused"),
    [
        ("candidates_per_query", [1, 1000], [0, 1001, 30.0, True, None, "30"]),
        ("hit_size", [3, 100], [2, 101]),
        ("positive_controls", [1, 5], [0, 51]),
        ("negative_controls", [1, 5], [0, 51]),
        ("control_pool_size", [1], [0]),
        ("negative_max_cosine", [-1, 0, 0.5, 1], [-1.01, 1.01, float("nan"), True, "0"]),
        ("annotators", [1, 5], [0, 2.0]),
        ("tie_mode", ["extend", "repack"], ["Extend", "", 1, ["extend"]]),
        ("max_votes", [2, 9], [101, 5.5]),
        ("on_failed_control", ["reject", "pay_and_discard"], ["pay", None]),
        ("max_failure_rate", [0, 0.0, 0.1, 1], [-0.01, 1.01, 10, float("inf"), False, "10 %"]),
        ("min_assignments", [1], [0]),
        ("exclusion_rule", ["share", "sequential"], ["both"]),
        ("aggregation", ["majority", "best"], ["model", True]),
        ("exclude_by", ["qualification", "block"], ["ban"]),
        ("crowd", ["mturk"], ["MTurk", "toloka", None, ["mturk"]]),
        ("reward_cents", [1, 100_000], [15.0, -15, 100_001]),
        ("masters", [True, False], [1, 0, "yes"]),
        ("min_approval_percent", [0, 100], [-1, 101]),
        ("min_approved", [0], [-1]),
        ("qualification_items", [0, 100], [-1, 101, True]),
        ("qualification_pass_percent", [1, 100], [0, 101, 80.0]),
        ("show_answer", [True, False], ["true"]),
        ("assignment_minutes", [1, 525_600], [0, 525_601]),
        ("lifetime_days", [1, 365], [0, 366]),
        ("auto_approval_days", [1, 30], [0, 31]),
        ("title", ["x", "x" * 128], ["", "  ", "x" * 129, 7]),
        ("description", ["x" * 2000], ["x" * 2001]),
        ("keywords", ["x" * 1000], ["x" * 1001]),
    ],
)
def test_each_field_accepts_its_range_and_refuses_the_rest(
    field: str, accepted: list[Any], refused: list[Any]
) -> None:
    for value in accepted:
        assert getattr(Policy.from_dict({field: value}), field) == value
    for value in refused:
        (fault,) = faults(**{field: value})
        assert fault.startswith(f"{field} must be ")


def test_a_hit_needs_a_place_for_a_real_triplet() -> None:
    assert Policy(hit_size=5, positive_controls=2, negative_controls=2).real_items == 1
    assert faults(hit_size=4, positive_controls=2, negative_controls=2) == (
        "hit_size 4 leaves no place for a real triplet beside 4 controls",
    )


def test_max_votes_is_at_least_annotators() -> None:
    assert Policy(annotators=5, max_votes=5).max_votes == 5
    assert faults(annotators=6) == ("max_votes 5 is less than annotators 6",)


def test_only_an_aggregator_that_says_how_sure_it_is_can_end_the_asking() -> None:
    for sure in (0, 0.55, 0.99):
        assert Policy(aggregation="best", wanted_confidence=sure).is_adaptive == (sure > 0)
    for value in (0.5, 1, -0.1, True, "0.9"):
        (fault,) = faults(aggregation="best", wanted_confidence=value)
        assert fault.startswith("wanted_confidence must be 0, or a number from 0.55 to 0.99, not ")
    assert faults(wanted_confidence=0.9) == (
        'wanted_confidence must be 0 while aggregation is "majority"',
    )
    assert faults(rank_prior=True) == ('rank_prior must be false while aggregation is "majority"',)
    assert faults(bought_first="top_ranks") == (
        'bought_first must be "least_sure" while wanted_confidence is 0',
    )


def test_no_hit_is_to_grow_from_under_ten_assignments_to_ten() -> None:
    assert Policy(annotators=9, max_votes=9).max_votes == 9
    assert Policy(annotators=10, max_votes=11).max_votes == 11
    (fault,) = faults(annotators=9, max_votes=10)
    assert fault.startswith("max_votes 10 must stay under 10 while annotators 9 does")


def test_one_s_own_people_need_no_reward_and_mturk_s_workers_do() -> None:
    assert Policy.from_dict(INHOUSE.defaults()).reward_cents == 0
    assert Policy.from_dict({**INHOUSE.defaults(), "reward_cents": 12}).reward_cents == 12
    assert faults(reward_cents=0) == (
        "reward_cents must be at least 1 for a Mechanical Turk server",
    )


def test_what_only_mturk_knows_of_workers_is_not_asked_of_one_s_own() -> None:
    assert faults(crowd="inhouse", reward_cents=0) == (
        "masters must be false for your own team",
        "min_approval_percent must be 0 for your own team",
        "min_approved must be 0 for your own team",
    )
    assert faults(**{**INHOUSE.defaults(), "min_approved": 1}) == (
        "min_approved must be 0 for your own team",
    )
    assert faults(**{**INHOUSE.defaults(), "exclude_by": "block"}) == (
        'exclude_by must be "qualification" for your own team',
    )


def test_a_policy_text_may_have_lines_as_any_system_ends_them() -> None:
    assert Policy(description="one\r\ntwo\n\tthree").description == "one\r\ntwo\n\tthree"


@pytest.mark.parametrize(
    ("train", "dev", "test"),
    [(0.8, 0.1, 0.1), (0.8, 0.1, 0.101), (0.8, 0.1, 0.099), (1.0, 0.0, 0.0), (1, 0, 0), (5, 3, 2)],
)
def test_splits_are_shares_of_one_or_whole_counts(train: float, dev: float, test: float) -> None:
    assert Policy.from_dict({"train": train, "dev": dev, "test": test}).train == train


@pytest.mark.parametrize(
    ("splits", "fault"),
    [
        ((0.8, 0.1, 0.102), "train, dev and test are shares that sum to 1.002, not to 1"),
        ((0.8, 0.1, 0.098), "train, dev and test are shares that sum to 0.998, not to 1"),
        ((0, 0, 0), "train, dev and test are counts that sum to 0"),
        ((1, 0.0, 0.0), "train, dev and test must be all shares (0.77) or all whole counts (1500)"),
        ((1.1, 0.0, -0.1), "train must be a share from 0.0 to 1.0 or a whole count"),
        ((-1, 1, 1), "train must be a share from 0.0 to 1.0 or a whole count from 0, not -1"),
        ((True, 1, 1), "train must be a share from 0.0 to 1.0 or a whole count from 0, not True"),
        ((1500.5, 1, 1), "train must be a share from 0.0 to 1.0 or a whole count from 0"),
    ],
)
def test_other_splits_are_refused(splits: tuple[Any, Any, Any], fault: str) -> None:
    train, dev, test = splits
    assert faults(train=train, dev=dev, test=test)[0].startswith(fault)


def test_the_digest_is_the_sha256_of_sorted_json_without_spaces() -> None:
    canonical = json.dumps(Policy().to_dict(), sort_keys=True, separators=(",", ":"))
    assert Policy().digest() == hashlib.sha256(canonical.encode()).hexdigest()
    assert canonical.startswith('{"adjudication":"measure","annotators":2,')


def test_the_digest_tells_policies_apart_and_only_those() -> None:
    others = {"tie_mode": "repack", "on_failed_control": "pay_and_discard", "exclude_by": "block"}
    others |= {
        "adjudication": "decide",
        "exclusion_rule": "sequential",
        "task": "answer",
        "currency": "EUR",
    }
    others |= {"aggregation": "best", "wanted_confidence": 0.9, "bought_first": "top_ranks"}
    digests = {Policy().digest(), Policy.from_dict({}).digest()}
    assert len(digests) == 1
    for each in fields(Policy):
        if each.name in ("train", "dev", "test", "crowd"):
            continue
        other = others.get(each.name) or changed(each.default)
        with_it = {
            "wanted_confidence": {"aggregation": "best"},
            "rank_prior": {"aggregation": "best"},
            "bought_first": {"aggregation": "best", "wanted_confidence": 0.9},
        }.get(each.name, {})
        digests.add(Policy.from_dict({**with_it, each.name: other}).digest())
    alike = {**INHOUSE.defaults(), "reward_cents": 15}
    digests |= {Policy.from_dict({**alike, "crowd": crowd}).digest() for crowd in CROWDS}
    assert len(digests) == 1 + len(fields(Policy)) - 4 + len(CROWDS)


def changed(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    return value + "." if isinstance(value, str) else value + (1 if isinstance(value, int) else 0.1)


def test_a_preset_of_one_task_leaves_out_its_words_for_another() -> None:
    answers, mine = TASKS["answer"], {"annotators": 3, "reward_cents": 40}
    planned = Preset(
        "plan", "As planned", "", Policy.from_dict(answers.defaults() | mine).to_dict()
    )
    assert planned.policy(answers).title == answers.defaults()["title"]
    assert planned.policy() == Policy(**mine)
    assert TEAM.policy(answers) == Policy.from_dict({**TEAM.values, **answers.defaults()})


def test_a_rate_of_0_and_of_0_point_0_have_one_digest() -> None:
    assert Policy(max_failure_rate=0).digest() == Policy(max_failure_rate=0.0).digest()
    assert Policy(negative_max_cosine=1).digest() == Policy(negative_max_cosine=1.0).digest()
