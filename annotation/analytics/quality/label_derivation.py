"""One triplet: what was voted on it, and how its label follows from that."""

from dataclasses import dataclass

from annotation.models import Campaign, Exclusion, Judgment, Triplet
from annotation.protocol.labels.majority import decide_tally
from annotation.protocol.labels.valid_votes import void_reason


@dataclass(frozen=True)
class Vote:
    judgment: Judgment
    void: str  # why it does not count; empty: it does


def votes_on(campaign: Campaign, triplet: Triplet) -> list[Vote]:
    rows = Judgment.objects.filter(triplet=triplet).select_related("assignment__hit", "worker")
    given = list(rows.order_by("assignment__submitted_at", "pk"))
    voters = Exclusion.in_force(campaign).filter(
        worker__in=[judgment.worker_id for judgment in given]
    )
    excluded = set(voters.values_list("worker_id", flat=True))
    return [Vote(one, void_reason(one.assignment.facts(excluded)) or "") for one in given]


def derivation(campaign: Campaign, triplet: Triplet, votes: list[Vote]) -> list[str]:
    """How the label follows from the votes, in sentences."""
    valid = [vote.judgment.value for vote in votes if not vote.void]
    yes, no = sum(valid), len(valid) - sum(valid)
    policy = campaign.policy
    found = [f"{len(valid)} of {len(votes)} votes count: {yes} Yes, {no} No."]
    decision = decide_tally(len(valid), yes, policy)
    if decision.status == "labelled":
        found.append(f"The strict majority makes the label {'Yes' if decision.value else 'No'}.")
    elif triplet.imported_label is not None:
        label = "Yes" if triplet.imported_label else "No"
        found.append(f"There is no majority, so the triplet keeps its imported label: {label}.")
    elif decision.status == "unresolved" or triplet.status == Triplet.Status.UNRESOLVED:
        found.append(
            f"There is no majority after the maximum of {policy.max_votes} votes. "
            "Releases exclude this triplet."
        )
    else:
        found.append(
            f"There is no majority yet: {decision.wanted} more "
            f"{'vote is' if decision.wanted == 1 else 'votes are'} needed."
        )
    if (triplet.votes, triplet.positive_votes) != (len(valid), yes):
        found.append("The stored label is older than these votes. The next pass updates it.")
    return found
