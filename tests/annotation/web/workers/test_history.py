"""Pages of what was done elsewhere before, and what can be done about a worker who is known."""

import csv
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from lxml import html

from annotation.models import Exclusion, PastRecord, Worker
from annotation.pipeline.history.import_history import import_history
from annotation.pipeline.history.read import files_in
from tests.annotation.web.stage import make_member, signed_in, staff
from tests.worlds.small_campaign import Stage

pytestmark = pytest.mark.django_db
FILES = Path(__file__).parents[2] / "pipeline/history/files"
HOSTILE = '<script>alert("x")</script>'


@pytest.fixture
def client() -> Client:
    for file in files_in([FILES]):
        import_history(file)
    return signed_in(staff("bob"))


def text(client: Client, address: str, status: int = 200) -> str:
    response = client.get(address)
    assert response.status_code == status
    return str(response.content.decode())


def table(client: Client, address: str) -> list[dict[str, str]]:
    response = client.get(address)
    content = b"".join(response.streaming_content).decode()  # type: ignore[attr-defined]
    return list(csv.DictReader(StringIO(content)))


def worker(name: str) -> Worker:
    return Worker.objects.get(worker_id=name)


def test_the_list_shows_each_assignment_and_what_was_paid(client: Client) -> None:
    page = text(client, "/admin/history/assignments/")
    assert all(name in page for name in ("3ASG1", "3ASG2", "3ASG3", "3ASG4", "grace"))
    assert "$0.15" in page
    assert "$1.50" in page
    assert "5 assignments" in page


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("worker=AADA", ["3ASG1", "3ASG3"]),
        ("status=rejected", ["3ASG2"]),
        ("title=answer", ["3ASG4"]),
        ("batch=4012&status=approved", ["3ASG1", "3ASG3"]),
        ("since=2019-06-18&until=2019-07-01", ["3ASG4"]),
        ("worker=NOBODY", []),
    ],
)
def test_filters_leave_the_same_rows_on_the_page_and_in_the_file(
    client: Client, query: str, ids: list[str]
) -> None:
    page = text(client, f"/admin/history/assignments/?{query}")
    assert [name for name in ("3ASG1", "3ASG2", "3ASG3", "3ASG4") if name in page] == ids
    rows = table(client, f"/admin/history/assignments/?{query}&as=csv")
    assert [row["AssignmentId"] for row in rows] == ids


def test_the_file_has_the_columns_that_the_files_had(client: Client) -> None:
    rows = table(client, "/admin/history/assignments/?batch=4012&as=csv")
    assert [row["Answer.same"] for row in rows] == ["Yes", "No", "Yes"]
    assert rows[0] | {
        "crowd": "mturk", "worker": "AADA", "status": "approved", "bonus": "1.50",
        "HITId": "3HIT1", "Reward": "0.15", "Input.question": "How do I boil an egg?",
        "Answer.why": 'same\nwords, "eggs"', "SubmitTime": "2019-06-17T18:31:00+00:00",
    } == rows[0]  # fmt: skip
    assert rows[1]["Answer.why"] == "'=1+1"  # no formula to a spreadsheet
    assert rows[2]["AssignmentStatus"] == "Approved | Submitted"


def test_a_filter_that_is_wrong_says_so(client: Client) -> None:
    assert "choose one of" in text(client, "/admin/history/assignments/?status=maybe", 422)
    assert "choose one of" in text(client, "/admin/history/?blocked=maybe", 422)


def test_an_assignment_shows_answers_hit_and_bonus(client: Client) -> None:
    one = PastRecord.objects.get(key="3ASG1")
    page = text(client, f"/admin/history/assignments/{one.pk}")
    assert "same<br>words" in page
    assert "How do I boil an egg?" in page
    assert "Well explained" in page
    hit = PastRecord.objects.get(key="3HIT1")
    text(client, f"/admin/history/assignments/{hit.pk}", 404)


def test_workers_are_listed_with_their_past_and_their_blocks(client: Client) -> None:
    rows = {row["worker"]: row for row in table(client, "/admin/history/?as=csv")}
    assert rows["AADA"] == {
        "worker": "AADA", "crowd": "mturk", "blocked": "False", "assignments": "2",
        "approved": "2", "rejected": "0", "bonuses": "1.50",
    }  # fmt: skip
    blocked = table(client, "/admin/history/?blocked=yes&as=csv")
    assert [row["worker"] for row in blocked] == ["ABOB", "AEVE"]
    others = text(client, "/admin/history/?blocked=no")
    assert "AADA" in others
    assert "AEVE" not in others
    assert "AEVE" in text(client, "/admin/history/?worker=eve")


def test_a_worker_s_page_has_figures_qualifications_and_bonuses(client: Client) -> None:
    page = text(client, f"/admin/history/workers/{worker('AADA').pk}")
    assert "Your lifetime approval rate" in page
    assert "Qualification “Egg expert”" in page
    assert "$1.50" in page
    assert "Answers by a script" in text(client, f"/admin/history/workers/{worker('AEVE').pk}")
    stranger = Worker.objects.create(crowd="mturk", worker_id="ANEW")
    text(client, f"/admin/history/workers/{stranger.pk}", 404)


def test_texts_of_files_are_shown_as_texts(client: Client) -> None:
    first = PastRecord.objects.get(key="3ASG1")
    record = PastRecord(crowd="mturk", kind="assignment", key=HOSTILE, worker=first.worker)
    record.part_of, record.fields = first.part_of, {HOSTILE: [HOSTILE], "=1+1": ["=1+1"]}
    record.save()
    for address in ("/admin/history/assignments/", f"/admin/history/assignments/{record.pk}"):
        page = text(client, address)
        assert "&lt;script&gt;" in page
        assert HOSTILE not in page
    assert "'=1+1" in table(client, "/admin/history/assignments/?as=csv")[0]


@pytest.mark.parametrize("page", ["", "assignments/", "workers/1", "assignments/1", "?as=csv"])
def test_only_the_staff_sees_them(client: Client, page: str) -> None:
    member = signed_in(make_member("ada").user)
    text(member, f"/admin/history/{page}", 403)
    text(Client(), f"/admin/history/{page}", 302)


def test_a_known_worker_can_be_excluded_before_they_have_worked(
    one_hit: Stage, client: Client
) -> None:
    root = User.objects.create_superuser("root")
    one_hit.mturk.person("eve")  # the crowd knows them too
    page = text(signed_in(root), f"/admin/history/workers/{worker('AEVE').pk}")
    link = "/admin/campaigns/faq/operations/exclude?worker=AEVE"
    assert link in page
    # Who may not manage workers is not led there.
    assert link not in text(client, f"/admin/history/workers/{worker('AEVE').pk}")
    operation = "/admin/campaigns/faq/operations/exclude"
    form = {"worker": "AEVE", "reason": "Blocked before."}
    assert "AEVE takes no further part in faq" in text(
        signed_in(root), f"{operation}?worker=AEVE&reason=Blocked"
    )
    assert signed_in(root).post(operation, form | {"agreed": "on"}).status_code == 302
    assert Exclusion.in_force(one_hit.campaign).get().worker == worker("AEVE")
    one_hit.deliver()
    assert one_hit.accept("eve", 1) is None
    page = text(signed_in(root), f"/admin/history/workers/{worker('AEVE').pk}")
    assert "Restore in faq" in page


def test_a_worker_s_page_in_a_campaign_leads_to_what_they_did_before(
    one_hit: Stage, client: Client, tmp_path: Path
) -> None:
    one_hit.work("joe", 1)
    one_hit.advance()
    joe = worker("AJOE")
    address = f"/admin/campaigns/faq/workers/{joe.pk}"
    link = f"/admin/history/workers/{joe.pk}"
    assert link not in text(client, address)
    dump = tmp_path / "blocks.json"
    dump.write_text('[{"WorkerId": "AJOE", "Reason": "Slow"}]')
    import_history(dump)
    assert link in text(client, address)


def test_who_may_delete_is_led_to_it(client: Client) -> None:
    bob = signed_in(staff("eraser", "delete_pastrecord"))
    person = f"workers/{worker('AADA').pk}"
    for place in ("", person):
        address = f"/admin/history/{place}"
        assert "forget-history" not in text(client, address)
        page: Any = html.document_fromstring(text(bob, address))
        [link] = page.xpath("//a[contains(@href, 'forget-history')]/@href")
        assert "are deleted permanently" in text(bob, link)
    fields = {"worker": "AADA", "agreed": "yes"}
    assert bob.post("/admin/operations/forget-history", fields).status_code == 302
    text(bob, f"/admin/history/{person}", 404)
