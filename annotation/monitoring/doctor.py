"""What is still missing before a campaign can run on the crowd that the settings choose."""

import ipaddress
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlsplit

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.models import F
from django.utils import timezone
from redis import Redis, RedisError

from annotation.crowd.inhouse.adapter import INHOUSE_SITE
from annotation.crowd.inhouse.models import Invitation, Member
from annotation.crowd.port import Crowd, CrowdError
from annotation.models import Campaign
from annotation.pipeline.controls.own_controls import has_own_controls
from annotation.pipeline.publishing.pack import positive_names
from annotation.protocol.policy.crowds import CROWDS, INHOUSE, CrowdKind
from annotation.protocol.policy.policy import Policy
from annotation.protocol.policy.tasks import PAPER_TASK, TaskName
from core import leases
from core.errors import UserError
from core.text.money import money
from retrieval.index.versions import current_index, current_indexes, require_fresh
from retrieval.models import IndexVersion, Job, QuerySet

# Names that nobody outside can reach, or that only stand for a name (RFC 2606, 6761, 6762).
_NO_REAL_NAMES = (
    "example", "example.com", "example.net", "example.org",
    "internal", "invalid", "local", "localhost", "test",
)  # fmt: skip
_BROKER_TIMEOUT = 2.0


@dataclass(frozen=True)
class Check:
    """`hint` says what to do where `ok` is false."""

    name: str
    ok: bool
    message: str
    hint: str = ""


def examine(crowd: Crowd, *, public_url: str, broker: str = "") -> Iterator[Check]:
    """All checks, in the order in which one would set things up."""
    if settings.DATA_DIR.stat().st_mode & 0o077:
        yield Check(
            "data folder",
            False,
            f"other accounts of this machine can read {settings.DATA_DIR}",
            f"Run `chmod 700 {settings.DATA_DIR}`.",
        )
    database = check_database()
    yield database
    if broker.startswith(("redis://", "rediss://")):
        yield check_broker(broker)
    if crowd.site.setting:  # it is somewhere else
        yield from check_account(crowd)
    yield check_public_url(public_url, crowd)
    if database.ok:  # these read its tables
        yield from check_jobs()
        if crowd.site == INHOUSE_SITE:
            yield check_people()
        yield check_controls()
        yield check_index()


def crowds_at_hand() -> list[CrowdKind]:
    """Of the campaigns that are not cancelled; a team of one's own needs the least."""
    try:
        campaigns = Campaign.objects.exclude(state=Campaign.State.CANCELLED)
        named = {*campaigns.order_by().values_list("policy_data__crowd", flat=True).distinct()}
    except DatabaseError:  # a check of its own says so
        named = set()
    return [kind for kind in CROWDS if kind in named] or [INHOUSE.kind]


def check_database() -> Check:
    hint = f"Run `python {settings.BASE_DIR}/manage.py migrate`."
    try:
        executor = MigrationExecutor(connection)
    except DatabaseError as error:
        return Check("database", False, f"it cannot be read: {error}", "Check QUORUM_DATABASE_URL.")
    missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if missing:
        return Check("database", False, f"{len(missing)} migrations are not applied", hint)
    return Check("database", True, f"{connection.vendor}, all tables are there")


def check_broker(url: str) -> Check:
    """The address is shown without its password."""
    hint = "Start it, for instance by `make services`, or check QUORUM_BROKER_URL."
    try:
        parts = urlsplit(url)
        place = f"{parts.hostname or 'localhost'}:{parts.port or 6379}"
    except ValueError:
        return Check("broker", False, "its address is no URL", "Check QUORUM_BROKER_URL.")
    try:
        with Redis.from_url(
            url, socket_timeout=_BROKER_TIMEOUT, socket_connect_timeout=_BROKER_TIMEOUT
        ) as redis:
            redis.ping()
    except (RedisError, ValueError):
        return Check("broker", False, f"Redis does not answer at {place}", hint)
    return Check("broker", True, f"Redis answers at {place}")


def check_account(crowd: Crowd) -> Iterator[Check]:
    """Whether the crowd answers, and with which balance."""
    kind = _kind(crowd)
    try:
        balance = crowd.balance_cents()
    except CrowdError as error:
        yield Check("crowd", False, str(error), "Repair that before anything is published.")
        yield Check("balance", False, "not known", "Make the crowd answer first.")
        return
    yield Check("crowd", True, f"{kind} answers at {crowd.site.endpoint}")
    hint = "Add funds to the account; a new emulator gets them by `--balance CENTS`."
    amount = f"{money(balance)} available"
    yield Check("balance", balance > 0, amount, "" if balance > 0 else hint)


def check_jobs() -> Iterator[Check]:
    """Only where jobs wait that nobody takes."""
    long_ago = timezone.now() - timedelta(minutes=1)
    waiting = Job.objects.filter(state=leases.QUEUED, requested_at__lt=long_ago).count()
    at_work = Job.objects.filter(state=leases.RUNNING, beat_at__gt=long_ago).exists()
    if waiting and not at_work:
        message = f"{waiting:,} waiting for a minute or more, and no process takes them"
        yield Check("jobs", False, message, "Start the process `jobs` that the Procfile names.")


def check_people() -> Check:
    """Whether anybody of the in-house crowd is there to judge, or can join it."""
    members = Member.team().filter(active=True).count()
    invitations = Invitation.objects.filter(expires_at__gt=timezone.now(), uses__lt=F("max_uses"))
    message = f"members: {members:,}, open invitations: {invitations.count():,}"
    if members or invitations.exists():
        return Check("people", True, message)
    hint = "Invite them at /team, or by `quorum crowd invite`."
    return Check("people", False, message, hint)


def check_public_url(public_url: str, crowd: Crowd) -> Check:
    """Workers' browsers open the HIT page there, in a frame of the crowd's https page, or ours."""
    host = _host(public_url)
    at_home = _is_loopback(host if crowd.site.is_local else _host(crowd.site.endpoint))
    hint = "Set QUORUM_PUBLIC_URL to the https address under which workers reach this site."
    if not host:
        return Check("public address", False, f"{public_url!r} is no URL", hint)
    if not at_home and not public_url.startswith("https://"):
        why = "people sign in" if crowd.site.is_local else f"{_kind(crowd)} frames https pages only"
        message = f"{public_url} is not https, and {why}"
        return Check("public address", False, message, hint)
    if crowd.site.is_public and not _is_public(host):
        message = f"no worker can reach {public_url}"
        return Check("public address", False, message, hint)
    return Check("public address", True, public_url)


def check_controls() -> Check:
    """Campaigns with controls of their own need none of the pool."""
    campaigns = Campaign.objects.exclude(state=Campaign.State.CANCELLED)
    policies = [one.policy for one in campaigns if not has_own_controls(one)]
    wanted: dict[TaskName, int] = {PAPER_TASK.name: 0 if campaigns else Policy().control_pool_size}
    for policy in policies:
        wanted[policy.task] = max(wanted.get(policy.task, 0), policy.control_pool_size)
    pools = {task: len(positive_names(task)) for task in wanted}
    task = min(wanted, key=lambda name: pools[name] - wanted[name])
    enough = pools[task] >= wanted[task]
    option = "" if task == PAPER_TASK.name else f" --task {task}"
    hint = f"Run `quorum controls import{option}`, or import a file of your own."
    of = f" of the task {task}" if option else ""
    message = f"{pools[task]} positive controls{of}, {wanted[task]} wanted"
    return Check("control pool", enough, message, "" if enough else hint)


def check_index() -> Check:
    """Of the corpora that campaigns have still to find candidates in; before the first campaign, of
    every corpus that has an index. One that lacks newer pairs is used, and said to lack them."""
    campaigns = Campaign.objects.exclude(state=Campaign.State.CANCELLED)
    waiting = campaigns.filter(
        query_set__retrieved_with=None, query_set__origin__in=QuerySet.RETRIEVED
    )
    corpora = {one.query_set.corpus for one in waiting.select_related("query_set__corpus")}
    if not campaigns:
        corpora = {index.corpus for index in current_indexes()} or {None}
    try:
        indexes = [current_index(corpus) for corpus in sorted(corpora, key=str)]
    except UserError as error:
        return Check("index", False, str(error), _index_hint(str(error)))
    lines = map(_index_line, indexes)
    return Check("index", True, "; ".join(lines) or "every campaign has its candidates")


def _index_line(index: IndexVersion) -> str:
    of = f"{index.corpus}: " if index.corpus else ""
    recall = "" if index.recall is None else f", recall@30 {index.recall:.3f}"
    try:
        require_fresh(index)
        lacks = ""
    except UserError as error:
        lacks = f". {error}"
    return (
        f"{of}{index.pairs:,} pairs by {index.model} ({index.form}, "
        f"{index.manifest['store']['precision']}), {index.get_kind_display()}{recall}{lacks}"
    )


def _index_hint(message: str) -> str:
    """The command that the message names; before the first index, what comes before it as well."""
    if not IndexVersion.objects.exists():
        return "Run `quorum corpus import`, then `quorum index build`."
    named = re.search(r"run (`quorum [^`]+`)", message)
    return f"Run {named[1]}." if named else "Do as it says, then run this again."


def _kind(crowd: Crowd) -> str:
    return f"{crowd.site.name} (real money)" if crowd.site.is_production else crowd.site.name


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _is_public(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_global
    except ValueError:
        named = "." in host.strip(".")
        return named and not f".{host.rstrip('.')}".endswith(tuple(f".{n}" for n in _NO_REAL_NAMES))
