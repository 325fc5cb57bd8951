"""What a worker who is excluded from a campaign reads, and whom workers can write to."""

from fractions import Fraction

from django.conf import settings

from annotation.models import Exclusion
from annotation.protocol.policy.crowds import CrowdTraits
from annotation.protocol.policy.policy import Policy

FAREWELL = "Your part in this campaign has ended."
PAID = "Work that was approved stays paid."


def why_excluded(exclusion: Exclusion) -> list[str]:
    """Why, what becomes of the work, and whom to write to: a sentence each."""
    policy = exclusion.campaign.policy
    return [reason_of(exclusion), *_what_follows(policy), whom_to_write_to(policy.crowd_traits)]


def reason_of(exclusion: Exclusion) -> str:
    """The reason given by hand, else the figures of the moment when the rate was crossed."""
    policy = exclusion.campaign.policy
    if exclusion.reason:
        return exclusion.reason
    if exclusion.failures <= Fraction(str(policy.max_failure_rate)) * exclusion.reviewed:
        return FAREWELL  # by hand, and nobody said why
    return (
        f"{exclusion.failures} of your first {exclusion.reviewed} tasks failed their check "
        f"questions, more than the {policy.max_failure_rate * 100:g}% this campaign allows."
    )


def _what_follows(policy: Policy) -> list[str]:
    sentences = ["Your answers in this campaign no longer count, and it has no more tasks for you."]
    if policy.reward_cents:
        provided = ", if its check questions are answered right"
        always = policy.on_failed_control == "pay_and_discard"
        sentences += [PAID, f"Work not decided yet will be paid{'' if always else provided}."]
    return sentences


def whom_to_write_to(crowd: CrowdTraits, why: str = "If you think this is a mistake") -> str:
    contact = settings.CONTACT
    if not contact:
        return f"{why}, {crowd.contact}."
    if " " in contact:  # a sentence
        return f"{why}: {contact}"
    return f"{why}, write to {contact}."
