"""The shipped instructions tell the numbers of the policy in force; a user's file tells its own."""

from pathlib import Path
from typing import Any

import pytest

from annotation.pipeline.setup.create import create_campaign
from annotation.pipeline.setup.default_instructions import default_instructions
from annotation.protocol.policy.crowds import INHOUSE, PANEL
from annotation.protocol.policy.policy import Policy


def text(**policy: Any) -> str:
    found = default_instructions(Policy.from_dict(policy))
    assert "$" not in found
    return found


def test_the_paper_s_policy_is_told_in_words() -> None:
    report = text()
    assert "Each task has seven items." in report
    assert "Choose **Yes** or **No** for each, then submit.\n" in report
    assert "- an **Answer** that was stored with the Question.\n" in report
    assert "If you miss a check question, the work on that task is **rejected**." in report
    assert (
        "- One slip does not end your participation. Once the number of your reviewed tasks has "
        "reached **10**, and **more than 10 %** of them have failed, you can take no more of our "
        "tasks, and your judgments are not used. Work that was already approved stays paid.\n"
    ) in report
    assert "A rejection can be reversed." in report
    assert "A rejection can be reversed." in text(**PANEL.defaults())


@pytest.mark.parametrize(
    ("size", "word"), [(3, "three"), (5, "five"), (12, "twelve"), (13, "13"), (100, "100")]
)
def test_the_size_of_a_hit_is_told(size: int, word: str) -> None:
    report = text(hit_size=size)
    assert f"Each task has {word} items." in report


def test_cannot_judge_is_explained_where_it_is_offered() -> None:
    assert "Can't judge" not in text()
    assert "choose **Can't judge** and say why." in text(cannot_judge_limit=2)


def test_nobody_is_rejected_where_failed_work_is_paid_and_discarded() -> None:
    report = text(on_failed_control="pay_and_discard")
    assert "reject" not in report
    assert "your judgments on that task are **not used**. It is paid all the same." in report


def test_nothing_is_said_of_pay_where_nobody_is_paid() -> None:
    for on_failed_control in ("reject", "pay_and_discard"):
        report = text(**INHOUSE.defaults(), on_failed_control=on_failed_control)
        assert "paid" not in report
        assert "reversed" not in report


@pytest.mark.parametrize(
    ("rate", "reviewed", "spared"),
    [(0.1, 10, True), (0.1, 9, False), (0.07, 20, True), (0, 5, False)],
)
def test_one_slip_is_forgiven_where_the_rule_forgives_it(
    rate: float, reviewed: int, spared: bool
) -> None:
    report = text(max_failure_rate=rate, min_assignments=reviewed)
    assert f"has reached **{reviewed}**, and **more than {rate * 100:g} %** of them" in report
    assert ("One slip does not end" in report) == spared


def test_the_sequential_rule_names_no_number_of_tasks() -> None:
    report = text(exclusion_rule="sequential")
    assert "Once **far more than 10 %** of your reviewed tasks have failed" in report
    assert "has reached" not in report


def test_a_rule_that_excludes_nobody_is_not_told() -> None:
    assert "no more of our tasks" not in text(max_failure_rate=1)


def test_answers_that_are_not_shown_are_not_announced() -> None:
    report = text(show_answer=False)
    assert "- an **Answer**" not in report
    assert "your items do not" in report


@pytest.mark.django_db
def test_a_new_campaign_has_the_rules_of_its_own_policy_in_its_instructions(
    tmp_path: Path,
) -> None:
    queries = tmp_path / "mine.txt"
    queries.write_text("how do I bake bread\n")
    policy = Policy(hit_size=9, min_assignments=20)
    campaign = create_campaign("faq", policy=policy, seed=1, queries=queries)
    assert campaign.instructions.get().text == default_instructions(policy)


@pytest.mark.django_db
def test_a_file_of_the_user_s_is_taken_word_for_word(tmp_path: Path) -> None:
    queries, rules = tmp_path / "mine.txt", tmp_path / "rules.md"
    queries.write_text("how do I bake bread\n")
    rules.write_text("Judge $items items, $$5 a HIT, $exclusion.\n")
    made = create_campaign("faq", policy=Policy(), seed=1, queries=queries, instructions=rules)
    assert made.instructions.get().text == "Judge $items items, $$5 a HIT, $exclusion.\n"
