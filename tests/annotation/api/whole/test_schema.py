"""Schemathesis tries what the description promises: no server error, no undocumented answer.

Bounded and derandomized: the same requests each time. What is changed by one is rolled back.
"""

from collections import Counter
from typing import Any

import pytest
import schemathesis
from django.contrib.auth.models import User
from django.db import transaction
from hypothesis import HealthCheck, Phase, given, settings
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

EXAMPLES = max(2, examples(4))  # of each operation, role and mode
BOUNDED = settings(
    max_examples=EXAMPLES,
    derandomize=True,
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
    operation: Any, program: Program, rows: dict[str, Any], *, negative: bool
) -> Counter[int]:
    """The statuses of the answers; each is checked, and what its request did is undone."""
    mode = GenerationMode.NEGATIVE if negative else GenerationMode.POSITIVE
    checks = [*CHECKS, negative_data_rejection] if negative else CHECKS
    statuses: Counter[int] = Counter()

    @BOUNDED
    @given(case=operation.as_strategy(generation_mode=mode, path_parameters=rows))
    def attempt(case: Case) -> None:
        case.headers = {**(case.headers or {}), **program.headers}
        with transaction.atomic():
            statuses[case.call_and_validate(checks=checks).status_code] += 1
            transaction.set_rollback(True)

    attempt()
    return statuses


@pytest.mark.parametrize(("role", "expected"), ROLES.items())
def test_no_server_error_and_no_undocumented_answer(
    at_work: Campaign, settings: Settings, role: str, expected: set[int]
) -> None:
    settings.API_CALLS_PER_MINUTE = 10**6
    program = programs_of(at_work)[role]
    described = schemathesis.openapi.from_wsgi("/api/v1/schema", site)
    statuses: Counter[int] = Counter()
    for result in described.get_all_operations():
        operation = result.ok()
        rows = rows_of(operation.path, at_work)
        statuses += tried(operation, program, rows, negative=False)
        if role in {"owner", "root"} and operation.body:
            statuses += tried(operation, program, rows, negative=True)
    assert statuses.total() > EXAMPLES / 2 * len(operations())
    assert expected <= statuses.keys()


def programs_of(campaign: Campaign) -> dict[str, Program]:
    programs = {
        "nobody": Program(None),
        "stranger": Program(person("stranger")),
        "root": Program(User.objects.create_superuser("root")),
    }
    roles = {role: Program(person(role, campaign, role)) for role in ("owner", "viewer")}
    return programs | roles
