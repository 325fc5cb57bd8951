"""The milestones of a campaign: what is done, what is next, and publishing batch by batch."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import DjangoAssertNumQueries, Settings

from annotation.analytics.campaign.milestones import milestones_of
from annotation.analytics.campaign.snapshots import take
from annotation.crowd.hit_url import PREVIEW, hit_url, preview_path
from annotation.jobs.handlers import HANDLERS
from annotation.models import AuditEntry, Campaign, Role
from annotation.pipeline.ledger.reservations import set_budget
from annotation.pipeline.publishing.lifecycle import cancel, pause
from annotation.pipeline.publishing.pack import pack_hits
from annotation.pipeline.publishing.publish import publish
from annotation.pipeline.setup.create import create_campaign
from annotation.protocol.estimates.cost import estimate_cost
from annotation.protocol.policy.crowds import INHOUSE
from annotation.protocol.policy.policy import Policy
from retrieval.jobs import queue
from retrieval.models import Job
from retrieval.search.retrieve import retrieve
from tests.annotation.pipeline.whole.own_crowd import own_team
from tests.conftest import StartMTurk
from tests.support.pages import Response, parse, text_of
from tests.worlds.account import Account
from tests.worlds.small_campaign import (
    ENCODER,
    POLICY,
    QUERIES,
    Stage,
    packed_campaign,
    retrieved_campaign,
    write_rows,
)

pytestmark = pytest.mark.django_db

PAGE, PUBLISH = "/admin/campaigns/faq/milestones", "/admin/campaigns/faq/publish"


def client_of(campaign: Campaign, role: str) -> Client:
    user = User.objects.create_user(role)
    Role.objects.create(user=user, campaign=campaign, name=role)
    client = Client()
    client.force_login(user)
    return client


def buttons(client: Client) -> list[str]:
    """The steps that the page offers."""
    page = parse(client.get(PAGE))
    steps = page.xpath("//ol//form[@method='post']//input[@name='step']/@value")
    return steps + ["publish"] * len(page.xpath(f"//form[@action='{PUBLISH}']"))


def next_step(client: Client) -> str:
    [panel] = parse(client.get(PAGE)).find_class("setup-next")
    return str(panel.get("aria-labelledby"))


def done(kind: str) -> Job:
    """As a worker does it."""
    job = Job.objects.get(kind=kind, state="queued")
    queue.run(job.pk, "x", HANDLERS)
    job.refresh_from_db()
    return job


def confirm(client: Client, mturk: Account, first: str = "", **typed: str) -> Response:
    """Read the page and press its button."""
    address = f"{PUBLISH}?first={first}" if first else PUBLISH
    [endpoint] = parse(client.get(address)).xpath("//input[@name='endpoint']/@value")
    assert endpoint == mturk.url
    return client.post(address, {"endpoint": endpoint, **typed})


def at_the_crowd(campaign: Campaign) -> int:
    return campaign.hits.exclude(crowd_id=None).count()


@pytest.fixture
def fresh(small_database: None, tmp_path: Path) -> Campaign:
    """Created, and nothing else; with a budget."""
    rows = [{"id": key, "query": text} for key, text in QUERIES.items()]
    path = write_rows(tmp_path / "queries.jsonl", rows)
    campaign = create_campaign("faq", policy=Policy.from_dict(POLICY), seed=7, queries=path)
    set_budget(campaign, 100_000)
    return campaign


def test_controls_that_can_be_told_apart_are_a_warning_with_a_way_out(fresh: Campaign) -> None:
    """The page leads to the controls, and packs again until the campaign is published."""
    owner = client_of(fresh, "owner")
    retrieve(fresh.query_set, k=5, encoder=ENCODER)
    pack_hits(fresh)
    Campaign.objects.update(control_leak=0.97)
    page = owner.get(PAGE).content.decode()
    assert "Controls can be told apart: AUC 0.97. Draft controls" in page
    published = owner.get("/admin/campaigns/faq/publish").content.decode()
    assert "Controls can be told apart: AUC 0.97. Draft controls" in published
    assert buttons(owner) == ["pack", "publish"]
    owner.post(PAGE, {"step": "pack", "again": "on"})
    assert done("pack").result["already"] is False
    Campaign.objects.update(control_leak=0.55)
    assert "hard to tell apart: AUC 0.55" in owner.get(PAGE).content.decode()
    assert buttons(owner) == ["publish"]
    Campaign.objects.update(control_leak=None)
    assert "Too few HITs to measure whether controls" in owner.get(PAGE).content.decode()


def test_it_says_how_often_one_person_may_meet_a_control(fresh: Campaign) -> None:
    """One control of each kind for five HITs."""
    retrieve(fresh.query_set, k=5, encoder=ENCODER)
    for kind in ("positive", "negative"):
        fresh.controls.create(kind=kind, key=kind, query="q", question=kind, drafted=True)
    often = "Whoever does every HIT meets the same control up to 5 times."
    assert often in client_of(fresh, "owner").get(PAGE).content.decode()


# The whole way


def test_a_campaign_goes_its_way_by_the_page_alone(fresh: Campaign, mturk: Account) -> None:
    owner = client_of(fresh, "owner")
    assert (buttons(owner), next_step(owner)) == (["retrieve"], "candidates")
    assert owner.post(PAGE, {"step": "retrieve", "retrievers": "dense"})["Location"] == PAGE
    # No worker could load the test's encoder by its name: the job finds all of it done.
    retrieve(fresh.query_set, k=5, encoder=ENCODER)
    assert done("retrieve").result == {"queries": 5, "candidates": 25, "pairs_not_indexed": 0}

    assert (buttons(owner), next_step(owner)) == (["pack"], "hits")
    assert "The campaign has no controls of its own" in text_of(owner.get(PAGE))
    assert owner.post(PAGE, {"step": "pack"})["Location"] == PAGE
    packed = done("pack").result
    assert packed
    assert packed["hits"] == 5

    assert (buttons(owner), next_step(owner)) == (["publish"], "publish")
    assert confirm(owner, mturk, "2")["Location"] == PAGE
    published = done("publish").result
    assert published
    assert (published["new"], published["held_back"]) == (2, 3)
    assert at_the_crowd(fresh) == 2
    assert "The first 2 of 5 HITs are requested" in text_of(owner.get(PAGE))

    fresh.refresh_from_db()
    stage = Stage(fresh, mturk)
    for name in ("ada", "bob"):
        stage.work(name, 1)
    for _ in range(2):
        stage.advance()
    assert at_the_crowd(fresh) == 2
    assert confirm(owner, mturk)["Location"] == PAGE
    done("publish")
    assert at_the_crowd(fresh) == mturk.count("hits") == 5
    assert (buttons(owner), next_step(owner)) == ([], "monitor")
    verbs = AuditEntry.objects.order_by("pk").values_list("verb", "actor")
    assert list(verbs) == [(verb, "owner") for verb in ("retrieve", "pack", "publish", "publish")]


def test_the_way_is_told_while_the_work_is_under_way(fresh: Campaign) -> None:
    owner = client_of(fresh, "owner")
    owner.post(PAGE, {"step": "retrieve", "retrievers": "dense"})
    job = Job.objects.get()
    assert (job.kind, job.subject) == ("retrieve", "faq")
    assert job.arguments == {"retrievers": ["dense"], "fresh": False}
    page = parse(owner.get(PAGE))
    [shown] = page.xpath(f"//li[@aria-labelledby='candidates']//*[@id='job-{job.pk}']")
    assert shown.get("hx-get") == f"/admin/jobs/{job.pk}"
    assert buttons(owner) == []  # the others wait


def test_the_same_work_twice_is_refused_in_a_sentence(fresh: Campaign) -> None:
    owner = client_of(fresh, "owner")
    owner.post(PAGE, {"step": "retrieve"})
    again = owner.post(PAGE, {"step": "retrieve"})
    assert again.status_code == 409
    assert "is already running for faq" in text_of(again)
    assert Job.objects.count() == AuditEntry.objects.count() == 1


@pytest.mark.parametrize("step", ["pack", "publish", "", "retrieve"])
def test_a_step_out_of_its_turn_is_refused(fresh: Campaign, step: str) -> None:
    if step == "retrieve":
        retrieve(fresh.query_set, k=5, encoder=ENCODER)
    refused = client_of(fresh, "owner").post(PAGE, {"step": step})
    assert refused.status_code == 409
    assert "an earlier step comes first" in text_of(refused)
    assert not Job.objects.exists()
    assert not AuditEntry.objects.exists()


@pytest.mark.parametrize(
    ("sent", "kept"),
    [("dense", ["dense"]), ("bm25", ["bm25"]), ("dense,bm25", ["dense", "bm25"])],
)
def test_the_retrievers_are_chosen(fresh: Campaign, sent: str, kept: list[str]) -> None:
    owner = client_of(fresh, "owner")
    offered = parse(owner.get(PAGE)).xpath("//input[@name='retrievers']/@value")
    assert sent in offered
    owner.post(PAGE, {"step": "retrieve", "retrievers": sent})
    assert Job.objects.get().arguments == {"retrievers": kept, "fresh": False}


def test_a_retriever_that_there_is_not_is_refused(fresh: Campaign) -> None:
    refused = client_of(fresh, "owner").post(PAGE, {"step": "retrieve", "retrievers": "<b>"})
    assert refused.status_code == 409
    assert "Retrievers: Select a valid choice." in text_of(refused)
    assert "<b> is" not in refused.content.decode()


def test_a_step_that_failed_says_why_and_can_be_asked_for_again(
    small_database: None, tmp_path: Path
) -> None:
    campaign = retrieved_campaign(tmp_path)
    owner = client_of(campaign, "owner")
    campaign.query_set.queries.first().candidates.all().delete()  # type: ignore[union-attr]
    owner.post(PAGE, {"step": "pack"})
    assert done("pack").state == "failed"
    assert "has 20 candidates where its policy wants 25" in text_of(owner.get(PAGE))
    assert buttons(owner) == ["pack"]


# The price


@pytest.mark.parametrize(
    "policy",
    [{}, {"tie_mode": "repack"}, {"masters": False, "reward_cents": 7}, {"annotators": 3}],
)
def test_the_cost_estimate_is_that_of_the_protocol(
    small_database: None, tmp_path: Path, policy: Mapping[str, object]
) -> None:
    campaign = retrieved_campaign(tmp_path, **policy)
    rows = parse(client_of(campaign, "viewer").get(PAGE)).xpath(
        "//section//tbody/tr|//li//tbody/tr"
    )
    shown = [[cell.text_content().strip() for cell in row] for row in rows]
    costs = estimate_cost(25, campaign.policy)
    prices = costs.cents_min, costs.extend.cents, costs.repack.cents, costs.cents_max
    assert [row[3] for row in shown] == [f"${cents / 100:,.2f}" for cents in prices]
    bought = costs.assignments_min, costs.extend.assignments, costs.repack.assignments
    assert [row[2] for row in shown][:3] == [str(count) for count in bought]
    [own] = [row[0] for row in shown if "this policy" in row[0]]
    assert {"extend": "once more", "repack": "in new HITs"}[campaign.policy.tie_mode] in own


def test_the_papers_price_by_hand(stage: Stage) -> None:
    """Five HITs: 2 x 19 cents each; 0.78 ^ 5 = 0.289 of them have no tie, so 4 are extended."""
    page = text_of(client_of(stage.campaign, "viewer").get(PAGE))
    assert "An assignment costs $0.19: $0.15 for the worker and $0.04 for the crowd." in page
    assert "The first round alone 2.00 10 $1.90" in page
    assert "once more this policy 2.71 14 $2.66" in page
    assert "Not counted: the replacements" in page


def test_a_team_that_is_not_paid_has_no_prices(small_database: None, tmp_path: Path) -> None:
    campaign = retrieved_campaign(tmp_path, **INHOUSE.defaults())
    page = text_of(client_of(campaign, "owner").get(PAGE))
    assert "unpaid" not in page
    assert "$" not in page
    assert "Set the budget" not in page


# The preview


def test_a_real_hit_is_framed_as_a_worker_sees_it(stage: Stage) -> None:
    viewer = client_of(stage.campaign, "viewer")
    [frame] = parse(viewer.get(f"{PAGE}?hit=3")).xpath("//iframe")
    assert frame.get("src") == preview_path(stage.hit(3).key)
    assert PREVIEW in frame.get("src")
    shown = viewer.get(frame.get("src"))
    assert shown.status_code == 200
    keys = set(stage.hit(3).items.values_list("key", flat=True))
    assert {one.get("data-item") for one in parse(shown).xpath("//fieldset")} == keys
    assert "Accept the HIT" in text_of(shown)


def test_a_teams_preview_speaks_of_the_team(small_database: None, tmp_path: Path) -> None:
    campaign = packed_campaign(tmp_path, **INHOUSE.defaults())
    shown = Client().get(preview_path(campaign.hits.get(number=1).key))
    assert "Members of the team answer its 7 items" in text_of(shown)
    assert "Accept the HIT" not in text_of(shown)


def ancestors(response: Response) -> list[str]:
    rules = [rule.split() for rule in response["Content-Security-Policy"].split(";")]
    [frames] = [values for name, *values in rules if name == "frame-ancestors"]
    return frames


def test_our_own_pages_may_frame_the_preview_and_nothing_else_of_the_hit(stage: Stage) -> None:
    """What can be answered is framed by the crowd alone: nobody is led to press on it elsewhere."""
    client, key = Client(), stage.hit(1).key
    preview = client.get(preview_path(key))
    assert ancestors(preview)[-1] == "'self'"
    assert "X-Frame-Options" not in preview
    path = hit_url(key).removeprefix("http://127.0.0.1:8000")
    assert "'self'" in ancestors(client.get(path))  # without a parameter it is a preview, too
    for accepted in ("3ADA", "<>"):
        assert "'self'" not in ancestors(client.get(path, {"assignmentId": accepted}))
    assert "'self'" not in ancestors(client.get("/hit/unsigned"))


def test_the_page_itself_can_be_framed_by_nobody_and_frames_us_alone(stage: Stage) -> None:
    page = client_of(stage.campaign, "viewer").get(PAGE)
    assert "frame-src 'self'" in page["Content-Security-Policy"]
    assert ancestors(page) == ["'none'"]


@pytest.mark.parametrize(
    ("asked", "shown"), [("", 1), ("5", 5), ("6", 5), ("0", 1), ("x", 1), ("٣", 1), ("9" * 99, 1)]
)
def test_any_hit_can_be_picked(stage: Stage, asked: str, shown: int) -> None:
    page = client_of(stage.campaign, "viewer").get(PAGE, {"hit": asked})
    [frame] = parse(page).xpath("//iframe")
    assert frame.get("src") == preview_path(stage.hit(shown).key)


# Publishing


def test_the_price_the_place_and_what_waits_are_shown_before(stage: Stage) -> None:
    owner = client_of(stage.campaign, "owner")
    set_budget(stage.campaign, 3 * 57)
    page = text_of(owner.get(f"{PUBLISH}?first=4"))
    assert f"4 of the 5 HITs of faq go to the workers at {stage.mturk.url}." in page
    assert "costs $1.52; $2.28 is reserved, an assignment for the tie of each HIT included." in page
    assert "$1.71 left, which reaches 3 of them" in page
    assert "The rest, 1, waits until you publish it" in page
    assert "This is an emulator, not Amazon: no real money moves." in page
    assert not Job.objects.exists()
    assert not AuditEntry.objects.exists()


def test_what_was_confirmed_stands_in_the_log(stage: Stage) -> None:
    confirm(client_of(stage.campaign, "manager"), stage.mturk, "2")
    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.actor, entry.via) == ("publish", "manager", "page")
    assert entry.details == {
        "first": 2,
        "endpoint": stage.mturk.url,
        "hits": 2,
        "first_round_cents": 76,
        "job": Job.objects.get().pk,
    }


def test_it_goes_to_the_crowd_that_was_confirmed_or_nowhere(
    stage: Stage, start_mturk: StartMTurk, settings: Settings
) -> None:
    owner = client_of(stage.campaign, "owner")
    confirm(owner, stage.mturk, "2")
    other = start_mturk()
    settings.MTURK_ENDPOINT = other.url  # of the worker
    job = done("publish")
    assert job.state == "failed"
    assert f"It was confirmed for {stage.mturk.url}" in job.error
    assert at_the_crowd(stage.campaign) == other.count("hits") == 0
    # A page that was opened before is confirmed for nobody either.
    stale = owner.post(PUBLISH, {"endpoint": stage.mturk.url})
    assert stale.status_code == 200
    assert not Job.objects.filter(state="queued").exists()


@pytest.mark.parametrize("typed", ["", "FAQ", "faq2"])
def test_real_money_takes_the_campaigns_name_typed(
    stage: Stage, settings: Settings, typed: str
) -> None:
    """Nothing is sent there: the work is asked for and not done."""
    settings.MTURK_ENDPOINT = settings.MTURK_PRODUCTION
    owner = client_of(stage.campaign, "owner")
    page = owner.get(f"{PUBLISH}?first=1")
    assert "spends real money" in text_of(page)
    confirmed = {"endpoint": settings.MTURK_PRODUCTION}
    refused = owner.post(f"{PUBLISH}?first=1", confirmed | {"typed": typed})
    assert "This is not the campaign" in text_of(refused)
    assert not Job.objects.exists()
    taken = owner.post(f"{PUBLISH}?first=1", confirmed | {"typed": " faq "})
    assert taken["Location"] == PAGE
    assert Job.objects.get().arguments == {"first": 1, "endpoint": settings.MTURK_PRODUCTION}


@pytest.mark.parametrize(
    ("first", "said"),
    [
        ("0", "HITs to publish: Ensure this value is greater than or equal to 1."),
        ("6", "1 to 5 HITs"),
        ("x", "HITs to publish: Enter a whole number."),
        ("9" * 5000, "HITs to publish: Enter a whole number."),
    ],
)
def test_a_batch_that_cannot_be_is_refused(stage: Stage, first: str, said: str) -> None:
    refused = client_of(stage.campaign, "owner").get(PUBLISH, {"first": first})
    assert refused.status_code == 422
    assert said in text_of(refused)


def test_a_further_batch_counts_the_first(stage: Stage) -> None:
    owner = client_of(stage.campaign, "owner")
    confirm(owner, stage.mturk, "2")
    done("publish")
    assert "2 HITs of faq are asked for already" in text_of(owner.get(f"{PUBLISH}?first=2"))
    assert "1 of the 5 HITs of faq goes to the workers" in text_of(owner.get(f"{PUBLISH}?first=3"))
    confirm(owner, stage.mturk, "3")
    done("publish")
    assert at_the_crowd(stage.campaign) == 3
    confirm(owner, stage.mturk, "5")
    assert Job.objects.get(state="queued").arguments == {"endpoint": stage.mturk.url}
    done("publish")
    assert at_the_crowd(stage.campaign) == 5
    assert "All 5 HITs of faq are asked for" in text_of(owner.get(PUBLISH))


def test_what_keeps_a_campaign_from_being_published_is_told(stage: Stage) -> None:
    owner = client_of(stage.campaign, "owner")
    set_budget(stage.campaign, 0)
    assert "has no budget yet" in text_of(owner.get(PUBLISH))
    set_budget(stage.campaign, 10_000)
    pause(stage.campaign)
    assert "is paused" in text_of(owner.get(PUBLISH))
    cancel(stage.campaign, stage.mturk.clock.now())
    assert "is cancelled" in text_of(owner.post(PUBLISH, {"endpoint": stage.mturk.url}))
    assert not Job.objects.exists()


def test_nothing_unpacked_is_published(fresh: Campaign, mturk: Account) -> None:
    assert "has no HITs yet" in text_of(client_of(fresh, "owner").get(PUBLISH))


def test_a_team_is_told_where_its_work_will_be(
    small_database: None, tmp_path: Path, settings: Settings
) -> None:
    settings.PUBLIC_URL = "https://quorum.example.org"
    campaign = packed_campaign(tmp_path, **INHOUSE.defaults())
    owner = client_of(campaign, "owner")
    page = text_of(owner.get(f"{PUBLISH}?first=2"))
    assert "the members of your team at https://quorum.example.org/work" in page
    assert "unpaid" not in page
    owner.post(f"{PUBLISH}?first=2", {"endpoint": "inhouse"})
    assert Job.objects.count() == 1
    done("publish")
    assert at_the_crowd(campaign) == 2
    page = text_of(owner.get(PAGE))
    assert "The first 2 of" in page
    assert "tasks are open to your own team" in page


def test_the_plan_of_a_campaign_at_its_budget_says_so(stage: Stage) -> None:
    set_budget(stage.campaign, 2 * 57)
    publish(stage.campaign, stage.mturk.crowd)
    stage.campaign.refresh_from_db()
    page = text_of(client_of(stage.campaign, "viewer").get(PAGE))
    assert "as far as the budget allows. It is used up" in page


# Who may, and how much it costs to look


def test_a_viewer_is_offered_no_step(fresh: Campaign) -> None:
    assert buttons(client_of(fresh, "viewer")) == []


def test_looking_takes_few_queries_and_counts_nothing(
    stage: Stage, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    owner = client_of(stage.campaign, "owner")
    for published in (False, True):
        if published:
            publish(stage.campaign, stage.mturk.crowd, most=2)
        for address in (PAGE, f"{PUBLISH}?first=4"):
            with django_assert_max_num_queries(24) as asked:
                assert owner.get(address).status_code == 200
            assert [one["sql"] for one in asked if "COUNT(" in one["sql"].upper()] == []


def test_the_number_of_queries_is_read_off_their_last_position(fresh: Campaign) -> None:
    milestones = milestones_of(fresh)
    assert milestones.queries == fresh.query_set.queries.count() == 5


@pytest.mark.usefixtures("small_database")
def test_work_that_nobody_is_left_for_is_named_with_what_helps(tmp_path: Path) -> None:
    team = own_team(tmp_path)
    team.publish()
    for name, answer in (("ada", 1), ("bob", 0)):
        team.work(name, answer)
    team.advance()
    take(team.campaign, clock=team.clock.now)
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    page = parse(client.get(f"/admin/campaigns/{team.campaign}/milestones"))
    (monitor,) = page.xpath("//li[@aria-labelledby='monitor']")
    words = " ".join(monitor.text_content().split())
    assert "that nobody eligible is left for: invite one more person, or let an owner" in words
    assert "They cannot all be labelled until more people join" in words
    assert {"/team", "/campaigns/team/adjudicate"} <= {
        link.partition("?")[0].partition("#")[0] for link in monitor.xpath(".//a/@href")
    }
