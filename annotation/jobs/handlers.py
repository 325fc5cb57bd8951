"""The handlers of jobs, by kind."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict

from annotation.analytics.campaign.snapshots import take
from annotation.crowd.factory import open_crowd
from annotation.crowd.port import Crowd, CrowdError
from annotation.models import Campaign
from annotation.operations.campaigns import KIND as CREATE
from annotation.operations.campaigns import create_by_job
from annotation.pipeline.advance import advance
from annotation.pipeline.controls.candidates import find_candidates
from annotation.pipeline.outbox.claims import waiting
from annotation.pipeline.outbox.deliver import deliver
from annotation.pipeline.publishing.pack import pack_hits, triplets_to_judge
from annotation.pipeline.publishing.publish import publish
from annotation.pipeline.reconcile.run import reconcile
from annotation.protocol.packing.pack import hits_needed
from annotation.simulation.options import read_options
from annotation.simulation.run import dry_run
from core.errors import UserError
from retrieval.jobs.handlers import HANDLERS as DATABASE_HANDLERS
from retrieval.jobs.queue import Handler, Result, Watch, keep
from retrieval.models import Job
from retrieval.search.retrieve import retrieve


def _retrieve(job: Job, watch: Watch) -> Result:
    campaign = _campaign(job)
    queries = campaign.query_set.queries.count()
    found = retrieve(
        campaign.query_set,
        k=campaign.policy.candidates_per_query,
        retrievers=job.arguments.get("retrievers") or campaign.query_set.retrievers,
        encoding=watch.stage("encoding the queries", queries),
        reading=watch.stage("reading the pairs' words"),
        progress=watch.stage("looking for candidates", queries),
    )
    return {"queries": queries, "candidates": found}


def _pack(job: Job, watch: Watch) -> Result:
    campaign = _campaign(job)
    hits = hits_needed(triplets_to_judge(campaign), campaign.policy)
    packed = pack_hits(campaign, progress=watch.stage("packing HITs", hits))
    return asdict(packed)


def _find_control_candidates(job: Job, watch: Watch) -> Result:
    return asdict(
        find_candidates(_campaign(job), progress=watch.stage("reading labelled triplets"))
    )


def _publish(job: Job, watch: Watch) -> Result:
    """Whoever asked has confirmed the price and, on production, that it is real money."""
    campaign = _campaign(job)
    with _refusals():
        crowd = open_crowd(campaign.policy.crowd, live=True)
        _check_confirmed(job, crowd)
        written = publish(campaign, crowd, most=job.arguments.get("first"))
        count = watch.stage("publishing HITs", waiting(campaign))
        sent = deliver(campaign, crowd, progress=count)
    return {**asdict(written), **asdict(sent), "waiting": waiting(campaign)}


def _check_confirmed(job: Job, crowd: Crowd) -> None:
    """The worker's settings may name another crowd than those of the site that asked."""
    confirmed = job.arguments.get("endpoint", crowd.site.endpoint)
    if confirmed != crowd.site.endpoint:
        raise UserError(
            f"It was confirmed for {confirmed}, but this worker's crowd is {crowd.site.endpoint}: "
            f"give the site and the worker the same {crowd.site.setting}, then publish again."
        )


def _collect(job: Job, watch: Watch) -> Result:
    campaign = _campaign(job)
    with _refusals():
        crowd = open_crowd(campaign.policy.crowd, live=True)  # confirmed when it was published
        found = advance(
            campaign,
            crowd,
            progress=watch.stage("collecting HITs"),
            sending=watch.stage("telling the crowd"),
        )
    return asdict(found)


def _reconcile(job: Job, watch: Watch) -> Result:
    """What was mended before the crowd failed is kept with the failure."""
    campaign = _campaign(job)
    with _refusals():
        found = reconcile(
            campaign,
            open_crowd(campaign.policy.crowd, live=True),  # confirmed when it was published
            full=job.arguments.get("full", False),
            all_gone=job.arguments.get("all_gone", False),
            progress=watch.stage("comparing assignments of HITs"),
        )
    report = {
        "hits_compared": found.hits,
        "repairs": found.repairs,
        "mended": found.done,
        "left_to_you": found.manual,
    }
    if found.stopped_by:
        keep(job, report)
        raise UserError(
            f"The comparison of {campaign} ended early, run it again: {found.stopped_by}"
        )
    return report


def _snapshot(job: Job, watch: Watch) -> Result:
    return {"seconds": take(_campaign(job)).figures["seconds"]}


def _dry_run(job: Job, watch: Watch) -> Result:
    """Cut off, it is played again from the start: it leaves nothing behind."""
    return dry_run(_campaign(job), read_options(job.arguments), stage=watch.stage)


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except CrowdError as error:
        raise UserError(str(error)) from error


def _campaign(job: Job) -> Campaign:
    return Campaign.objects.get(name=job.subject)


HANDLERS: dict[str, Handler] = {
    **DATABASE_HANDLERS,
    CREATE: create_by_job,
    "retrieve": _retrieve,
    "pack": _pack,
    "publish": _publish,
    "collect": _collect,
    "reconcile": _reconcile,
    "dry-run": _dry_run,
    "control-candidates": _find_control_candidates,
    "snapshot": _snapshot,
}

# A campaign's figures are others after these.
MOVING = frozenset({"retrieve", "pack", "publish", "collect", "reconcile"})


def register(kind: str, handler: Handler) -> None:
    """Of a package that stands above this one."""
    HANDLERS[kind] = handler
