"""A member's own page."""

import re
from unittest.mock import Mock

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from lxml import html
from pytest_django import Settings

from annotation.crowd.inhouse import queue
from annotation.crowd.inhouse.adapter import InhouseCrowd
from annotation.crowd.inhouse.models import Assignment, Bonus, Member, PostedHit
from annotation.models import Assignment as Submitted
from annotation.models import (
    Exclusion,
    Hit,
    Instructions,
    QualificationItem,
    QualificationResult,
    Role,
    Worker,
    Workforce,
)
from annotation.protocol.screening.control import RejectionReason
from tests.annotation.web.stage import offer_hits, sheet
from tests.support.pages import Response

pytestmark = pytest.mark.django_db


def text(response: Response) -> str:
    assert response.status_code == 200
    document = html.document_fromstring(response.content.decode())
    return " ".join(" ".join(document.itertext()).split())


def test_with_nothing_to_do_it_says_how_new_work_is_seen(adas: Client) -> None:
    shown = text(adas.get("/work"))
    assert "There is nothing to do" in shown
    assert "New work appears here by itself. Reload this page later" in shown


def test_instructions_are_read_in_their_own_direction(adas: Client) -> None:
    (hit,) = offer_hits()
    hit.instructions = Instructions.objects.create(
        campaign=hit.campaign, version=2, text="هل السؤالان متكافئان؟"
    )
    hit.save()
    Instructions.objects.create(campaign=hit.campaign, version=3, text="Of HITs yet to come.")
    page = html.document_fromstring(adas.get("/work/instructions/faq").content.decode())
    rules = page.xpath("//*[contains(@class, 'markdown')]")[0]
    assert "هل السؤالان" in rules.text_content()
    assert rules.get("dir") == "auto"


def do(client: Client, count: int) -> None:
    """Submit so many HITs."""
    for _ in range(count):
        address = client.post("/work/next")["Location"]
        work = Assignment.objects.get(assignment_id=address.rpartition("/")[2])
        hit = Hit.objects.get(key=work.posted_hit.annotation)
        client.post(address, sheet(hit))


def reject(work: Assignment, rejection: str, reason: str) -> None:
    """As the review or a person orders it, and as the crowd carries it out."""
    assert work.submitted_at is not None
    worker, _ = Worker.objects.get_or_create(crowd="inhouse", worker_id=work.member.worker_id)
    hit = Hit.objects.get(key=work.posted_hit.annotation)
    Submitted.objects.create(
        hit=hit,
        worker=worker,
        crowd_id=work.assignment_id,
        status="rejected",
        accepted_at=work.accepted_at,
        submitted_at=work.submitted_at,
        answers={},
        passed=rejection == "manual",
        failure="" if rejection == "manual" else rejection,
    )
    InhouseCrowd().reject(work.assignment_id, reason=reason, why=RejectionReason.MANUAL)


def decide(*, rejected: int = 0) -> None:
    """All that is submitted: the first ones are not accepted."""
    for number, work in enumerate(Assignment.objects.filter(status="submitted").order_by("pk")):
        if number < rejected:
            reject(work, "missed", "Wrong answers to check questions: 1 <b>.")
        else:
            InhouseCrowd().approve(work.assignment_id)


def test_with_nothing_to_do_it_says_so_kindly(adas: Client) -> None:
    page = text(adas.get("/work"))
    assert "There is nothing to do at the moment. New" in page
    assert "Submitted 0" in page


FOR_OTHERS = "You have judged all the tasks of “Judge fish” that you can."


def test_who_has_done_their_part_is_told_that_the_rest_is_for_others(adas: Client) -> None:
    offer_hits("fish", hits=2)
    do(adas, 1)
    assert FOR_OTHERS not in text(adas.get("/work"))
    do(adas, 1)
    assert f"{FOR_OTHERS} The tasks left are for other people. There is" in text(adas.get("/work"))
    PostedHit.objects.update(expires_at=timezone.now())
    assert FOR_OTHERS not in text(adas.get("/work"))


def test_work_that_nobody_is_needed_for_is_not_for_others(adas: Client) -> None:
    offer_hits("fish", max_assignments=1)
    do(adas, 1)
    assert FOR_OTHERS not in text(adas.get("/work"))


def test_each_kind_of_hit_is_offered_with_its_count_and_pay(adas: Client) -> None:
    offer_hits("fish", hits=3)
    offer_hits("birds", hits=2, reward_cents=12)
    response = adas.get("/work")
    page = text(response)
    assert "Judge fish" in page
    assert "Campaign fish 0 of 3 done Instructions Start" in page
    assert "Campaign birds 0 of 2 done $0.12 each: at least $0.12 an hour, even if you" in page
    queues = html.document_fromstring(response.content).xpath("//input[@name='hit_type']/@value")
    for name, one in zip(["fish", "birds"], queues, strict=True):
        address = adas.post("/work/next", {"hit_type": one})["Location"]
        work = Assignment.objects.get(assignment_id=address.rpartition("/")[2])
        assert work.posted_hit.annotation.startswith(name)
        adas.post(f"{address}/return")
        Assignment.objects.filter(status="accepted").update(status="returned")


@pytest.mark.parametrize(("timed", "words"), [(4, "at least $0.12"), (5, "about $8.64")])
def test_what_a_kind_pays_an_hour_is_said_by_the_measured_time_once_enough_is_measured(
    adas: Client, timed: int, words: str
) -> None:
    (hit,) = offer_hits("birds", reward_cents=12)
    figures = {"timed": timed, "median_ms": 50_000}
    Workforce.objects.create(campaign=hit.campaign, at=timezone.now(), figures=figures)
    assert f"$0.12 each: {words} an hour" in text(adas.get("/work"))


def test_each_kind_says_how_much_of_it_is_done(adas: Client) -> None:
    offer_hits("fish", hits=4)
    do(adas, 1)
    assert "Campaign fish 1 of 4 done" in text(adas.get("/work"))
    adas.post("/work/next")
    assert re.search("Campaign fish Yours until .* 1 of 4 done", text(adas.get("/work")))


def test_what_is_in_hand_waits_there(adas: Client) -> None:
    offer_hits(hits=2)
    address = adas.post("/work/next")["Location"]
    response = adas.get("/work")
    assert f'href="{address}"' in response.content.decode()
    assert "Continue" in text(response)
    # One HIT in hand at a time.
    assert "Start" not in text(response)


def test_a_hit_in_hand_says_why_no_other_can_be_started(adas: Client) -> None:
    offer_hits(hits=2)
    assert "Finish or skip" not in text(adas.get("/work"))
    adas.post("/work/next")
    assert "Finish or skip your current task first." in text(adas.get("/work"))


def test_what_is_not_open_any_more_is_given_back_from_the_own_page(
    adas: Client, ada: Member
) -> None:
    (hit,) = offer_hits()
    offer_hits("birds")
    address = adas.post("/work/next")["Location"]
    if (
        Assignment.objects.get(assignment_id=address.rpartition("/")[2]).posted_hit.annotation
        != hit.key
    ):
        hit = Hit.objects.exclude(pk=hit.pk).get()
    worker = Worker.objects.create(crowd="inhouse", worker_id=ada.worker_id)
    Exclusion.objects.create(campaign=hit.campaign, worker=worker, failures=3, reviewed=10)
    response = adas.get("/work")
    assert "It is no longer open to you. Return it" in text(response)
    assert "Continue" not in text(response)
    assert f'action="{address}/return"' in response.content.decode()


def test_progress_is_told_in_counts_where_nothing_is_paid(adas: Client) -> None:
    offer_hits(hits=6)
    do(adas, 4)
    decide(rejected=1)
    do(adas, 1)
    page = text(adas.get("/work"))
    assert "Last 24 hours 5 Submitted 5 Approved 3 Rejected 1" in page
    assert "$" not in page


def test_progress_is_told_in_pay_where_something_is_paid(adas: Client) -> None:
    offer_hits(hits=6, reward_cents=25)
    do(adas, 3)
    decide(rejected=1)
    do(adas, 1)
    work = Assignment.objects.filter(status="approved")[0]
    InhouseCrowd().bonus(
        work.member.worker_id, work.assignment_id, cents=100, reason="Well done.", token="b1"
    )
    assert Bonus.objects.count() == 1
    assert "Earned $1.50 Awaiting review $0.25" in text(adas.get("/work"))


def test_what_was_not_accepted_is_counted_by_its_reason(adas: Client) -> None:
    offer_hits(hits=3)
    do(adas, 3)
    decide(rejected=2)
    response = adas.get("/work")
    assert "2 of your 3 submitted tasks were rejected:" in text(response)
    assert "Wrong answers to check questions (2)" in text(response)
    assert b"<b>" not in response.content
    document = html.document_fromstring(response.content)
    assert len(document.findall(".//details[@class='remarks']//li")) == 2


def test_rejections_are_grouped_by_reason_whatever_their_sentences(adas: Client) -> None:
    offer_hits(hits=7)
    do(adas, 7)
    reasons = ["unanswered", "missed", "missed", "missed", "manual", "manual"]
    works = list(Assignment.objects.order_by("pk"))
    for number, (work, reason) in enumerate(zip(works, reasons, strict=False)):
        reject(work, reason, f"Sentence {number}.")
    InhouseCrowd().reject(
        works[6].assignment_id, reason="By the crowd itself.", why=RejectionReason.MANUAL
    )
    page = text(adas.get("/work"))
    assert "7 of your 7 submitted tasks were rejected: Wrong answers to check questions (3)" in page
    assert "reviewer (2) Questions without an answer (1) and 1 for other reasons" in page
    assert "Show the rejected tasks" in page


def test_who_is_excluded_reads_why_and_is_offered_nothing_of_it(
    adas: Client, ada: Member, settings: Settings
) -> None:
    settings.CONTACT = "quality@example.org"
    (fish,) = offer_hits("fish")
    offer_hits("birds")
    worker = Worker.objects.create(crowd="inhouse", worker_id=ada.worker_id)
    Exclusion.objects.create(campaign=fish.campaign, worker=worker, failures=3, reviewed=10)
    page = text(adas.get("/work"))
    assert "3 of your first 10 tasks failed" in page
    assert "write to quality@example.org" in page
    assert page.count("Start") == 1


def qualified(hit: Hit, member: Member, *, passed: bool) -> None:
    worker, _ = Worker.objects.get_or_create(crowd="inhouse", worker_id=member.worker_id)
    QualificationResult.objects.create(
        campaign=hit.campaign,
        worker=worker,
        answers={"0": 1},
        correct=int(passed),
        items=1,
        passed=passed,
    )


def test_a_campaign_with_a_qualification_test_opens_after_it(adas: Client, ada: Member) -> None:
    (hit,) = offer_hits("fish", qualification_items=1)
    QualificationItem.objects.create(
        campaign=hit.campaign, position=0, query="a", question="b", expected=1, why="So."
    )
    response = adas.get("/work")
    assert "Opens after a short qualification test. 3 tries left." in text(response)
    assert "Start" not in text(response)
    (link,) = re.findall(r'href="(/qualification/[^"]+)"', response.content.decode())
    assert adas.get(link).status_code == 200
    qualified(hit, ada, passed=False)
    assert "2 tries left." in text(adas.get("/work"))
    qualified(hit, ada, passed=True)
    InhouseCrowd().grant(ada.worker_id, qualification_id=hit.campaign.qualified_id, value=100)
    page = text(adas.get("/work"))
    assert "qualification test" not in page
    assert "Start" in page


def test_who_has_used_up_the_tries_is_not_sent_there_again(adas: Client, ada: Member) -> None:
    (hit,) = offer_hits("fish", qualification_items=1)
    for _ in range(3):
        qualified(hit, ada, passed=False)
    assert "qualification test" not in text(adas.get("/work"))


def test_instructions_can_be_read_before_the_work(adas: Client) -> None:
    offer_hits("fish")
    assert 'href="/work/instructions/fish"' in adas.get("/work").content.decode()
    assert "Both ask the same" in text(adas.get("/work/instructions/fish"))
    assert adas.get("/work/instructions/birds").status_code == 404


def test_instructions_of_a_campaign_with_annotators_of_its_own_are_theirs(adas: Client) -> None:
    (hit,) = offer_hits("fish")
    eve = User.objects.create_user("eve")
    Role.objects.create(user=eve, campaign=hit.campaign, name=Role.Name.ANNOTATOR)
    assert adas.get("/work/instructions/fish").status_code == 404


def test_whom_to_write_to_is_told(adas: Client, settings: Settings) -> None:
    assert "Questions? Write to the people who invited you." in text(adas.get("/work"))
    settings.CONTACT = "ann@example.org"
    assert "Questions? Write to ann@example.org." in text(adas.get("/work"))
    settings.CONTACT = "Ask at the front desk."
    assert "Ask at the front desk." in text(adas.get("/work"))


def test_many_hits_and_much_work_cost_no_more_queries(adas: Client) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as asked:
            adas.get("/work")
        return len(asked)

    offer_hits("fish", hits=3)
    do(adas, 1)
    Assignment.objects.filter(status="accepted").update(status="returned")
    few = queries()
    # Of them one for messages, one for campaigns kept for others, four for the ways of the head.
    assert few <= 26
    offer_hits("birds", hits=12)
    do(adas, 10)
    Assignment.objects.filter(status="accepted").update(status="returned")
    decide(rejected=4)
    assert queries() <= few + 5  # three of the second kind of HIT, two for missed controls


def test_while_the_database_is_away_pages_and_scripts_are_told_to_wait(adas: Client) -> None:
    def refuse(*_: object) -> None:
        raise OperationalError("gone")

    json = {"Accept": "application/json"}
    with connection.execute_wrapper(refuse):
        page, report = adas.get("/work"), adas.post("/work/next", headers=json)
    assert (page.status_code, page["Retry-After"]) == (503, "60")
    assert "try again in a minute" in page.content.decode()
    assert report.status_code == 503
    assert "try again in a minute" in report.json()["error"]


def test_the_queues_are_asked_for_once(adas: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    offer_hits("fish")
    calls = Mock(side_effect=queue.open_queues)
    monkeypatch.setattr(queue, "open_queues", calls)
    adas.get("/work")
    assert calls.call_count == 1
    do(adas, 1)
    calls.reset_mock()
    assert FOR_OTHERS in text(adas.get("/work"))
    assert calls.call_count == 1
