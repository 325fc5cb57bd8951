"""A second crowd: a campaign of its own that judges some of another's queries, for one dataset.

All that knows a campaign's crowd, budget, workers and HITs knows one of each. What both campaigns
make together is the release of the first.
"""

from collections.abc import Sequence
from dataclasses import replace

from django.db import transaction

from annotation.crowd.factory import PROVIDERS
from annotation.models import Campaign
from annotation.pipeline.publishing.pack import unpack
from annotation.pipeline.setup.create import campaign_like, check_name_and_seed
from annotation.protocol.policy.crowds import CrowdKind
from annotation.protocol.policy.policy import Policy, PolicyError
from core.errors import UserError
from retrieval.models import Query, QuerySet
from retrieval.query_sets.held_out import queries_named, sample_of, take_out


@transaction.atomic
def create_second_crowd(
    first: Campaign,
    name: str,
    *,
    crowd: CrowdKind,
    queries: int | None = None,
    ids: Sequence[str] | None = None,
    reward_cents: int | None = None,
    seed: int,
) -> Campaign:
    """Move `queries` of the first campaign's, drawn by the seed, or those with these ids.

    HITs of the first that are packed are deleted.
    """
    check_name_and_seed(name, seed)
    first = Campaign.objects.select_for_update().get(pk=first.pk)
    _check_first(first, crowd)
    policy = _policy(first.policy, crowd, reward_cents)
    part = take_out(first.query_set, name, _chosen(first.query_set, queries, ids, seed))
    unpack(first)
    second = campaign_like(first, part, policy=policy, seed=seed)
    first.triplets.filter(candidate__query__query_set=part).update(campaign=second)
    first.control_drafts.filter(query__query_set=part).update(campaign=second)
    # A control of the campaign's own comes back among real items of its query.
    own = first.controls.filter(drafted=True, query__in=part.queries.values("text"))
    own.update(campaign=second)
    return second


def _check_first(first: Campaign, crowd: CrowdKind) -> None:
    query_set = first.query_set
    if query_set.drawn_from_id:
        raise UserError(
            f"Campaign {first} is a study and has no releases: give a second crowd queries of the "
            "campaign that it studies."
        )
    if first.part_of:
        raise UserError(
            f"Campaign {first} is a second crowd itself: give another one queries of the campaign "
            "that it has its own from."
        )
    if first.endpoint:
        raise UserError(
            f"Campaign {first} is published: a second crowd takes its queries before that."
        )
    if not query_set.brings_candidates and query_set.retrieved_with_id is None:
        raise UserError(
            f"Campaign {first} has no candidates yet: run `quorum campaign retrieve {first}` first."
        )
    for other in first.crowds:
        if other.policy.crowd == crowd:
            raise UserError(
                f"The crowd of campaign {other} is {crowd} already, and its workers are to stay "
                "its own: choose another crowd."
            )


def _policy(policy: Policy, crowd: CrowdKind, reward_cents: int | None) -> Policy:
    try:
        policy = replace(policy, **PROVIDERS[crowd].fees())
        return policy.for_crowd(crowd, reward_cents=reward_cents)
    except PolicyError as error:
        raise UserError(f"The policy does not suit the crowd {crowd}: {error}.") from error


def _chosen(
    query_set: QuerySet, count: int | None, ids: Sequence[str] | None, seed: int
) -> list[Query]:
    if (count is None) == (not ids):
        raise UserError(
            "Say which queries the second crowd judges: how many, or their ids, and not both."
        )
    chosen = sample_of(query_set, count, seed) if count else queries_named(query_set, ids or ())
    if not chosen:
        raise UserError("Say how many queries the second crowd judges: one or more.")
    if len(chosen) == query_set.queries.count():
        raise UserError(
            f"These are all {len(chosen):,} queries of {query_set}: leave some of them to its own "
            "crowd."
        )
    return chosen
