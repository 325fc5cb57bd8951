"""People who work as browsers do, at the site's Turk or at the emulator."""

import html
import http.client
import random
import re
import threading
import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlencode, urlsplit

from demo.processes import StackError

FRAME = re.compile(r'<iframe[^>]* src="([^"]+)"')
OFFERED = re.compile(r'<a [^>]*href="(/work/turk/production/[^"/]+/hits/\w+)"')
ACCEPT = re.compile(r'action="(/worker/\w+/hits/\w+/accept)"')
CSRF = "t" * 32
TAKEN = 409
NOTHING_SECONDS = 3.0  # until somebody looks again who has seen no HIT


@dataclass
class Times:
    """The seconds of each request by what it was for."""

    seconds: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def add(self, other: "Times") -> None:
        for what, seconds in other.seconds.items():
            self.seconds[what] += seconds


class Person(ABC):
    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=120)
        self._headers = headers
        self.times = Times()
        self.submitted = 0
        self.taken_by_others = 0

    def work(self, over: threading.Event) -> None:
        """One HIT after the other until it is over."""
        offered = ""
        while not over.is_set():
            offered = offered or self.find()
            if not offered:
                over.wait(NOTHING_SECONDS)
                continue
            status, assignment, _ = self.ask(
                "accept", "POST", offered, {"csrfmiddlewaretoken": CSRF}
            )
            offered = "" if status == TAKEN else self._do(assignment)
            self.taken_by_others += status == TAKEN

    def _do(self, assignment: str) -> str:
        """The address that accepts the next HIT, where there is one."""
        _, _, page = self.ask("open", "GET", assignment)
        frame = FRAME.search(page)
        if frame is None:
            raise StackError(f"{assignment} shows no question")
        given = {
            key: one for key, [one] in parse_qs(urlsplit(html.unescape(frame[1])).query).items()
        }
        place = urlsplit(given["turkSubmitTo"]).path + "/mturk/externalSubmit"
        form = {"assignmentId": given["assignmentId"], "colour": "red"}
        self.ask("submit", "POST", place, form)
        self.submitted += 1
        return self.following(assignment, given["hitId"])

    @abstractmethod
    def find(self) -> str:
        """The address that accepts a HIT of the list; empty: there is none."""

    def following(self, assignment: str, hit_id: str) -> str:
        return ""

    def ask(
        self, what: str, method: str, path: str, form: Mapping[str, str] | None = None
    ) -> tuple[int, str, str]:
        headers = dict(self._headers)
        body = None
        if form is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
            body = urlencode(form)
        began = time.perf_counter()
        self._connection.request(method, path, body, headers)
        answer = self._connection.getresponse()
        text = answer.read().decode()
        self.times.seconds[what].append(time.perf_counter() - began)
        if answer.status >= 400 and answer.status != TAKEN:
            raise StackError(f"{method} {path} answered {answer.status}: {text[:300]}")
        return answer.status, answer.headers.get("location", ""), text


class Member(Person):
    """Of the team, at the site."""

    def __init__(self, url: str, session: str) -> None:
        super().__init__(url, {"Cookie": f"sessionid={session}; csrftoken={CSRF}"})

    def find(self) -> str:
        offered = OFFERED.findall(self.ask("list", "GET", "/work/turk/production")[2])
        return random.choice(offered) if offered else ""

    def following(self, assignment: str, hit_id: str) -> str:
        hits = assignment.partition("/assignments/")[0] + "/hits"
        _, to, _ = self.ask("next", "GET", f"{hits}/{hit_id}/next")
        return to if to.startswith(hits) else ""


class Stranger(Person):
    """At the emulator, where whoever says who they are is believed."""

    def __init__(self, url: str, number: int) -> None:
        super().__init__(url, {})
        self._worker = f"A{number}"
        self.ask("sign in", "POST", "/worker/register", {"workerId": self._worker})

    def find(self) -> str:
        offered = ACCEPT.findall(self.ask("list", "GET", f"/worker/{self._worker}/hits")[2])
        return random.choice(offered) if offered else ""
