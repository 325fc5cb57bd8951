"""The next version of a campaign's instructions."""

from dataclasses import asdict

from annotation.access.audit_log import Actor, logged
from annotation.models import Campaign
from annotation.pipeline.setup.instructions import Added, add_version


def save_instructions(
    by: Actor, campaign: Campaign, text: str, *, based_on: int | None = None
) -> Added:
    author = by.name if by.user else ""
    with logged(by, "instructions", campaign) as entry:
        added = add_version(campaign, text, author=author, based_on=based_on)
        entry.details |= asdict(added)
    return added
