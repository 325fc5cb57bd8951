"""Webhooks at Prolific: the secret that signs, subscriptions, and the record of deliveries."""

from collections.abc import Iterator
from dataclasses import dataclass

from annotation.crowd.prolific.api.values import Record, id_of
from annotation.crowd.prolific.connection import ProlificConnection
from annotation.crowd.prolific.errors import strange


@dataclass(frozen=True)
class Subscription:
    subscription_id: str
    event_type: str
    target_url: str
    is_enabled: bool


@dataclass(frozen=True)
class Delivery:
    event_id: str
    event_type: str
    resource_id: str
    status: str


class Hooks:
    def __init__(self, connection: ProlificConnection) -> None:
        self._connection = connection

    def create_secret(self, workspace_id: str) -> str:
        """The only one from now on: what the one before has signed is no longer genuine."""
        body = {"workspace_id": id_of(workspace_id, "workspace")}
        answer = self._connection.call("POST", "/hooks/secrets/", body)
        return Record(answer, "webhook secret").text("value")

    def secrets(self, workspace_id: str) -> list[str]:
        path = "/hooks/secrets/"
        answer = self._connection.get(path, workspace_id=id_of(workspace_id, "workspace"))
        items = self._connection.results(answer, path)
        return [Record(it, "webhook secret").text("value") for it in items]

    def subscribe(self, workspace_id: str, *, event_type: str, target_url: str) -> Subscription:
        """Made and confirmed at once, with the secret that the first answer carries."""
        path = "/hooks/subscriptions/"
        body = {
            "workspace_id": id_of(workspace_id, "workspace"),
            "event_type": event_type,
            "target_url": target_url,
        }
        response = self._connection.send("POST", path, body, repairable=True)
        handshake = response.headers.get("X-Hook-Secret")
        if not handshake:
            raise strange(f"POST {path}", self._connection.endpoint, "no X-Hook-Secret")
        made = self._connection.json(response, f"POST {path}")
        # Declared as a list, described as one object.
        subscription = _subscription(made[0] if isinstance(made, list) and made else made)
        self._connection.send(
            "POST",
            f"{path}{subscription.subscription_id}/",
            {"secret": handshake},
            repeatable=True,
        )
        return subscription

    def subscriptions(self, workspace_id: str) -> Iterator[Subscription]:
        query = {"workspace_id": id_of(workspace_id, "workspace")}
        return map(_subscription, self._connection.pages("/hooks/subscriptions/", **query))

    def enable(self, subscription_id: str, *, enabled: bool = True) -> Subscription:
        body = {"is_enabled": enabled}
        path = _path(subscription_id)
        return _subscription(self._connection.call("PATCH", path, body, repeatable=True))

    def unsubscribe(self, subscription_id: str) -> None:
        self._connection.send("DELETE", _path(subscription_id))

    def deliveries(self, subscription_id: str) -> Iterator[Delivery]:
        return map(_delivery, self._connection.pages(f"{_path(subscription_id)}events/"))


def _path(subscription_id: str) -> str:
    return f"/hooks/subscriptions/{id_of(subscription_id, 'subscription')}/"


def _subscription(value: object) -> Subscription:
    record = Record(value, "subscription")
    return Subscription(
        record.id(),
        record.text("event_type"),
        record.text("target_url"),
        record.flag("is_enabled", default=True),
    )


def _delivery(value: object) -> Delivery:
    record = Record(value, "delivery")
    return Delivery(
        record.text("id"),
        record.text("event_type"),
        record.id("resource_id"),
        record.text("status"),
    )
