"""What the experts said of each triplet, from a release's gold.jsonl."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import orjson

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
    def measure(self) -> bool:
        return bool(self.sampled_yes or self.sampled_no)

    @property
    def decide(self) -> bool:
        return self.deciding_yes != self.deciding_no


def read_expert_votes(path: Path, *, decides: bool) -> dict[TripletKey, ExpertVotes]:
    """`decides`: whether adjudication does."""
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
    return dict(votes)
