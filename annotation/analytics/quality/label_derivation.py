"""One triplet: what was voted on it, and how its label follows from that."""

from dataclasses import dataclass

from annotation.models import Campaign, Exclusion, Judgment, Posterior, Triplet
from annotation.pipeline.labelling.label import claims_of
from annotation.pipeline.labelling.votes import NO_EXPERTS, cannot_judge_counts, deciding_experts
from annotation.protocol.labels.derivation import Evidence, derive_label
from annotation.protocol.labels.majority import Label
from annotation.protocol.labels.valid_votes import void_reason
from annotation.protocol.policy.policy import Policy
from core.text.words import plural


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
    """How the label follows from the votes and from experts, in sentences."""
    valid = [vote.judgment.value for vote in votes if not vote.void]
    yes = sum(valid)
    experts = deciding_experts(campaign, [triplet.pk]).get(triplet.pk, NO_EXPERTS)
    cannot = cannot_judge_counts(campaign, [triplet.pk]).get(triplet.pk, 0)
    claims, posterior = claims_of(campaign), Posterior.objects.filter(triplet=triplet).first()
    log_odds = posterior.log_odds if posterior else None
    by_model = claims.said(log_odds), claims.is_sure(log_odds, campaign.policy)
    evidence = Evidence(len(valid), yes, triplet.imported_label, *experts, cannot, *by_model)
    sentences = [f"{len(valid)} of {len(votes)} votes count: {yes} Yes, {len(valid) - yes} No."]
    if cannot:
        sentences.append(f"{plural(cannot, 'annotator')} can't judge it: that is no vote.")
    if experts.yes == experts.no > 0:
        sentences.append("The experts who adjudicated it are evenly split, so they decide nothing.")
    sentences.append(_how(derive_label(evidence, campaign.policy), evidence, campaign.policy))
    if (chance := claims.shown(log_odds)) is not None:
        sentences.append(f"The chance of a Yes is {chance:.0%}.")
    stored = triplet.votes, triplet.positive_votes, triplet.cannot_judge
    if stored != (len(valid), yes, cannot):
        sentences.append("The stored label is older than these votes. The next pass updates it.")
    return sentences


def _how(label: Label, evidence: Evidence, policy: Policy) -> str:
    value = "Yes" if label.value else "No"
    if label.source == "expert":
        yes, no = evidence.experts_yes, evidence.experts_no
        return f"Experts adjudicated it, {yes} Yes and {no} No: the label is {value}."
    if label.source == "majority":
        return f"The strict majority makes the label {value}."
    if label.source == "aggregator":
        ranks = ", and the rank has a say" if policy.rank_prior else ""
        how = f"Votes count as their workers do on controls{ranks}"
        return f"{how}, which makes the label {value}."
    if label.source == "import":
        return f"There is no majority, so the triplet keeps its imported label: {value}."
    if label.status == "unresolved":
        unless = " until an expert decides it" if policy.adjudication == "decide" else ""
        after = f"after the maximum of {policy.max_votes} votes"
        if evidence.votes < policy.max_votes:
            after = f"and {evidence.cannot_judge} annotators can't judge it"
        return f"There is no majority {after}. Releases exclude this triplet{unless}."
    verb = "vote is" if label.wanted == 1 else "votes are"
    lacking = "The label is not as sure as wanted" if policy.is_adaptive else "There is no majority"
    return f"{lacking} yet: {label.wanted} more {verb} needed."
