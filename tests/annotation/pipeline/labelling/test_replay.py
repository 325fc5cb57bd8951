"""The stored labels are those that the protocol gives to the emulator's own records."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.db import transaction
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.crowd.mturk.xml import read_answers
from annotation.models import HitItem
from annotation.protocol.labels.majority import decide
from annotation.protocol.screening.control import check_controls
from annotation.protocol.screening.exclusion import Review, exclusions
from tests.conftest import StartMTurk
from tests.support.examples import examples
from tests.worlds.small_campaign import Stage, packed_campaign

pytestmark = pytest.mark.django_db

NAMES = ("ada", "bob", "eve", "cara", "dan", "finn")

Triplet = tuple[str, int]
Outcome = tuple[str, int | None, int, int]  # status, label, votes, positive votes


@dataclass(frozen=True)
class Sheet:
    """What somebody answers: the triplets in the order shown, and controls missed."""

    bits: tuple[int, ...]
    slips: int


SHEETS = st.builds(
    Sheet,
    bits=st.tuples(*[st.sampled_from((0, 0, 1))] * 5),
    slips=st.sampled_from((0, 0, 0, 1)),
)
EVERYBODY = [(name, number) for name in NAMES for number in (1, 2, 3)]  # (worker, HIT)


def submit(stage: Stage, name: str, number: int, sheet: Sheet) -> None:
    """Where the crowd lets them."""
    assignment_id = stage.accept(name, number)
    if assignment_id:
        bits = dict(zip(stage.triplets(number), sheet.bits, strict=True))
        answers = stage.sheet(number, lambda *triplet: bits[triplet], slips=sheet.slips)
        stage.mturk.person(name).submit(assignment_id, answers)


def items(stage: Stage) -> dict[str, dict[str, Triplet | int]]:
    """HIT's key at the crowd -> item's form field -> its triplet, or a control's right answer."""
    found: defaultdict[str, dict[str, Triplet | int]] = defaultdict(dict)
    related = "hit", "control", "triplet__candidate__query"
    for item in HitItem.objects.filter(hit__campaign=stage.campaign).select_related(*related):
        if item.control is not None:
            meaning: Triplet | int = item.control.expected
        else:
            assert item.triplet is not None
            candidate = item.triplet.candidate
            meaning = candidate.query.key, candidate.rank
        found[item.hit.key][f"item-{item.key}"] = meaning
    return found


def submitted(stage: Stage) -> Iterator[tuple[str, str, Mapping[str, int]]]:
    """(HIT's key, worker, answers) in order of submission, from the emulator's file."""
    rows = stage.mturk.rows(
        "SELECT requester_annotation, worker_id, answer FROM assignments JOIN hits USING (hit_id)"
        " WHERE submit_number IS NOT NULL ORDER BY submit_number"
    )
    for key, worker, answer in rows:
        yield key, worker, {field: int(text) for field, text in read_answers(answer).items()}


def replay(stage: Stage) -> tuple[dict[Triplet, Outcome], set[str], dict[str, int]]:
    """Labels, excluded workers, and the valid votes that each HIT still wants."""
    meanings = items(stage)
    works = []
    for key, worker, answers in submitted(stage):
        expected = {
            field: meaning for field, meaning in meanings[key].items() if isinstance(meaning, int)
        }
        passed = check_controls(expected, answers, meanings[key]).passed
        works.append((key, worker, answers, passed))
    reviews = [Review(worker, passed) for _, worker, _, passed in works]
    excluded = {decision.worker for decision in exclusions(reviews, stage.campaign.policy)}
    votes: dict[Triplet, list[int]] = {}
    hits: dict[Triplet, str] = {}
    for key, fields in meanings.items():
        for meaning in fields.values():
            if not isinstance(meaning, int):
                votes[meaning], hits[meaning] = [], key
    for key, worker, answers, passed in works:
        if passed and worker not in excluded:
            for field, meaning in meanings[key].items():
                if not isinstance(meaning, int):
                    votes[meaning].append(answers[field])
    outcomes: dict[Triplet, Outcome] = {}
    wanted = dict.fromkeys(meanings, 0)
    for triplet, given_votes in votes.items():
        label = decide(given_votes, stage.campaign.policy)
        outcomes[triplet] = label.status, label.value, len(given_votes), sum(given_votes)
        wanted[hits[triplet]] = max(wanted[hits[triplet]], label.wanted)
    return outcomes, excluded, wanted


def check(stage: Stage) -> None:
    outcomes, excluded, wanted = replay(stage)
    rows = stage.campaign.triplets.select_related("candidate__query")
    stored = {
        (row.candidate.query.key, row.candidate.rank): (
            row.status,
            row.label,
            row.votes,
            row.positive_votes,
        )
        for row in rows
    }
    assert stored == outcomes
    names = stage.campaign.exclusions.values_list("worker__worker_id", flat=True)
    assert set(names) == excluded
    open_assignments = stage.mturk.rows(
        "SELECT requester_annotation, max_assignments - (SELECT COUNT(*) FROM assignments a"
        " WHERE a.hit_id = hits.hit_id AND submit_number IS NOT NULL) FROM hits"
    )
    for key, max_assignments in open_assignments:
        assert max_assignments >= wanted[key]
        # Never more than is wanted, save what a HIT starts with.
        assert max_assignments <= max(wanted[key], 2)


@pytest.mark.usefixtures("small_database")
def test_labels_are_what_a_replay_of_the_crowd_s_records_gives(
    start_mturk: StartMTurk, tmp_path: Path
) -> None:
    @settings(max_examples=examples(8), deadline=None, derandomize=True, database=None)
    @given(
        order=st.permutations(EVERYBODY),
        sheets=st.lists(SHEETS, min_size=len(EVERYBODY), max_size=len(EVERYBODY)),
        at_once=st.integers(3, 9),
    )
    def always(order: list[tuple[str, int]], sheets: list[Sheet], at_once: int) -> None:
        with transaction.atomic():
            rules: dict[str, object] = {"min_assignments": 2, "max_failure_rate": 0.5}
            campaign = packed_campaign(tmp_path, "faq", candidates_per_query=3, **rules)
            stage = Stage(campaign, start_mturk())
            stage.publish()
            # Twice: who found no place at first may find one later.
            turns = zip(order * 2, sheets * 2, strict=True)
            for turn, ((name, number), sheet) in enumerate(turns, 1):
                submit(stage, name, number, sheet)
                if turn % at_once == 0:
                    stage.advance()
                    check(stage)
            stage.mturk.close()
            transaction.set_rollback(True)

    always()
