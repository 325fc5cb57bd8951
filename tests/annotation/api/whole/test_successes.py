"""Each operation succeeds, in every way that is described, by the request of its own example.

What the example names is replaced by what is there. Answers are checked against the description;
what a request did is taken back after it.
"""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import schemathesis
from django.contrib.auth.models import User
from django.db import transaction
from pytest_django import Settings
from schemathesis import Case

from annotation.crowd.turk.accounts import create_account
from annotation.models import (
    Campaign,
    Exclusion,
    ExpertLabel,
    OutboxMessage,
    PastRecord,
    Triplet,
)
from annotation.pipeline.adjudicate import Pile, What
from annotation.pipeline.manual.bonus import give_bonus
from annotation.protocol.policy.policy import Policy
from retrieval.corpus.corpora import create_corpus
from retrieval.models import Job
from tests.annotation.api.people import PASSWORD, Program
from tests.annotation.api.whole.described import CHECKS, description, site
from tests.annotation.api.world import World, make_world, token_of
from tests.annotation.crowd.turk.earner import Earner, give_money
from tests.worlds.small_campaign import Stage

Sent = dict[str, Any]

# Successes that none of these requests has, and the test that has it.
OF_A_PANEL = "tests/annotation/operations/test_faces.py: of a campaign whose people a panel sends"
ELSEWHERE: Mapping[tuple[str, str], str] = {
    **{
        (f"campaign_{name}", "200"): OF_A_PANEL
        for name in ("open_panel", "close_panel", "request_returns", "forget_participant")
    },
    ("campaign_second_crowd", "200"): "tests/annotation/operations/test_faces.py: unpublished",
    ("panel_visit_list", "200"): "tests/annotation/web/panels/test_links.py: of such a campaign",
    ("campaign_plan", "200"): "tests/annotation/web/new_campaign/test_plan.py: experts have judged",
    ("pair_import", "202"): "test_imports.py: its files have names",
    ("pair_search", "200"): "tests/retrieval/api/test_sources.py: with the encoder of the settings",
    ("pair_answer", "200"): "tests/retrieval/api/test_answers.py: with the encoder of the settings",
}
RIGHT = {
    "query": "How is bread made?",
    "candidates": [{"question": "how is bread made", "answer": "Of flour."}],
}
# Beside the example: other ways to ask.
MORE: Mapping[str, tuple[Sent, ...]] = {
    "campaign_create": (
        {"name": "own", "queries": [{"query": "How is bread made?"}]},
        {"name": "right", "policy": {"task": "answer"}, "queries": [RIGHT]},
    ),
    "control_import": ({"shipped": True, "task": "answer"},),
}


def real(world: World) -> Sent:
    """In place of what examples name."""
    return {
        "worker": world.work.worker.worker_id,
        "assignment": world.work.crowd_id,
        "triplet": world.ids["triplets"],
        "pile": "unresolved",
        "source": world.campaign.name,
        "triplets": 3,
        "first": 1,
        "days": 30,
        "username": "root",
    }


def elsewhere(world: World) -> Sent:
    """What an expert said of a triplet that is there."""
    found = Triplet.objects.get(pk=world.ids["triplets"]).candidate
    return {"query": found.query.text, "question": found.pair.question, "label": 1}


def a_query(world: World) -> str:
    return world.campaign.query_set.queries.earliest("pk").text


def unresolved(world: World) -> int:
    triplet = Pile(world.campaign, What.UNRESOLVED, expert="root", worker_id=None).next([])
    assert triplet
    return triplet.pk


OTHERS: Mapping[str, Callable[[World], Sent]] = {
    "campaign_create": lambda _: {"name": "sampled"},
    "token_create": lambda _: {"name": "root", "password": PASSWORD},
    "campaign_budget": lambda _: {"amount": "20000"},
    "campaign_pool_depth": lambda _: {"to": 2},
    "campaign_replace_control": lambda world: {"control": world.ids["campaign controls"]},
    "campaign_retire_control": lambda world: {"control": world.ids["campaign controls"]},
    "campaign_confirm_control": lambda world: {"triplet": world.ids["control-candidates"]},
    "campaign_dismiss_control": lambda world: {"triplet": world.ids["control-candidates"]},
    "campaign_add_draft": lambda world: {"query": a_query(world)},
    "control_draft_import": lambda world: {
        "drafts": [{"kind": "positive", "query": a_query(world), "question": "q", "answer": "a"}]
    },
    "campaign_confirm_draft": lambda world: {"draft": world.ids["drafts"]},
    "campaign_dismiss_draft": lambda world: {"draft": world.ids["drafts"]},
    "campaign_approve": lambda world: {"assignment": world.rejected.crowd_id},
    "campaign_reject": lambda world: {"assignment": world.waiting.crowd_id},
    "campaign_publish": lambda _: {"first": 2},
    "webhook_create": lambda _: {"url": "https://example.org/another"},
    "expert_label_create": lambda world: {"triplet": unresolved(world)},
    "expert_label_import": lambda world: {"labels": [elsewhere(world)]},
}
# Of the campaign that has begun: it has HITs to publish, an open one, and work to be decided on.
BEGUN = {"campaign_publish", "campaign_expire", "campaign_reject"}


def qualified(world: World) -> None:
    rules = Policy.from_dict({**world.campaign.policy.to_dict(), "qualification_items": 4})
    Campaign.objects.filter(pk=world.campaign.pk).update(
        policy_data=rules.to_dict(), qualified_id="P"
    )


def owed_by_lab() -> None:
    lab = create_account("lab")
    give_money(lab, 100)
    Earner(lab).earn("AADA", "0.20")


def refused_bonus(world: World) -> None:
    give_bonus(world.campaign, world.work.crowd_id, cents=1250, reason="Thank you.")
    OutboxMessage.objects.filter(kind=OutboxMessage.Kind.BONUS).update(state="failed")


# What has to be so before it.
BEFORE: Mapping[str, Callable[[World], object]] = {
    "corpus_add_source": lambda _: create_corpus("coffee"),
    "corpus_remove": lambda _: create_corpus("coffee"),
    "corpus_remove_source": lambda _: create_corpus("coffee", ["faq"]),
    "import_forget": lambda world: PastRecord.objects.create(
        crowd="mturk", kind="worker", key="one", worker=world.work.worker
    ),
    "turk_deposit": lambda _: create_account("lab"),
    "turk_pay_out": lambda _: owed_by_lab(),
    "campaign_grant_qualification": qualified,
    "campaign_cancel_bonus": refused_bonus,
    "campaign_resume": lambda world: state(world, "paused"),
    "training_resume": lambda world: Job.objects.filter(pk=world.ids["trainings"]).update(
        state="failed",
        arguments={
            "kind": "train",
            "of": "retriever-qqa",
            "campaign": "faq",
            "number": 1,
            "name": "another",
        },
    ),
    "campaign_take_role": lambda world: world.campaign.roles.create(
        user=User.objects.get(username="root"), name="viewer"
    ),
    "expert_label_read": lambda world: ExpertLabel.objects.create(
        triplet_id=world.ids["triplets"], expert="root", label=1, source="sample"
    ),
    "campaign_restore": lambda world: Exclusion.objects.create(
        campaign=world.campaign, worker=world.work.worker, failures=1, reviewed=2, reason="asked"
    ),
}


def state(world: World, name: str) -> None:
    Campaign.objects.filter(pk=world.campaign.pk).update(state=name)


@pytest.fixture
def world(one_hit: Stage, _connection_stays: None, tmp_path: Any, settings: Settings) -> World:
    settings.DATA_DIR = tmp_path
    settings.API_CALLS_PER_MINUTE = 10**6
    return make_world(one_hit, tmp_path)


def documented() -> set[tuple[str, str]]:
    return {
        (described["operationId"], status)
        for path in description()["paths"].values()
        for described in path.values()
        for status in described["responses"]
        if status < "300"
    }


def bodies(described: Mapping[str, Any], world: World) -> list[Sent | None]:
    """Of the example; told first, then done, where it has to be agreed to."""
    content = described.get("requestBody", {}).get("content", {}).get("application/json")
    if content is None:
        return [None]
    name = described["operationId"]
    example = content["examples"]["Request"]["value"]
    known = {key: value for key, value in real(world).items() if key in example}
    sent = {**example, **known, **OTHERS.get(name, lambda _: {})(world)}
    ways = [{**sent, "agreed": agreed} for agreed in (False, True)] if "agreed" in sent else [sent]
    return [*ways, *MORE.get(name, ())]


def answered(operation: Any, world: World, program: Program, sent: Sent | None) -> str:
    described = operation.definition.raw
    name = described["operationId"]
    rows = world.rows(operation.path)
    if name in BEGUN:
        rows["name"] = world.begun.name
    if name == "token_revoke":
        rows["key"] = token_of(User.objects.get(username="root"))
    given: Sent = {"path_parameters": rows, "headers": {**program.headers, "Idempotency-Key": "k"}}
    if sent is not None:
        given |= {"body": sent, "media_type": "application/json"}
    if name == "pair_list":
        given["query"] = {"source": "faq"}
    case: Case = operation.Case(**given)
    answer = case.call_and_validate(checks=CHECKS)
    return str(answer.status_code)


def test_each_operation_succeeds_in_every_way_that_is_described(world: World) -> None:
    root = User.objects.create_superuser("root", password=PASSWORD)
    program = Program(root)
    seen: set[tuple[str, str]] = set()
    described = schemathesis.openapi.from_wsgi("/api/v1/schema", site)
    for result in described.get_all_operations():
        operation = result.ok()
        name = operation.definition.raw["operationId"]
        for sent in bodies(operation.definition.raw, world):
            with transaction.atomic():
                BEFORE.get(name, lambda _: None)(world)
                status = answered(operation, world, program, sent)
                seen.add((name, status))
                transaction.set_rollback(True)
    assert documented() - seen == ELSEWHERE.keys()
