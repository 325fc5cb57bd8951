"""Delivers events to the addresses that subscribed: at least once, in no certain order."""

import base64
import hashlib
import hmac
import logging
import threading

import httpx

from annotation.crowd.prolific.emulator.store import Store
from annotation.crowd.wire.faults import Faults, record
from annotation.crowd.wire.session import Row

POLL_SECONDS = 0.2
AT_ONCE = 50
LATE_SECONDS = (1.0, 5.0)
GIVES_UP = 5 * 86_400  # seconds without any success, after which a subscription is disabled

log = logging.getLogger(__name__)


def signature(secret: str, timestamp: str, body: bytes) -> str:
    digest = hmac.new(secret.encode(), timestamp.encode() + body, hashlib.sha256).digest()
    return base64.b64encode(digest).decode()


class Deliveries:
    def __init__(self, store: Store, faults: Faults) -> None:
        self._store = store
        self._faults = faults
        self._ended = threading.Event()
        self._working = threading.Lock()
        self._client = httpx.Client(
            timeout=store.readings.hook_timeout_seconds,
            trust_env=False,
            follow_redirects=False,
            verify=not store.readings.loopback_hooks,
        )

    def run(self) -> None:
        """Until `stop`, in a thread of its own."""
        while not self._ended.wait(POLL_SECONDS):
            self.deliver()

    def stop(self) -> None:
        """Returns once nothing is under way."""
        self._ended.set()
        with self._working:
            self._client.close()

    def deliver(self) -> int:
        """What is due now; how many were tried."""
        with self._working:
            return 0 if self._ended.is_set() else self._deliver()

    def _deliver(self) -> int:
        with self._store.reading() as session:
            due = session.rows(
                "SELECT e.*, u.target_url, u.failing_since, h.value FROM hook_events e"
                " JOIN subscriptions u USING (subscription_id)"
                " JOIN hook_secrets h USING (workspace_id)"
                " WHERE e.status = 'PENDING' AND e.next_at <= ? ORDER BY e.next_at, e.seq LIMIT ?",
                session.now,
                AT_ONCE,
            )
            now = session.now
        for event in due:
            self._handle(event, now)
        return len(due)

    def _handle(self, event: Row, now: float) -> None:
        fault = event["fault"]
        if not event["attempts"] and fault is None and (fault := self._faults.of_delivery()):
            with self._store.writing() as session:
                record(session, fault, "delivery")
        if fault == "late" and event["fault"] is None:
            delay = self._faults.draw("late", event["seq"]).uniform(*LATE_SECONDS)
            self._write(event, fault=fault, next_at=now + delay)
            return
        if not self._post(event, now):
            self._failed(event, now)
        elif fault == "repeated" and event["fault"] is None:
            self._write(event, fault=fault, attempts=event["attempts"] + 1)
        else:
            self._write(event, status="SUCCEEDED", attempts=event["attempts"] + 1)
            self._failing(event, None)

    def _post(self, event: Row, now: float) -> bool:
        """Outside of any transaction: what is sent and not written down is sent again."""
        body = event["payload"].encode()
        timestamp = str(int(now))
        headers = {
            "Content-Type": "application/json",
            "X-Prolific-Request-Timestamp": timestamp,
            "X-Prolific-Request-Signature": signature(event["value"], timestamp, body),
            "X-Event-ID": event["event_id"],
            "X-Timestamp": timestamp,
        }
        try:
            return self._client.post(event["target_url"], content=body, headers=headers).is_success
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            log.info("%s was not reached: %r", event["target_url"], error)
            return False

    def _failed(self, event: Row, now: float) -> None:
        attempts = event["attempts"] + 1
        if attempts >= self._store.readings.hook_attempts:
            self._write(event, status="FAILED", attempts=attempts)
        else:
            most = 60.0 * 2 ** (attempts - 1)  # full jitter
            wait = self._faults.draw(f"retry {event['seq']}", attempts).uniform(0, most)
            self._write(event, attempts=attempts, next_at=now + wait)
        self._failing(event, event["failing_since"] or now)
        if now - (event["failing_since"] or now) >= GIVES_UP:
            with self._store.writing() as session:
                session.db.execute(
                    "UPDATE subscriptions SET is_enabled = 0 WHERE subscription_id = ?",
                    (event["subscription_id"],),
                )

    def _failing(self, event: Row, since: float | None) -> None:
        if event["failing_since"] != since:
            with self._store.writing() as session:
                session.db.execute(
                    "UPDATE subscriptions SET failing_since = ? WHERE subscription_id = ?",
                    (since, event["subscription_id"]),
                )

    def _write(self, event: Row, **values: object) -> None:
        columns = "".join(f", {name} = ?" for name in values)  # ours
        with self._store.writing() as session:
            session.db.execute(
                f"UPDATE hook_events SET updated_at = ?{columns} WHERE seq = ?",  # noqa: S608
                (session.now, *values.values(), event["seq"]),
            )
