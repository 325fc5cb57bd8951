"""Experts' labels in a release: see annotation.protocol.labels.label_error."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from annotation.protocol.labels.expert_agreement import ExpertFigures
from annotation.protocol.labels.label_error import Verdict, label_error, pair_agreement
from annotation.protocol.policy.policy import Policy

# Triplets that were adjudicated are no random sample.
CHOSEN_WITHOUT_LOOKING = ("import", "sample")

TripletKey = tuple[str, str]  # query, candidate


@dataclass
class ExpertVotes:
    """How many experts said yes and no of a triplet.

    `sampled_*` without looking; `deciding_*` by adjudication, where that decides.
    """

    yes: int = 0
    no: int = 0
    sampled_yes: int = 0
    sampled_no: int = 0
    deciding_yes: int = 0
    deciding_no: int = 0

    @property
    def decide(self) -> bool:
        return self.deciding_yes != self.deciding_no


@dataclass
class Gold:
    """The experts' votes, and the crowd's labels of the same triplets from the other files."""

    policy: Policy
    votes: dict[TripletKey, ExpertVotes]
    # Of the released ones, before experts decided; None: they alone made it.
    labels: dict[TripletKey, int | None] = field(default_factory=dict)
    unresolved: set[TripletKey] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.queries = {query for query, _ in self.votes}

    def figures(self, unresolved: int) -> ExpertFigures:
        """`unresolved`: how many triplets of the campaign are."""
        votes = self.votes.values()
        # A label that was imported stands where the votes make none.
        adjudicated = len(self.unresolved - self.labels.keys())
        return ExpertFigures(
            labels=sum(each.yes + each.no for each in votes),
            triplets=len(votes),
            unresolved_adjudicated=adjudicated / unresolved if unresolved else None,
            agreement=pair_agreement((each.yes, each.no) for each in votes),
            label_error=label_error(
                Verdict(label, self.votes[key].sampled_yes, self.votes[key].sampled_no)
                for key, label in self.labels.items()
                if label is not None
            ),
        )


def read_gold(path: Path, policy: Policy) -> Gold:
    decides = policy.adjudication == "decide"
    votes: defaultdict[TripletKey, ExpertVotes] = defaultdict(ExpertVotes)
    with path.open("rb") as file:
        for row in map(orjson.loads, file):
            each = votes[row["query_id"], row["candidate_id"]]
            # Blind: what was said before the votes were shown.
            blind = row["label"] if row["blind_label"] is None else row["blind_label"]
            sampled = row["source"] in CHOSEN_WITHOUT_LOOKING
            each.yes += blind == 1
            each.no += blind == 0
            each.sampled_yes += sampled and blind == 1
            each.sampled_no += sampled and blind == 0
            adjudicated = decides and row["adjudicated"]
            each.deciding_yes += adjudicated and row["label"] == 1
            each.deciding_no += adjudicated and row["label"] == 0
    return Gold(policy, dict(votes))
