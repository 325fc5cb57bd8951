"""Create a campaign: held-out queries, the policy and the instructions in force."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import models, transaction
from django.db.models import Max, Value

from annotation.crowd.factory import PROVIDERS
from annotation.models import Account, Campaign, Instructions, QualificationItem, Triplet
from annotation.pipeline.setup.default_instructions import default_instructions
from annotation.pipeline.setup.instructions import read_instructions
from annotation.pipeline.setup.qualification_items import create_qualification_items
from annotation.protocol.policy.crowds import CrowdKind, crowd_defaults
from annotation.protocol.policy.policy import Policy, PolicyError
from annotation.protocol.policy.tasks import PAPER_TASK, TaskName, TaskType, task_defaults
from core.errors import UserError
from core.files.bulk_insert import insert_from_query
from core.progress import Progress, no_progress
from retrieval.models import Candidate, Corpus, QuerySet
from retrieval.query_sets.held_out import Unsaved, draw_queries, own_queries
from retrieval.query_sets.proposed import draw_pairs, read_proposed

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}")  # fits an address, a file name, a command
TAKEN = "new"  # the address of the page that makes one
SEEDS = range(-(2**63), 2**63)  # what a database's integer holds


def read_policy(
    path: Path | None, *, crowd: CrowdKind | None = None, task: TaskName | None = None
) -> Policy:
    """The paper's policy, or what suits a crowd and a task; a JSON file may say otherwise."""
    values = {} if path is None else _read_object(path)
    for name, option in (("crowd", crowd), ("task", task)):
        if option is not None and values.setdefault(name, option) != option:
            raise UserError(
                f"The policy file {path} says {name} {values[name]!r}, but --{name} says {option}: "
                "leave out one of the two."
            )
    try:
        return policy_from(values)
    except PolicyError as error:
        named = f"The policy file {path}" if path else "The policy"
        raise UserError(f"{named} is not valid: {error}") from error


def policy_from(values: Mapping[str, Any]) -> Policy:
    """With what suits its crowd, the account there and its task. Raises PolicyError."""
    defaults = crowd_defaults(values.get("crowd")) | task_defaults(values.get("task"))
    if crowd := defaults.get("crowd"):
        # As the settings say now, and the campaign's from then on.
        defaults |= PROVIDERS[crowd].fees()
    policy = Policy.from_dict({"currency": settings.CURRENCY, **defaults, **values})
    if policy.currency != settings.CURRENCY:
        raise PolicyError([f"currency must be {settings.CURRENCY}, as QUORUM_CURRENCY says"])
    return policy


def _read_object(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(data, dict):
            raise UserError(f"The policy file {path} must hold one JSON object of policy fields.")
        return data
    except OSError as error:
        raise UserError(f"The policy file {path} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"The policy file {path} is not JSON in UTF-8: {error}") from error


def create_campaign(
    name: str,
    *,
    policy: Policy,
    seed: int,
    sample: int | None = None,
    queries: Path | None = None,
    corpus: Corpus | None = None,
    instructions: Path | None = None,
    items: Path | None = None,
    progress: Progress = no_progress,
) -> Campaign:
    drawn = choose_queries(
        name,
        task=policy.task_type,
        seed=seed,
        sample=sample,
        queries=queries,
        corpus=corpus,
        progress=progress,
    )
    with transaction.atomic():
        return start_campaign(
            drawn.save(name), policy=policy, seed=seed, instructions=instructions, items=items
        )


def choose_queries(
    name: str,
    *,
    task: TaskType = PAPER_TASK,
    seed: int,
    sample: int | None = None,
    queries: Path | None = None,
    corpus: Corpus | None = None,
    progress: Progress = no_progress,
) -> Unsaved:
    """`sample` queries of the corpus held out at random, or those of a file of the user's own.

    Of a task that judges pairs as they are, the sample is of pairs, and the file has them.
    `progress` counts the questions among which they are drawn. UserError where the name is taken.
    """
    check_name_and_seed(name, seed)
    if task.brings_candidates and queries is not None:
        return read_proposed(queries, name, corpus)
    if task.brings_candidates and sample is not None:
        return draw_pairs(sample, seed, corpus)
    if queries is not None:
        return own_queries(queries, corpus)
    if sample is not None:
        return draw_queries(sample, seed, progress, corpus=corpus)
    raise UserError("Say which queries: --sample N for a random sample, or --queries FILE.")


def check_name_and_seed(name: str, seed: int) -> None:
    if not NAME.fullmatch(name):
        raise UserError(
            f"{name!r} cannot name a campaign: take 1 to 60 letters, digits, hyphens and "
            "underscores, a letter or a digit first."
        )
    if name == TAKEN:
        raise UserError(f"{name!r} is the address of a page: choose another name.")
    if seed not in SEEDS:
        raise UserError(f"The seed {seed} is too large: take one of at most 18 digits.")
    if Campaign.objects.filter(name=name).exists():
        raise UserError(f"There is a campaign {name!r} already: choose another name.")


def start_campaign(
    query_set: QuerySet,
    *,
    policy: Policy,
    seed: int,
    instructions: Path | None = None,
    items: Path | None = None,
) -> Campaign:
    text = read_instructions(instructions) if instructions else default_instructions(policy)
    given = Candidate.objects.filter(query__query_set=query_set)
    if most := given.aggregate(most=Max("rank"))["most"]:
        policy = replace(policy, candidates_per_query=most)
    campaign = new_campaign(query_set, policy=policy, seed=seed, text=text)
    create_triplets(campaign, given)
    create_qualification_items(campaign, items)
    return campaign


def create_triplets(campaign: Campaign, candidates: models.QuerySet[Candidate]) -> None:
    """One to judge for each of these candidates."""
    insert_from_query(
        Triplet,
        ("campaign_id", "candidate_id", "status", "votes", "positive_votes"),
        candidates.order_by("query__key", "rank").values_list(
            Value(campaign.pk), "pk", Value(Triplet.Status.OPEN), Value(0), Value(0)
        ),
    )


def new_campaign(query_set: QuerySet, *, policy: Policy, seed: int, text: str) -> Campaign:
    """Of the query set's name, with this text as its instructions."""
    policy = Policy.from_dict({**policy.to_dict(), "currency": settings.CURRENCY})
    campaign = Campaign.objects.create(
        name=query_set.name, query_set=query_set, policy_data=policy.to_dict(), seed=seed
    )
    Account.objects.create(campaign=campaign)
    Instructions.objects.create(campaign=campaign, version=1, text=text)
    return campaign


def campaign_like(source: Campaign, query_set: QuerySet, *, policy: Policy, seed: int) -> Campaign:
    """With the items of the source's test and its wording; the usual one follows the policy."""
    text = source.instructions.latest("version").text
    usual = text == default_instructions(source.policy)
    text = default_instructions(policy) if usual else text
    campaign = new_campaign(query_set, policy=policy, seed=seed, text=text)
    tested = policy.qualification_items > 0
    items = list(source.qualification_items.order_by("position")) if tested else []
    for item in items:
        item.pk, item.campaign = None, campaign
    QualificationItem.objects.bulk_create(items)
    return campaign


def get_campaign(name: str) -> Campaign:
    """The campaign of that name; UserError names those there are."""
    campaign = None
    if NAME.fullmatch(name):  # a database cannot even be asked for some of the others
        campaign = Campaign.objects.select_related("query_set").filter(name=name).first()
    if campaign is None:
        names = ", ".join(Campaign.objects.order_by("name").values_list("name", flat=True)[:20])
        if not names:
            raise UserError(
                f"There is no campaign {name!r}: create one with `quorum campaign create`."
            )
        raise UserError(f"There is no campaign {name!r}; there are: {names}.")
    return campaign
