"""A HIT's page: what was shown and answered, what the crowd was told, and what it cost."""

from typing import Any

import pytest
from django.test import Client

from annotation.models import Campaign, Control, Hit, OutboxMessage, Worker
from tests.annotation.web.base.readers import plays, root
from tests.conftest import SetStage
from tests.exports.support.campaigns import make_campaign

pytestmark = pytest.mark.django_db

HOSTILE = "<script>alert(1)</script>\"'{{ 7|add:7 }}"


@pytest.fixture
def campaign() -> Campaign:
    return make_campaign()


def hit_of(campaign: Campaign, query: str, rank: int) -> Hit:
    return campaign.hits.get(
        items__triplet__candidate__query__key=query, items__triplet__candidate__rank=rank
    )


def address(hit: Hit, campaign: str = "demo") -> str:
    return f"/admin/campaigns/{campaign}/hits/{hit.pk}"


def test_items_stand_in_their_order_with_controls_marked_and_answers(campaign: Campaign) -> None:
    """eve said No to both controls, of which one wants a Yes."""
    context = root().get(address(hit_of(campaign, "tea", 3))).context
    found = [(shown.query[:7], shown.expected, shown.answers) for shown in context["items"]]
    assert found == [
        ("CONTROL", 1, [1, 0, 1]),
        ("What ab", None, [0, 1, 0]),
        ("CONTROL", 0, [0, 0, 0]),
    ]
    assert [str(one.worker) for one in context["assignments"]] == ["ada", "eve", "third"]


def test_an_item_without_an_answer_is_left_blank(campaign: Campaign) -> None:
    hit = hit_of(campaign, "moon", 1)
    hit.items.get(triplet__isnull=False).judgments.filter(worker__worker_id="bob").delete()
    shown = root().get(address(hit)).context["items"][1]
    assert shown.answers == [1, None]


@pytest.mark.parametrize(
    ("status", "words"),
    [("rejected", "Rejected"), ("approved", "Approved, votes discarded")],
)
def test_why_an_assignment_does_not_count_is_said_in_words(
    campaign: Campaign, status: str, words: str
) -> None:
    hit = hit_of(campaign, "moon", 1)
    work = hit.assignments.first()
    assert work
    hit.assignments.filter(pk=work.pk).update(status=status, passed=False, failure="missed")
    for page in (address(hit), f"/admin/campaigns/{campaign}/assignments/?q={work.crowd_id}"):
        text = root().get(page).content.decode()
        assert f"{words}: wrong answers to check questions" in " ".join(text.split())


def test_calls_to_the_crowd_are_shown_with_their_errors(campaign: Campaign) -> None:
    hit = hit_of(campaign, "moon", 1)
    work = hit.assignments.first()
    columns = {"campaign": campaign, "attempts": 3}
    OutboxMessage.objects.create(
        kind="create", token="a", hit=hit, state="failed", error="no such title", **columns
    )
    OutboxMessage.objects.create(
        kind="approve", token="b", assignment=work, state="done", **columns
    )
    OutboxMessage.objects.create(
        kind="create", token="c", hit=hit_of(campaign, "moon", 2), **columns
    )
    response = root().get(address(hit))
    assert [(one.kind, one.state) for one in response.context["outbox_messages"]] == [
        ("create", "failed"),
        ("approve", "done"),
    ]
    assert "no such title" in response.content.decode()


def test_money_is_shown_entry_by_entry(campaign: Campaign) -> None:
    """Two assignments at 19 cents are reserved, then paid one by one."""
    entries = root().get(address(hit_of(campaign, "moon", 1))).context["entries"]
    found = [(one.entry.source, one.entry.target, one.sum) for one in entries]
    assert found == [
        ("available", "reserved", "$0.38"),
        ("reserved", "paid", "$0.19"),
        ("reserved", "paid", "$0.19"),
    ]


def test_a_fault_is_told(campaign: Campaign) -> None:
    hit = hit_of(campaign, "moon", 1)
    Hit.objects.filter(pk=hit.pk).update(fault="the answers are no XML", gone=True)
    page = root().get(address(hit)).content.decode()
    for words in ("the answers are no XML", "no longer knows this HIT", "Faulty"):
        assert words in page


def test_a_real_hit_s_record_holds_together(set_stage: SetStage) -> None:
    stage = set_stage(candidates_per_query=1)
    stage.publish()
    stage.work("ada", 1)
    stage.work("eve", 1, slips=1)
    stage.advance()
    context = root().get(address(stage.hit(1), "faq")).context
    assert len(context["items"]) == 7
    assert sorted(shown.expected is None for shown in context["items"]) == [False] * 2 + [True] * 5
    assert [one.passed for one in context["assignments"]] == [True, False]
    kinds = {message.kind for message in context["outbox_messages"]}
    assert kinds == {"create", "approve", "reject", "extend"}
    assert context["state"] == "open"


def test_hostile_texts_stay_texts(campaign: Campaign) -> None:
    hit = hit_of(campaign, "moon", 1)
    Control.objects.update(query=HOSTILE, question=HOSTILE, answer=HOSTILE)
    Hit.objects.filter(pk=hit.pk).update(fault=HOSTILE)
    Worker.objects.filter(worker_id="ada").update(worker_id='"><b>ada')
    OutboxMessage.objects.create(
        kind="create", token="a", campaign=campaign, hit=hit, error=HOSTILE
    )
    page = root().get(address(hit)).content.decode()
    assert HOSTILE not in page
    assert "<b>ada" not in page


def test_only_those_who_manage_workers_are_offered_a_bonus(campaign: Campaign) -> None:
    page = address(hit_of(campaign, "moon", 1))
    for role, offered in (("manager", True), ("adjudicator", False), ("viewer", False)):
        text = plays(role, campaign).get(page).content.decode()
        assert ("/operations/bonus?assignment=" in text) is offered


def test_a_hit_of_another_campaign_is_not_here(campaign: Campaign) -> None:
    other = make_campaign(name="other")
    foreign = hit_of(other, "moon", 1)
    assert root().get(address(foreign)).status_code == 404
    assert plays("owner", campaign).get(address(foreign, "other")).status_code == 404


def test_others_do_not_see_it(campaign: Campaign, client: Client) -> None:
    page = address(hit_of(campaign, "moon", 1))
    assert plays("viewer", campaign).get(page).status_code == 200
    assert plays("annotator", campaign).get(page).status_code == 403
    assert client.get(page).status_code == 302


def test_the_page_takes_few_queries(campaign: Campaign, django_assert_max_num_queries: Any) -> None:
    client = plays("manager", campaign)
    with django_assert_max_num_queries(20):
        client.get(address(hit_of(campaign, "tea", 2)))
