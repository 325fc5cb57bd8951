"""One worker's page: the record, the rule with its evidence, and what can be done."""

import csv
import io
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from lxml.html import HtmlElement

from annotation.analytics.campaign import snapshots
from annotation.analytics.workers.history import (
    PAGE_SIZE,
    Evidence,
    Reviewed,
    evidence_of,
    reviews_of,
)
from annotation.models import Assignment, AuditEntry, OutboxMessage, Role, Worker
from annotation.pipeline.manual.exclusion import exclude, restore
from annotation.pipeline.manual.message import write_to
from annotation.protocol.policy.policy import ExclusionRule, Policy
from annotation.web.workers.worker import by_other_rule, controls_chart, verdict
from tests.annotation.support.annotators import NOON, Annotators, make_annotators
from tests.annotation.support.hits import make_campaign
from tests.support.pages import parse
from tests.worlds.small_campaign import Stage

pytestmark = pytest.mark.django_db

HOSTILE = "<script>alert(1)</script>"
MOST_QUERIES = 20


@pytest.fixture
def annotators() -> Annotators:
    return make_annotators()


def address(stage: Stage | Annotators, name: str) -> str:
    pk = Worker.objects.get(worker_id=name).pk
    return f"/admin/campaigns/{stage.campaign.name}/workers/{pk}"


def reader(stage: Stage | Annotators, role: str) -> Client:
    user = User.objects.create_user(role)
    Role.objects.create(user=user, campaign=stage.campaign, name=role)
    client = Client()
    client.force_login(user)
    return client


def words(page: HtmlElement) -> str:
    return " ".join(page.text_content().split())


def links(page: HtmlElement) -> dict[str, str]:
    """What it says -> where it leads, of the operations."""
    found = page.xpath("//a[contains(@href, '/operations/')]")
    return {" ".join(link.text_content().split()): link.get("href") for link in found}


def history(page: HtmlElement) -> list[list[str]]:
    rows = page.xpath("//section[@aria-labelledby='history-title']//tbody/tr")
    return [[" ".join(cell.text_content().split()) for cell in row] for row in rows]


# Who may read it


def test_strangers_sign_in_first(client: Client, annotators: Annotators) -> None:
    annotators.work("ada", 1)
    page = address(annotators, "ada")
    response = client.get(page)
    assert (response.status_code, response["location"]) == (302, f"/sign-in?next={page}")


def test_who_has_no_part_in_the_campaign_does_not_find_the_worker(
    client: Client, annotators: Annotators
) -> None:
    annotators.work("ada", 1)
    user = User.objects.create_user("bob")
    client.force_login(user)
    assert client.get(address(annotators, "ada")).status_code == 403
    Role.objects.create(user=user, campaign=make_campaign("other"), name="owner")
    for page in (address(annotators, "ada"), f"{address(annotators, 'ada')}/controls.csv"):
        assert client.get(page).status_code == 404


def test_a_viewer_reads_and_is_offered_no_operation(annotators: Annotators) -> None:
    annotators.work("ada", 1, status="rejected", passed=False)
    viewer = reader(annotators, "viewer")
    assert links(parse(viewer.get(address(annotators, "ada")))) == {}
    assert viewer.post(address(annotators, "ada")).status_code == 405
    for operation in ("exclude", "message", "approve", "reject", "bonus", "grant-qualification"):
        assert viewer.get(f"/admin/campaigns/faq/operations/{operation}").status_code == 403


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ada", 'attachment; filename="faq-ada-controls.csv"'),
        ('a"; x="', 'attachment; filename="faq-a\\"; x=\\"-controls.csv"'),
        (
            "a\r\nX-Forged: 1",
            "attachment; filename*=utf-8''faq-a%0D%0AX-Forged%3A%201-controls.csv",
        ),
    ],
)
def test_the_chart_s_file_is_named_after_any_worker(
    annotators: Annotators, name: str, expected: str
) -> None:
    annotators.work(name, 1)
    answer = reader(annotators, "viewer").get(f"{address(annotators, name)}/controls.csv")
    assert (answer.status_code, answer["Content-Disposition"]) == (200, expected)
    assert "X-Forged" not in answer


def test_a_worker_of_another_campaign_is_not_found_here(annotators: Annotators) -> None:
    annotators.work("ada", 1)
    stranger = Worker.objects.create(crowd="mturk", worker_id="eve")
    manager = reader(annotators, "manager")
    assert manager.get(f"/admin/campaigns/faq/workers/{stranger.pk}").status_code == 404
    assert manager.get("/admin/campaigns/faq/workers/0").status_code == 404


# The record


def test_the_history_tells_of_each_hit_what_was_missed_and_decided(one_hit: Stage) -> None:
    """Bob says 1 to the bread query alone, so he stands against ada in one of five votes."""
    one_hit.work("eve", 1, slips=2)
    one_hit.advance()
    one_hit.work("ada", 1)
    one_hit.work("bob", 1, lambda query, _: int(query == "bread"))
    one_hit.advance()
    manager = reader(one_hit, "manager")
    (eve,) = history(parse(manager.get(address(one_hit, "AEVE"))))
    (bob,) = history(parse(manager.get(address(one_hit, "ABOB"))))
    assert (eve[0], eve[3], eve[4], eve[5]) == ("1", "2 of 2 missed", "rejected", "0 of 5")
    assert bob[3:7] == ["passed", "approved", "1 of 5", "4 of 5"]


def test_the_newest_come_first_and_pages_go_on_by_key(annotators: Annotators) -> None:
    works = [annotators.work("ada", number, 60) for number in range(1, 7)]
    for place, work in enumerate(works):
        Assignment.objects.filter(pk=work.pk).update(submitted_at=NOON + timedelta(hours=place))
    manager = reader(annotators, "manager")
    numbers = [row[0] for row in history(parse(manager.get(address(annotators, "ada"))))]
    assert numbers == ["6", "5", "4", "3", "2", "1"]
    after = parse(manager.get(address(annotators, "ada"), {"before": str(works[3].pk)}))
    assert [row[0] for row in history(after)] == ["3", "2", "1"]
    for garbage in ("x", "-1", "9" * 30, HOSTILE):
        assert manager.get(address(annotators, "ada"), {"before": garbage}).status_code == 200


def test_one_more_than_a_page_goes_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    annotators = make_annotators(PAGE_SIZE + 1)
    for number in range(1, PAGE_SIZE + 2):
        annotators.work("ada", number)
    manager = reader(annotators, "manager")
    first = parse(manager.get(address(annotators, "ada")))
    assert len(history(first)) == PAGE_SIZE
    (link,) = first.xpath("//a[@rel='next']/@href")
    last = parse(manager.get(address(annotators, "ada") + link))
    assert len(history(last)) == 1
    assert last.xpath("//a[@rel='next']") == []


def test_hostile_words_are_shown_as_they_are(annotators: Annotators) -> None:
    done = annotators.work(HOSTILE, 1)
    OutboxMessage.objects.create(
        campaign=annotators.campaign,
        kind="notify",
        token="a message",
        worker=done.worker,
        reason=HOSTILE,
        error=HOSTILE,
        state="cancelled",
    )
    response = reader(annotators, "manager").get(address(annotators, HOSTILE))
    assert b"<script>alert" not in response.content
    assert parse(response).xpath("//section[@aria-labelledby='letters-title']//p/text()")


# The rule


def submissions(outcomes: str) -> list[Reviewed]:
    """ "." for a passed one, "x" for a failed one, an hour apart."""
    return [
        Reviewed(f"A{place}", NOON + timedelta(hours=place), one == ".")
        for place, one in enumerate(outcomes)
    ]


def evidence(outcomes: str) -> Evidence:
    return evidence_of(Policy(), submissions(outcomes))


@pytest.mark.parametrize(
    ("outcomes", "excluded", "restored", "said"),
    [
        ("." * 12, False, False, "The rate has not been crossed."),
        ("x", False, False, "The rate has not been crossed, but one more failed HIT is enough."),
        ("." * 12, True, True, "The rate has not been crossed: this worker was excluded manually."),
        (
            "." * 12,
            False,
            True,
            "The rate has not been crossed; this worker was excluded manually and restored.",
        ),
        (
            "." * 9 + "x.x..",
            True,
            True,
            "The rate was crossed with 2 of 12, by assignment A11 of 2026-11-02 23:00 UTC. Once "
            "crossed, no later success undoes it.",
        ),
        (
            "." * 9 + "x.x..",
            False,
            True,
            "The rate was crossed with 2 of 12, by assignment A11 of 2026-11-02 23:00 UTC. Once "
            "crossed, no later success undoes it; this worker was restored manually.",
        ),
    ],
)
def test_the_rule_is_told_with_the_review_that_crossed_it(
    outcomes: str, *, excluded: bool, restored: bool, said: str
) -> None:
    report = verdict(evidence(outcomes), Policy(), excluded=excluded, restored=restored)
    assert report == said


@pytest.mark.parametrize(
    ("rule", "outcomes", "said"),
    [
        ("share", "xx", "The sequential rule would not have excluded this worker."),
        (
            "share",
            "xxx",
            "The sequential rule would have excluded this worker with 3 of 3 HITs failed.",
        ),
        (
            "sequential",
            "." * 9 + "x.x",
            "The rule of a share would have excluded this worker with 2 of 12 HITs failed.",
        ),
    ],
)
def test_the_other_rule_is_said_beside_it(rule: ExclusionRule, outcomes: str, said: str) -> None:
    assert by_other_rule(Policy(exclusion_rule=rule), submissions(outcomes)) == said


def test_the_evidence_is_what_excluded_the_worker(stage: Stage) -> None:
    stage.publish()
    for number, slips in ((1, 0), (2, 0), (3, 1)):
        stage.work("eve", number, slips=slips)
    stage.advance()
    exclusion = stage.campaign.exclusions.get()
    found = evidence_of(stage.campaign.policy, reviews_of(stage.campaign, exclusion.worker))
    assert (found.crossed_failures, found.crossed_reviewed) == (1, 3)
    assert (exclusion.failures, exclusion.reviewed) == (1, 3)
    page = words(parse(reader(stage, "viewer").get(address(stage, "AEVE"))))
    assert "1 of 3 reviewed HITs failed. The rate was crossed with 1 of 3" in page
    assert "If this worker were restored" in page


def test_the_chart_follows_the_reviews_and_is_thinned_where_there_are_many() -> None:
    few = controls_chart(submissions(".x.."), Policy())
    assert few.labels == ["1", "2", "3", "4"]
    assert few.series[0].values == [0, 50, 33.33, 25]
    assert few.series[1].values == [10, 10, 10, 10]
    many = controls_chart(submissions("." * 999 + "x"), Policy())
    assert len(many.labels) <= 81
    assert (many.labels[-1], many.series[0].values[-1]) == ("1,000", 0.1)
    assert controls_chart([], Policy()).labels == []


def test_the_chart_has_its_file(annotators: Annotators) -> None:
    annotators.work("ada", 1)
    annotators.work("ada", 2, passed=False)
    viewer = reader(annotators, "viewer")
    page = parse(viewer.get(address(annotators, "ada")))
    (link,) = page.xpath("//section[@aria-labelledby='chart-controls-title']//a/@href")
    rows = list(csv.reader(io.StringIO(viewer.get(link).content.decode())))
    assert rows[0] == ["Reviewed HITs", "Failed so far, %", "Allowed, %"]
    assert [row[0] for row in rows[1:]] == ["1", "2"]
    assert rows[2][1] == "50.0"


# What would change, and what can be done


def test_what_would_change_is_for_who_sees_the_campaign(
    client: Client, annotators: Annotators
) -> None:
    annotators.work("ada", 1)
    client.force_login(User.objects.create_user("bob"))
    assert client.get(f"{address(annotators, 'ada')}/exclusion-impact").status_code == 403
    stranger = Worker.objects.create(crowd="mturk", worker_id="eve")
    viewer = reader(annotators, "viewer")
    page = f"/admin/campaigns/faq/workers/{stranger.pk}/exclusion-impact"
    assert viewer.get(page).status_code == 404
    assert viewer.post(f"{address(annotators, 'ada')}/exclusion-impact").status_code == 405


def test_what_an_exclusion_would_change_is_told_and_nothing_changes(one_hit: Stage) -> None:
    one_hit.work("ada", 1)
    one_hit.work("bob", 1)
    one_hit.advance()
    viewer = reader(one_hit, "viewer")
    (link,) = parse(viewer.get(address(one_hit, "ABOB"))).xpath("//@hx-get")
    page = words(parse(viewer.get(link)))
    assert "Votes that no longer count5 Labels that change5 5 of them open again" in page
    assert "Votes to request again5 at most 1 assignment, $0.19 Cost of discarded work$0.19" in page
    assert not one_hit.campaign.exclusions.exists()


def test_operations_lead_to_their_pages_with_whom_they_are_about(one_hit: Stage) -> None:
    assignment = one_hit.work("eve", 1, slips=1)
    one_hit.advance()
    manager = reader(one_hit, "manager")
    found = links(parse(manager.get(address(one_hit, "AEVE"))))
    operations = "/admin/campaigns/faq/operations"
    assert found == {
        "Write to this worker": f"{operations}/message?worker=AEVE",
        "Exclude": f"{operations}/exclude?worker=AEVE",
        f"Pay after all assignment {assignment}": f"{operations}/approve?assignment={assignment}",
    }
    seen = manager.get(found["Exclude"]).content.decode()
    assert 'value="AEVE"' in seen
    assert "Your part in this campaign has ended." in seen  # what else is told
    assert "This field is required" not in seen


@pytest.mark.parametrize(
    ("columns", "operation"),
    [
        ({"status": "submitted", "passed": True}, "reject"),
        ({"status": "submitted", "passed": False}, "approve"),
        ({"status": "rejected", "passed": False}, "approve"),
        ({"status": "approved", "passed": True}, "bonus"),
    ],
)
def test_each_assignment_offers_what_can_be_done_about_it(
    annotators: Annotators, columns: dict[str, object], operation: str
) -> None:
    done = annotators.work("ada", 1, **columns)  # type: ignore[arg-type]
    Assignment.objects.filter(pk=done.pk).update(submitted_at=timezone.now())
    found = links(parse(reader(annotators, "manager").get(address(annotators, "ada"))))
    assert f"/admin/campaigns/faq/operations/{operation}?assignment=ada-1" in found.values()


def test_what_is_not_reviewed_offers_nothing(annotators: Annotators) -> None:
    done = annotators.work("ada", 1, status="submitted")
    Assignment.objects.filter(pk=done.pk).update(passed=None)
    found = links(parse(reader(annotators, "manager").get(address(annotators, "ada"))))
    assert not [link for link in found.values() if "assignment=" in link]


def test_after_excluding_one_is_back_at_the_worker_s_page(one_hit: Stage) -> None:
    one_hit.work("bob", 1)
    one_hit.advance()
    manager = reader(one_hit, "manager")
    form = {"worker": "ABOB", "reason": "Enough.", "agreed": "yes"}
    done = manager.post("/admin/campaigns/faq/operations/exclude", form)
    assert (done.status_code, done["location"]) == (302, address(one_hit, "ABOB"))
    page = parse(manager.get(done["location"]))
    assert "Restore" in links(page)
    assert "Told: Enough." in words(page)
    assert AuditEntry.objects.get().subject == "ABOB"


def test_a_refusal_on_the_page_is_a_sentence_and_changes_nothing(one_hit: Stage) -> None:
    one_hit.work("bob", 1)
    one_hit.advance()
    manager = reader(one_hit, "manager")
    form = {"assignment": one_hit.campaign.hits.get().assignments.get().crowd_id, "agreed": "yes"}
    response = manager.post("/admin/campaigns/faq/operations/approve", form)
    assert response.status_code == 422
    assert "approved already: an approval is final" in response.content.decode()
    assert not AuditEntry.objects.exists()


def test_messages_and_exclusions_are_kept_in_sight(one_hit: Stage) -> None:
    one_hit.work("bob", 1)
    one_hit.advance()
    write_to(one_hit.campaign, "ABOB", text="Read the second example.")
    one_hit.deliver()
    exclude(one_hit.campaign, "ABOB", reason="Enough.")
    restore(one_hit.campaign, "ABOB")
    page = words(parse(reader(one_hit, "viewer").get(address(one_hit, "ABOB"))))
    assert "message · done Read the second example." in page
    assert ", restored 20" in page
    assert "If this worker were excluded" in page


# What it costs


def test_a_long_record_costs_no_more_queries(
    annotators: Annotators, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = annotators.work("ada", 1, 60)
    viewer, page = reader(annotators, "viewer"), address(annotators, "ada")
    viewer.get(page)
    monkeypatch.setattr(snapshots, "SMALL", 0)
    before = {"before": str(first.pk)}
    with CaptureQueriesContext(connection) as few:
        viewer.get(page, before)
    for number in range(2, 7):
        annotators.report(annotators.work("ada", number, 60), 1)
    with CaptureQueriesContext(connection) as many:
        viewer.get(page, before)
    assert len(many) == len(few) <= MOST_QUERIES
