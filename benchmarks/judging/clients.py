"""Members at a site, so many at once: each takes a HIT and submits it."""

import http.client
import re
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue
from urllib.parse import urlencode, urlsplit

from demo.processes import StackError

KEY = re.compile(r'data-item="([^"]+)"')
CSRF = "t" * 32
NOTHING_LEFT = "/work"
BEHAVIOUR = '{"v":1,"active_ms":61000,"items":{},"order":[]}'


@dataclass(frozen=True)
class Job:
    """A member without a HIT; what the bare views are told instead of finding it out."""

    member: int
    session: str
    hits: tuple[int, int]
    keys: Sequence[str]


class Clients:
    """So many persistent connections to one site."""

    def __init__(self, url: str, count: int, *, bare: bool) -> None:
        self._bare = bare
        self._threads = ThreadPoolExecutor(count)
        self._free: SimpleQueue[http.client.HTTPConnection] = SimpleQueue()
        for _ in range(count):
            self._free.put(http.client.HTTPConnection(urlsplit(url).netloc, timeout=60))

    def round(self, jobs: Sequence[Job]) -> tuple[list[float], list[float]]:
        """The seconds of each member's first HIT, then of each submission."""
        taken = list(self._threads.map(self.take, jobs))
        places = [place for _, place in taken]
        sheets = [sheet for _, sheet in self._threads.map(self.sheet, jobs, places)]
        submitted = list(self._threads.map(self.submit, jobs, places, sheets))
        if nowhere := [place for _, place in (*taken, *submitted) if place == NOTHING_LEFT]:
            raise StackError(f"{len(nowhere)} members got no HIT")
        return [seconds for seconds, _ in taken], [seconds for seconds, _ in submitted]

    def close(self) -> None:
        self._threads.shutdown()

    def take(self, job: Job) -> tuple[float, str]:
        """The seconds, and where the HIT is: NOTHING_LEFT where there is none."""
        return self._post(job, "/work/next", self._known(job, 0))

    def submit(self, job: Job, place: str, sheet: Mapping[str, str]) -> tuple[float, str]:
        """The seconds, and where the next HIT is."""
        return self._post(job, place, {**sheet, **self._known(job, 1)})

    def _known(self, job: Job, turn: int) -> dict[str, str]:
        if not self._bare:
            return {}
        return {"member": str(job.member), "hit": str(job.hits[turn])}

    def sheet(self, job: Job, place: str) -> tuple[float, dict[str, str]]:
        """The seconds of the page, and answers to the items that it shows."""
        began = time.perf_counter()
        keys = job.keys if self._bare else KEY.findall(self._ask(job, "GET", place)[1])
        seconds = time.perf_counter() - began
        return seconds, {**{f"item-{key}": "1" for key in keys}, "behaviour": BEHAVIOUR}

    def _post(self, job: Job, path: str, form: Mapping[str, str]) -> tuple[float, str]:
        body = urlencode({"csrfmiddlewaretoken": CSRF, **form})
        began = time.perf_counter()
        location, _ = self._ask(job, "POST", path, body)
        seconds = time.perf_counter() - began
        if not location.startswith(NOTHING_LEFT):
            raise StackError(f"{path} of member {job.member} led to {location!r}")
        return seconds, location

    def _ask(self, job: Job, method: str, path: str, body: str = "") -> tuple[str, str]:
        headers = {"Cookie": f"sessionid={job.session}; csrftoken={CSRF}"}
        if body:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        connection = self._free.get()
        try:
            connection.request(method, path, body or None, headers)
            response = connection.getresponse()
            text = response.read().decode()
        finally:
            self._free.put(connection)
        if response.status >= 400:
            raise StackError(f"{method} {path} answered {response.status}: {text[:200]}")
        return response.headers.get("location", ""), text
