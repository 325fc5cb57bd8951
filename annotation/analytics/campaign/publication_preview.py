"""Publishing: what it costs, where the work goes, and whether the money is real."""

from dataclasses import dataclass

from django.conf import settings
from django.urls import reverse

from annotation.analytics.campaign.milestones import Milestones, milestones_of
from annotation.analytics.quality.campaign_leak import leak_warning
from annotation.crowd.factory import site_of
from annotation.crowd.port import CrowdSite
from annotation.models import Campaign
from annotation.pipeline.ledger.pay import underpaid
from annotation.pipeline.ledger.reservations import first_round_cents, within
from annotation.pipeline.publishing.crowd_setup import check_place
from annotation.pipeline.publishing.lifecycle import check_prolongable
from annotation.pipeline.publishing.takers import too_small_a_team
from annotation.protocol.estimates.cost import assignment_cents, is_free
from core.errors import UserError
from core.text.money import money


@dataclass(frozen=True)
class Publication:
    """So many HITs in all, and what they come to; read-only."""

    so_far: Milestones
    crowd: CrowdSite
    first: int | None  # None: all of them

    @property
    def new(self) -> int:
        return (self.so_far.hits if self.first is None else self.first) - self.so_far.asked

    @property
    def new_words(self) -> str:
        return f"{self.new:,}"

    @property
    def reached(self) -> int:
        """Of the new ones, those that the budget reaches."""
        return within(
            self.so_far.account, self.new, cents=first_round_cents(self.so_far.campaign.policy)
        )

    @property
    def cents(self) -> int:
        policy = self.so_far.campaign.policy
        return self.new * policy.annotators * assignment_cents(policy)

    @property
    def reserved_cents(self) -> int:
        return self.new * first_round_cents(self.so_far.campaign.policy)

    def arguments(self) -> dict[str, object]:
        """Of the work; it goes to the endpoint that was confirmed, or nowhere."""
        first = {} if self.first is None else {"first": self.first}
        return {**first, "endpoint": self.crowd.endpoint}

    def details(self) -> dict[str, object]:
        return {"hits": self.new, "first_round_cents": self.cents}

    def sentences(self) -> list[str]:
        of = f" of the {self.so_far.hits:,}" if self.new < self.so_far.hits else ""
        plural = "s" if of or self.new > 1 else ""
        verb = "goes" if self.new == 1 else "go"
        return [
            f"{self.new:,}{of} HIT{plural} of {self.so_far.campaign} {verb} to {self._where()}.",
            *self._price(),
            self._afterwards(),
            *self.so_far.corpus.sentences(),
            *self._warnings(),
        ]

    def _warnings(self) -> list[str]:
        campaign = self.so_far.campaign
        warnings = too_small_a_team(campaign.policy, campaign), leak_warning(campaign)
        return [*(warning for warning in warnings if warning), *underpaid(campaign)]

    def _where(self) -> str:
        at = self.crowd.endpoint
        if self.crowd.is_local:
            at = f"{settings.PUBLIC_URL}{reverse('work')}"
        return f"the {self.so_far.campaign.policy.crowd_traits.people} at {at}"

    def _price(self) -> list[str]:
        so_far, policy = self.so_far, self.so_far.campaign.policy
        if is_free(policy):
            return []
        if self.reached < self.new:
            left = f"reaches {self.reached:,} of them: the others follow when it is raised"
        else:
            left = "reaches all of them"
        has_ties = self.reserved_cents > self.cents
        tie = ", an assignment for the tie of each HIT included" if has_ties else ""
        return [
            f"Their first round costs {money(self.cents)}; {money(self.reserved_cents)} is "
            f"reserved{tie}.",
            f"The budget has {so_far.left} left, which {left}.",
        ]

    def _afterwards(self) -> str:
        rest = self.so_far.hits - self.so_far.asked - self.new
        if not rest:
            return "This publishes the whole first round."
        return f"The rest, {rest:,}, waits until you publish it. No pass publishes it."

    @property
    def money(self) -> str:
        """Whose money it is."""
        return "" if is_free(self.so_far.campaign.policy) else self.crowd.money


def publication_of(campaign: Campaign, first: int | None) -> Publication:
    """So many HITs in all; None for all of them. UserError where it cannot be published now."""
    so_far = milestones_of(campaign)
    if not so_far.hits:
        raise UserError(f"Campaign {campaign} has no HITs yet: pack them first.")
    check_prolongable(campaign)
    if not so_far.rest:
        raise UserError(
            f"All {so_far.hits:,} HITs of {campaign} are asked for, as far as its budget reaches."
        )
    if first is not None:
        _check_batch(so_far, first)
    if first_round_cents(campaign.policy) and not so_far.account.budget_cents:
        raise UserError(f"Campaign {campaign} has no budget yet: set what it may cost at most.")
    crowd = site_of(campaign.policy.crowd)
    check_place(campaign, crowd.endpoint)
    return Publication(so_far, crowd, None if first == so_far.hits else first)


def _check_batch(so_far: Milestones, first: int) -> None:
    if not 1 <= first <= so_far.hits:
        raise UserError(f"A batch has 1 to {so_far.hits:,} HITs: give a number of these.")
    if first <= so_far.asked:
        raise UserError(
            f"{so_far.asked:,} HITs of {so_far.campaign} are asked for already: a further batch "
            "counts those too, and takes more."
        )
