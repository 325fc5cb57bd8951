"""A HIT in a member's hands."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from lxml import html

from annotation.crowd.inhouse import models as inhouse
from annotation.crowd.inhouse.models import Member, PostedHit
from annotation.models import Assignment, Hit
from tests.annotation.web.stage import expire, hit_at, offer_hits, sheet, start, text
from tests.support.threads import together

pytestmark = pytest.mark.django_db

JSON = {"Accept": "application/json"}


@pytest.fixture
def hits(db: None) -> list[Hit]:
    return offer_hits(hits=3)


def test_next_takes_a_hit_and_leads_to_its_page(hits: list[Hit], adas: Client, ada: Member) -> None:
    address = start(adas)
    work = inhouse.Assignment.objects.get()
    assert (work.member, work.status) == (ada, "accepted")
    assert address == f"/work/{work.assignment_id}"
    page = adas.get(address)
    form = html.document_fromstring(page.content).xpath("//form[@class='judging']")[0]
    assert form.get("action") == address
    assert len(form.xpath(".//fieldset[@data-item]")) == 7
    assert len(form.xpath(".//input[@name='csrfmiddlewaretoken']")) == 1


def test_next_gives_the_hit_in_hand_again(hits: list[Hit], adas: Client) -> None:
    assert start(adas) == start(adas)
    assert inhouse.Assignment.objects.count() == 1


def test_with_nothing_open_next_leads_back_and_says_so(adas: Client) -> None:
    response = adas.post("/work/next", follow=True)
    assert response.redirect_chain == [("/work", 303)]
    assert "no more tasks of this kind at the moment" in text(response)


def test_a_submit_is_recorded_by_the_crowd_and_leads_on_to_the_next_hit(
    hits: list[Hit], adas: Client
) -> None:
    first = start(adas)
    hit = hit_at(first)
    behaviour = '{"v":1,"active_ms":5}'
    key = hit.items.first().key
    extra = {
        "behaviour": behaviour,
        f"report-{key}": "other",
        f"report-text-{key}": "Odd.",
    }
    response = adas.post(first, sheet(hit) | extra | {"evil": "1"})
    assert response.status_code == 303
    work = inhouse.Assignment.objects.get(assignment_id=first.rpartition("/")[2])
    assert work.status == "submitted"
    assert work.answers == sheet(hit) | extra
    assert response["Location"] not in {first, "/work"}
    assert adas.get(response["Location"]).status_code == 200
    # Votes come from the crowd's record alone.
    assert not Assignment.objects.exists()


def test_a_script_hears_where_the_next_hit_is(hits: list[Hit], adas: Client) -> None:
    first = start(adas)
    answer = adas.post(first, sheet(hit_at(first)), headers=JSON)
    assert answer.status_code == 200
    assert adas.get(answer.json()["next"]).status_code == 200


def test_after_the_last_hit_comes_the_personal_page(adas: Client) -> None:
    offer_hits(hits=1)
    first = start(adas)
    assert adas.post(first, sheet(hit_at(first)), headers=JSON).json() == {"next": "/work"}


def test_the_next_hit_is_of_the_same_kind(adas: Client) -> None:
    offer_hits("birds", hits=1)
    offer_hits("fish", hits=4)
    queue = PostedHit.objects.filter(annotation__startswith="fish").first().queue.queue_id
    address = start(adas, hit_type=queue)
    for _ in range(3):
        assert hit_at(address).campaign.name == "fish"
        address = adas.post(address, sheet(hit_at(address)))["Location"]


def test_two_submits_are_one(hits: list[Hit], adas: Client) -> None:
    first = start(adas)
    answers = sheet(hit_at(first))
    once = adas.post(first, answers, headers=JSON)
    again = adas.post(first, sheet(hit_at(first), "0"), headers=JSON)
    assert once.status_code == again.status_code == 200
    assert once.json() == again.json()
    work = inhouse.Assignment.objects.get(assignment_id=first.rpartition("/")[2])
    assert work.answers == answers
    assert inhouse.Assignment.objects.filter(status="accepted").count() == 1


@pytest.mark.django_db(transaction=True)
def test_two_clicks_at_once_are_one(hits: list[Hit], adas: Client) -> None:
    first = start(adas)
    answers = sheet(hit_at(first))

    def click() -> int:
        return adas.post(first, answers, headers=JSON).status_code

    assert together(*[click] * 4) == [200] * 4
    assert inhouse.Assignment.objects.filter(status="submitted").count() == 1
    assert inhouse.Assignment.objects.filter(status="accepted").count() == 1


@pytest.mark.parametrize("without", [1, 3, 7])
def test_a_hit_with_items_unanswered_is_not_taken(
    hits: list[Hit], adas: Client, without: int
) -> None:
    first = start(adas)
    numbers = ", ".join(str(number) for number in range(1, without + 1))
    answer = adas.post(first, sheet(hit_at(first), without=without), headers=JSON)
    assert answer.status_code == 422
    assert answer.json()["error"].startswith(f"No answer yet to item {numbers}:")
    assert inhouse.Assignment.objects.get().status == "accepted"


def test_an_answer_that_is_neither_yes_nor_no_is_none(hits: list[Hit], adas: Client) -> None:
    first = start(adas)
    for value in ("2", "yes", "", "1 ", "01"):
        assert adas.post(first, sheet(hit_at(first), value), headers=JSON).status_code == 422


def test_without_a_script_the_form_comes_back_with_what_was_given(
    hits: list[Hit], adas: Client
) -> None:
    first = start(adas)
    given = sheet(hit_at(first), "0", without=2)
    key = hit_at(first).items.order_by("position").first().key
    report = {f"report-{key}": "unclear", f"report-text-{key}": "</textarea><script>x</script>"}
    answer = adas.post(first, given | report)
    assert answer.status_code == 422
    document = html.document_fromstring(answer.content.decode())
    assert "No answer yet to item 1, 2" in document.xpath("string(//*[@role='alert'])")
    checked = document.xpath("//input[@type='radio'][@checked]")
    assert {radio.get("name"): radio.get("value") for radio in checked} == given
    assert document.xpath("//option[@selected]/@value") == ["unclear"]
    assert document.xpath("string(//details[@open]//textarea)") == report[f"report-text-{key}"]
    assert document.xpath("//script[not(@src)]") == []


def test_texts_that_no_database_holds_do_not_break_a_submit(hits: list[Hit], adas: Client) -> None:
    first = start(adas)
    key = hit_at(first).items.first().key
    hostile = {f"report-text-{key}": "a\x00b" + "x" * 50_000, "behaviour": "\x00" * 50_000}
    assert adas.post(first, sheet(hit_at(first)) | hostile).status_code == 303


def test_a_skipped_hit_goes_to_others_and_another_one_is_taken(
    hits: list[Hit], adas: Client
) -> None:
    first = start(adas)
    response = adas.post(f"{first}/return")
    assert response.status_code == 303
    assert hit_at(response["Location"]) != hit_at(first)
    assert (
        inhouse.Assignment.objects.get(assignment_id=first.rpartition("/")[2]).status == "returned"
    )
    # The second half of a double click.
    assert adas.post(f"{first}/return")["Location"] == response["Location"]


def test_who_skips_the_only_hit_is_not_given_it_at_once_again(adas: Client) -> None:
    offer_hits(hits=1)
    first = start(adas)
    assert adas.post(f"{first}/return")["Location"] == "/work"
    assert not inhouse.Assignment.objects.filter(status="accepted").exists()
    assert hit_at(start(adas)) == hit_at(first)  # asked for, it is there


def test_more_time_is_told_in_seconds(hits: list[Hit], adas: Client) -> None:
    first = start(adas)
    soon = timezone.now() + timedelta(minutes=1)
    inhouse.Assignment.objects.update(deadline=soon)
    assert 3590 <= adas.post(f"{first}/renew").json()["seconds"] <= 3600
    assert inhouse.Assignment.objects.get().deadline > soon + timedelta(minutes=50)


def test_what_is_over_has_no_more_time(hits: list[Hit], adas: Client) -> None:
    first = start(adas)
    adas.post(first, sheet(hit_at(first)))
    answer = adas.post(f"{first}/renew")
    assert (answer.status_code, list(answer.json())) == (409, ["error"])


def test_the_page_of_a_hit_that_is_over_says_so_before_the_work(
    hits: list[Hit], adas: Client
) -> None:
    address = start(adas)
    expire(address)
    PostedHit.objects.filter(assignments__isnull=False).update(expires_at=timezone.now())
    late = adas.get(address)
    assert late.status_code == 409
    assert "time for this task has run out" in text(late)
    assert 'action="/work/next"' in late.content.decode()
    address = start(adas)
    adas.post(f"{address}/return")
    assert "returned this task" in text(adas.get(address))
    address = start(adas)
    adas.post(address, sheet(hit_at(address)))
    done = adas.get(address)
    assert done.status_code == 409
    assert "submitted this task already" in text(done)
    assert html.document_fromstring(done.content).xpath("//fieldset") == []


def test_the_page_of_a_hit_whose_time_ran_out_brings_it_back(hits: list[Hit], adas: Client) -> None:
    address = start(adas)
    for ask in (adas.get, lambda place: adas.post(f"{place}/renew")):
        expire(address)
        assert ask(address).status_code == 200
        work = inhouse.Assignment.objects.get()
        assert work.status == "accepted"
        assert work.deadline > timezone.now()


def test_late_work_is_taken_while_its_place_is_free(hits: list[Hit], adas: Client) -> None:
    address = start(adas)
    expire(address)
    assert adas.post(address, sheet(hit_at(address))).status_code == 303
    assert (
        inhouse.Assignment.objects.get(assignment_id=address.rpartition("/")[2]).status
        == "submitted"
    )


def test_late_work_whose_place_is_taken_is_refused_in_a_sentence(
    adas: Client, bobs: Client
) -> None:
    (hit,) = offer_hits(hits=1, max_assignments=1)
    address = start(adas)
    expire(address)
    start(bobs)
    for headers in (JSON, {}):
        answer = adas.post(address, sheet(hit), headers=headers)
        assert answer.status_code == 409
        assert "time for this task has run out" in answer.content.decode()
    assert inhouse.Assignment.objects.filter(status="submitted").count() == 0


@pytest.mark.parametrize("step", ["", "/return", "/renew"])
def test_anothers_hit_is_not_found(
    hits: list[Hit], adas: Client, bobs: Client, bob: Member, step: str
) -> None:
    address = start(adas)
    answers = sheet(hit_at(address))
    assert bobs.post(f"{address}{step}", answers).status_code == 404
    assert bobs.post(f"{address}{step}", answers, headers=JSON).status_code == 404
    assert bobs.get(address).status_code == 404
    assert inhouse.Assignment.objects.get().status == "accepted"
    assert not inhouse.Assignment.objects.filter(member=bob).exists()


def test_pages_with_work_are_kept_by_no_cache(hits: list[Hit], adas: Client) -> None:
    address = start(adas)
    for page in (adas.get("/work"), adas.get(address)):
        assert "no-store" in page["Cache-Control"]
