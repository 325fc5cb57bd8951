"""The queries behind each page, asked in this process, and the rows that PostgreSQL reads for them.

Each query is run once more under EXPLAIN ANALYZE: rows that a step of the plan reads from a table,
those that its filter drops included, whether by an index or one after the other.
"""

import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.test import Client

from benchmarks.judging.inputs import session_of

LARGE = 20_000  # rows: a table of more is a long one
SLOW = 5  # seconds
Query = tuple[str, Any]


@dataclass
class Asked:
    """Of one page."""

    status: int
    queries: int
    read: dict[str, int] = field(default_factory=dict)  # rows of each table
    whole: list[str] = field(default_factory=list)  # long tables read one row after the other


class Listener:
    """Every statement that the connection is given meanwhile."""

    def __init__(self) -> None:
        self.heard: list[Query] = []

    def __call__(
        self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any
    ) -> Any:
        self.heard.append((sql, params))
        return execute(sql, params, many, context)


def main() -> None:
    pages = json.loads(Path(sys.argv[1]).read_text())
    lengths = table_lengths()
    clients = {name: signed_in(name) for name in {page["who"] for page in pages}}
    found = []
    for page in pages:
        began = time.monotonic()
        found.append(asdict(ask(clients[page["who"]], page["path"], lengths)))
        if (taken := time.monotonic() - began) > SLOW:
            print(f"  {page['name']}: {taken:.0f} s with its plans", file=sys.stderr, flush=True)
    print(json.dumps({"lengths": lengths, "pages": found}))


def signed_in(name: str) -> Client:
    client = Client(SERVER_NAME="127.0.0.1")
    session = session_of(User.objects.get(username=name))
    session.save(force_insert=True)
    client.cookies["sessionid"] = session.session_key
    return client


def table_lengths() -> dict[str, int]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT relname, reltuples FROM pg_class WHERE relkind = 'r'")
        return {name: int(rows) for name, rows in cursor.fetchall()}


def ask(client: Client, path: str, lengths: Mapping[str, int]) -> Asked:
    """What it writes is taken back."""
    listener = Listener()
    with transaction.atomic():
        with connection.execute_wrapper(listener):
            response: HttpResponseBase = client.get(path)
            if isinstance(response, StreamingHttpResponse):
                next(iter(response))
        # The first request of a connection also plans what it will ask again.
        report = [
            query
            for query in listener.heard
            if "SAVEPOINT" not in query[0] and not query[0].startswith("PREPARE")
        ]
        asked = Asked(response.status_code, len(report))
        for step in (step for query in report for step in steps(*query)):
            _count(asked, step, lengths)
        transaction.set_rollback(True)
    return asked


def steps(sql: str, params: Any) -> Iterator[Mapping[str, Any]]:
    """Of the plan, as it was carried out; none of what only writes."""
    if not sql.lstrip().startswith(("SELECT", "EXECUTE")):
        return
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {sql}", params)
        plan = cursor.fetchone()[0]
    yield from _below((json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"])


def _below(step: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield step
    inner: Sequence[Mapping[str, Any]] = step.get("Plans", ())
    for each in inner:
        yield from _below(each)


def _count(asked: Asked, step: Mapping[str, Any], lengths: Mapping[str, int]) -> None:
    if (table := step.get("Relation Name")) is None:
        return
    dropped = ("Rows Removed by Filter", "Rows Removed by Index Recheck")
    rows = step["Actual Rows"] + sum(step.get(name, 0) for name in dropped)
    read = Counter(asked.read)
    read[table] += round(rows * step["Actual Loops"])
    asked.read = dict(read)
    if step["Node Type"] == "Seq Scan" and lengths.get(table, 0) > LARGE and rows > LARGE:
        asked.whole.append(table)


if __name__ == "__main__":
    main()
