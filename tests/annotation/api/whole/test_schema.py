"""Schemathesis tries what the description promises: no server error, no undocumented answer.

Bounded and seeded: the same requests each time. What is changed by one is rolled back.
"""

from collections import Counter
from itertools import chain
from typing import Any

import pytest
import schemathesis
from django.contrib.auth.models import User
from django.db import transaction
from hypothesis import HealthCheck, Phase, given, note, seed, settings
from pytest_django import Settings
from schemathesis import Case, GenerationMode
from schemathesis.specs.openapi.checks import negative_data_rejection

from annotation.models import (
    Assignment,
    Campaign,
    Control,
    ControlCandidate,
    ExpertLabel,
    Triplet,
)
from retrieval.jobs.queue import request as request_job
from retrieval.models import IndexVersion, Job, QaPair
from tests.annotation.api.people import Program, person
from tests.annotation.api.whole.described import CHECKS, operations, site
from tests.support.examples import examples
from tests.worlds.small_campaign import Stage

EXAMPLES = max(2, examples(4))  # of each operation and mode, by each role
SEED = 2  # with it, a viewer meets a parameter that is refused
BOUNDED = settings(
    max_examples=EXAMPLES,
    database=None,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


# Who calls, and answers that they get among others: what is tried reaches the operations.
ROLES = {
    "owner": {200, 202, 400, 403, 422},
    "viewer": {200, 400, 403},
    "stranger": {200, 403},
    "nobody": {401},
    "root": {200, 202, 400, 422},
}


@pytest.fixture
def at_work(one_hit: Stage, _connection_stays: None) -> Campaign:
    """Published, judged by two, with a label of an expert and a job."""
    for name in ("ada", "bob"):
        one_hit.work(name, 1, 1)
    one_hit.advance()
    campaign = one_hit.campaign
    triplet = campaign.triplets.earliest("pk")
    ExpertLabel.objects.create(triplet=triplet, expert="cleo", label=1, source="sample")
    ControlCandidate.objects.create(triplet=triplet)
    request_job("collect", campaign.name, {}, by=None)
    return campaign


def rows_of(path: str, campaign: Campaign) -> dict[str, Any]:
    """What stands in the address for rows that are there."""
    work = Assignment.objects.get(pk=first(Assignment))
    ids = {
        "assignments": work.pk,
        "triplets": first(Triplet),
        "expert-labels": first(ExpertLabel),
        "jobs": Job.objects.get().pk,
        "indexes": first(IndexVersion),
        "builds": 1,
        "pairs": first(QaPair),
        "controls": first(Control, campaign=campaign if "{name}" in path else None),
    }
    rows: dict[str, Any] = {"name": campaign.name, "number": 1, "version": 1, "source": "faq"}
    rows["key"] = "votes" if "/charts/" in path else "none"
    rows["worker"] = work.worker.worker_id
    rows["id"] = next((pk for part, pk in ids.items() if f"/{part}/" in path), 1)
    return {name: value for name, value in rows.items() if f"{{{name}}}" in path}


def first(model: type[Any], **wanted: object) -> int:
    rows = model.objects.filter(**wanted).order_by("pk")
    return int(rows.values_list("pk", flat=True)[0])


def tried(
    operation: Any, programs: dict[str, Program], rows: dict[str, Any], *, negative: bool
) -> dict[str, Counter[int]]:
    """Each program's answers by status; each is checked, and what its request did is undone."""
    mode = GenerationMode.NEGATIVE if negative else GenerationMode.POSITIVE
    checks = [*CHECKS, negative_data_rejection] if negative else CHECKS
    statuses: dict[str, Counter[int]] = {role: Counter() for role in programs}

    @seed(SEED)
    @BOUNDED
    @given(case=operation.as_strategy(generation_mode=mode, path_parameters=rows))
    def attempt(case: Case) -> None:
        drawn = dict(case.headers or {})
        for role, program in programs.items():
            note(f"Asked by: {role}")
            case.headers = drawn | program.headers
            with transaction.atomic():
                statuses[role][case.call_and_validate(checks=checks).status_code] += 1
                transaction.set_rollback(True)

    attempt()
    return statuses


def test_no_server_error_and_no_undocumented_answer(at_work: Campaign, settings: Settings) -> None:
    """Each request is made by everybody: to draw it takes as long as to answer it."""
    settings.API_CALLS_PER_MINUTE = 10**6
    programs = programs_of(at_work)
    careless = {role: programs[role] for role in ("owner", "root")}
    described = schemathesis.openapi.from_wsgi("/api/v1/schema", site)
    statuses: dict[str, Counter[int]] = {role: Counter() for role in ROLES}
    for result in described.get_all_operations():
        operation = result.ok()
        rows = rows_of(operation.path, at_work)
        answers = [tried(operation, programs, rows, negative=False)]
        if operation.body:
            answers.append(tried(operation, careless, rows, negative=True))
        for role, counts in chain.from_iterable(each.items() for each in answers):
            statuses[role] += counts
    few = {role for role in ROLES if statuses[role].total() <= EXAMPLES / 2 * len(operations())}
    assert few == set()
    assert [role for role in ROLES if not ROLES[role] <= statuses[role].keys()] == []


def programs_of(campaign: Campaign) -> dict[str, Program]:
    programs = {
        "nobody": Program(None),
        "stranger": Program(person("stranger")),
        "root": Program(User.objects.create_superuser("root")),
    }
    roles = {role: Program(person(role, campaign, role)) for role in ("owner", "viewer")}
    return programs | roles
