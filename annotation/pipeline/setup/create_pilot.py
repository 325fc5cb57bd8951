"""The paper's pilot: draw triplets of a campaign, and have them judged with the answer and without.

Both conditions have the same seed, so that their HITs hold the same items in the same order:
nothing but the answer tells them apart.
"""

import re
from dataclasses import replace

from django.db import transaction
from django.db.models import Q, QuerySet

from annotation.models import Campaign, Pilot, Triplet
from annotation.pipeline.setup.create import campaign_like, check_name_and_seed
from core.errors import UserError
from retrieval.models import Candidate
from retrieval.query_sets.sample_candidates import copy_candidates, draw_candidates

TRIPLETS = 200  # as in the paper
MOST_TRIPLETS = 5_000  # a person has to label each of them
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,49}")


@transaction.atomic
def create_pilot(source: Campaign, name: str, *, triplets: int = TRIPLETS, seed: int) -> Pilot:
    """Two campaigns, NAME-with and NAME-without, of the source's policy and instructions."""
    drawn = draw_pilot(source, name, triplets=triplets, seed=seed)
    with_answer, without = condition_names(name)
    return Pilot.objects.create(
        name=name,
        shown=_condition(source, with_answer, drawn, seed, show_answer=True),
        hidden=_condition(source, without, drawn, seed, show_answer=False),
    )


def draw_pilot(source: Campaign, name: str, *, triplets: int, seed: int) -> list[Candidate]:
    """The candidates of both campaigns; UserError where the pilot is impossible."""
    _check_names(name, seed)
    _check_source(source, triplets)
    return draw_candidates(source.query_set, triplets, seed)


def condition_names(name: str) -> tuple[str, str]:
    return f"{name}-with", f"{name}-without"


def pilot_of(campaign: Campaign) -> Pilot | None:
    """The pilot that this campaign is a condition of."""
    return pilots().filter(Q(shown=campaign) | Q(hidden=campaign)).first()


def pilots() -> QuerySet[Pilot]:
    """With their conditions and the source, which a report asks for at once."""
    source = "shown__query_set__drawn_from__campaign"
    return Pilot.objects.select_related("shown__account", "hidden__account", source)


def source_of(pilot: Pilot) -> Campaign:
    """Whose triplets it copies."""
    copied = pilot.shown.query_set.drawn_from
    assert copied is not None  # a condition's query set is a copy
    source: Campaign = copied.campaign
    return source


def _check_names(name: str, seed: int) -> None:
    if not NAME.fullmatch(name):
        raise UserError(
            f"{name!r} cannot name a pilot: take 1 to 50 letters, digits, hyphens and underscores, "
            "a letter or a digit first."
        )
    if Pilot.objects.filter(name=name).exists():
        raise UserError(f"There is a pilot {name!r} already: choose another name.")
    for condition in condition_names(name):
        check_name_and_seed(condition, seed)


def _check_source(source: Campaign, triplets: int) -> None:
    if not source.policy.task_type.asks("show_answer"):
        raise UserError(
            f"People of {source} judge answers, so that none can be hidden: draw a pilot from a "
            "campaign about questions."
        )
    if pilot := pilot_of(source):
        raise UserError(
            f"Campaign {source} is a condition of pilot {pilot} itself: draw from "
            f"{source_of(pilot)}."
        )
    if not Candidate.objects.filter(query__query_set=source.query_set_id).exists():
        raise UserError(
            f"Campaign {source} has no candidates yet: run `quorum campaign retrieve {source}` "
            "first."
        )
    if triplets > MOST_TRIPLETS:
        raise UserError(
            f"{triplets:,} triplets are more than experts label for a pilot: take "
            f"{MOST_TRIPLETS:,} at most."
        )


def _condition(
    source: Campaign, name: str, drawn: list[Candidate], seed: int, *, show_answer: bool
) -> Campaign:
    query_set = copy_candidates(name, source.query_set, drawn, seed)
    policy = replace(source.policy, show_answer=show_answer)
    campaign = campaign_like(source, query_set, policy=policy, seed=seed)
    copies = Candidate.objects.filter(query__query_set=query_set)
    Triplet.objects.bulk_create(Triplet(campaign=campaign, candidate=copy) for copy in copies)
    return campaign
