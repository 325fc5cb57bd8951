"""The crowds that keep the contract, and people who work there.

MTurk is the real emulator, started as a program of its own, whose workers use it as browsers do;
in memory it is the same rules without the wire, as most tests use them.
"""

import re
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import httpx
import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from annotation.crowd.inhouse import assignments, visits
from annotation.crowd.inhouse.adapter import PANEL_SITE, InhouseCrowd
from annotation.crowd.inhouse.models import Member, Participant, PostedHit, Visit
from annotation.crowd.inhouse.visits import Person
from annotation.crowd.mturk.adapter import MTurkCrowd
from annotation.crowd.port import Crowd, HitTypeSpec
from tests.annotation.crowd.prolific.desk import Desk
from tests.annotation.crowd.prolific.world import Clock, running
from tests.worlds.memory_crowd import MemoryMTurk

ROOT = Path(__file__).resolve().parents[3]


@contextmanager
def running_emulator(state: Path, *, balance_cents: int = 100_000_000) -> Iterator[str]:
    """The address of an emulator that runs in a process of its own until the end of the block."""
    options = f"--port 0 --state {state} --balance {balance_cents}".split()
    process = subprocess.Popen(
        [sys.executable, "-m", "annotation.crowd.emulator", *options],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    address = re.search(r"http://\S+", process.stdout.readline())
    try:
        assert address, f"the emulator did not start (exit status {process.wait(10)})"
        yield address[0]
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()


@pytest.fixture(scope="session")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_emulator(tmp_path_factory.mktemp("emulator") / "state.sqlite3") as address:
        yield address


class Worker:
    """One person at a crowd."""

    worker_id: str

    def accept(self, hit_id: str) -> str | None:
        """The assignment; None when the crowd does not let this worker have one."""
        raise NotImplementedError

    def submit(self, assignment_id: str, answers: Mapping[str, str]) -> None:
        raise NotImplementedError

    def work(self, hit_id: str, answers: Mapping[str, str] | None = None) -> str:
        """Accept and submit; the assignment."""
        assignment_id = self.accept(hit_id)
        assert assignment_id, f"{self.worker_id} cannot accept {hit_id}"
        self.submit(assignment_id, answers or {"item-1": "1"})
        return assignment_id


class MTurkWorker(Worker):
    """At the worker's side of the emulator."""

    def __init__(self, browser: httpx.Client, worker_id: str, **status: str) -> None:
        self.worker_id = worker_id
        self._browser = browser
        good = {"masters": "on", "approvalPercent": "100", "approvedHits": "5000"}
        self._post("/worker/register", {"workerId": worker_id, **good, **status})

    def accept(self, hit_id: str) -> str | None:
        taken = self._post(f"/worker/{self.worker_id}/hits/{hit_id}/accept", {})
        return taken.headers["location"].rpartition("/")[2] if taken.status_code == 303 else None

    def submit(self, assignment_id: str, answers: Mapping[str, str]) -> None:
        sent = self._post("/mturk/externalSubmit", {"assignmentId": assignment_id, **answers})
        assert sent.status_code == 200, sent.text

    def _post(self, path: str, form: Mapping[str, str]) -> httpx.Response:
        return self._browser.post(path, data=dict(form))


class InhouseWorker(Worker):
    """A member of the team who works in-house and gives back what was not wanted."""

    def __init__(self, name: str) -> None:
        user = User.objects.create_user(name)
        self._member = Member.objects.create(user=user, joined_at=datetime.now(UTC))
        self.worker_id = self._member.worker_id

    def accept(self, hit_id: str) -> str | None:
        given_back: set[str] = set()
        while (work := assignments.take(self._member, now=datetime.now(UTC))) is not None:
            if work.posted_hit.hit_id == hit_id:
                return work.assignment_id
            assignments.give_back(self._member, work.assignment_id, now=datetime.now(UTC))
            if work.posted_hit.hit_id in given_back:  # nothing else is left
                return None
            given_back.add(work.posted_hit.hit_id)
        return None

    def submit(self, assignment_id: str, answers: Mapping[str, str]) -> None:
        assignments.submit(self._member, assignment_id, answers, now=datetime.now(UTC))


class PanelWorker(InhouseWorker):
    """Somebody whom a panel sends, by a link to the HITs that they are to work on."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._member.crowd = "panel"
        self._member.save()
        Participant.objects.create(member=self._member, panel="connect", external_id=name)

    def accept(self, hit_id: str) -> str | None:
        (hit_type_id,) = PostedHit.objects.filter(hit_id=hit_id).values_list("hit_type__type_id")[0]
        now = datetime.now(UTC)
        link = visits.links_to(hit_type_id).first()
        link = link or visits.open_link(hit_type_id, "connect", tasks=100, now=now)
        # Each HIT is a visit of its own.
        Visit.objects.filter(member=self._member, finished_at=None).update(finished_at=now)
        person = Person(self._member.participant.external_id, uuid.uuid4().hex)
        self._visit = visits.arrive(link, person, now=now)
        return super().accept(hit_id)

    def submit(self, assignment_id: str, answers: Mapping[str, str]) -> None:
        super().submit(assignment_id, answers)
        visits.finish(self._visit, now=datetime.now(UTC))


class ProlificWorker(Worker):
    """A participant of a running Prolific; each HIT is a visit of its own."""

    def __init__(self, desk: Desk, name: str) -> None:
        self._desk, self._name = desk, name
        person = desk.people[name] = desk.prolific.person()
        user = User.objects.create_user(name)
        member = Member.objects.create(user=user, crowd="prolific", joined_at=desk.now())
        Participant.objects.create(member=member, panel="prolific", external_id=person.id)
        self.worker_id = member.worker_id

    def accept(self, hit_id: str) -> str | None:
        self._desk.open_to(hit_id, self._name)
        if not self._desk.offered(self._name):
            return None
        visit = self._desk.come(self._name)
        if (taken := self._desk.take(visit, hit_id)) is None:  # there is nothing to do for them
            self._desk.people[self._name].give_up(visit.session_id)
            self._desk.tend()
        return taken

    def submit(self, assignment_id: str, answers: Mapping[str, str]) -> None:
        visit = Visit.objects.get(member__worker_id=self.worker_id, finished_at=None)
        assignments.submit(visit.member, assignment_id, answers, now=self._desk.now())
        self._desk.leave(self._name, visit)
        self._desk.tend()


class MemoryWorker(Worker):
    """At MTurk in memory."""

    def __init__(self, world: MemoryMTurk, name: str) -> None:
        self._person = world.person(name)
        self.worker_id = self._person.id

    def accept(self, hit_id: str) -> str | None:
        return self._person.accept(hit_id)

    def submit(self, assignment_id: str, answers: Mapping[str, str]) -> None:
        self._person.submit(assignment_id, answers)


# What every crowd can be asked for.
SPEC = HitTypeSpec(
    title="Do two questions ask for the same?",
    description="Seven pairs of questions.",
    keywords="questions, judgment",
    reward_cents=15,
    assignment_seconds=1800,
    auto_approval_seconds=259_200,
    masters=False,
    min_approval_percent=0,
    min_approved=0,
    exclusion_id=None,
)
MTURK_SPEC = replace(SPEC, masters=True, min_approval_percent=95, min_approved=100)


@dataclass
class Market:
    """A crowd with people in it: what the contract is tested on."""

    crowd: Crowd
    hire: Callable[..., Worker]
    spec: HitTypeSpec
    now: Callable[[], datetime] = timezone.now  # the crowd's own time
    tokens: Iterator[str] = field(default_factory=lambda: iter(lambda: uuid.uuid4().hex, ""))

    def hit_type(
        self,
        *,
        exclusion_id: str | None = None,
        known_id: str | None = None,
        excluded_workers: tuple[int, ...] = (),
        qualified_id: str | None = None,
    ) -> str:
        wanted = replace(
            self.spec,
            exclusion_id=exclusion_id,
            known_id=known_id,
            excluded_workers=excluded_workers,
            qualified_id=qualified_id,
        )
        return self.crowd.create_hit_type(wanted)

    def publish(
        self,
        *,
        max_assignments: int = 2,
        hit_type_id: str = "",
        token: str = "",
        annotation: str = "a key of ours",
    ) -> str:
        return self.crowd.create_hit(
            hit_type_id=hit_type_id or self.hit_type(),
            url="https://quorum.example.org/hit/signed?page=1&more=2",
            max_assignments=max_assignments,
            lifetime_seconds=3600,
            token=token or next(self.tokens),
            annotation=annotation,
        )


@pytest.fixture(scope="session")
def mturk_crowd(emulator: str) -> Crowd:
    return MTurkCrowd(emulator)


@pytest.fixture
def mturk_market(mturk_crowd: Crowd, emulator: str) -> Iterator[Market]:
    """Workers' names are new in each test, so that no test meets the work of another."""
    shift = uuid.uuid4().hex[:8].upper()
    with httpx.Client(base_url=emulator) as browser:

        def hire(name: str, **status: str) -> MTurkWorker:
            return MTurkWorker(browser, f"A{name.upper()}{shift}", **status)

        yield Market(mturk_crowd, hire, MTURK_SPEC)


@pytest.fixture
def inhouse_market() -> Market:
    return Market(InhouseCrowd(), InhouseWorker, SPEC)


@pytest.fixture
def panel_market() -> Market:
    return Market(InhouseCrowd(PANEL_SITE), PanelWorker, SPEC)


@pytest.fixture
def prolific_market(tmp_path: Path) -> Iterator[Market]:
    now = Clock()
    now.now = datetime.now(UTC).timestamp()
    with running(tmp_path / "prolific.sqlite3", clock=now, undo=True) as prolific:
        desk = Desk(prolific)
        yield Market(desk.crowd, partial(ProlificWorker, desk), SPEC, desk.now)


@pytest.fixture
def memory_market() -> Market:
    world = MemoryMTurk(balance_cents=100_000_000)
    return Market(world.crowd, partial(MemoryWorker, world), MTURK_SPEC)


# In-house it is all in our own database, which threads can share only between transactions.
IN_OUR_DATABASE = pytest.mark.django_db(transaction=True)


AT_OUR_DESK = ("inhouse", "panel", "prolific")
IN_HOUSE = [pytest.param(name, marks=IN_OUR_DATABASE) for name in AT_OUR_DESK]


@pytest.fixture(params=["mturk", "memory", *IN_HOUSE])
def market(request: pytest.FixtureRequest) -> Market:
    found: Market = request.getfixturevalue(f"{request.param}_market")
    return found
