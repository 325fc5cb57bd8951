"""What could not be judged: counted on its own, and never as a vote."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from annotation.protocol.labels.majority import decide_tally
from annotation.protocol.policy.policy import Policy
from exports.layout.expert_votes import TripletKey
from exports.layout.files import CANNOT_JUDGE
from exports.statistics.assignments import rows


@dataclass
class CannotJudge:
    offered: bool
    triplets: Counter[TripletKey] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)

    def figures(self) -> Mapping[str, Any]:
        """Nothing where the policy does not offer it."""
        if not self.offered:
            return {}
        figures = {
            "answers": self.triplets.total(),
            "triplets": len(self.triplets),
            "reasons": dict(sorted(self.reasons.items())),
        }
        return {"cannot_judge": figures}

    def sent_to_experts(self, policy: Policy) -> set[TripletKey]:
        """As many people can't judge them as end the asking, where votes make no majority."""
        return {
            key
            for key, count in self.triplets.items()
            if decide_tally(0, 0, policy, count).status == "unresolved"
        }


def read_cannot_judge(folder: Path, policy: Policy) -> CannotJudge:
    said = CannotJudge(offered=policy.cannot_judge_limit > 0)
    if said.offered:
        columns = ("query_id", "candidate_id", "reason")
        for query, candidate, reason in rows(folder / CANNOT_JUDGE, *columns):
            said.triplets[query, candidate] += 1
            said.reasons[reason] += 1
    return said
