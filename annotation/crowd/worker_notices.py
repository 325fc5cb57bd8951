"""What workers read of their rights: what is kept of them, why they are excluded, whom to ask."""

from django.conf import settings

from annotation.models import Exclusion
from annotation.protocol.policy.crowds import CrowdTraits
from annotation.protocol.policy.policy import Policy
from annotation.protocol.screening.exclusion import is_crossed

FAREWELL = "Your part in this campaign has ended."
PAID = "Work that was approved stays paid."
AT_THE_TURK = (
    "HITs that requesters of your team post go to them: your answers, when you accepted and "
    "submitted them, and your worker ID are kept in the account of the requester, and whoever pays "
    "gets your username and e-mail address. A question that is framed from another site may "
    "keep more: ask its requester. On request, answers that are decided are deleted.",
    "What a HIT pays stands beside it before you accept it, and your earnings with the reasons of "
    "rejections on a page of their own.",
)


def why_excluded(exclusion: Exclusion) -> list[str]:
    """Why, what becomes of the work, and whom to write to: a sentence each."""
    policy = exclusion.campaign.policy
    return [reason_of(exclusion), *_what_follows(policy), whom_to_write_to(policy.crowd_traits)]


def reason_of(exclusion: Exclusion) -> str:
    """The reason given by hand, else the figures of the moment when the rate was crossed."""
    policy = exclusion.campaign.policy
    if exclusion.reason:
        return exclusion.reason
    if not is_crossed(exclusion.failures, exclusion.reviewed, policy):
        return FAREWELL  # by hand, and nobody said why
    most = "more than the {}% this campaign allows"
    if policy.exclusion_rule == "sequential":
        most = "more than is likely of somebody who fails the {}% this campaign allows"
    return (
        f"{exclusion.failures} of your first {exclusion.reviewed} tasks failed their check "
        f"questions, {most.format(f'{policy.max_failure_rate * 100:g}')}."
    )


def _what_follows(policy: Policy) -> list[str]:
    sentences = ["Your answers in this campaign no longer count, and it has no more tasks for you."]
    if policy.reward_cents:
        provided = ", if its check questions are answered right"
        always = policy.on_failed_control == "pay_and_discard"
        sentences += [PAID, f"Work not decided yet will be paid{'' if always else provided}."]
    return sentences


def what_is_kept(
    crowd: CrowdTraits, *, panel: str = "the panel", reward: str | None = None
) -> list[str]:
    """What people agree to before they work, a sentence or two each; no reward: it is shown by the
    task, an empty one: it is not paid."""
    pay = "What a task pays stands beside it before you begin."
    if reward is not None:
        pay = f"It pays {reward} if it is approved." if reward else "It is not paid."
    whose = "ID" if crowd.by_link else "name"
    deletion = f", or to have your {whose} deleted" if crowd.forgets else ""
    return [
        "Taking part is voluntary, and you can stop at any time. By starting a task, you agree "
        f"that your answers are used for research and published as said here. {pay}",
        "These are recorded and seen by the campaign's managers: your answers, the time per item, "
        "changed answers, the total active time, your reports, when you began and submitted, and "
        f"{crowd.kept.format(panel=panel)}. So is what was decided on your work, paid, and written "
        "to you. For an hour, a code made from your network address guards against misuse. Nothing "
        "else is recorded.",
        "They are kept as long as the campaign. A published dataset keeps answers permanently, "
        "under a random name and never with your name or ID.",
        whom_to_write_to(crowd, "To ask what is kept of you" + deletion),
    ]


def whom_to_write_to(crowd: CrowdTraits, why: str = "If you think this is a mistake") -> str:
    contact = settings.CONTACT
    if not contact:
        return f"{why}, {crowd.contact}."
    if " " in contact:  # a sentence
        return f"{why}: {contact}"
    return f"{why}, write to {contact}."
