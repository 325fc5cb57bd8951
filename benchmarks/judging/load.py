"""Many annotators at once, each at their own pace: what they waited, and that nothing is lost."""

import json
import random
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from statistics import quantiles

from benchmarks.campaign.size import Place
from benchmarks.judging.clients import NOTHING_LEFT, Clients, Job
from demo.processes import StackError

STEPS = ("next", "page", "submit")


@dataclass(frozen=True)
class Load:
    """A task takes each person from half of `pace` seconds to half as much again."""

    share: float = 0.1  # of the paper's campaign: 9,126 HITs, half of them open
    members: int = 200
    seconds: float = 600
    pace: float = 20


SMALL = Load(share=0.002, members=4, seconds=3, pace=0.3)


@dataclass
class Day:
    """What one member did: seconds by step, and the answers sent by assignment."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: {step: [] for step in STEPS})
    sent: dict[str, dict[str, str]] = field(default_factory=dict)


def measure_load(place: Place, folder: Path, load: Load) -> dict[str, object]:
    """Fails at the first answer that is an error. `place` is up."""
    path = folder / "load.json"
    place.run("benchmarks.judging.inputs", str(path), str(load.members), str(load.share))
    members = json.loads(path.read_text())["members"]
    jobs = [Job(member, session, hits=(0, 0), keys=()) for member, session in members]
    end = time.monotonic() + load.seconds
    clients = Clients(place.stack.site_url, load.members, bare=False)
    with ThreadPoolExecutor(load.members) as people:
        days = list(people.map(lambda job: _work(clients, job, end, load.pace), jobs))
    clients.close()
    sent = {key: sheet for day in days for key, sheet in day.sent.items()}
    path.write_text(json.dumps(sent))
    checked, *_ = place.run("benchmarks.judging.stored", str(path))
    if json.loads(checked) != {"submitted": len(sent), "unlike": 0, "miscounted": 0}:
        raise StackError(f"{len(sent)} tasks were submitted, and stored are {checked}")
    waited = {step: [one for day in days for one in day.seconds[step]] for step in STEPS}
    return {
        "members": load.members,
        "seconds": load.seconds,
        "submitted": len(sent),
        "requests_a_second": round(sum(map(len, waited.values())) / load.seconds, 1),
        **{step: _milliseconds(seconds) for step, seconds in waited.items()},
    }


def _work(clients: Clients, job: Job, end: float, pace: float) -> Day:
    """Until the time is up or nothing is left; what is in hand then stays there."""
    day, rng = Day(), random.Random(job.member)
    time.sleep(rng.uniform(0, min(pace, end - time.monotonic())))  # nobody comes at the same moment
    seconds, at = clients.take(job)
    day.seconds["next"].append(seconds)
    while at != NOTHING_LEFT and time.monotonic() < end:
        seconds, sheet = clients.sheet(job, at)
        day.seconds["page"].append(seconds)
        time.sleep(rng.uniform(pace / 2, 3 * pace / 2))
        day.sent[at.removeprefix("/work/")] = sheet
        seconds, at = clients.submit(job, at, sheet)
        day.seconds["submit"].append(seconds)
    return day


def _milliseconds(seconds: Sequence[float]) -> dict[str, float]:
    cuts = quantiles(seconds, n=100)
    return {
        name: round(1000 * cuts[at - 1], 1) for name, at in (("p50", 50), ("p95", 95), ("p99", 99))
    }
