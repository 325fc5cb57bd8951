"""A requester's whole job: 60 HITs, worked by five people over HTTP, reviewed and paid."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from annotation.crowd.turk.accounts import create_account
from annotation.crowd.turk.models import AccountDeposit
from annotation.crowd.turk.payments import book_deposits, new_payout, owed
from annotation.crowd.turk.workers import worker_id_of
from tests.annotation.crowd.turk.conftest import Join, Person, question_of, submit
from tests.annotation.support.turk import client_of, post_hit

HITS, REWARD = 60, 12


def work(person: Person) -> int:
    """Until nothing is left; how many were submitted."""
    done = 0
    while links := person.page().xpath("//a[text()='Preview']/@href"):
        answer = person.accept(links[0])
        if answer.status_code == 409:  # another one was faster
            continue
        assert submit(question_of(answer), colour="red").status_code == 200
        done += 1
    return done


def test_sixty_hits_are_worked_reviewed_and_paid(join: Join, live_server: LiveServer) -> None:
    people = [join(name, "production") for name in ("ada", "bob", "cy", "dan", "eve")]
    lab = create_account("lab")
    AccountDeposit.objects.create(account=lab, cents=HITS * REWARD + 500, made_at=timezone.now())
    book_deposits(lab)
    client = client_of(lab, live_server.url, "/turk/")
    hits = [post_hit(client, reward="0.12") for _ in range(HITS)]
    with ThreadPoolExecutor(len(people)) as threads:
        done = list(threads.map(work, people))
    assert sum(done) == HITS
    assert client.get_account_balance()["OnHoldBalance"] == "7.20"
    paid: Counter[str] = Counter()
    for number, hit_id in enumerate(hits):
        [mine] = client.list_assignments_for_hit(HITId=hit_id)["Assignments"]
        if number % 10 == 9:
            client.reject_assignment(AssignmentId=mine["AssignmentId"], RequesterFeedback="No.")
            continue
        client.approve_assignment(AssignmentId=mine["AssignmentId"])
        paid[mine["WorkerId"]] += REWARD
        if number % 10 == 0:
            about = {"WorkerId": mine["WorkerId"], "AssignmentId": mine["AssignmentId"]}
            client.send_bonus(**about, BonusAmount="0.50", Reason="Thanks")
            paid[mine["WorkerId"]] += 50
    balance = client.get_account_balance()
    assert (balance["AvailableBalance"], balance["OnHoldBalance"]) == ("2.72", "0.00")
    assert {line.worker_id: line.cents for line in owed(lab)} == paid
    assert new_payout(lab).cents == sum(paid.values()) == 54 * REWARD + 6 * 50
    assert owed(lab) == []
    assert {worker_id_of(person.member) for person in people} >= paid.keys()
