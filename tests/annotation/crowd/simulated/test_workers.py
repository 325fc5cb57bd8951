"""Simulated workers against the real emulator and the real page, over HTTP."""

import json
import re
import socket
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from annotation.commands.crowd import simulated_in_words
from annotation.crowd.hit_url import hit_url
from annotation.crowd.port import HitTypeSpec
from annotation.crowd.simulated.browser import QuestionForm, WorkerSite
from annotation.crowd.simulated.knowledge import Gold
from annotation.crowd.simulated.profiles import WorkerProfiles, make_workers
from annotation.crowd.simulated.workers import STRAYS, Outcome, Simulation
from annotation.models import Exclusion, Hit, Worker
from core.errors import UserError
from core.text.clean import normalise_question
from tests.annotation.support.hits import NEGATIVE, POSITIVE, REAL, make_campaign, make_hit
from tests.support.command_line import quorum
from tests.worlds.mturk import MTurk

pytestmark = pytest.mark.wire

MOST_HITS = 6
SPEC = HitTypeSpec(
    title="Same question?",
    description="Say whether two questions ask the same.",
    keywords="questions",
    reward_cents=15,
    assignment_seconds=600,
    auto_approval_seconds=86_400,
    masters=True,
    min_approval_percent=95,
    min_approved=100,
    exclusion_id=None,
)


@pytest.fixture
def hits(live_server: LiveServer, settings: Settings, mturk: MTurk) -> list[Hit]:
    """Three published HITs with two assignments each."""
    settings.PUBLIC_URL = live_server.url
    return make_hits(mturk, number=3, max_assignments=2)


@pytest.fixture
def many_hits(live_server: LiveServer, settings: Settings, mturk: MTurk) -> list[Hit]:
    """So many that chance leaves no way of straying out."""
    settings.PUBLIC_URL = live_server.url
    return make_hits(mturk, number=MOST_HITS, max_assignments=9)


def make_hits(mturk: MTurk, *, number: int, max_assignments: int) -> list[Hit]:
    campaign = make_campaign()
    rows = [[(f"{query} {each}", u, a) for query, u, a in REAL] for each in range(number)]
    hits = [make_hit(campaign, real=real, max_assignments=max_assignments) for real in rows]
    publish(hits, mturk)
    return hits


def publish(hits: list[Hit], mturk: MTurk) -> None:
    kind = mturk.crowd.create_hit_type(SPEC)
    for hit in hits:
        hit.crowd_id = mturk.crowd.create_hit(
            hit_type_id=kind,
            url=hit_url(hit.key),
            max_assignments=hit.max_assignments,
            lifetime_seconds=86_400,
            token=hit.key,
            annotation=hit.key,
        )
        hit.save()


def key_of(query: str, question: str) -> tuple[str, str]:
    return normalise_question(query), normalise_question(question)


GOLD = Gold(
    labels={
        key_of(*POSITIVE[:2]): 1,
        key_of(*NEGATIVE[:2]): 0,
        **{
            key_of(f"{q} {n}", u): int(q == "boil an egg")
            for q, u, _ in REAL
            for n in range(MOST_HITS)
        },
    }
)


def run(
    mturk: MTurk, profiles: WorkerProfiles, gold: Gold = GOLD, most: int | None = None
) -> Outcome:
    with WorkerSite(mturk.url) as site:
        return Simulation(profiles, gold, site).run(most)


def submitted(mturk: MTurk) -> list[tuple[str, str, str]]:
    """HIT, worker and answers of each assignment, in order of submission."""
    return mturk.rows(
        "SELECT hit_id, worker_id, answer FROM assignments"
        " WHERE submit_number IS NOT NULL ORDER BY submit_number"
    )


def statuses(mturk: MTurk) -> dict[str, int]:
    return dict(mturk.rows("SELECT status, COUNT(*) FROM assignments GROUP BY status"))


def answered(mturk: MTurk, hits: list[Hit]) -> list[tuple[str, str, tuple[str, ...]]]:
    """HIT's key, worker and the answers in the order of the items, in order of submission."""
    known = {hit.crowd_id: hit for hit in hits}
    rows = []
    for hit_id, worker_id, xml in submitted(mturk):
        hit = known[hit_id]
        keys = [item.key for item in hit.items.order_by("position")]
        rows.append((hit.key, worker_id, tuple(_field(xml, f"item-{key}") for key in keys)))
    return rows


def _field(xml: str, name: str) -> str:
    after = xml.partition(f"<QuestionIdentifier>{name}<")[2]
    return after.partition("<FreeText>")[2].partition("<")[0]


CAREFUL = WorkerProfiles(workers=4, accuracy=1.0, spammers=0.0, seed=3)


def test_careful_workers_fill_every_place_with_right_answers(hits: list[Hit], mturk: MTurk) -> None:
    outcome = run(mturk, CAREFUL)
    rows = answered(mturk, hits)
    assert outcome.assignments == len(rows) == 6
    assert outcome.judgments == 42
    assert (outcome.refused_workers, outcome.unknown_pairs) == (0, 0)
    assert outcome.workers == len({worker for _, worker, _ in rows})
    # The controls stand third and sixth, the only other yes is the last item.
    assert {answers for _, _, answers in rows} == {("0", "0", "1", "0", "0", "0", "1")}
    assert len({(hit, worker) for hit, worker, _ in rows}) == 6


def test_a_seed_gives_the_same_work_again(
    hits: list[Hit], mturk: MTurk, tmp_path: Path, settings: Settings
) -> None:
    profiles = WorkerProfiles(workers=5, accuracy=0.8, spammers=0.2, seed=7)
    run(mturk, profiles)
    first = answered(mturk, hits)
    with closing(MTurk(tmp_path / "again.sqlite3")) as again:
        settings.MTURK_ENDPOINT = again.url
        publish(hits, again)
        run(again, profiles)
        assert answered(again, hits) == first


def test_a_run_stops_at_the_limit_and_the_next_goes_on(hits: list[Hit], mturk: MTurk) -> None:
    assert run(mturk, CAREFUL, most=4).assignments == 4
    with WorkerSite(mturk.url) as site:
        assert site.assignments_so_far() == 4
    assert run(mturk, CAREFUL).assignments == 2
    assert run(mturk, CAREFUL).assignments == 0
    assert statuses(mturk) == {"Submitted": 6}


def test_a_second_run_does_not_repeat_the_order_of_the_first(hits: list[Hit], mturk: MTurk) -> None:
    profiles = WorkerProfiles(workers=30, accuracy=1.0, spammers=0.0, seed=3)
    run(mturk, profiles, most=3)
    run(mturk, profiles, most=3)
    workers = [worker for _, worker, _ in submitted(mturk)]
    assert workers[:3] != workers[3:]


def test_work_that_a_killed_run_left_is_finished_first(hits: list[Hit], mturk: MTurk) -> None:
    (ada,) = make_workers(WorkerProfiles(workers=1, spammers=0.0))
    with WorkerSite(mturk.url) as site:
        offer = site.list_hits(site.sign_in(ada.id), 1).hits[2]
        site.accept(offer)
    run(mturk, WorkerProfiles(workers=1, accuracy=1.0, spammers=0.0), most=1)
    assert [row[:2] for row in submitted(mturk)] == [(offer.hit_id, ada.id)]


def test_a_worker_whom_the_page_refuses_returns_the_hit_and_stops(
    hits: list[Hit], mturk: MTurk
) -> None:
    eve, *_ = make_workers(CAREFUL)
    row = Worker.objects.create(crowd="mturk", worker_id=eve.id)
    Exclusion.objects.create(campaign=hits[0].campaign, worker=row, failures=2, reviewed=10)
    outcome = run(mturk, CAREFUL)
    assert (outcome.refused_workers, outcome.assignments) == (1, 6)
    assert statuses(mturk) == {"Submitted": 6, "Returned": 1}
    assert eve.id not in {worker for _, worker, _ in submitted(mturk)}


def test_a_hit_that_somebody_else_filled_is_left_aside(hits: list[Hit], mturk: MTurk) -> None:
    with WorkerSite(mturk.url) as site:
        lists = [site.sign_in(worker_id) for worker_id in ("AADA", "ABOB", "AEVE")]
        offers = [site.list_hits(each, 1).hits[0] for each in lists]
        taken = [site.accept(offer) for offer in offers]
    assert len({offer.hit_id for offer in offers}) == 1
    assert [bool(assignment) for assignment in taken] == [True, True, False]


def test_a_pair_that_the_gold_does_not_know_is_counted_and_judged_by_its_texts(
    hits: list[Hit], mturk: MTurk
) -> None:
    outcome = run(mturk, CAREFUL, gold=Gold())
    # Three times five real pairs and the two controls, which all the HITs share.
    assert outcome.unknown_pairs == 17
    assert {answers for _, _, answers in answered(mturk, hits)} == {("0",) * 7}


STRAYING = WorkerProfiles(workers=12, accuracy=1.0, spammers=0.0, seed=3, faults=0.8)


def test_work_that_strays_is_counted_and_the_record_stays_right(
    many_hits: list[Hit], mturk: MTurk
) -> None:
    outcome = run(mturk, STRAYING)
    rows, counts = answered(mturk, many_hits), statuses(mturk)
    assert all(outcome.faults[way] > 0 for way in STRAYS)
    assert outcome.faults["too_late"] == 0
    assert counts.pop("Submitted") == outcome.assignments == len(rows)
    assert counts == {
        "Returned": outcome.faults["returned"],
        "Accepted": outcome.faults["abandoned"],
    }
    # Who submits twice says the opposite of this the second time.
    assert {answers for _, _, answers in rows} == {("0", "0", "1", "0", "0", "0", "1")}
    assert len({(hit, worker) for hit, worker, _ in rows}) == len(rows)


def test_what_a_worker_abandons_falls_to_others_after_its_deadline(
    many_hits: list[Hit], mturk: MTurk
) -> None:
    abandoned = run(mturk, STRAYING).faults["abandoned"]
    mturk.clock.move_on(seconds=SPEC.assignment_seconds)
    assert run(mturk, replace(STRAYING, faults=0.0)).assignments == abandoned
    counts = statuses(mturk)
    assert counts["Abandoned"] == abandoned
    assert counts["Submitted"] == MOST_HITS * 9


class SlowSite(WorkerSite):
    """The time of an accepted assignment runs out before its worker opens it."""

    def __init__(self, mturk: MTurk) -> None:
        super().__init__(mturk.url)
        self._clock = mturk.clock
        self._slow = True

    def open_question(self, assignment_url: str) -> QuestionForm | None:
        if self._slow:
            self._slow = False
            self._clock.move_on(seconds=SPEC.assignment_seconds)
        return super().open_question(assignment_url)


def test_an_assignment_whose_time_ran_out_is_left_to_others(hits: list[Hit], mturk: MTurk) -> None:
    with SlowSite(mturk) as site:
        outcome = Simulation(CAREFUL, GOLD, site).run()
    assert outcome.assignments == 6
    assert statuses(mturk) == {"Abandoned": 1, "Submitted": 6}


class Stragglers(Simulation):
    """All of them submit when the run ends."""

    def _stray(self, assignment_url: str) -> str:
        return "late"


class PatientSite(WorkerSite):
    """Time passes before the first submission."""

    def __init__(self, mturk: MTurk, seconds: float) -> None:
        super().__init__(mturk.url)
        self._clock = mturk.clock
        self._seconds = seconds

    def submit(self, form: QuestionForm, answers: Mapping[str, str]) -> bool:
        self._clock.move_on(seconds=self._seconds)
        self._seconds = 0
        return super().submit(form, answers)


@pytest.mark.parametrize(("seconds", "taken"), [(400, 6), (700, 0)])
def test_who_straggles_beyond_the_hits_end_has_until_the_deadline(
    hits: list[Hit], mturk: MTurk, seconds: float, taken: int
) -> None:
    for hit in hits:
        mturk.crowd.set_expiration(hit.crowd_id, mturk.clock.now() + timedelta(seconds=300))
    with PatientSite(mturk, seconds) as site:
        outcome = Stragglers(CAREFUL, GOLD, site).run()
    assert outcome.faults["late"] == 6
    assert (outcome.assignments, outcome.faults["too_late"]) == (taken, 6 - taken)
    assert mturk.rows("SELECT COUNT(*) FROM hits WHERE expired = 1") == [(3,)]
    assert len(submitted(mturk)) == taken


def test_stragglers_count_against_the_limit_too(hits: list[Hit], mturk: MTurk) -> None:
    with WorkerSite(mturk.url) as site:
        assert Stragglers(CAREFUL, GOLD, site).run(most=4).assignments == 4


@pytest.mark.parametrize(
    ("profiles", "least", "most"),
    [
        (WorkerProfiles(workers=3, accuracy=0.9, spammers=0.0), 0.85, 0.95),
        (WorkerProfiles(workers=3, accuracy=1.0, spammers=0.0), 1.0, 1.0),
        (WorkerProfiles(workers=3, accuracy=0.0, spammers=0.0), 0.0, 0.0),
        (WorkerProfiles(workers=3, accuracy=1.0, spammers=1.0), 0.2, 0.8),
    ],
)
def test_workers_are_right_as_often_as_their_profiles_say(
    mturk: MTurk, profiles: WorkerProfiles, least: float, most: float
) -> None:
    pairs = [(f"query {number}", f"question {number}") for number in range(500)]
    gold = Gold(labels=dict.fromkeys(pairs, 1))
    with WorkerSite(mturk.url) as site:
        simulation = Simulation(profiles, gold, site)
        right = [
            simulation.judge(worker, *pair) for worker in make_workers(profiles) for pair in pairs
        ]
        again = [
            simulation.judge(worker, *pair) for worker in make_workers(profiles) for pair in pairs
        ]
    assert least <= sum(right) / len(right) <= most
    assert right == again


def test_workers_are_the_same_people_for_a_seed_and_have_ids_as_mturk_gives_them() -> None:
    workers = make_workers(WorkerProfiles(workers=40, spammers=0.15, seed=5))
    assert sum(worker.yes_bias is not None for worker in workers) == 6
    assert all(0.2 <= worker.yes_bias <= 0.8 for worker in workers if worker.yes_bias is not None)
    ids = [worker.id for worker in workers]
    assert len(set(ids)) == 40
    assert all(id.isalnum() and id.isupper() and len(id) == 14 and id[0] == "A" for id in ids)
    assert ids[:10] == [worker.id for worker in make_workers(WorkerProfiles(workers=10, seed=5))]
    assert ids[0] != make_workers(WorkerProfiles(workers=1, seed=6))[0].id


def write(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def test_an_emulator_that_does_not_answer_is_named_with_what_to_start() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    with WorkerSite(url) as site, pytest.raises(UserError, match="quorum crowd emulator") as no:
        site.sign_in("AADA")
    assert url in str(no.value)


def test_a_question_page_that_does_not_answer_is_named_with_what_to_start(
    mturk: MTurk, hits: list[Hit], settings: Settings
) -> None:
    settings.PUBLIC_URL = f"http://127.0.0.1:{free_port()}"
    hit = make_hit(make_campaign("elsewhere"))
    publish([hit], mturk)
    with pytest.raises(UserError, match="make run") as no:
        run(mturk, CAREFUL)
    assert settings.PUBLIC_URL in str(no.value)


def test_a_question_page_without_the_contract_is_named(
    mturk: MTurk, hits: list[Hit], live_server: LiveServer
) -> None:
    Hit.objects.filter(pk=hits[0].pk).update(key="renamed")
    with pytest.raises(UserError, match=r"has no form with items \(it answers 404"):
        run(mturk, CAREFUL)


def test_another_server_than_an_emulator_is_told_apart(live_server: LiveServer) -> None:
    with WorkerSite(live_server.url) as site, pytest.raises(UserError, match="is this the emul"):
        site.sign_in("AADA")


def test_the_command_prints_one_line_of_json(hits: list[Hit], mturk: MTurk, tmp_path: Path) -> None:
    gold = write(tmp_path / "gold.jsonl", {"query": POSITIVE[0], "question": POSITIVE[1]})
    out = StringIO()
    arguments = ("--workers", "3", "--accuracy", "1", "--spammers", "0", "--emulator", mturk.url)
    quorum("crowd", "simulate", "--json", "--gold", str(gold), *arguments, stdout=out)
    result = json.loads(out.getvalue())
    assert (result["assignments"], result["judgments"]) == (6, 42)
    assert result["unknown_pairs"] == 16


def test_people_read_the_faults_in_words(hits: list[Hit], mturk: MTurk) -> None:
    out = StringIO()
    quorum("crowd", "simulate", "--workers", "3", "--emulator", mturk.url, stdout=out)
    assert re.search(r"^faults +none$", out.getvalue(), re.MULTILINE)
    worded = simulated_in_words({"faults": {"returned": 0, "too_late": 2, "twice": 1234}})
    assert str(worded) == "faults  2 too late, 1,234 twice"


@pytest.mark.django_db
@pytest.mark.parametrize(
    "arguments",
    [
        ("--workers", "0"),
        ("--accuracy", "1.5"),
        ("--spammers", "3"),
        ("--faults", "1.1"),
        ("--accuracy", "nan"),
        ("--assignments", "x"),
        ("--gold", "missing.jsonl"),
        ("--emulator", "https://mturk-requester.us-east-1.amazonaws.com"),
        ("--emulator", "http://["),
        ("--emulator", "localhost"),
    ],
)
def test_impossible_arguments_are_refused(arguments: tuple[str, str]) -> None:
    with pytest.raises(CommandError):
        quorum("crowd", "simulate", *arguments)
