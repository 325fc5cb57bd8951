"""What a triplet's label follows from: experts who adjudicated it, votes, or an imported label.

1. Where the policy lets adjudication decide, the strict majority of the experts who adjudicated
   the triplet is its label, whatever the votes say. Experts who are evenly split decide nothing.
2. Else the strict majority of the valid votes is; or, where the policy has an aggregator, what
   that says once no more votes are wanted.
3. Else a label that came with the dataset stands.
4. Else it is open, or unresolved: after the most votes there may be, or after as many answers
   "Can't judge" as the policy allows.

Labels that experts imported, or gave blind to the random sample, measure and never decide.
"""

from __future__ import annotations

from typing import NamedTuple

from annotation.protocol.labels.majority import Label, LabelSource, decide_tally, votes_wanted
from annotation.protocol.policy.policy import Policy


class Evidence(NamedTuple):
    votes: int  # valid ones
    positive: int
    imported: int | None = None
    experts_yes: int = 0  # of those who adjudicated it
    experts_no: int = 0
    cannot_judge: int = 0  # valid work that says so of it: no vote
    # By the aggregator, where that is not the majority or decides what is asked for.
    said: int | None = None  # the label; None: nothing decides
    is_sure: bool = False  # as much as the policy wants


def derive_label(evidence: Evidence, policy: Policy) -> Label:
    yes, no = evidence.experts_yes, evidence.experts_no
    if policy.adjudication == "decide" and yes != no:
        return Label(int(yes > no), "labelled", 0, "expert")
    label = _by_votes(evidence, policy)
    if label.value is None and evidence.imported is not None:
        return Label(evidence.imported, "labelled", 0, "import")
    return label


def _by_votes(evidence: Evidence, policy: Policy) -> Label:
    label = decide_tally(evidence.votes, evidence.positive, policy, evidence.cannot_judge)
    if policy.aggregation == "majority" or evidence.votes < policy.annotators:
        return label
    is_over = evidence.is_sure or evidence.votes >= policy.max_votes
    is_called = 0 < policy.cannot_judge_limit <= evidence.cannot_judge
    if policy.is_adaptive and not is_over:
        if is_called:
            return Label(None, "unresolved", 0)
        return Label(None, "open", votes_wanted(evidence.votes, policy))
    if evidence.said is None or (label.value is None and not is_over):
        return label
    return Label(evidence.said, "labelled", 0, "aggregator")


def label_before_experts(
    label: int | None,
    source: LabelSource | str | None,
    votes: int,
    positive: int,
    policy: Policy,
    said: int | None = None,
) -> int | None:
    """What the label error is about: where an expert decided, the label that the votes make.

    `said`: of these votes, by the aggregator.
    """
    if source != "expert":
        return label
    return decide_tally(votes, positive, policy).value if said is None else said
