from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from botocore.exceptions import ClientError

from tests.annotation.crowd.emulator.conftest import running
from tests.annotation.crowd.emulator.turk import DAY, SESSION, Turk, question

WORKERS = 20


def at_once(count: int, act: Callable[[int], object]) -> list[object]:
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(act, range(count)))


def test_twenty_workers_race_for_five_places(turk: Turk) -> None:
    hit_id = turk.hit(max_assignments=5)
    workers = [turk.worker(f"A{number}") for number in range(WORKERS)]
    statuses = at_once(WORKERS, lambda number: workers[number].accept(hit_id).status_code)
    assert Counter(statuses) == {303: 5, 409: 15}
    assert turk.counts(hit_id) == ("Unassignable", 5, 0, 0)


def test_two_emulators_on_one_file_give_no_place_twice(turk: Turk) -> None:
    hit_id = turk.hit(max_assignments=5)
    with running(turk.state) as twin:
        workers = [(turk, twin)[number % 2].worker(f"A{number}") for number in range(10)]
        statuses = at_once(10, lambda number: workers[number].accept(hit_id).status_code)
    assert Counter(statuses) == {303: 5, 409: 5}


def test_one_worker_in_ten_windows_takes_one_place(turk: Turk) -> None:
    hit_id = turk.hit(max_assignments=5)
    turk.worker("AADA")
    windows = [turk.worker("AADA") for _ in range(10)]
    statuses = at_once(10, lambda number: windows[number].accept(hit_id).status_code)
    assert Counter(statuses) == {303: 1, 409: 9}


def test_ten_submissions_of_one_assignment_submit_one(turk: Turk) -> None:
    hit_id = turk.hit()
    assignment_id = turk.worker("AADA").take(hit_id)
    windows = [turk.worker("AADA") for _ in range(10)]

    def submit(number: int) -> int:
        return windows[number].submit(assignment_id, item=str(number)).status_code

    assert Counter(at_once(10, submit)) == {200: 1, 409: 9}
    assert len(turk.assignments(hit_id)) == 1


def test_one_token_from_many_threads_makes_one_hit(turk: Turk) -> None:
    hit_type = turk.hit_type()
    clients = [SESSION.client("mturk", endpoint_url=turk.url) for _ in range(8)]

    def create(number: int) -> str:
        try:
            clients[number].create_hit_with_hit_type(
                HITTypeId=hit_type,
                LifetimeInSeconds=DAY,
                Question=question(),
                UniqueRequestToken="once",
            )
        except ClientError as error:
            return str(dict(error.response)["TurkErrorCode"])
        return "made"

    assert Counter(at_once(8, create)) == {"made": 1, "AWS.MechanicalTurk.HitAlreadyExists": 7}
    assert len(turk.rows("SELECT 1 FROM hits")) == 1
    assert turk.balance() == ("9999.82", "0.18")


def test_approval_and_rejection_at_once_decide_once(turk: Turk) -> None:
    hit_id = turk.hit(max_assignments=4)
    ids = [turk.worker(f"A{number}").do(hit_id) for number in range(4)]
    clients = [SESSION.client("mturk", endpoint_url=turk.url) for _ in range(8)]

    def decide(number: int) -> bool:
        client, assignment_id = clients[number], ids[number % 4]
        try:
            if number < 4:
                client.approve_assignment(AssignmentId=assignment_id)
            else:
                client.reject_assignment(AssignmentId=assignment_id, RequesterFeedback="no")
        except ClientError:
            return False
        return True

    assert Counter(at_once(8, decide)) == {True: 4, False: 4}
    (account,) = turk.rows("SELECT available, on_hold, spent FROM account")
    approved = len(turk.assignments(hit_id, "Approved"))
    assert tuple(account) == (1_000_000 - 18 * approved, 0, 18 * approved)
