"""Whether campaign.json and release.json agree with themselves and with the files beside them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotation.protocol.policy.policy import Policy, PolicyError, policy_digest
from exports.layout.files import (
    CAMPAIGN,
    IMPORTED,
    MANIFEST,
    RELEASE,
    WITH_CANDIDATES,
    annotators_tables,
)
from exports.layout.manifest import ERRORS, PRIOR, is_aggregated, tells_sources, version_of
from exports.layout.schemas import RecordColumn, extra_columns
from exports.verify.findings import Findings
from exports.verify.schemas import CAMPAIGN_SCHEMA, RELEASE_SCHEMA, read_object

PARTS = ("labelled", "open", "unresolved")
COUNTED = ("triplets", *PARTS)
INSTRUCTIONS = "instructions/"


@dataclass(frozen=True)
class Facts:
    policy: Policy
    campaign: Mapping[str, Any]
    release: Mapping[str, Any]

    @property
    def imported(self) -> bool:
        """Imported labels stand where no votes make one."""
        return bool(self.campaign["queries"]["origin"] == IMPORTED)

    @property
    def _brought(self) -> bool:
        return self.campaign["queries"]["origin"] in WITH_CANDIDATES

    @property
    def wanted(self) -> int | None:
        """Candidates of a complete query; None: any number."""
        return None if self._brought else self.policy.candidates_per_query

    @property
    def crowds(self) -> Sequence[Mapping[str, Any]]:
        """Those that judged, each other queries; none where one judged all."""
        crowds: Sequence[Mapping[str, Any]] = self.campaign.get("crowds", ())
        return crowds

    @property
    def retrievers(self) -> Sequence[str]:
        """Those that pooled the candidates; none where the dense one alone found them."""
        names: Sequence[str] = self.campaign["queries"].get("retrievers", ())
        return names

    @property
    def sourced(self) -> bool:
        return tells_sources(self.campaign)

    @property
    def aggregated(self) -> bool:
        return is_aggregated(self.campaign)

    @property
    def tells_choice(self) -> bool:
        """Of the aggregator: what it was made by. The oldest do not."""
        return all("known" in each for each in self.campaign.get("aggregation", ()))

    @property
    def tells_errors(self) -> bool:
        """Of the map from claims to chances. The older ones do not."""
        return all(name in each for each in self.campaign.get("aggregation", ()) for name in ERRORS)

    @property
    def extra(self) -> Sequence[RecordColumn]:
        return extra_columns(self.campaign)

    @property
    def judgments(self) -> bool:
        return bool(self.release["options"]["judgments"])

    @property
    def controls(self) -> Mapping[str, int]:
        """At least so many of each kind in every HIT."""
        return {
            "positive": self.policy.positive_controls,
            "negative": self.policy.negative_controls,
        }

    @property
    def jaccard(self) -> float:
        """From which on two queries' words are near."""
        return float(self.release["nearness"]["jaccard"])

    @property
    def by_meaning(self) -> bool:
        """Whether embeddings had a say in what is near."""
        return bool(self.release["nearness"]["vectors"])

    @property
    def at_random(self) -> bool:
        return bool(self.release["options"]["split"] == "random")


def check_facts(
    folder: Path, manifest: Mapping[str, Any], sound: set[str], findings: Findings
) -> Facts | None:
    """None where too little of them can be read for anything else to be checked by them."""
    campaign = release = None
    if CAMPAIGN in sound:
        campaign = read_object(folder / CAMPAIGN, CAMPAIGN_SCHEMA, findings)
    if RELEASE in sound:
        release = read_object(folder / RELEASE, RELEASE_SCHEMA, findings)
    if campaign is None or release is None:
        return None
    _check_names(manifest, campaign, release, findings)
    _check_previous(release, findings)
    _check_instructions(folder, campaign, sound, findings)
    policy = read_policy(campaign, findings)
    if policy is None:
        return None
    for stated in campaign.get("aggregation", ()):
        if where := _lacking(stated, policy):
            findings.damage(CAMPAIGN, f"{CAMPAIGN}: {where}")
            return None
    for name in annotators_tables(policy):
        if release["options"]["judgments"] != (name in manifest["files"]):
            findings.differ(
                RELEASE, f"{RELEASE}: options.judgments does not say whether there is a {name}"
            )
    return Facts(policy, campaign, release)


def _lacking(stated: Mapping[str, Any], policy: Policy) -> str:
    """Of an aggregator: what has to stand together and does not."""
    if any((name in stated) != policy.rank_prior for name in PRIOR):
        return f"{' and '.join(PRIOR)} are given where, and only where, rank_prior is true"
    if len({name in stated for name in ERRORS}) > 1:
        return f"{', '.join(ERRORS)} are given together or not at all"
    newer = ("known", *ERRORS)
    if policy.rank_prior and any(name not in stated for name in newer):
        return f"{', '.join(newer)} are given where rank_prior is true"
    return ""


def read_policy(
    campaign: Mapping[str, Any], findings: Findings, where: str = CAMPAIGN
) -> Policy | None:
    try:
        policy = Policy.from_dict(campaign["policy"])
    except (PolicyError, TypeError) as error:
        findings.differ(CAMPAIGN, f"{where}: policy: {error}")
        return None
    if policy_digest(campaign["policy"]) != campaign["policy_sha256"]:
        findings.differ(CAMPAIGN, f"{where}: policy_sha256 is not that of the policy")
    return policy


def _check_names(
    manifest: Mapping[str, Any],
    campaign: Mapping[str, Any],
    release: Mapping[str, Any],
    findings: Findings,
) -> None:
    for name in ("format", "format_version", "campaign", "number"):
        if release[name] != manifest[name]:
            findings.differ(RELEASE, f"{RELEASE}: {name} is not that of {MANIFEST}")
    if release["format_version"] != version_of(campaign):
        differing = f"format_version is not that of the retrievers and policy that {CAMPAIGN} names"
        findings.differ(RELEASE, f"{RELEASE}: {differing}")
    if campaign["campaign"] != manifest["campaign"]:
        findings.differ(CAMPAIGN, f"{CAMPAIGN}: campaign is not that of {MANIFEST}")
    if campaign["triplets"]["open"] and not release["options"]["partial"]:
        findings.differ(
            RELEASE, f"{RELEASE}: options.partial is false, but {CAMPAIGN} has open triplets"
        )


def _check_previous(release: Mapping[str, Any], findings: Findings) -> None:
    number, before = release["number"], release["previous"]
    if (before["number"] if before else 0) != number - 1:
        said = before["number"] if before else "none"
        findings.differ(RELEASE, f"{RELEASE}: number {number}, but the one before it is {said}")


def _check_instructions(
    folder: Path, campaign: Mapping[str, Any], sound: set[str], findings: Findings
) -> None:
    named = {each["file"] for each in campaign["instructions"]}
    for path in sorted(sound - named):
        if path.startswith(INSTRUCTIONS):
            findings.differ(CAMPAIGN, f"{path}: {CAMPAIGN} does not name these instructions")
    for each in campaign["instructions"]:
        name = each["file"]
        if name not in sound:
            findings.differ(CAMPAIGN, f"{CAMPAIGN}: names instructions that are not there: {name}")
        elif hashlib.sha256((folder / name).read_bytes()).hexdigest() != each["sha256"]:
            findings.differ(CAMPAIGN, f"{CAMPAIGN}: sha256 of {name} is not that of the file")


def check_counts(facts: Facts, figures: Mapping[str, Any], findings: Findings) -> None:
    """What the campaign says of itself against what its files say."""
    stated = {**facts.campaign["triplets"], "queries": facts.campaign["queries"]["total"]}
    for name in (*COUNTED, "queries"):
        counted = figures["campaign"][name]
        if stated[name] != counted:
            findings.differ(
                CAMPAIGN, f"{CAMPAIGN}: {name} {stated[name]}, by the other files {counted}"
            )
    excluded = facts.campaign["excluded_workers"]
    if len(set(excluded)) < len(excluded):
        findings.differ(CAMPAIGN, f"{CAMPAIGN}: excluded_workers names somebody twice")
    if sum(stated[name] for name in PARTS) != stated["triplets"]:
        findings.differ(CAMPAIGN, f"{CAMPAIGN}: {', '.join(PARTS)} do not sum to triplets")
    if facts.campaign["cost_cents"] != figures["campaign"]["cost_cents"]:
        findings.differ(
            CAMPAIGN,
            f"{CAMPAIGN}: cost_cents {facts.campaign['cost_cents']}, by the assignments and "
            f"bonus_cents + billed_cents {figures['campaign']['cost_cents']}",
        )
