"""What the operations answer."""

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from annotation.jobs.handlers import HANDLERS
from annotation.models import AuditEntry, Campaign, ExpertLabel, Role, Snapshot, Triplet
from annotation.protocol.policy.policy import Policy
from retrieval.jobs import queue
from retrieval.models import Job
from tests.annotation.api.campaign import campaign_at_work
from tests.annotation.api.people import Program, is_problem, person
from tests.annotation.support.hits import NEGATIVE, POSITIVE, make_hit

QUERIES = [{"query": "How is bread made?", "id": "bread"}, {"query": "Who sells pianos?"}]


@pytest.fixture
def root(db: None) -> Program:
    return Program(User.objects.create_superuser("root"))


def test_a_campaign_is_created_with_its_owner_and_budget(root: Program) -> None:
    sent = {"name": "new-one", "queries": QUERIES, "policy": {"reward_cents": 20}, "seed": 3,
            "dollars": "12.50"}  # fmt: skip
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
    sent = {"name": "new-one", "sample": 3, "seed": 7, "dollars": "12.50"}
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


def test_an_in_house_policy_asks_for_nothing_of_mturks(root: Program) -> None:
    sent = {"name": "own", "queries": QUERIES, "policy": {"crowd": "inhouse"}}
    assert root.post("campaigns", sent, key="one").json()["crowd"] == "inhouse"
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


def test_work_that_takes_long_is_a_job_at_the_address_told(
    campaign: Campaign, owner: Program
) -> None:
    answer = owner.post("campaigns/faq/jobs/pack", key="one")
    assert answer.status_code == 202
    job = owner.get(answer.headers["Location"]).json()
    assert job == answer.json()
    assert (job["kind"], job["subject"], job["state"]) == ("pack", "faq", "queued")
    again = owner.post("campaigns/faq/jobs/pack", key="one")
    assert again.headers["Location"] == answer.headers["Location"]
    assert is_problem(owner.post("campaigns/faq/jobs/pack", key="two"), 422)  # under way
    assert AuditEntry.objects.get(verb="pack").via == "api"


def test_jobs_are_listed_by_what_they_are_for(campaign: Campaign, owner: Program) -> None:
    Job.objects.create(kind="count", subject="the database")
    owner.post("campaigns/faq/jobs/collect", key="one")
    rows = owner.get("jobs?subject=faq").json()["results"]
    assert [row["kind"] for row in rows] == ["collect"]
    assert [row["kind"] for row in owner.get("jobs").json()["results"]] == ["collect"]


def test_a_hit_shows_its_items_with_the_controls_among_them(
    campaign: Campaign, owner: Program
) -> None:
    hit = owner.get("campaigns/faq/hits/1").json()
    assert (hit["number"], hit["state"], hit["max_assignments"]) == (1, "planned", 2)
    kinds = [item["kind"] for item in hit["items"]]
    assert sorted(kinds) == ["negative", "positive", "triplet"]
    shown = {item["kind"]: item for item in hit["items"]}
    assert shown["positive"]["query"] == POSITIVE[0]
    assert (shown["positive"]["expected"], shown["negative"]["expected"]) == (1, 0)
    assert shown["negative"]["question"] == NEGATIVE[1]
    assert (shown["triplet"]["label"], shown["triplet"]["status"]) == (1, "labelled")


@pytest.mark.parametrize(
    ("facts", "state"),
    [
        ({}, "planned"),
        ({"crowd_id": "H1"}, "open"),
        ({"crowd_id": "H1", "expires_at": timezone.now()}, "expired"),
        ({"crowd_id": "H1", "closed_at": timezone.now()}, "expired"),
        ({"crowd_id": "H1", "gone": True}, "expired"),
        ({"crowd_id": "H1", "max_assignments": 1}, "full"),
        ({"crowd_id": "H1", "fault": "unreadable"}, "faulty"),
    ],
)
def test_a_hit_is_in_one_state(
    campaign: Campaign, owner: Program, facts: dict[str, object], state: str
) -> None:
    campaign.hits.update(**facts)
    assert owner.get("campaigns/faq/hits/1").json()["state"] == state
    report = owner.get(f"campaigns/faq/hits?state={state}").json()["results"]
    assert [row["state"] for row in report] == [state]


def test_an_assignment_shows_its_judgments(campaign: Campaign, owner: Program) -> None:
    rows = owner.get("campaigns/faq/assignments?worker=faq-worker-0").json()["results"]
    assert [(row["hit"], row["status"], row["passed"]) for row in rows] == [(1, "approved", True)]
    work = owner.get(f"campaigns/faq/assignments/{rows[0]['id']}").json()
    assert [judgment["value"] for judgment in work["judgments"]] == [1, 1, 1]
    assert owner.get("campaigns/faq/assignments?status=rejected").json()["results"] == []


def test_an_assignment_of_another_campaign_is_not_there(campaign: Campaign, owner: Program) -> None:
    other = campaign_at_work("other").hits.get().assignments.get()
    assert is_problem(owner.get(f"campaigns/faq/assignments/{other.pk}"), 404)
    assert is_problem(owner.get("campaigns/faq/workers/other-worker-0"), 404)


def test_a_worker_shows_what_they_did_here_and_why_they_are_excluded(
    campaign: Campaign, owner: Program
) -> None:
    sent = {"worker": "faq-worker-0", "reason": "asked to leave", "agreed": True}
    assert owner.post("campaigns/faq/operations/exclude", sent, key="one").status_code == 200
    worker = owner.get("campaigns/faq/workers/faq-worker-0").json()
    assert (worker["submitted"], worker["approved"], worker["excluded"]) == (1, 1, True)
    assert worker["exclusions"][0]["reason"] == "asked to leave"
    assert owner.get("campaigns/faq/workers").json()["results"][0]["excluded"]


def test_labels_are_the_triplets_that_have_one(campaign: Campaign, owner: Program) -> None:
    triplet = campaign.triplets.get()
    row = owner.get("campaigns/faq/labels").json()["results"][0]
    assert (row["triplet"], row["label"], row["positive_votes"]) == (triplet.pk, 1, 2)
    assert owner.get("campaigns/faq/labels?label=0").json()["results"] == []
    assert owner.get(f"campaigns/faq/triplets/{triplet.pk}").json()["question"] == "question"
    assert is_problem(owner.get("campaigns/faq/labels?label=2"), 400)


def test_an_expert_labels_what_they_are_shown_blind(campaign: Campaign) -> None:
    expert = Program(person("dan", campaign, "adjudicator"))
    shown = expert.get("campaigns/faq/expert-labels/next?pile=sample").json()["next"]
    assert sorted(shown) == ["answer", "query", "question", "triplet"]  # no vote, no label
    sent = {"triplet": shown["triplet"], "label": 0, "pile": "sample", "note": "not the same"}
    answer = expert.post("campaigns/faq/expert-labels", sent)
    assert answer.status_code == 201
    assert expert.get(f"campaigns/faq/expert-labels/{answer.json()['id']}").json() == answer.json()
    again = expert.post("campaigns/faq/expert-labels", sent | {"label": 1}).json()
    assert (again["id"], again["label"], again["blind_label"]) == (answer.json()["id"], 1, 0)
    assert ExpertLabel.objects.filter(expert="dan").count() == 1
    logged = [entry.details for entry in AuditEntry.objects.filter(verb="label").order_by("pk")]
    # Not what was said: others who read the log are to decide blind.
    assert logged == [{"pile": "sample", "again": again} for again in (False, True)]


def test_nobody_picks_the_sample_s_triplets_by_the_api(campaign: Campaign) -> None:
    """The label error is computed from these: hand-picked ones could make it what one likes."""
    make_hit(campaign, real=[(f"more {number}", "question", "answer") for number in range(4)])
    campaign.triplets.update(status="labelled", label=1, votes=2, positive_votes=2)
    expert = Program(person("dan", campaign, "adjudicator"))
    drawn = expert.get("campaigns/faq/expert-labels/next?pile=sample").json()["next"]["triplet"]
    for triplet in campaign.triplets.exclude(pk=drawn):
        sent = {"triplet": triplet.pk, "label": 1, "pile": "sample"}
        assert is_problem(expert.post("campaigns/faq/expert-labels", sent), 404)
    assert not ExpertLabel.objects.filter(expert="dan").exists()
    sent = {"triplet": drawn, "label": 1, "pile": "sample"}
    assert expert.post("campaigns/faq/expert-labels", sent).status_code == 201


def test_a_triplet_that_was_drawn_is_taken_though_the_draw_has_changed(campaign: Campaign) -> None:
    make_hit(campaign, real=[(f"more {number}", "question", "answer") for number in range(4)])
    campaign.triplets.update(status="labelled", label=1, votes=2, positive_votes=2)
    dan, eve = (Program(person(name, campaign, "adjudicator")) for name in ("dan", "eve"))
    given = dan.get("campaigns/faq/expert-labels/next?pile=sample").json()
    sent = {"triplet": given["next"]["triplet"], "label": 1, "pile": "sample"}
    # What another expert has met comes last.
    ExpertLabel.objects.create(triplet_id=sent["triplet"], expert="finn", source="sample", label=1)
    assert is_problem(dan.post("campaigns/faq/expert-labels", sent), 404)
    for not_his in (None, "", "x", given["draw"][:-1], given["draw"].swapcase()):
        answer = eve.post("campaigns/faq/expert-labels", {**sent, "draw": not_his})
        assert is_problem(answer, 404)
    assert is_problem(eve.post("campaigns/faq/expert-labels", {**sent, "draw": given["draw"]}), 404)
    answer = dan.post("campaigns/faq/expert-labels", {**sent, "draw": given["draw"]})
    assert answer.status_code == 201


@pytest.mark.parametrize("role", ["owner", "adjudicator"])
def test_what_another_expert_said_is_told_after_one_s_own_label_alone(
    campaign: Campaign, role: str
) -> None:
    cleos = ExpertLabel.objects.get(expert="cleo")
    ExpertLabel.objects.filter(pk=cleos.pk).update(note="the same, I think", blind_label=0)
    dan = Program(person("dan", campaign, role))
    row = f"campaigns/faq/expert-labels/{cleos.pk}"
    lists = [f"campaigns/faq/expert-labels{of}" for of in ("", f"?triplet={cleos.triplet_id}")]
    assert [dan.get(one).json()["results"] for one in lists] == [[], []]
    assert is_problem(dan.get(row), 404)
    Triplet.objects.update(status="unresolved", label=None)
    sent = {"triplet": cleos.triplet_id, "label": 0, "pile": "unresolved"}
    assert dan.post("campaigns/faq/expert-labels", sent).status_code == 201
    report = [{one["expert"] for one in dan.get(path).json()["results"]} for path in lists]
    assert report == [{"cleo", "dan"}] * 2
    assert dan.get(row).json()["note"] == "the same, I think"


def test_an_expert_labels_nothing_that_is_not_of_the_pile(campaign: Campaign) -> None:
    expert = Program(person("dan", campaign, "adjudicator"))
    triplet = Triplet.objects.get().pk
    sent = {"triplet": triplet, "label": 1, "pile": "unresolved"}
    assert is_problem(expert.post("campaigns/faq/expert-labels", sent), 404)
    assert is_problem(expert.post("campaigns/faq/expert-labels", sent | {"triplet": 10**6}), 404)
    assert expert.get("campaigns/faq/expert-labels?expert=dan").json()["results"] == []
