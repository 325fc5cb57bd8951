"""Whether the experts' labels are on triplets that the campaign has, and what they decide."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from annotation.protocol.labels.derivation import Evidence, derive_label
from annotation.protocol.labels.majority import Label
from annotation.protocol.policy.policy import Policy
from exports.layout.files import GOLD
from exports.statistics.claims import NO_CLAIM, ByTriplet, Claim, read_claims
from exports.statistics.splits import AGGREGATOR
from exports.verify.facts import Facts
from exports.verify.findings import Findings, quote
from exports.verify.schemas import gold_schema, read_lines
from retrieval.ranking.records import CandidateRecord


@dataclass
class CheckedGold:
    policy: Policy
    # What the aggregator says; None: nothing shows that, and what is stated is taken for it.
    claims: ByTriplet | None = field(default_factory=dict)
    labels: int = 0
    # Query -> candidate -> the labels that experts gave it by adjudication, where that decides.
    deciding: dict[str, dict[str, list[int]]] = field(default_factory=lambda: defaultdict(dict))

    def label_of(
        self,
        query: str,
        candidate: str,
        *,
        votes: int,
        yes: int,
        imported: int | None = None,
        stated: CandidateRecord | None = None,
    ) -> Label:
        given = self._of(query).get(candidate, [])
        claim = self.claim_on(query, candidate, stated)
        evidence = Evidence(
            votes,
            yes,
            imported,
            sum(given),
            len(given) - sum(given),
            said=claim.said,
            is_sure=claim.is_sure,
        )
        return derive_label(evidence, self.policy)

    def claim_on(self, query: str, candidate: str, stated: CandidateRecord | None) -> Claim:
        if self.claims is None and stated is not None:
            by_aggregator = stated.label_source == AGGREGATOR
            said = stated.label if by_aggregator else stated.overruled
            return Claim(said, True, stated.posterior)
        return (self.claims or {}).get((query, candidate), NO_CLAIM)

    def decided(self, query: str) -> set[str]:
        """Candidates whose labels experts made."""
        return {one for one, said in self._of(query).items() if 2 * sum(said) != len(said)}

    def _of(self, query: str) -> Mapping[str, list[int]]:
        return self.deciding.get(query, {})


def check_gold(
    folder: Path, queries: Collection[str], facts: Facts, findings: Findings
) -> CheckedGold:
    decides = facts.policy.adjudication == "decide"
    claims: ByTriplet | None = {}
    if facts.aggregated:
        claims = read_claims(folder, facts.campaign) if facts.judgments else None
    gold, seen = CheckedGold(facts.policy, claims), set()
    for number, _, row in read_lines(folder / GOLD, gold_schema(decides=decides), findings):
        where = f"{GOLD}, line {number}"
        query, candidate = row["query_id"], row["candidate_id"]
        if query not in queries:
            findings.differ(GOLD, f"{where}: no query of the campaign: {quote(query)}")
        if (query, candidate, row["expert"]) in seen:
            findings.differ(GOLD, f"{where}: the expert labelled that triplet twice")
        if decides and row["source"] == "adjudication" and not row["adjudicated"]:
            findings.differ(GOLD, f"{where}: came by adjudication, but adjudicated is false")
        if decides and row["adjudicated"]:
            gold.deciding[query].setdefault(candidate, []).append(row["label"])
        seen.add((query, candidate, row["expert"]))
    gold.labels = len(seen)
    return gold
