"""What forecasts are made from: counted now, or as last counted where that would take long.

A page is read by somebody who waits; what was counted before comes with its time.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime

from annotation.analytics.campaign.status import Blocker, Shortage, campaign_status
from annotation.models import Campaign, Instructions, OutboxMessage, Snapshot
from annotation.pipeline.ledger.reservations import account_of
from annotation.pipeline.publishing.outlook import Outlook, Prolonging, outlook
from annotation.pipeline.setup.instructions import hits_of_versions

MANY_HITS = 1000  # so many are counted while a reader waits


@dataclass(frozen=True)
class KnownOutlook:
    outlook: Outlook
    at: datetime | None  # None: now

    @property
    def note(self) -> list[str]:
        return [] if self.at is None else [_note(self.at)]

    @property
    def facts(self) -> dict[str, object]:
        """For the log."""
        counted = {} if self.at is None else {"counted_at": self.at.isoformat()}
        return {**asdict(self.outlook), **counted}


@dataclass(frozen=True)
class KnownProlonging:
    """Of all HITs that lack votes, however late they end: so many at most."""

    prolonging: Prolonging
    at: datetime

    @property
    def note(self) -> str:
        return _note(self.at)


@dataclass(frozen=True)
class KnownHits:
    """By the version of the instructions that they show; versions without any are left out."""

    hits: Mapping[str, int]
    at: datetime | None  # None: now

    @property
    def note(self) -> str:
        return "" if self.at is None else _note(self.at)

    def of(self, version: Instructions) -> int | None:
        """None: it was saved since the count."""
        known = self.hits.get(str(version.version))
        if known is not None or self.at is None:
            return known or 0
        return None if version.created_at and version.created_at > self.at else 0


def known_outlook(campaign: Campaign) -> KnownOutlook:
    last = _counted(campaign)
    if last is None:
        return KnownOutlook(outlook(campaign), None)
    counted = Outlook(**last.figures["outlook"])
    available = account_of(campaign).available_cents
    return KnownOutlook(replace(counted, available_cents=available), last.at)


def known_prolonging(campaign: Campaign) -> KnownProlonging | None:
    """None where it can be found out now."""
    last = _counted(campaign)
    if last is None:
        return None
    return KnownProlonging(Prolonging(**last.figures["prolonging"]), last.at)


def known_failures(campaign: Campaign) -> tuple[int, list[str]]:
    """Calls that the crowd has refused, and when that was counted."""
    last = _counted(campaign)
    if last is None:
        return campaign.outbox.filter(state=OutboxMessage.State.FAILED).count(), []
    return last.figures["messages_failed"], [_note(last.at)]


def known_hits_of_versions(campaign: Campaign) -> KnownHits:
    last = _counted(campaign)
    if last is None:
        return KnownHits(hits_of_versions(campaign), None)
    return KnownHits(last.figures["hits_of_versions"], last.at)


def status_of(campaign: Campaign) -> Blocker:
    """Now; what waits for a higher budget as it was counted."""
    last = _counted(campaign)
    short = last.figures["shortage"] if last else None
    return campaign_status(campaign, Shortage(**short) if short else None)


def _counted(campaign: Campaign) -> Snapshot | None:
    if not campaign.hits.filter(number__gt=MANY_HITS).exists():
        return None
    last = campaign.snapshots.order_by("-at", "-pk").first()
    return last if last and "hits_of_versions" in last.figures else None


def _note(at: datetime) -> str:
    return f"These figures are as counted at {at:%Y-%m-%d %H:%M} UTC."
