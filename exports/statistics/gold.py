"""Experts' labels in a release: see annotation.protocol.labels.label_error."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from annotation.protocol.labels.expert_agreement import ExpertFigures
from annotation.protocol.labels.label_error import Verdict, label_error, pair_agreement

# Triplets that were adjudicated are no random sample.
CHOSEN_WITHOUT_LOOKING = ("import", "sample")

TripletKey = tuple[str, str]  # query, candidate


@dataclass
class Said:
    """How many experts said yes and no of a triplet; `sampled_*` without looking."""

    yes: int = 0
    no: int = 0
    sampled_yes: int = 0
    sampled_no: int = 0


@dataclass
class Gold:
    """What experts said, and, as it is found in the other files, what the crowd made of it."""

    said: dict[TripletKey, Said]
    labels: dict[TripletKey, int] = field(default_factory=dict)  # the released ones
    unresolved: set[TripletKey] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.queries = {query for query, _ in self.said}

    def figures(self, unresolved: int) -> ExpertFigures:
        """`unresolved`: how many triplets of the campaign are."""
        said = self.said.values()
        # A label that was imported stands where the votes make none.
        adjudicated = len(self.unresolved - self.labels.keys())
        return ExpertFigures(
            labels=sum(each.yes + each.no for each in said),
            triplets=len(said),
            unresolved_adjudicated=adjudicated / unresolved if unresolved else None,
            agreement=pair_agreement((each.yes, each.no) for each in said),
            label_error=label_error(
                Verdict(label, self.said[key].sampled_yes, self.said[key].sampled_no)
                for key, label in self.labels.items()
            ),
        )


def read_gold(path: Path) -> Gold:
    said: defaultdict[TripletKey, Said] = defaultdict(Said)
    with path.open("rb") as file:
        for row in map(orjson.loads, file):
            each = said[row["query_id"], row["candidate_id"]]
            # Blind: what was said before the votes were shown.
            blind = row["label"] if row["blind_label"] is None else row["blind_label"]
            sampled = row["source"] in CHOSEN_WITHOUT_LOOKING
            each.yes += blind == 1
            each.no += blind == 0
            each.sampled_yes += sampled and blind == 1
            each.sampled_no += sampled and blind == 0
    return Gold(dict(said))
