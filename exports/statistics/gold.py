"""Experts' labels in a release: see annotation.protocol.labels.label_error."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from annotation.protocol.estimates.certificate import CONFIDENCE, Certificate
from annotation.protocol.estimates.label_audit import Audit, Pattern
from annotation.protocol.labels.derivation import label_before_experts
from annotation.protocol.labels.expert_agreement import ExpertFigures
from annotation.protocol.labels.label_error import Verdict, pair_agreement
from annotation.protocol.policy.policy import Policy
from exports.layout.expert_votes import ExpertVotes, TripletKey, read_expert_votes
from retrieval.ranking.records import CandidateRecord


def certificate_figures(certificate: Certificate) -> dict[str, object]:
    return {
        "error": certificate.error,
        "confidence": CONFIDENCE,
        "holds": certificate.holds,
        "labels": certificate.labels,
        "decided_by_experts": certificate.labels - certificate.rest,
        "judged_at_random": certificate.judged,
        "wrong": certificate.wrong,
        "evidence": round(certificate.evidence, 2),
    }


@dataclass
class Gold:
    """The experts' votes, and the crowd's labels of the same triplets from the other files."""

    policy: Policy
    votes: dict[TripletKey, ExpertVotes]
    audit: Audit = field(default_factory=Audit)  # of the released labels
    labelled: set[TripletKey] = field(default_factory=set)  # of the triplets with votes
    unresolved: set[TripletKey] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.queries = {query for query, _ in self.votes}

    def add(self, query: str, candidate: CandidateRecord) -> None:
        """A released label, as it was before experts decided."""
        yes, no, source = candidate.yes, candidate.no, candidate.label_source
        label = label_before_experts(
            candidate.label, source, yes + no, yes, self.policy, candidate.overruled
        )
        pattern = None if label is None else Pattern(label, yes, no)
        self.audit.add(pattern, decided=source == "expert")
        if votes := self.votes.get((query, candidate.id)):
            self.labelled.add((query, candidate.id))
            if pattern:
                verdict = Verdict(pattern.label, votes.sampled_yes, votes.sampled_no)
                self.audit.judge(pattern, verdict)

    def figures(self, unresolved: int) -> ExpertFigures:
        """`unresolved`: how many triplets of the campaign are."""
        votes = self.votes.values()
        # A label that was imported stands where the votes make none.
        adjudicated = len(self.unresolved - self.labelled)
        return ExpertFigures(
            labels=sum(each.yes + each.no for each in votes),
            triplets=len(votes),
            unresolved_adjudicated=adjudicated / unresolved if unresolved else None,
            agreement=pair_agreement((each.yes, each.no) for each in votes),
            label_error=self.audit.error(),
        )


def read_gold(path: Path, policy: Policy) -> Gold:
    return Gold(policy, read_expert_votes(path, decides=policy.adjudication == "decide"))
