"""A campaign whose workers are killed again and again, on a crowd that fails: `make chaos SEED=1`.

Two Celery workers are killed by SIGKILL at random moments while simulated people work, Redis is
killed twice, the crowd fails at every tenth call. Then the crowd's own records judge: see
`tests/chaos/`.
"""

import json
import os
import random
import re
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path

import pytest
from pytest_django import Settings

from annotation.analytics.campaign.progress import progress
from annotation.crowd.port import CrowdError
from annotation.crowd.simulated.browser import WorkerSite
from annotation.crowd.simulated.knowledge import Gold, read_gold
from annotation.crowd.simulated.profiles import WorkerProfiles
from annotation.crowd.simulated.workers import Simulation
from annotation.models import Campaign, OutboxMessage
from annotation.pipeline.controls.import_controls import SHIPPED, import_controls
from annotation.pipeline.ledger.reservations import set_budget
from annotation.pipeline.publishing.pack import pack_hits
from annotation.pipeline.publishing.publish import publish
from annotation.pipeline.setup.create import create_campaign
from annotation.protocol.policy.policy import Policy
from benchmarks import folders
from benchmarks.main_job import machine
from demo.processes import ROOT
from demo.services import Services
from exports.building.export import export
from retrieval.corpus.ingest import ingest
from retrieval.indexing.build import build_index
from retrieval.search.retrieve import retrieve
from tests.chaos.audit import audit
from tests.chaos.replay import differing_files, replayed_release
from tests.retrieval.encoders.keywords import KeywordEncoder
from tests.services.conftest import start_stack
from tests.services.stack import ServiceStack, wait_until
from tests.worlds.mturk import crowd_at

pytestmark = pytest.mark.chaos

SEED = int(os.environ.get("CHAOS_SEED", "1"))
QUERIES = int(os.environ.get("CHAOS_QUERIES", "40"))  # 30 triplets each: six HITs
KILLS = int(os.environ.get("CHAOS_KILLS", "20"))
KEEP = bool(os.environ.get("CHAOS_KEEP"))
FAULTS = 0.1
PAIRS = ROOT / "demo" / "qa_pairs.jsonl"
GOLD = ROOT / "demo" / "gold.jsonl"
# Each way of breaking ties and of paying has its turn.
POLICIES: tuple[Mapping[str, object], ...] = (
    {"tie_mode": "repack"},
    {"tie_mode": "extend"},
    {"tie_mode": "extend", "on_failed_control": "pay_and_discard"},
)
RULES: dict[str, object] = {
    "assignment_minutes": 1,  # then abandoned work goes back to the crowd: the shortest there is
    "min_assignments": 5,  # so that even a short campaign excludes somebody
}
BUDGET_CENTS = 1_000_000
MOST_TURNS = 400
VARIABLES = {
    "QUORUM_CLAIM_SECONDS": "15",  # so long the calls of the dead wait
    "QUORUM_CROWD_THREADS": "4",  # a batch takes less, even where all wait after a throttle answer
    "QUORUM_RECONCILE_SECONDS": "5",
    "QUORUM_LOG_LEVEL": "INFO",
}


@dataclass
class Killer:
    """Kills one worker at a time, at a random moment of its life; Redis twice."""

    stack: ServiceStack
    services: Services
    rng: random.Random
    kills: int = 0
    restarts: int = 0

    def strike(self) -> None:
        time.sleep(self.rng.uniform(0.2, 2.5))
        name = self.rng.choice(self.stack.workers)
        self.stack.kill(name)
        self.kills += 1
        if self.kills in (KILLS // 3, 2 * KILLS // 3):
            self.services.restart_redis()
            self.restarts += 1
        self.stack.run(name)


@pytest.fixture
def chaotic_stack(
    services: Services, on_postgresql: None, tmp_path: Path, settings: Settings
) -> Iterator[ServiceStack]:
    faults = "--faults", str(FAULTS), "--fault-seed", str(SEED)
    with start_stack(services, tmp_path, settings, VARIABLES, emulator_options=faults) as running:
        yield running


def packed_demo_campaign() -> Campaign:
    ingest(PAIRS, "demo")
    words = re.findall(r"\w{4,}", " ".join(_questions()))
    encoder = KeywordEncoder(" ".join(sorted(set(words))))
    build_index("keywords", "QQA", encoder=encoder)
    import_controls(SHIPPED)
    rules = RULES | POLICIES[SEED % len(POLICIES)]
    policy = Policy.from_dict(rules)
    campaign = create_campaign("chaos", policy=policy, seed=SEED, sample=QUERIES)
    retrieve(campaign.query_set, k=policy.candidates_per_query, encoder=encoder)
    pack_hits(campaign)
    set_budget(campaign, BUDGET_CENTS)
    return campaign


def _questions() -> list[str]:
    lines = PAIRS.read_text(encoding="utf-8").splitlines()
    return [str(json.loads(line)["question"]).lower() for line in lines]


def publish_at_last(campaign: Campaign, url: str) -> None:
    """The crowd fails here too: the publisher tries again."""
    for _ in range(20):
        try:
            publish(campaign, crowd_at(url))
        except CrowdError:
            time.sleep(0.2)
        else:
            return
    raise AssertionError("the crowd failed twenty times in a row")


def work(stack: ServiceStack, most: int, gold: Gold) -> int:
    """Some people submit at most so many assignments; how many they did."""
    profiles = WorkerProfiles(workers=30, accuracy=0.99, spammers=0.1, seed=SEED, faults=FAULTS)
    with WorkerSite(stack.emulator_url) as site:
        return Simulation(profiles, gold, site).run(most).assignments


def is_settled(campaign: Campaign) -> bool:
    now = progress(campaign)
    waits = now["open"] or now["messages_waiting"] or now["to_review"] or now["messages_failed"]
    return not waits and now["submitted"] == now["approved"] + now["rejected"]  # type: ignore[operator]


def test_nothing_is_paid_twice_lost_or_overspent(
    chaotic_stack: ServiceStack, services: Services, tmp_path: Path
) -> None:
    stack = chaotic_stack
    began = time.monotonic()
    campaign = packed_demo_campaign()
    publish_at_last(campaign, stack.emulator_url)
    gold = read_gold([SHIPPED, GOLD])
    killer = Killer(stack, services, random.Random(SEED))
    hits = campaign.hits.count()
    a_turn = max(5, 5 * hits // (2 * KILLS))
    for _ in range(MOST_TURNS):
        done = work(stack, a_turn, gold)
        if killer.kills < KILLS:
            killer.strike()
        elif is_settled(campaign):
            break
        elif not done:
            time.sleep(0.5)
    seconds = time.monotonic() - began
    report(campaign, stack, killer, seconds=seconds)
    assert killer.kills >= KILLS
    assert killer.restarts == 2
    wait_until(lambda: is_settled(campaign), "the campaign was at its end")
    for name in ("beat", *stack.workers):
        stack.kill(name)
    state = stack.data / "mturk_emulator.sqlite3"
    assert audit(state, campaign) == []
    release = export(campaign, tmp_path / "release").folder
    replayed = replayed_release(state, campaign, tmp_path / "replayed")
    assert differing_files(release, replayed) == []
    if KEEP:
        keep(campaign, stack, killer, seconds=seconds)


def keep(campaign: Campaign, stack: ServiceStack, killer: Killer, *, seconds: float) -> None:
    """Beside the last runs of other seeds; what was asserted holds."""
    revision = ["git", "describe", "--always", "--dirty"]
    logs = [stack.log(name).read_text() for name in stack.workers]
    run = {
        "machine": machine(),
        "revision": subprocess.check_output(revision, cwd=ROOT, text=True).strip(),
        "seed": SEED,
        "queries": QUERIES,
        "hits": campaign.hits.count(),
        "assignments": progress(campaign)["submitted"],
        "kills": killer.kills,
        "restarts_of_redis": killer.restarts,
        "calls": campaign.outbox.filter(state=OutboxMessage.State.DONE).count(),
        "passes": sum(log.count(f"campaign {campaign}: Pass(") for log in logs),
        "seconds": round(seconds),
        "differing_files": 0,
    }
    path = folders.RESULTS / "chaos.json"
    kept = json.loads(path.read_text())["runs"] if path.is_file() else []
    runs = [*(one for one in kept if one["seed"] != SEED), run]
    folders.keep("chaos", {"runs": sorted(runs, key=itemgetter("seed"))})


def report(campaign: Campaign, stack: ServiceStack, killer: Killer, *, seconds: float) -> None:
    now = progress(campaign)
    calls = campaign.outbox.filter(state=OutboxMessage.State.DONE)
    faults = dict(stack.rows("SELECT kind, COUNT(*) FROM faults GROUP BY kind ORDER BY kind"))
    repeated = sum(calls.filter(attempts__gt=1).values_list("attempts", flat=True))
    print(
        f"\nchaos: seed {SEED}, {campaign.policy.tie_mode}, {campaign.policy.on_failed_control}: "
        f"{now['hits']} HITs, {now['submitted']} assignments, {now['excluded_workers']} excluded, "
        f"{killer.kills} kills, {killer.restarts} restarts of Redis, {seconds:.0f} s\n"
        f"chaos: {calls.count()} calls, {repeated} attempts at those tried again; faults {faults}\n"
        f"chaos: {json.dumps(now, default=str)}"
    )
