"""How far a campaign is on its way, from its queries to the last HIT."""

from dataclasses import dataclass
from functools import cached_property

from annotation.analytics.campaign.corpus import CampaignCorpus, corpus_of
from annotation.analytics.campaign.cost_table import CostTable, cost_table
from annotation.models import Account, Campaign
from annotation.pipeline.ledger.reservations import account_of
from annotation.pipeline.publishing.pack import triplets_to_judge
from core.text.money import money
from retrieval.models import Job
from retrieval.ranking.fusion import IN_WORDS

KINDS = ("retrieve", "pack", "publish")
FIRST_BATCH = 20  # enough for a look, cheap enough to lose


@dataclass(frozen=True)
class Milestones:
    """How far a campaign is, said without a count over its triplets, HITs or votes."""

    campaign: Campaign
    account: Account
    job: Job | None  # the newest of these steps

    @cached_property
    def queries(self) -> int:
        """They are numbered from 1 on."""
        last = self.campaign.query_set.queries.order_by("-position")
        return last.values_list("position", flat=True).first() or 0

    @cached_property
    def hits(self) -> int:
        """Of the first round, which is packed at once; later ones come after it."""
        first_round = self.campaign.hits.filter(repack=False).order_by("-number")
        return first_round.values_list("number", flat=True).first() or 0

    @property
    def is_retrieved(self) -> bool:
        queries = self.campaign.query_set
        return queries.brings_candidates or queries.retrieved_with_id is not None

    @property
    def may_add_crowd(self) -> bool:
        """Of a study or a second crowd nobody may take queries away."""
        queries = self.campaign.query_set
        is_own = queries.part_of_id is None and queries.drawn_from_id is None
        return is_own and self.is_retrieved and not self.is_published

    @cached_property
    def costs(self) -> CostTable:
        policy = self.campaign.policy
        if self.campaign.query_set.brings_candidates:
            triplets = triplets_to_judge(self.campaign)
        else:
            triplets = self.queries * policy.candidates_per_query
        return cost_table(triplets, policy)

    @property
    def is_published(self) -> bool:
        return bool(self.campaign.endpoint)

    @property
    def asked(self) -> int:
        """HITs that are asked for, or are to be as soon as the budget reaches them."""
        if not self.is_published:
            return 0
        batch = self.campaign.first_batch
        return self.hits if batch is None else min(batch, self.hits)

    @property
    def rest(self) -> int:
        return self.hits - self.asked

    @property
    def next_batch(self) -> int:
        """What the page proposes: so many HITs in all."""
        return min(self.hits, 2 * self.asked if self.asked else FIRST_BATCH)

    @property
    def next_step(self) -> str:
        if not self.is_retrieved:
            return "retrieve"
        if not self.hits:
            return "pack"
        return "publish" if self.rest else "monitor"

    @property
    def counts(self) -> dict[str, str]:
        """For people."""
        counts = {
            "queries": self.queries,
            "hits": self.hits,
            "asked": self.asked,
            "rest": self.rest,
        }
        return {name: f"{count:,}" for name, count in counts.items()}

    @property
    def is_under_way(self) -> bool:
        """One of its steps is: the others wait."""
        return self.job is not None and not self.job.is_over

    @property
    def reward(self) -> str:
        return money(self.campaign.policy.reward_cents)

    @property
    def left(self) -> str:
        return money(self.account.available_cents)

    @property
    def budget(self) -> str:
        return money(self.account.budget_cents)

    @cached_property
    def corpus(self) -> CampaignCorpus:
        return corpus_of(self.campaign)

    @property
    def not_indexed(self) -> str:
        """Pairs that were newer than the index when the candidates were retrieved."""
        number = self.campaign.query_set.retrieval.get("pairs_not_indexed", 0)
        return f"{number:,} newer pairs were not in the index." if number else ""

    @property
    def retrievers(self) -> str:
        return " and ".join(IN_WORDS.get(one, one) for one in self.campaign.query_set.retrievers)


def milestones_of(campaign: Campaign) -> Milestones:
    steps = Job.objects.filter(subject=campaign.name, kind__in=KINDS)
    newest = steps.select_related("requested_by").order_by("-requested_at").first()
    return Milestones(campaign, account_of(campaign), newest)
