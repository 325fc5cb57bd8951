"""The instructions that Quorum ships, with the rules of the policy in force filled in."""

from fractions import Fraction
from pathlib import Path
from string import Template

from annotation.pipeline.setup.instructions import read_instructions
from annotation.protocol.estimates.cost import is_free
from annotation.protocol.policy.policy import Policy

FOLDER = Path(__file__).parent
CANNOT_JUDGE = (
    " If a text makes no sense to you, or you would have to guess what it asks for, choose "
    "**Can't judge** and say why."
)
WORDS = ("three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def default_instructions(policy: Policy) -> str:
    shipped = FOLDER / policy.task_type.instructions
    return Template(read_instructions(shipped)).safe_substitute(
        items=_number(policy.hit_size),
        answer=_answer(policy),
        cannot_judge=CANNOT_JUDGE if policy.cannot_judge_limit else "",
        failed_hit=_failed_hit(policy),
        exclusion=_exclusion(policy),
        complaint=_complaint(policy),
    )


def _number(items: int) -> str:
    """In words as far as people write them so; no HIT has fewer than three items."""
    return WORDS[items - 3] if items < 3 + len(WORDS) else str(items)


def _answer(policy: Policy) -> str:
    if policy.show_answer:
        return "- an **Answer** that was stored with the Question."
    return (
        "\nThe examples below also show the **Answer** that was stored with the Question; your "
        "items do not."
    )


def _failed_hit(policy: Policy) -> str:
    if policy.on_failed_control == "reject":
        return "the work on that task is **rejected**."
    paid = "" if is_free(policy) else " It is paid all the same."
    return f"your judgments on that task are **not used**.{paid}"


def _exclusion(policy: Policy) -> str:
    """Nothing where no share of failed HITs is too large."""
    if policy.max_failure_rate == 1:
        return ""
    paid = "" if is_free(policy) else " Work that was already approved stays paid."
    if policy.exclusion_rule == "sequential":
        return (
            "- One slip does not end your participation. Once **far more than "
            f"{policy.max_failure_rate * 100:g} %** of your reviewed tasks have failed, so many "
            "that bad luck does not explain it, you can take no more of our tasks, and your "
            f"judgments are not used.{paid}"
        )
    slip = Fraction(1, policy.min_assignments) <= Fraction(str(policy.max_failure_rate))
    spared = "One slip does not end your participation. " if slip else ""
    return (
        f"- {spared}Once the number of your reviewed tasks has reached "
        f"**{policy.min_assignments:,}**, and **more than {policy.max_failure_rate * 100:g} %** "
        "of them have failed, you can take no more of our tasks, and your judgments are not used."
        f"{paid}"
    )


def _complaint(policy: Policy) -> str:
    if policy.on_failed_control == "pay_and_discard":
        return "If you think that we judged your work wrongly, please write to us."
    reversible = "" if is_free(policy) else " A rejection can be reversed."
    return f"If you think that we rejected your work by mistake, please write to us.{reversible}"
