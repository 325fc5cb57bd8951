"""A new campaign with its budget, its owner and its line in the log: all of it, or nothing.

Where its queries are drawn from a whole database it is a job, which makes it in the end.
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction

from annotation.access.audit_log import Actor, logged
from annotation.analytics.campaign.plan import check_known, prediction_of
from annotation.models import AuditEntry, Campaign, Role
from annotation.pipeline.ledger.reservations import account_of, set_budget
from annotation.pipeline.publishing.takers import too_small_a_team
from annotation.pipeline.setup.create import (
    check_name_and_seed,
    choose_queries,
    get_campaign,
    start_campaign,
)
from annotation.protocol.estimates.split_sizes import small_splits
from annotation.protocol.policy.policy import Policy
from annotation.protocol.policy.tasks import task_of
from core.errors import UserError
from core.progress import Progress, no_progress
from retrieval.corpus.corpora import corpus_named
from retrieval.jobs.queue import Result, Watch, keep, request
from retrieval.models import Job
from retrieval.models.corpus import ALL, name_of
from retrieval.query_sets.held_out import Unsaved

KIND = "create"
KEPT_SECONDS = 7 * 86_400  # that a file of queries waits for its campaign
NOBODY = (
    "The account that requested the campaign was deleted or closed, so nobody would own the"
    " campaign. Request it again from another account."
)


@dataclass(frozen=True)
class Wanted:
    """A campaign as somebody has asked for it."""

    name: str
    policy: Mapping[str, Any]
    seed: int
    sample: int | None = None  # None: the queries of a file
    stored: str = ""  # the file's name in the folder of own queries
    file: str = ""  # as its owner calls it
    budget_cents: int | None = None
    corpus: str = ALL
    like: Sequence[str] = ()  # campaigns after which it is planned
    people: int | None = None  # of that plan; None: as many as worked there
    hours: float | None = None  # that each works a day by that plan; None: as they did there


def own_queries_folder() -> Path:
    """Where files of queries wait for their campaigns; site and worker share it."""
    return Path(settings.DATA_DIR) / "uploads" / "queries"


def forget_old_queries() -> None:
    """Files of campaigns that nobody came back to; a job that is not over needs its own."""
    folder, limit = own_queries_folder(), time.time() - KEPT_SECONDS
    under_way = Job.objects.filter(kind=KIND, state__in=[Job.State.QUEUED, Job.State.RUNNING])
    wanted = set(under_way.values_list("arguments__stored", flat=True))
    for path in folder.iterdir() if folder.is_dir() else ():
        with suppress(FileNotFoundError):  # somebody else forgets it
            if path.name not in wanted and path.stat().st_mtime < limit:
                path.unlink()


def warnings_of(queries: int, policy: Policy, campaign: Campaign | None = None) -> list[str]:
    """Of what a campaign of so many queries lacks; nothing is refused because of it."""
    return list(filter(None, (small_splits(queries, policy), too_small_a_team(policy, campaign))))


def draw(
    wanted: Wanted, queries: Path | None, *, called: str = "", progress: Progress = no_progress
) -> Unsaved:
    """`queries`: the file of them, where they are not sampled; its sender calls it `called`."""
    try:
        return choose_queries(
            wanted.name,
            task=task_of(wanted.policy),
            seed=wanted.seed,
            sample=wanted.sample,
            queries=queries,
            corpus=corpus_named(wanted.corpus),
            progress=progress,
        )
    except UserError as error:
        if not called:
            raise
        raise UserError(str(error).replace(str(queries), called)) from error


def save_campaign(
    by: Actor,
    wanted: Wanted,
    drawn: Unsaved,
    *,
    instructions: Path | None = None,
    items: Path | None = None,
) -> tuple[Campaign, dict[str, object]]:
    """With what the log says of it. The account that creates a campaign owns it."""
    policy = Policy.from_dict(wanted.policy)
    with logged(by, KIND) as entry:
        campaign = entry.campaign = start_campaign(
            drawn.save(wanted.name),
            policy=policy,
            seed=wanted.seed,
            instructions=instructions,
            items=items,
        )
        details = _endow(campaign, budget_cents=wanted.budget_cents, by=by)
        if wanted.like:
            campaign.plan = _prediction(campaign, wanted)
            campaign.save(update_fields=["plan"])
            details["planned_after"] = list(wanted.like)
        entry.details = {**details, **({"owner": by.name} if by.user else {})}
    return campaign, details


def _endow(campaign: Campaign, *, budget_cents: int | None, by: Actor) -> dict[str, object]:
    if budget_cents is not None:
        set_budget(campaign, budget_cents)
    if by.user is not None:
        Role.objects.create(user=by.user, campaign=campaign, name=Role.Name.OWNER)
    queries = campaign.query_set
    return {
        "corpus": name_of(queries.corpus),
        "crowd": campaign.policy.crowd,
        "queries": queries.queries.count(),
        "duplicate_queries": queries.duplicates,
        "seed": campaign.seed,
        "budget_cents": account_of(campaign).budget_cents,
    }


def _prediction(campaign: Campaign, wanted: Wanted) -> dict[str, object]:
    """Of a file that has its candidates they are counted; else each query will have as many."""
    policy, queries = campaign.policy, campaign.query_set.queries.count()
    triplets = campaign.triplets.count() or queries * policy.candidates_per_query
    like = [get_campaign(name) for name in wanted.like]
    return prediction_of(policy, triplets, like, wanted.people, wanted.hours)


def request_creation(wanted: Wanted, *, by: Actor) -> Job:
    """UserError where the name is taken, or a campaign of that name is being created."""
    check_name_and_seed(wanted.name, wanted.seed)
    check_known([get_campaign(name) for name in wanted.like], hours=wanted.hours)
    corpus_named(wanted.corpus)
    return request(KIND, wanted.name, {**asdict(wanted), "via": by.via}, by=by.user)


def create_by_job(job: Job, watch: Watch) -> Result:
    """The campaign and what the job says of it are one transaction: cut off, it may run again."""
    arguments = dict(job.arguments)
    via = AuditEntry.Via(arguments.pop("via"))
    wanted = Wanted(**arguments)
    if job.result is None:
        if job.requested_by is None or not job.requested_by.is_active:
            raise UserError(NOBODY)
        by = Actor(job.requested_by, job.requested_by.get_username(), via)
        _create(wanted, by, job, watch)
    if wanted.stored:
        (own_queries_folder() / wanted.stored).unlink(missing_ok=True)
    return dict(job.result or {})


def _create(wanted: Wanted, by: Actor, job: Job, watch: Watch) -> None:
    path = own_queries_folder() / wanted.stored if wanted.sample is None else None
    stage = watch.stage("reading the database's questions")
    drawn = draw(wanted, path, called=wanted.file, progress=stage)
    with transaction.atomic():
        campaign, details = save_campaign(by, wanted, drawn)
        counts = {name: details[name] for name in ("queries", "duplicate_queries")}
        keep(job, {"campaign": campaign.name, **counts})
