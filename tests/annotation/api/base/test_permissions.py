"""A walk over every operation with every role, and with none."""

import re
from collections.abc import Callable, Mapping

from django.contrib.auth.models import Permission
from django.db import transaction

from annotation.models import (
    Assignment,
    Campaign,
    Control,
    ExpertLabel,
    Pilot,
    Triplet,
)
from retrieval.corpus.uploads import new_folder
from retrieval.jobs.queue import request as request_job
from retrieval.models import Job, QaPair
from tests.annotation.api.parts import (
    ELSEWHERE,
    LISTS,
    OF_A_CAMPAIGN,
    OF_THE_CAMPAIGN,
    OF_THE_DATABASE,
    POSTS,
)
from tests.annotation.api.people import Program, is_problem, person
from tests.annotation.api.whole.described import operations
from tests.annotation.support.events import delivered


def through(programs: dict[str, Program], method: str, path: str) -> set[str]:
    """Those who are not turned away; the others are told so in a problem."""
    passed = set()
    for name, program in programs.items():
        answer = program.get(path) if method == "GET" else program.post(path, {"agreed": False})
        if answer.status_code in {401, 403} or (name == "elsewhere" and answer.status_code == 404):
            expected = 401 if name == "nobody" else answer.status_code
            assert is_problem(answer, expected), (name, path)
        else:
            passed.add(name)
    return passed


def filled(path: str, campaign: Campaign) -> str:
    """With the rows that an address names by what they are."""
    texts = {"query": "a query", "question": "a question", "answer": "an answer"}
    make: dict[str, Callable[[], int]] = {
        "assignment": lambda: Assignment.objects.filter(hit__campaign=campaign).get().pk,
        "triplet": lambda: Triplet.objects.filter(campaign=campaign).get().pk,
        "expert": lambda: ExpertLabel.objects.filter(triplet__campaign=campaign).get().pk,
        "control": lambda: campaign.controls.all()[0].pk,
        "pool control": lambda: (
            Control.objects.create(kind="positive", key="of the pool", **texts).pk
        ),
        "pair": lambda: QaPair.objects.all()[0].pk,
        "import": lambda: import_job().pk,
        "webhook": lambda: delivered().webhook_id or 0,
        "event": lambda: delivered().event_id,
        "delivery": lambda: delivered().pk,
    }
    return re.sub(r"\{(.+?)\}", lambda found: str(make[found[1]]()), path)


def import_job() -> Job:
    folder = new_folder()
    arguments = {"folder": folder.name, "files": []}
    return Job.objects.create(
        kind="ingest", subject="source faq", state="done", arguments=arguments
    )


def walk(
    programs: dict[str, Program], campaign: Campaign, method: str, rules: Mapping[str, set[str]]
) -> None:
    """Each request is taken back: it finds the site as it was."""
    wrong = {}
    for path, who in rules.items():
        with transaction.atomic():
            passed = through(programs, method, filled(path, campaign))
            transaction.set_rollback(True)
        if passed != who:
            wrong[path] = passed ^ who
    assert wrong == {}


def of_the_campaign(rules: Mapping[str, set[str]]) -> dict[str, set[str]]:
    return {f"campaigns/faq{path}": who for path, who in rules.items()}


def test_what_belongs_to_no_campaign_is_for_these(
    programs: dict[str, Program], campaign: Campaign
) -> None:
    # A source or an index that is not there is absent for those who may look.
    others = {k: v for k, v in programs.items() if k != "elsewhere"}
    walk(others, campaign, "GET", {path: who - {"elsewhere"} for path, who in LISTS.items()})


def test_a_campaign_is_read_and_changed_by_these(
    programs: dict[str, Program], campaign: Campaign
) -> None:
    walk(programs, campaign, "GET", of_the_campaign(OF_A_CAMPAIGN))
    walk(programs, campaign, "POST", of_the_campaign(POSTS))


def test_what_is_of_all_campaigns_is_changed_by_whoever_may_everywhere(
    programs: dict[str, Program], campaign: Campaign
) -> None:
    walk(programs, campaign, "POST", {path: {"root"} for path in ELSEWHERE})
    for number, (path, permission) in enumerate(ELSEWHERE.items()):
        app, _, codename = permission.partition(".")
        permitted = person(f"dan-{number}")
        permitted.user_permissions.set(
            Permission.objects.filter(content_type__app_label=app, codename=codename)
        )
        permitted.user_permissions.add(Permission.objects.get(codename="view_campaign"))
        walk({"dan": Program(permitted)}, campaign, "POST", {path: {"dan"}})


def test_sources_are_counted_by_those_who_may_look(programs: dict[str, Program]) -> None:
    assert through(programs, "POST", "jobs/count") == OF_THE_DATABASE


def test_a_pilot_is_read_by_whoever_sees_both_conditions(
    programs: dict[str, Program], campaign: Campaign
) -> None:
    other = Campaign.objects.get(name="other")
    Pilot.objects.create(name="answers", shown=campaign, hidden=other)
    absent = {
        name for name, one in programs.items() if one.get("pilots/answers").status_code == 404
    }
    assert absent == {"owner", "manager", "adjudicator", "viewer", "elsewhere"}


def test_the_database_is_searched_by_those_who_may_look(programs: dict[str, Program]) -> None:
    assert through(programs, "POST", "pairs/search") == OF_THE_DATABASE
    assert through(programs, "POST", "pairs/answer") == OF_THE_DATABASE


def test_a_token_is_taken_back_by_whoever_is_signed_in(programs: dict[str, Program]) -> None:
    for name, program in programs.items():
        assert is_problem(program.delete("tokens/none"), 401 if name == "nobody" else 404)


def test_a_job_is_seen_by_whoever_sees_its_campaign(
    programs: dict[str, Program], campaign: Campaign
) -> None:
    job = request_job("pack", campaign.name, {}, by=None)
    assert through(programs, "GET", f"jobs/{job.pk}") == OF_THE_CAMPAIGN


def test_a_campaign_that_nobody_told_of_does_not_exist(programs: dict[str, Program]) -> None:
    absent = programs["elsewhere"].get("campaigns/nowhere").json()
    unseen = programs["elsewhere"].get("campaigns/faq").json()
    assert absent == unseen


def test_a_list_shows_what_the_reader_sees(programs: dict[str, Program]) -> None:
    def names(who: str) -> list[str]:
        return [row["name"] for row in programs[who].get("campaigns").json()["results"]]

    assert names("viewer") == ["faq"]
    assert names("elsewhere") == ["other"]
    assert names("staff") == ["faq", "other"]


def test_the_walk_leaves_no_operation_out() -> None:
    walked = {("get", f"/api/v1/{path}") for path in LISTS}
    walked |= {("get", f"/api/v1/campaigns/{{}}{path}") for path in OF_A_CAMPAIGN}
    walked |= {("post", f"/api/v1/campaigns/{{}}{path}") for path in POSTS}
    walked |= {
        *(("post", f"/api/v1/{path}") for path in ELSEWHERE),
        ("post", "/api/v1/jobs/count"),
        ("get", "/api/v1/pilots/{}"),
        ("post", "/api/v1/pairs/search"),
        ("post", "/api/v1/pairs/answer"),
        ("post", "/api/v1/tokens"),  # test_sign_in
        ("delete", "/api/v1/tokens/{}"),
        ("get", "/api/v1/jobs/{}"),
    }
    assert {(method, shape(path)) for method, path in operations()} == {
        (method, shape(path)) for method, path in walked
    }


def shape(path: str) -> str:
    """With `{}` in place of what stands for a row, by its name or by an example."""
    parts = path.removeprefix("/api/v1/").split("/")
    rows = {"campaigns", "sources", "indexes", "models", "trainings", "hits", "assignments",
            "workers", "panel-links",
            "triplets", "expert-labels", "releases", "builds", "tokens", "pairs", "controls",
            "pilots", "instructions", "charts", "webhooks",
            "events", "deliveries"}  # fmt: skip
    shown = [
        "{}"
        if place and parts[place - 1] in rows and part not in {"next", "search", "answer", "import"}
        else part
        for place, part in enumerate(parts)
    ]
    if parts[0] == "jobs" and len(parts) > 1 and parts[1].startswith("{"):
        shown[1] = "{}"
    return "/".join(shown)
