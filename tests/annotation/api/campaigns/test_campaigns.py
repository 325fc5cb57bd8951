"""Campaigns are created, priced and shown."""

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from annotation.jobs.handlers import HANDLERS
from annotation.models import AuditEntry, Campaign, Role, Snapshot
from annotation.protocol.policy.policy import Policy
from retrieval.corpus.corpora import create_corpus, named_corpus
from retrieval.jobs import queue
from retrieval.models import Job
from tests.annotation.api.people import Program, is_problem

QUERIES = [{"query": "How is bread made?", "id": "bread"}, {"query": "Who sells pianos?"}]


@pytest.fixture
def root(db: None) -> Program:
    return Program(User.objects.create_superuser("root"))


def test_a_campaign_is_created_with_its_owner_and_budget(root: Program) -> None:
    sent = {"name": "new-one", "queries": QUERIES, "policy": {"reward_cents": 20}, "seed": 3,
            "budget": "12.50"}  # fmt: skip
    answer = root.post("campaigns", sent, key="one")
    assert answer.status_code == 201
    assert answer.headers["Location"] == "/api/v1/campaigns/new-one"
    [warning] = answer.json()["warnings"]
    assert warning.startswith("With 2 queries, ")
    read = root.get(answer.headers["Location"]).json()
    assert read == answer.json() | {"warnings": []}
    assert answer.json()["money"]["budget_cents"] == 1250
    made = Campaign.objects.get()
    assert (made.seed, made.policy.reward_cents, made.query_set.queries.count()) == (3, 20, 2)
    assert Role.objects.get(campaign=made).name == "owner"
    logged = AuditEntry.objects.get()
    assert (logged.verb, logged.via, logged.actor) == ("create", "api", "root")


def test_a_sampled_campaign_is_made_by_a_job(root: Program, small_database: None) -> None:
    sent = {"name": "new-one", "sample": 3, "seed": 7, "budget": "12.50"}
    answer = root.post("campaigns", sent, key="one")
    assert answer.status_code == 202
    assert "With 3 queries, " in " ".join(answer.json()["warnings"])
    assert root.post("campaigns", sent, key="one").json() == answer.json()
    job = root.get(answer.headers["Location"]).json()
    assert (job["kind"], job["subject"], job["state"]) == ("create", "new-one", "queued")
    assert not Campaign.objects.exists()
    queue.run(job["id"], "x", HANDLERS)
    report = root.get(answer.headers["Location"]).json()
    assert report["result"] == {"campaign": "new-one", "queries": 3, "duplicate_queries": 0}
    assert root.get("campaigns/new-one").json()["money"]["budget_cents"] == 1250
    logged = AuditEntry.objects.get()
    assert (logged.verb, logged.via, logged.actor) == ("create", "api", "root")


def test_a_name_that_is_taken_is_told_at_once(root: Program, campaign: Campaign) -> None:
    refused = root.post("campaigns", {"name": "faq", "sample": 3}, key="one")
    assert is_problem(refused, 422)
    assert not Job.objects.exists()


def test_a_campaign_belongs_to_the_corpus_that_is_named(root: Program) -> None:
    create_corpus("weather", [])
    sent = {"name": "own", "queries": QUERIES, "corpus": "weather"}
    assert root.post("campaigns", sent, key="one").json()["corpus"] == "weather"
    assert Campaign.objects.get().query_set.corpus == named_corpus("weather")
    unknown = root.post("campaigns", sent | {"name": "other", "corpus": "tides"}, key="two")
    assert is_problem(unknown, 422)
    assert "There is no corpus 'tides'; there are: all, weather." in str(unknown.json())


def test_an_in_house_policy_asks_for_nothing_of_mturks(root: Program) -> None:
    sent = {"name": "own", "queries": QUERIES, "policy": {"crowd": "inhouse"}}
    made = root.post("campaigns", sent, key="one").json()
    assert made["crowd"] == "inhouse"
    assert any("need 2 people" in warning for warning in made["warnings"])
    policy = root.get("campaigns/own/policy").json()
    assert (policy["policy"]["masters"], policy["policy"]["reward_cents"]) == (False, 0)
    assert policy["digest"] == Campaign.objects.get().policy.digest()


@pytest.mark.parametrize("queries", [{}, {"sample": 5, "queries": QUERIES}])
def test_a_campaign_has_queries_of_one_origin(root: Program, queries: dict[str, object]) -> None:
    answer = root.post("campaigns", {"name": "new-one", **queries}, key="one")
    assert is_problem(answer, 400)
    assert "sample" in answer.json()["detail"]


def test_a_refused_query_is_told_by_its_line_and_no_path_of_the_machine(root: Program) -> None:
    sent = {"name": "new-one", "queries": [*QUERIES, {"query": "?!"}]}
    answer = root.post("campaigns", sent, key="one")
    assert is_problem(answer, 422)
    assert "line 3: the query has only punctuation" in answer.json()["detail"]
    assert "/" not in answer.json()["detail"]
    assert not Campaign.objects.exists()


def test_the_cost_estimate_is_the_pipelines(campaign: Campaign, owner: Program) -> None:
    Campaign.objects.update(policy_data=Policy(candidates_per_query=30).to_dict())
    report = owner.get("campaigns/faq/cost-estimate?agreement=1").json()
    # One query with 30 candidates: 6 HITs with 2 assignments at 19 cents each, and no ties.
    assert (report["triplets"], report["hits"], report["cents_min"]) == (30, 6, 228)
    assert report["extend"] == {"assignments_per_hit": 2.0, "assignments": 12, "cents": 228}
    assert is_problem(owner.get("campaigns/faq/cost-estimate?agreement=2"), 400)


def test_a_campaign_shows_its_newest_figures(campaign: Campaign, owner: Program) -> None:
    assert owner.get("campaigns/faq").json()["figures"] is None
    for number in (1, 2):
        Snapshot.objects.create(campaign=campaign, at=timezone.now(), figures={"number": number})
    assert owner.get("campaigns/faq").json()["figures"]["number"] == 2
