"""What the crowd is told of a campaign's HITs: their title, their price, and who may take them."""

from collections.abc import Sequence

from annotation.crowd.port import HitTypeSpec
from annotation.protocol.policy.policy import Policy


def hit_type(
    policy: Policy,
    exclusion_id: str,
    *,
    qualified_id: str = "",
    known_id: str = "",
    excluded_workers: Sequence[int] = (),
) -> HitTypeSpec:
    """With `known_id`: for workers who hold it, save those whose numbers are excluded."""
    return HitTypeSpec(
        title=policy.title,
        description=policy.description,
        keywords=policy.keywords,
        reward_cents=policy.reward_cents,
        assignment_seconds=policy.assignment_minutes * 60,
        auto_approval_seconds=policy.auto_approval_days * 86400,
        masters=policy.masters,
        min_approval_percent=policy.min_approval_percent,
        min_approved=policy.min_approved,
        exclusion_id=exclusion_id or None,
        known_id=known_id or None,
        excluded_workers=tuple(excluded_workers),
        qualified_id=qualified_id or None,
    )
