import re
from urllib.parse import parse_qsl, urlsplit

import pytest

from annotation.crowd.emulator.http.worker_pages import PAGE_SIZE, duration
from tests.annotation.crowd.emulator.turk import Turk, Worker, parsed, question

HOSTILE = "<script>alert('x')</script> & \"quoted\" <img src=x onerror=alert(1)>"


def frame(page: str) -> str:
    (source,) = parsed(page).xpath("//iframe/@src")
    return str(source)


def test_the_front_page_counts_hits_assignments_and_money(turk: Turk, ada: Worker) -> None:
    ada.do(turk.hit())
    turk.hit()
    text = " ".join(parsed(ada.browser.get("/").text).text_content().split())
    for part in ("Assignable1", "Reviewable1", "Submitted1", "Available$9999.64", "hold$0.36"):
        assert part in text.replace(" ", "")


def test_a_worker_signs_in_by_the_form(turk: Turk) -> None:
    browser = turk.browser()
    page = parsed(browser.get("/worker").text)
    (form,) = page.forms
    names = {"workerId", "masters", "approvalPercent", "approvedHits"}
    assert set(form.fields.keys()) == names
    response = browser.post(form.action, data=dict(form.form_values()) | {"workerId": "AADA"})
    assert response.status_code == 303
    assert response.headers["Location"] == "/worker/AADA/hits"
    (row,) = turk.rows("SELECT * FROM workers")
    assert (row["masters"], row["approval_percent"], row["approved_hits"]) == (1, 100, 1000)


def test_signing_in_by_id_alone_changes_nothing(turk: Turk, eve: Worker) -> None:
    response = eve.browser.post("/worker/register", data={"workerId": "AEVE"})
    assert response.status_code == 303
    (row,) = turk.rows("SELECT * FROM workers")
    assert (row["masters"], row["approval_percent"], row["approved_hits"]) == (0, 60, 3)


def test_signing_in_with_another_status_changes_it(turk: Turk, eve: Worker) -> None:
    turk.worker("AEVE", masters=True, percent=100, approved=9)
    (row,) = turk.rows("SELECT * FROM workers")
    assert (row["masters"], row["approval_percent"], row["approved_hits"]) == (1, 100, 9)


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"workerId": ""},
        {"workerId": "A"},
        {"workerId": "ada"},
        {"workerId": "BADA"},
        {"workerId": "A" * 65},
        {"workerId": "A/../B"},
        {"workerId": "AADA\u0661"},
        {"workerId": "AADA", "approvalPercent": "101"},
        {"workerId": "AADA", "approvalPercent": "-1"},
        {"workerId": "AADA", "approvalPercent": "many"},
        {"workerId": "AADA", "approvalPercent": "\u0661"},
        {"workerId": "AADA", "approvedHits": "9" * 30},
    ],
)
def test_a_bad_sign_in_is_refused(turk: Turk, form: dict[str, str]) -> None:
    assert turk.browser().post("/worker/register", data=form).status_code == 400
    assert turk.rows("SELECT 1 FROM workers") == []


def test_the_list_shows_what_a_worker_wants_to_know(turk: Turk, ada: Worker) -> None:
    hit_id = turk.hit(hit_type=turk.hit_type(AssignmentDurationInSeconds=1800))
    page = parsed(ada.browser.get("/worker/AADA/hits").text)
    (item,) = page.xpath("//li[@data-hit]")
    text = item.text_content()
    for part in ("Same question?", "$0.15", "30 minutes", "1 day"):
        assert part in text
    (form,) = item.forms
    assert form.method == "POST"
    assert form.action == f"/worker/AADA/hits/{hit_id}/accept"


def test_accepted_work_is_listed_with_a_link(turk: Turk, ada: Worker) -> None:
    assignment_id = ada.take(turk.hit())
    page = parsed(ada.browser.get("/worker/AADA/hits").text)
    (link,) = page.xpath(f"//li[@data-assignment='{assignment_id}']//a/@href")
    assert ada.browser.get(str(link)).status_code == 200


def test_the_list_comes_in_pages(turk: Turk, ada: Worker) -> None:
    made = [turk.hit(RequesterAnnotation=str(number)) for number in range(PAGE_SIZE + 3)]
    assert ada.offers(1) == made[:PAGE_SIZE]
    assert ada.offers(2) == made[PAGE_SIZE:]
    assert ada.offers(3) == []
    first, second = (ada.browser.get(f"/worker/AADA/hits?page={page}").text for page in (1, 2))
    assert "?page=2" in first
    assert 'rel="next"' not in second


@pytest.mark.parametrize("page", ["0", "-1", "x", "", "99999999999999999999", "\u0661"])
def test_a_bad_page_number_is_refused(turk: Turk, ada: Worker, page: str) -> None:
    response = ada.browser.get("/worker/AADA/hits", params={"page": page})
    assert response.status_code == 400


def test_the_question_stands_in_a_frame_with_mturks_parameters(turk: Turk, ada: Worker) -> None:
    hit_id = turk.hit(Question=question("https://quorum.example/hit?key=a%26b&x=1", 450))
    assignment_id = ada.take(hit_id)
    page = ada.open(assignment_id).text
    parts = urlsplit(frame(page))
    assert parse_qsl(parts.query) == [
        ("key", "a&b"),
        ("x", "1"),
        ("assignmentId", assignment_id),
        ("hitId", hit_id),
        ("workerId", "AADA"),
        ("turkSubmitTo", turk.url),
    ]
    assert 'height="450"' in page


def test_a_preview_tells_no_assignment_and_no_worker(turk: Turk, ada: Worker) -> None:
    hit_id = turk.hit()
    parameters = dict(parse_qsl(urlsplit(frame(ada.preview(hit_id).text)).query))
    assert parameters == {
        "assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE",
        "hitId": hit_id,
        "turkSubmitTo": turk.url,
    }
    assert turk.counts(hit_id) == ("Assignable", 0, 1, 0)


@pytest.mark.parametrize(
    "path",
    [
        "/worker/ANOBODY/hits",
        "/worker/ANOBODY/hits/NOSUCHHIT/preview",
        "/worker/AADA/hits/NOSUCHHIT/preview",
        "/worker/AADA/assignments/NOSUCHASSIGNMENT",
        "/worker/%3Cscript%3E/hits",
        "/no/such/page",
        "//evil.example/",
    ],
)
def test_what_does_not_exist_is_a_page_that_says_so(turk: Turk, ada: Worker, path: str) -> None:
    response = ada.browser.get(f"{turk.url}{path}", follow_redirects=True)
    assert response.status_code == 404
    assert "Not possible" in response.text
    assert "<script>" not in response.text


def test_another_workers_assignment_is_out_of_reach(turk: Turk, ada: Worker, bob: Worker) -> None:
    assignment_id = ada.take(turk.hit())
    assert bob.open(assignment_id).status_code == 404
    assert bob.give_back(assignment_id).status_code == 404
    assert ada.at_work() == [assignment_id]


def test_submitting_is_for_posts_only(turk: Turk) -> None:
    response = turk.browser().get("/mturk/externalSubmit")
    assert response.status_code == 405


def test_hostile_texts_are_escaped_on_every_page(turk: Turk, ada: Worker) -> None:
    hit_type = turk.hit_type(Title=HOSTILE, Description=HOSTILE)
    url = "https://quorum.example/\"><script>alert('x')</script>"
    hit_id = turk.hit(hit_type=hit_type, Question=question(url.replace(" ", "")))
    assignment_id = ada.take(hit_id)
    turk.hit(hit_type=hit_type)
    for page in (
        ada.browser.get("/worker/AADA/hits").text,
        ada.open(assignment_id).text,
        ada.preview(hit_id).text,
    ):
        assert "alert(" in page
        assert not re.search(r"<script|<img", page)
        assert parsed(page).xpath("//script | //img") == []


def test_the_pages_may_run_and_load_nothing(turk: Turk, ada: Worker) -> None:
    turk.hit()
    for path in ("/", "/worker", "/worker/AADA/hits", "/no/such/page"):
        response = ada.browser.get(path)
        policy = response.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "frame-src http: https:" in policy
        assert "unsafe" not in policy
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        page = parsed(response.text)
        assert page.xpath("//script | //@style | //link") == []


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-5, "less than a minute"),
        (59, "less than a minute"),
        (60, "1 minute"),
        (1800, "30 minutes"),
        (3900, "1 hour 5 minutes"),
        (7 * 86400, "7 days"),
        (90061, "1 day 1 hour"),
    ],
)
def test_times_are_in_words(seconds: float, words: str) -> None:
    assert duration(seconds) == words
