"""Simulated members at the real site: each a thread with a connection and a session of its own."""

import hashlib
import http.client
import json
import random
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlencode, urlsplit

from annotation.crowd.inhouse.ids import new_id

Habit = Literal["plain", "skips", "abandons", "submits twice", "two tabs", "reports", "spams"]
HABITS: tuple[Habit, ...] = (
    *(["plain"] * 13),
    "skips",
    "skips",
    "abandons",
    "submits twice",
    "two tabs",
    "reports",
    "spams",
)
KEY = re.compile(r'data-item="([^"]+)"')
TAKEN_IN = (200, 303)
# Of a judgment on a plain triplet, the share that goes the other way: these make the ties.
DISSENT = 0.04


@dataclass
class Log:
    """What the site has said to all of them."""

    taken_in: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)
    refused: list[tuple[int, str]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    # Two tabs of one member that were given two HITs: never, unless the first one ended between.
    at_once: list[tuple[str, str]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    habits: set[Habit] = field(default_factory=set)


class Tab:
    """One browser tab: a persistent connection that a session travels on."""

    def __init__(self, site: str, session: str, log: Log) -> None:
        self._address = urlsplit(site).netloc
        self._connection = http.client.HTTPConnection(self._address, timeout=60)
        self._csrf = new_id()
        self._cookie = f"sessionid={session}; csrftoken={self._csrf}"
        self._log = log

    def get(self, path: str) -> tuple[int, str]:
        status, _, body = self._ask("GET", path)
        return status, body

    def post(self, path: str, form: Mapping[str, str]) -> tuple[int, str]:
        """The status, and where it leads to."""
        sent = urlencode({"csrfmiddlewaretoken": self._csrf, **form})
        status, location, _ = self._ask("POST", path, sent)
        return status, location

    def close(self) -> None:
        self._connection.close()

    def _ask(self, method: str, path: str, body: str | None = None) -> tuple[int, str, str]:
        headers = {"Cookie": self._cookie, "Accept": "text/html"}
        if body is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        began = time.monotonic()
        self._connection.request(method, path, body, headers)
        response = self._connection.getresponse()
        text = response.read().decode()
        self._log.seconds.append(time.monotonic() - began)
        if response.status >= 500 or response.status == 400:
            self._log.faults.append(f"{method} {path}: {response.status} {text[:300]}")
        return response.status, response.headers.get("location", ""), text


@dataclass
class Annotator:
    """Judges until `over`; the same seed makes the same choices."""

    site: str
    name: str
    session: str
    habit: Habit
    truth: Mapping[str, int]  # item's key -> what a careful reader says
    controls: frozenset[str]
    log: Log
    over: threading.Event
    forget: Callable[[str], None]  # an assignment: its time runs out

    def run(self) -> None:
        self._rng = random.Random(self.name)
        self._tab = Tab(self.site, self.session, self.log)
        self._strayed = False
        try:
            while not self.over.is_set():
                if not self._judge_one():
                    self.over.wait(2 + 4 * self._rng.random())
        except (OSError, http.client.HTTPException, json.JSONDecodeError) as error:
            self.log.faults.append(f"{self.name}: {error!r}")
        finally:
            self._tab.close()

    def _judge_one(self) -> bool:
        """False where there is nothing to do at the moment."""
        place = self._take()
        if place is None:
            return False
        assignment_id = place.rpartition("/")[2]
        status, page = self._tab.get(place)
        if status != 200:  # its lease has run out meanwhile
            self.log.refused.append((status, assignment_id))
            if status == 403:  # excluded meanwhile: the page asks for it back
                self._tab.post(f"{place}/return", {})
            return False
        self.over.wait(0.2 + 0.6 * self._rng.random())
        if self.habit in ("skips", "abandons") and not self._strayed:
            return self._stray(place)
        self._submit(place, assignment_id, self._sheet(page))
        return True

    def _take(self) -> str | None:
        """The page of a HIT; two tabs that ask at once get the same one."""
        if self.habit != "two tabs":
            return _place(self._tab.post("/work/next", {}))
        other = Tab(self.site, self.session, self.log)
        found: list[str | None] = []
        thread = threading.Thread(target=lambda: found.append(_place(other.post("/work/next", {}))))
        thread.start()
        mine = _place(self._tab.post("/work/next", {}))
        thread.join()
        other.close()
        if mine and found[0]:
            self.log.habits.add("two tabs")
            if mine != found[0]:
                self.log.at_once.append((mine.rpartition("/")[2], found[0].rpartition("/")[2]))
        return mine

    def _stray(self, place: str) -> bool:
        self._strayed = True
        self.log.habits.add(self.habit)
        if self.habit == "skips":
            self._tab.post(f"{place}/return", {})
        else:
            self.forget(place.rpartition("/")[2])
        return True

    def _submit(self, place: str, assignment_id: str, sheet: Mapping[str, str]) -> None:
        if self.habit != "submits twice":
            self._post_sheet(self._tab, place, assignment_id, sheet)
            return
        other = Tab(self.site, self.session, self.log)
        again = threading.Thread(target=self._post_sheet, args=(other, place, assignment_id, sheet))
        again.start()
        self._post_sheet(self._tab, place, assignment_id, sheet)
        again.join()
        other.close()
        self.log.habits.add(self.habit)

    def _post_sheet(
        self, tab: Tab, place: str, assignment_id: str, sheet: Mapping[str, str]
    ) -> None:
        status, _ = tab.post(place, sheet)
        if status in TAKEN_IN:
            self.log.taken_in.append((assignment_id, sheet))
        else:
            self.log.refused.append((status, assignment_id))

    def _sheet(self, page: str) -> dict[str, str]:
        keys = KEY.findall(page)
        sheet = {f"item-{key}": str(self._judgment(key)) for key in keys}
        if self.habit == "reports":
            self.log.habits.add(self.habit)
            sheet |= {f"report-{keys[0]}": "unclear", f"report-text-{keys[0]}": "What is it?"}
        return sheet

    def _judgment(self, key: str) -> int:
        if self.habit == "spams":
            self.log.habits.add(self.habit)
            return self._rng.getrandbits(1)
        digest = hashlib.sha256(f"{self.name} {key}".encode()).digest()
        dissents = key not in self.controls and digest[0] < 256 * DISSENT
        return self.truth[key] ^ int(dissents)


def _place(answer: tuple[int, str]) -> str | None:
    _, location = answer
    return location if location.startswith("/work/") else None
