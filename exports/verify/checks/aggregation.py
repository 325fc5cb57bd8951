"""Whether the aggregator is the one that controls choose, and its map to chances the audit's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from annotation.protocol.aggregation.fit import fit
from annotation.protocol.aggregation.table import UNKNOWN
from exports.layout.expert_votes import ExpertVotes, TripletKey, read_expert_votes
from exports.layout.files import CAMPAIGN, GOLD
from exports.statistics.claims import crowd_votes
from exports.verify.facts import Facts
from exports.verify.findings import Findings, quote
from exports.verify.rebuild.text_tolerance import NUMBER

# Other versions of the libraries end their search a little elsewhere, or round it otherwise.
NEAR = 0.0011

Experts = Mapping[TripletKey, ExpertVotes]


def check_aggregation(folder: Path, facts: Facts, findings: Findings) -> None:
    """Of each crowd, by its judgments, its controls, and the experts' blind labels."""
    experts = read_expert_votes(folder / GOLD, decides=False)
    for place, stated in enumerate(facts.campaign.get("aggregation", ())):
        made = _made(folder, facts, place, experts)
        findings.checked += len(made)
        for name, value in made.items():
            if name in stated and not _same(stated[name], value):
                by_files = "by the votes, controls and experts' labels"
                findings.differ(
                    CAMPAIGN,
                    f"{CAMPAIGN}: {name} {quote(stated[name])}, {by_files} {quote(value)}",
                )


def _made(folder: Path, facts: Facts, crowd: int, experts: Experts) -> dict[str, Any]:
    decides = facts.policy.adjudication == "decide"
    table, triplets, ranks = crowd_votes(folder, facts.campaign, crowd)
    said = [experts.get(one, ExpertVotes()) for one in triplets]
    audit = [_majority(one.sampled_yes, one.sampled_no) for one in said]
    # What measures labels may not choose how they are made.
    others = [UNKNOWN if one.measure or decides else _majority(one.yes, one.no) for one in said]
    return fit(table, np.array(audit, np.int64), np.array(others, np.int64), ranks).facts()


def _majority(yes: int, no: int) -> int:
    return UNKNOWN if yes == no else int(yes > no)


def _same(stated: Any, made: Any) -> bool:
    """Texts: the same words, and numbers as near."""
    if isinstance(made, float):
        return bool(abs(stated - made) <= NEAR)
    if isinstance(made, str):
        if NUMBER.sub("", stated) != NUMBER.sub("", made):
            return False
        pairs = zip(NUMBER.findall(stated), NUMBER.findall(made), strict=True)
        return all(abs(float(one) - float(other)) <= NEAR for one, other in pairs)
    return bool(stated == made)
