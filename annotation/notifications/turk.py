"""The events that requesters at the site's Turk want to hear of, in messages as MTurk's are.

A store records its events; here they become ours, each once, and are delivered as all others are.
"""

import base64
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from django.db import transaction

from annotation.crowd.turk.models import RequesterAccount
from annotation.crowd.turk.stores import Environment, open_stores
from annotation.crowd.wire.session import Row
from annotation.crowd.wire.store import Store
from annotation.models import Delivery, Event, Webhook

AT_ONCE = 100  # and so the most of a message
IDS = {"HITTypeId": "hit_type_id", "HITId": "hit_id", "AssignmentId": "assignment_id"}


def secret_of(account: RequesterAccount) -> str:
    """In the standard's form: what the requester has at hand anyway signs the messages."""
    return "whsec_" + base64.b64encode(account.secret_access_key.encode()).decode()


def take_turk_events() -> None:
    for environment in Environment:
        for account, store in open_stores(environment):
            while _take(account, environment, store):
                pass


def _take(account: RequesterAccount, environment: Environment, store: Store[Any]) -> bool:
    """The next ones; False where there was none, or another process has taken them."""
    name = f"{environment}_event"
    last = getattr(account, name)
    with store.reading() as session:
        rows = session.db.execute(
            "SELECT * FROM events WHERE seq > ? ORDER BY seq LIMIT ?", (last, AT_ONCE)
        ).fetchall()
    if not rows:
        return False
    setattr(account, name, rows[-1]["seq"])
    with transaction.atomic():
        same = RequesterAccount.objects.filter(pk=account.pk, **{name: last})
        if not same.update(**{name: getattr(account, name)}):
            return False
        for (destination, version), those in _by_receiver(rows).items():
            _emit(account, destination, version, those)
    return True


def _by_receiver(rows: Sequence[Row]) -> dict[tuple[str, str], list[Row]]:
    groups = defaultdict[tuple[str, str], list[Row]](list)
    for row in rows:
        groups[row["destination"], row["version"]].append(row)
    return groups


def _emit(account: RequesterAccount, url: str, version: str, rows: Sequence[Row]) -> None:
    webhook, _ = Webhook.objects.get_or_create(
        requester=account,
        url=url,
        defaults={"types": [Event.Type.TURK], "created_by": account.name},
    )
    uid = uuid4()
    message = {
        "EventDocVersion": version,
        "EventDocId": uid.hex,
        "CustomerId": account.name,
        "Events": [_event(row) for row in rows],
    }
    event = Event.objects.create(uid=uid, type=Event.Type.TURK, data=message)
    Delivery.objects.create(event=event, webhook=webhook)


def _event(row: Row) -> dict[str, str]:
    at = datetime.fromtimestamp(row["at"], UTC)
    ids = {name: row[column] for name, column in IDS.items() if row[column]}
    return {"EventType": row["event_type"], "EventTimestamp": f"{at:%Y-%m-%dT%H:%M:%SZ}", **ids}
