"""What members see and do at the site's Turk."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from django.core.management import CommandError
from lxml import html
from pytest_django.live_server_helper import LiveServer

from annotation.crowd.inhouse.members import deactivate
from annotation.crowd.inhouse.models import Member
from annotation.crowd.mturk.xml import read_answers
from annotation.crowd.turk.accounts import create_account
from annotation.crowd.turk.models import RequesterAccount
from annotation.crowd.turk.stores import Environment, store_of
from annotation.crowd.turk.workers import worker_id_of
from annotation.models import AuditEntry
from tests.annotation.crowd.emulator.forms import asked, free_text, html_question, question_form
from tests.annotation.crowd.emulator.turk import parsed
from tests.annotation.crowd.turk.conftest import Join, Person, submit
from tests.annotation.crowd.turk.earner import give_money
from tests.annotation.support.turk import client_of, post_hit
from tests.support.command_line import quorum
from tests.worlds.hostile import MARK, MARKUP

NUMBER_APPROVED = "00000000000000000040"
PERCENT_APPROVED = "000000000000000000L0"
ADULT = "00000000000000000060"


def at_least(type_id: str, value: int) -> dict[str, Any]:
    compared = "GreaterThanOrEqualTo"
    return {"QualificationTypeId": type_id, "Comparator": compared, "IntegerValues": [value]}


def test_a_hit_is_found_tried_accepted_submitted_and_paid(
    join: Join, labs: Any, live_server: LiveServer
) -> None:
    ada = join("ada")
    hit_id = post_hit(labs, url="https://example.org/q?colour=red&n=1", MaxAssignments=2)
    assert ada.page().xpath("//p/code/text()") == [f"A{ada.member.worker_id}"]
    [link] = ada.page().xpath("//a[text()='Preview']/@href")
    [preview] = ada.page(link.removeprefix(ada.home)).xpath("//iframe/@src")
    assert preview == (
        "https://example.org/q?colour=red&n=1"
        f"&assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE&hitId={hit_id}"
        f"&turkSubmitTo={quote(f'{live_server.url}/turk/sandbox/lab', safe='')}"
    )
    given = ada.take()
    assert given["workerId"] == worker_id_of(ada.member) == f"A{ada.member.worker_id}"
    assert given["turkSubmitTo"] == f"{live_server.url}/turk/sandbox/lab"
    answer = submit(given, colour="red")
    assert (answer.status_code, "Submitted" in answer.text) == (200, True)
    [work] = labs.list_assignments_for_hit(HITId=hit_id)["Assignments"]
    assert "<FreeText>red</FreeText>" in work["Answer"]
    labs.approve_assignment(AssignmentId=given["assignmentId"])
    assert labs.get_account_balance()["AvailableBalance"] == "9999.70"
    assert "$0.15" in ada.page("/earnings").xpath("//dl")[0].text_content()


def test_what_a_requester_writes_is_on_the_worker_s_page_as_text(join: Join, labs: Any) -> None:
    ada = join("ada")
    post_hit(labs)
    given = ada.take()
    submit(given, colour="red")
    labs.approve_assignment(AssignmentId=given["assignmentId"])
    labs.notify_workers(
        Subject="More work",
        MessageText="Come on <b>Monday</b>.",
        WorkerIds=[worker_id_of(ada.member)],
    )
    [message] = ada.page().xpath("//details")
    assert "Come on <b>Monday</b>." in message.text_content()


def test_what_a_hit_pays_an_hour_is_said_by_the_time_that_the_last_ones_took(
    join: Join, lab: RequesterAccount, labs: Any
) -> None:
    ada = join("ada")
    for _ in range(6):
        post_hit(labs)
    assert "$0.15: at least $0.90 an hour" in ada.page().text_content()
    for _ in range(5):
        submit(ada.take(), colour="red")
    with store_of(lab, Environment.SANDBOX).writing() as session:
        session.db.execute("UPDATE assignments SET accepted_at = submitted_at - 50")
    assert "$0.15: about $10.80 an hour" in ada.page().text_content()


def test_submitting_leads_on_to_the_next_hit_of_its_kind(join: Join, labs: Any) -> None:
    ada = join("ada")
    first, second = post_hit(labs), post_hit(labs)
    answer = submit(ada.take(), colour="red")
    links = html.document_fromstring(answer.text).xpath("//a[@target='_top']/@href")
    assert links == [f"/work/turk/sandbox/lab/hits/{first}/next", "/work/turk/sandbox"]
    assert urlsplit(str(ada.http.get(links[0]).url)).path.endswith(f"/lab/hits/{second}")
    submit(ada.take(), colour="red")
    ended = ada.http.get(links[0])
    assert urlsplit(str(ended.url)).path == "/work/turk/sandbox"
    assert "You have done all HITs of this kind" in ended.text


def test_the_answer_may_be_shown_in_any_frame_and_the_pages_in_none(join: Join, labs: Any) -> None:
    ada = join("ada")
    post_hit(labs)
    given = ada.take()
    pages = [ada.http.get(path) for path in (ada.home, f"{ada.home}/earnings", given["page"])]
    policies = [page.headers["Content-Security-Policy"] for page in pages]
    assert all("frame-ancestors 'none'" in policy for policy in policies)
    assert ["frame-src" in policy for policy in policies] == [False, False, True]
    answer = submit(given, colour="red")
    assert "frame-ancestors http: https:" in answer.headers["Content-Security-Policy"]
    assert "X-Frame-Options" not in answer.headers


def test_what_is_in_hand_is_continued_or_returned(join: Join, labs: Any) -> None:
    ada, bob = join("ada"), join("bob")
    post_hit(labs)
    given = ada.take()
    assert bob.titles() == ada.titles() == []
    [again] = ada.page().xpath("//a[text()='Continue']/@href")
    assert given["page"].endswith(again)
    assert bob.http.get(again).status_code == 404
    ada.send_back(again)
    assert bob.titles() == ["Name the colour"]
    assert submit(given, colour="red").status_code == 409


def test_an_assignment_is_submitted_once_and_by_its_own_id_alone(join: Join, labs: Any) -> None:
    ada = join("ada")
    post_hit(labs)
    given = ada.take()
    assert submit({**given, "assignmentId": "X" * 30}, colour="red").status_code == 404
    elsewhere = given["turkSubmitTo"].replace("sandbox", "production")
    assert submit({**given, "turkSubmitTo": elsewhere}, colour="red").status_code == 404
    nobody = given["turkSubmitTo"].replace("/lab", "/nobody")
    assert submit({**given, "turkSubmitTo": nobody}, colour="red").status_code == 404
    assert submit(given).status_code == 400
    assert submit(given, colour="red").status_code == 200
    assert submit(given, colour="blue").status_code == 409


def test_two_members_race_for_one_assignment(join: Join, labs: Any) -> None:
    people = [join("ada"), join("bob")]
    path = f"/work/turk/sandbox/lab/hits/{post_hit(labs)}"
    with ThreadPoolExecutor(2) as threads:
        answers = list(threads.map(lambda one: one.accept(path), people))
    assert sorted(answer.status_code for answer in answers) == [200, 409]
    hits = labs.list_hits()["HITs"]
    assert [hit["NumberOfAssignmentsPending"] for hit in hits] == [1]


def test_hits_are_searched_by_words_and_sorted(join: Join, labs: Any) -> None:
    ada = join("ada")
    for title, reward in (("Red", "0.30"), ("Green", "0.10"), ("Blue", "0.20")):
        post_hit(labs, title=title, reward=reward)
    assert ada.titles() == ada.titles("?sort=newest") == ["Blue", "Green", "Red"]
    assert ada.titles("?sort=reward") == ["Red", "Blue", "Green"]
    assert ada.titles("?q=COLOUR+blu") == ["Blue"]
    assert ada.titles("?q=yellow") == []
    assert ada.titles("?q=lab&sort=x&page=x") == ["Blue", "Green", "Red"]


def test_sandbox_and_production_are_apart_and_told_apart(join: Join, labs: Any) -> None:
    ada, adas_work = join("ada"), join("bob", "production")
    post_hit(labs)
    assert ada.page().xpath("//*[@class='sandbox']")
    assert not adas_work.page().xpath("//*[@class='sandbox']")
    assert adas_work.titles() == []
    hit_id = labs.list_hits()["HITs"][0]["HITId"]
    assert ada.http.get(f"/work/turk/production/lab/hits/{hit_id}").status_code == 404


def test_requirements_look_at_the_work_for_all_requesters(
    join: Join, labs: Any, live_server: LiveServer
) -> None:
    ada = join("ada")
    other = client_of(create_account("other"), live_server.url)
    wanted = [at_least(NUMBER_APPROVED, 2), at_least(PERCENT_APPROVED, 60)]
    work = []
    for client in (labs, labs, other):
        post_hit(client)
        given = ada.take()
        submit(given, colour="red")
        work.append(given["assignmentId"])
    guarded = post_hit(other, title="For the proven", requirements=wanted)
    path = f"/work/turk/sandbox/other/hits/{guarded}"
    labs.approve_assignment(AssignmentId=work[0])
    labs.reject_assignment(AssignmentId=work[1], RequesterFeedback="Not <b>red</b>.")
    lacking = (
        "You do not meet: Approved HITs (at least 2; yours: 1),"
        " Approval rate in percent (at least 60; yours: 50)"
    )
    assert lacking in ada.page().text_content()
    assert ada.accept(path).status_code == 409
    other.approve_assignment(AssignmentId=work[2])  # 2 of 3: 66 percent
    assert "You do not meet" not in ada.page().text_content()
    assert ada.accept(path).status_code == 200
    assert "Not <b>red</b>." in ada.page("/earnings").text_content()


def test_what_may_not_be_discovered_is_not_listed(join: Join, labs: Any) -> None:
    ada = join("ada")
    guards = ("Accept", "PreviewAndAccept", "DiscoverPreviewAndAccept")
    hits = []
    for guard in guards:
        wanted = at_least(NUMBER_APPROVED, 5) | {"ActionsGuarded": guard}
        hits.append(post_hit(labs, title=guard, requirements=[wanted]))
    assert ada.page().xpath("//article//h3/text()") == ["PreviewAndAccept", "Accept"]
    assert ada.titles() == ["Accept"]
    came = [ada.http.get(f"/work/turk/sandbox/lab/hits/{hit}").status_code for hit in hits]
    assert came == [200, 403, 403]


def test_who_is_blocked_finds_nothing(join: Join, labs: Any) -> None:
    ada = join("ada")
    hit_id = post_hit(labs)
    assert ada.titles() == ["Name the colour"]
    labs.create_worker_block(WorkerId=worker_id_of(ada.member), Reason="Careless.")
    assert ada.titles() == []
    assert ada.accept(f"/work/turk/sandbox/lab/hits/{hit_id}").status_code == 409


def test_who_has_left_gets_nothing(join: Join, labs: Any) -> None:
    ada = join("ada")
    post_hit(labs)
    given = ada.take()
    deactivate(Member.objects.get())
    assert {ada.http.get(path).status_code for path in (ada.home, given["page"])} == {403}
    assert submit(given, colour="red").status_code == 403


def test_a_closed_account_offers_nothing(join: Join, lab: RequesterAccount, labs: Any) -> None:
    ada = join("ada")
    hit_id = post_hit(labs)
    RequesterAccount.objects.update(active=False)
    assert ada.titles() == []
    assert ada.http.get(f"/work/turk/sandbox/lab/hits/{hit_id}").status_code == 404


def test_hostile_texts_are_texts(join: Join, labs: Any) -> None:
    ada = join("ada")
    texts = {text[:128] for text in MARKUP.values()}
    for text in texts:
        post_hit(labs, title=text, url="https://example.org/?a=%22%3E%3Cscript%3E'")
    document = ada.page()
    foreign = "//main//*[self::script or self::img or self::iframe or contains(@class, $mark)]"
    assert document.xpath(foreign, mark=MARK) == []
    read = {heading.text_content() for heading in document.xpath("//article//h3")}
    assert read == texts
    assert ada.take()["workerId"] == worker_id_of(ada.member)


def test_a_requester_s_own_page_is_shown_in_an_origin_of_its_own(join: Join, labs: Any) -> None:
    ada = join("ada")
    hit_id = post_hit(labs, Question=html_question("<form><input name=a></form><b id=own>x</b>"))
    given = ada.take()
    page = ada.page(given["page"].partition(ada.home)[2])
    [frame] = page.xpath("//iframe")
    assert "allow-same-origin" not in frame.get("sandbox")
    shown = ada.http.get(frame.get("src"))
    assert "<b id=own>" in shown.text
    assert shown.headers["Content-Security-Policy"].startswith("sandbox ")
    assert "allow-same-origin" not in shown.headers["Content-Security-Policy"]
    assert "X-Frame-Options" not in shown.headers
    answer = submit(given, a="1")
    assert (answer.status_code, "Choose <em>Next HIT</em> above." in answer.text) == (200, True)
    assert labs.get_hit(HITId=hit_id)["HIT"]["HITStatus"] == "Reviewable"


def test_a_form_is_filled_in_on_our_page(join: Join, labs: Any) -> None:
    ada = join("ada")
    hit_id = post_hit(
        labs,
        Question=question_form(asked("n", free_text('<IsNumeric minValue="1" maxValue="9"/>'))),
    )
    [link] = ada.page().xpath("//a[text()='Preview']/@href")
    assert ada.page(link.removeprefix(ada.home)).xpath("//main//fieldset[@disabled]")
    taken = ada.accept(link)
    page = html.document_fromstring(taken.text)
    name = page.xpath("//form[contains(@class, 'turk-form')]//input[not(@type)]/@name")[0]
    wrong = ada.http.post(str(taken.url), data=ada.fields(str(taken.url)) | {name: "many"})
    assert wrong.status_code == 400
    assert html.document_fromstring(wrong.text).xpath("//*[@class='fault']")
    done = ada.http.post(str(taken.url), data=ada.fields(str(taken.url)) | {name: "7"})
    assert "You have done all HITs of this kind" in done.text
    [work] = labs.list_assignments_for_hit(HITId=hit_id)["Assignments"]
    assert "<FreeText>7</FreeText>" in work["Answer"]


def test_thanks_and_bonuses_are_on_the_page_of_earnings(join: Join, labs: Any) -> None:
    ada = join("ada")
    post_hit(labs)
    given = ada.take()
    work = {"AssignmentId": given["assignmentId"]}
    submit(given, colour="red")
    assert "Feedback and bonuses" not in ada.page("/earnings").text_content()
    labs.approve_assignment(**work, RequesterFeedback="Well <b>seen</b>.")
    about = {**work, "WorkerId": worker_id_of(ada.member)}
    labs.send_bonus(**about, BonusAmount="0.50", Reason="Very fast.")
    [said] = ada.page("/earnings").xpath("//h2[text()='Feedback and bonuses']/following::ul")
    lines = [" ".join(line.text_content().split()) for line in said.xpath(".//li")]
    assert [line.partition("UTC)")[2] for line in lines] == [
        ", bonus of $0.50: Very fast.", ": Well <b>seen</b>.",
    ]  # fmt: skip
    assert all(line.startswith("Name the colour (lab, ") for line in lines)


def test_an_adult_says_so_and_gets_the_hits_of_adults(join: Join, labs: Any) -> None:
    ada = join("ada")
    assert "Worker_Adult" not in ada.page("/qualifications").text_content()
    wanted = {"QualificationTypeId": ADULT, "Comparator": "EqualTo", "IntegerValues": [1]}
    hit_id = post_hit(labs, requirements=[wanted])
    [link] = ada.page().xpath("//a[text()='Worker_Adult']/@href")
    page = ada.page(link.removeprefix(ada.home))
    assert "You are at least 18 years old" in page.text_content()
    path = f"/work/turk/sandbox/lab/hits/{hit_id}"
    assert ada.accept(path).status_code == 409
    ada.http.post(link, data=ada.fields(link))
    assert ada.accept(path).status_code == 200


def test_the_address_without_an_environment_leads_to_the_hits(join: Join) -> None:
    answer = join("ada").http.get("/work/turk")
    assert urlsplit(str(answer.url)).path == "/work/turk/production"


@pytest.mark.parametrize("named", ["HITGroupId", "HITTypeId"])
@pytest.mark.parametrize(
    "link",
    [
        "/mturk/preview?groupId={}",
        "/mturk/previewandaccept?groupId={}",
        "/projects/{}/tasks?ref=w_pl_prvw",
        "/projects/{}/tasks/accept_random",
    ],
)
def test_amazons_links_to_a_group_lead_to_its_oldest_open_hit(
    join: Join, labs: Any, link: str, named: str
) -> None:
    ada = join("ada")
    first, second = post_hit(labs), post_hit(labs)
    path = link.format(labs.get_hit(HITId=first)["HIT"][named])
    assert urlsplit(str(ada.http.get(path).url)).path == f"{ada.home}/lab/hits/{first}"
    submit(ada.take(), colour="red")
    assert urlsplit(str(ada.http.get(path).url)).path == f"{ada.home}/lab/hits/{second}"
    submit(ada.take(), colour="red")
    ended = ada.http.get(path)
    assert urlsplit(str(ended.url)).path == ada.home
    assert "No HIT of this group is left for you." in ended.text


def test_a_link_to_no_group_says_so(join: Join, labs: Any) -> None:
    ada = join("ada")
    for path in ("/mturk/preview", "/mturk/preview?groupId=x%00", "/projects/3X/tasks"):
        answer = ada.http.get(path)
        assert (answer.status_code, "no such group of HITs" in answer.text) == (404, True)


def test_what_was_submitted_is_said_to_be_wherever_one_goes_back_to(join: Join, labs: Any) -> None:
    ada, bob = join("ada"), join("bob")
    hit_id = post_hit(labs, title="Name <b>it</b>")
    given = ada.take()
    submit(given, colour="red")
    for again in (ada.http.get(given["page"]), ada.accept(given["page"])):
        page = parsed(again.text)
        assert (again.status_code, page.xpath("//h1/text()")) == (409, ["Submitted"])
        assert "You have submitted “Name <b>it</b>”" in page.text_content()
        assert page.xpath("//main//a[@class='button']/@href") == [
            f"/work/turk/sandbox/lab/hits/{hit_id}/next"
        ]
    assert bob.http.get(given["page"]).status_code == 404
    repeated = submit(given, colour="blue")
    assert (repeated.status_code, "Your first answers count." in repeated.text) == (409, True)
    assert "Not submitted" not in repeated.text


def test_the_list_of_work_tells_paid_hits_from_those_of_the_sandbox(
    join: Join, lab: RequesterAccount, live_server: LiveServer
) -> None:
    ada = join("ada", "production")
    give_money(lab, 1_000)
    for path in ("/turk/sandbox/", "/turk/"):
        client = client_of(lab, live_server.url, path)
        for _ in range(2):
            post_hit(client, reward="0.15" if path == "/turk/" else "7.00")
    paid, sandbox = [], Person(ada.member, ada.http)
    for person in (ada, ada, sandbox):
        given = person.take()
        submit(given, colour="red")
        paid.append(given["assignmentId"])
    client.approve_assignment(AssignmentId=paid[0])
    client.send_bonus(
        AssignmentId=paid[0],
        WorkerId=worker_id_of(ada.member),
        BonusAmount="0.50",
        Reason="Fast.",
    )
    page = parsed(ada.http.get("/work").text)
    real, unpaid = page.xpath("//h2[.='HITs of requesters']/following-sibling::article")
    assert real.xpath(".//strong/text()") == ["$0.65", "$0.15"]
    assert real.xpath(".//a/@href") == ["/work/turk/production"]
    assert unpaid.xpath(".//h3/text()") == ["Sandbox"]
    assert "Nothing is paid" in unpaid.text_content()
    assert unpaid.xpath(".//a/@href") == ["/work/turk/sandbox"]


def test_what_somebody_wrote_is_deleted_on_request_and_their_pay_is_not(
    labs: Any, join: Join
) -> None:
    post_hit(labs)
    ada = join("ada")
    worker = worker_id_of(ada.member)
    question = ada.take()
    with pytest.raises(CommandError, match=f"{worker} has 1 assignment at hand or not reviewed"):
        quorum("turk", "forget", worker, "--yes")
    submit(question, colour="My own secret")
    about = {"AssignmentId": question["assignmentId"]}
    labs.approve_assignment(**about, RequesterFeedback="Dear Ada")
    labs.notify_workers(Subject="Hello", MessageText="Dear Ada", WorkerIds=[worker])
    quorum("turk", "forget", worker, "--yes")
    kept = labs.get_assignment(**about)["Assignment"]
    assert (kept["WorkerId"], kept["AssignmentStatus"]) == (worker, "Approved")
    assert "secret" not in kept["Answer"]
    assert "RequesterFeedback" not in kept
    assert read_answers(kept["Answer"]) == {}
    assert "Dear Ada" not in ada.page("/earnings").text_content() + ada.page().text_content()
    assert AuditEntry.objects.filter(verb="turk-forget", subject=worker).exists()
