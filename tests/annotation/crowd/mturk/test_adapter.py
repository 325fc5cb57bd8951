"""What is MTurk's own: its endpoints, its qualifications, and all that can go wrong on the way."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import create_server
from threading import Barrier, Thread

import httpx
import pytest

from annotation.crowd.mturk.adapter import MTurkCrowd
from annotation.crowd.mturk.endpoints import site_of
from annotation.crowd.mturk.requirements import (
    MASTERS,
    MASTERS_SANDBOX,
    qualification_requirements,
)
from annotation.crowd.port import CrowdError, HitTypeSpec
from annotation.crowd.rate_limit import RateLimiter
from annotation.protocol.screening.control import RejectionReason
from tests.annotation.crowd.conftest import Market

PRODUCTION = "https://mturk-requester.us-east-1.amazonaws.com"
SANDBOX = "https://mturk-requester-sandbox.us-east-1.amazonaws.com"
SPEC = HitTypeSpec(
    title="Do two questions ask for the same?",
    description="Seven pairs of questions.",
    keywords="questions",
    reward_cents=5,
    assignment_seconds=600,
    auto_approval_seconds=3600,
    masters=True,
    min_approval_percent=95,
    min_approved=100,
    exclusion_id=None,
)
PRICE_CENTS = 19  # of an assignment: 15 of reward, 3 of fee, 1 for Masters
# Headers and body of a call -> status and body of its answer; None: the connection just ends.
Answer = Callable[[Message, bytes], tuple[int, bytes] | None]


@pytest.fixture(autouse=True)
def no_account(monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine's own AWS account, if it has one, plays no part."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, "/nonexistent")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture
def market(mturk_market: Market) -> Market:
    return mturk_market


@contextmanager
def endpoint(answer: Answer) -> Iterator[str]:
    """A server that answers each call as told."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            reply = answer(self.headers, body)
            self.close_connection = True
            if reply is not None:
                self.send_response(reply[0])
                self.send_header("Content-Length", str(len(reply[1])))
                self.end_headers()
                self.wfile.write(reply[1])

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def always(status: int, body: object) -> Answer:
    text = body if isinstance(body, str) else json.dumps(body)
    return lambda headers, sent: (status, text.encode())


class Counting(RateLimiter):
    """The limiter, and what it was asked and told."""

    def __init__(self) -> None:
        super().__init__("counted", calls_per_second=0, sleep=lambda seconds: None)
        self.calls = ""

    def acquire(self) -> None:
        self.calls += "a"

    def penalise(self) -> None:
        self.calls += "p"

    def relieve(self) -> None:
        self.calls += "r"


def refusal_of(status: int, body: object, rate: RateLimiter | None = None) -> CrowdError:
    with endpoint(always(status, body)) as url, pytest.raises(CrowdError) as refusal:
        MTurkCrowd(url, rate).balance_cents()
    return refusal.value


@contextmanager
def losing_first_answers(emulator: str) -> Iterator[str]:
    """A bad line to the emulator: each operation is carried out, its first answer is lost."""
    seen: set[str] = set()

    def answer(headers: Message, body: bytes) -> tuple[int, bytes] | None:
        operation = headers["X-Amz-Target"]
        reply = httpx.post(emulator, content=body, headers={"X-Amz-Target": operation})
        if operation in seen:
            return reply.status_code, reply.content
        seen.add(operation)
        return None

    with endpoint(answer) as url:
        yield url


@pytest.mark.parametrize(
    ("url", "is_production", "workers_submit_at"),
    [
        (PRODUCTION, True, "https://www.mturk.com"),
        (f"{PRODUCTION}:443/", True, "https://www.mturk.com"),
        (PRODUCTION.upper(), True, "https://www.mturk.com"),
        (SANDBOX, False, "https://workersandbox.mturk.com"),
        ("http://127.0.0.1:8001", False, "http://127.0.0.1:8001"),
        ("http://emulator:8001/x", False, "http://emulator:8001"),
        ("https://amazonaws.com.eve.org", False, "https://amazonaws.com.eve.org"),
    ],
)  # fmt: skip
def test_the_endpoint_alone_tells_production_sandbox_and_the_rest(
    url: str, is_production: bool, workers_submit_at: str
) -> None:
    site = MTurkCrowd(url).site
    assert (site.endpoint, site.is_production) == (url, is_production)
    assert site_of(url) == workers_submit_at


def test_workers_must_be_masters_and_well_approved_and_not_excluded() -> None:
    wanted = qualification_requirements(replace(SPEC, exclusion_id="X"), sandbox=False)
    assert [
        (each["QualificationTypeId"], each["Comparator"], each.get("IntegerValues"))
        for each in wanted
    ] == [
        (MASTERS, "Exists", None),
        ("000000000000000000L0", "GreaterThanOrEqualTo", [95]),
        ("00000000000000000040", "GreaterThanOrEqualTo", [100]),
        ("X", "DoesNotExist", None),
    ]
    assert {each["ActionsGuarded"] for each in wanted} == {"DiscoverPreviewAndAccept"}


def test_who_has_judged_a_triplet_before_is_excluded_by_number() -> None:
    spec = replace(SPEC, known_id="K", excluded_workers=(7, 9))
    *_, wanted = qualification_requirements(spec, sandbox=False)
    assert wanted == {
        "QualificationTypeId": "K",
        "Comparator": "NotIn",
        "IntegerValues": [7, 9],
        "ActionsGuarded": "DiscoverPreviewAndAccept",
    }


def test_the_sandbox_has_masters_of_its_own() -> None:
    (masters, *_) = qualification_requirements(SPEC, sandbox=True)
    assert masters["QualificationTypeId"] == MASTERS_SANDBOX


def test_nothing_is_required_where_the_policy_asks_nothing() -> None:
    open_to_all = replace(SPEC, masters=False, min_approval_percent=0, min_approved=0)
    assert qualification_requirements(open_to_all, sandbox=False) == []


@pytest.mark.parametrize(
    "status", [{"masters": ""}, {"approvalPercent": "94"}, {"approvedHits": "99"}]
)
def test_a_worker_below_any_requirement_cannot_accept(
    market: Market, status: dict[str, str]
) -> None:
    hit_id = market.publish()
    assert market.hire("bob", **status).accept(hit_id) is None
    assert market.hire("ada", approvalPercent="95", approvedHits="100").accept(hit_id)


@pytest.mark.parametrize(
    ("amount", "cents"), [("0.29", 29), ("1.15", 115), ("1234567.89", 123456789), ("10", 1000)]
)
def test_dollars_become_cents_without_a_float(amount: str, cents: int) -> None:
    with endpoint(always(200, {"AvailableBalance": amount})) as url:
        assert MTurkCrowd(url).balance_cents() == cents


def test_a_reward_of_few_cents_keeps_its_zero(market: Market) -> None:
    before = market.crowd.balance_cents()
    market.publish(hit_type_id=market.crowd.create_hit_type(SPEC), max_assignments=1)
    assert market.crowd.balance_cents() == before - (5 + 1 + 1)  # the reward and two least fees


def test_a_lost_answer_makes_no_second_hit(emulator: str, market: Market) -> None:
    kind, key = market.hit_type(), next(market.tokens)
    with losing_first_answers(emulator) as url:
        lossy = replace(market, crowd=MTurkCrowd(url))
        hit_id = lossy.publish(hit_type_id=kind, annotation=key)
    assert [hit.hit_id for hit in market.crowd.hits() if hit.annotation == key] == [hit_id]


def test_a_lost_answer_opens_no_place_twice(emulator: str, market: Market) -> None:
    key = next(market.tokens)
    hit_id = market.publish(max_assignments=2, annotation=key)
    with losing_first_answers(emulator) as url:
        MTurkCrowd(url).extend_hit(hit_id, extra=1, token=next(market.tokens))
    (hit,) = [hit for hit in market.crowd.hits() if hit.annotation == key]
    assert hit.max_assignments == 3


def test_a_review_whose_answer_was_lost_is_done(emulator: str, market: Market) -> None:
    hit_id = market.publish()
    by_ada, by_eve = market.hire("ada").work(hit_id), market.hire("eve").work(hit_id)
    with losing_first_answers(emulator) as url:
        crowd = MTurkCrowd(url)
        crowd.approve(by_ada)
        crowd.reject(by_eve, reason="Answered at random.", why=RejectionReason.MISSED)
    found = {done.assignment_id: done.status for done in market.crowd.submissions(hit_id)}
    assert found == {by_ada: "approved", by_eve: "rejected"}


def test_a_lost_answer_pays_no_bonus_twice(emulator: str, market: Market) -> None:
    ada = market.hire("ada")
    done = ada.work(market.publish())
    before = market.crowd.balance_cents()
    with losing_first_answers(emulator) as url:
        MTurkCrowd(url).bonus(
            ada.worker_id, done, cents=100, reason="Thank you.", token=next(market.tokens)
        )
    assert market.crowd.balance_cents() == before - 120


def test_a_deletion_or_readmission_whose_answer_was_lost_is_done(
    emulator: str, market: Market
) -> None:
    hit_id, eve = market.publish(max_assignments=1), market.hire("eve")
    exclusion = market.crowd.create_qualification(f"excluded {next(market.tokens)}", "Shut out.")
    market.crowd.exclude(eve.worker_id, exclusion_id=exclusion)
    market.crowd.approve(eve.work(hit_id))
    with losing_first_answers(emulator) as url:
        crowd = MTurkCrowd(url)
        crowd.delete_hit(hit_id)
        crowd.restore(eve.worker_id, exclusion_id=exclusion)
    assert market.crowd.hit(hit_id) is None


def test_a_qualification_whose_answer_was_lost_is_found(emulator: str, market: Market) -> None:
    name = f"excluded {next(market.tokens)}"
    with losing_first_answers(emulator) as url:
        made = MTurkCrowd(url).create_qualification(name, "Shut out.")
    assert made == market.crowd.create_qualification(name, "Shut out.")


def test_first_publishers_at_once_share_one_qualification(emulator: str, market: Market) -> None:
    name = f"excluded {next(market.tokens)}"
    all_have_looked = Barrier(8)

    class Publisher(MTurkCrowd):
        def _make_qualification(self, title: str, description: str) -> str:
            all_have_looked.wait()
            return super()._make_qualification(title, description)

    def publish(_: int) -> str:
        return Publisher(emulator).create_qualification(name, "Shut out.")

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(publish, range(8)))) == 1


def test_a_qualification_that_is_not_listed_yet_is_to_be_tried_again() -> None:
    """MTurk lists what another publisher has made after a while."""
    refused = {"__type": "RequestError", "TurkErrorCode": "AWS.QualificationTypeAlreadyExists"}
    answers = {
        "ListQualificationTypes": (200, {"QualificationTypes": []}),
        "CreateQualificationType": (400, refused | {"Message": "It is there."}),
    }

    def answer(headers: Message, body: bytes) -> tuple[int, bytes]:
        status, report = answers[headers["X-Amz-Target"].rpartition(".")[2]]
        return status, json.dumps(report).encode()

    with endpoint(answer) as url, pytest.raises(CrowdError, match="try again") as refusal:
        MTurkCrowd(url).create_qualification("excluded", "Shut out.")
    assert not refusal.value.permanent


def test_an_unreachable_endpoint_is_named_with_what_to_do() -> None:
    with create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
    with pytest.raises(CrowdError) as refusal:
        MTurkCrowd(url).balance_cents()
    assert url in str(refusal.value)
    assert "quorum crowd emulator" in str(refusal.value)
    assert not refusal.value.permanent


def test_an_endpoint_that_only_hangs_up_counts_as_unreachable() -> None:
    with (
        endpoint(lambda headers, body: None) as url,
        pytest.raises(CrowdError, match="cannot be reached") as refusal,
    ):
        MTurkCrowd(url).balance_cents()
    assert not refusal.value.permanent


def test_too_little_money_can_be_repaired(market: Market) -> None:
    with pytest.raises(CrowdError, match="add funds to the account") as refusal:
        market.publish(max_assignments=900_000_000)
    assert not refusal.value.permanent


def test_what_a_new_hit_is_made_of_can_be_repaired(market: Market) -> None:
    with pytest.raises(CrowdError, match="CreateHITType") as refusal:
        market.crowd.create_hit_type(replace(SPEC, title="too long" * 100))
    assert not refusal.value.permanent


def test_a_page_address_too_long_for_mturk_is_refused_here(market: Market) -> None:
    with pytest.raises(CrowdError, match="65,535"):
        market.crowd.create_hit(
            hit_type_id="T",
            url="https://quorum.example.org/" + "&" * 14_000,
            max_assignments=2,
            lifetime_seconds=3600,
            token="t",
            annotation="a",
        )


def test_a_call_that_boto_itself_refuses_is_a_refusal_for_good(market: Market) -> None:
    with pytest.raises(CrowdError, match="AssignmentId") as refusal:
        market.crowd.approve("")
    assert refusal.value.permanent


@pytest.mark.parametrize(
    ("status", "kind", "throttled"),
    [
        (400, "ThrottlingException", True),
        (429, "Unknown", True),
        (503, "SlowDown", True),
        (503, "ServiceUnavailable", False),
        (500, "ServiceFault", False),
    ],
)
def test_what_passes_by_itself_is_not_for_good_and_haste_is_told_apart(
    status: int, kind: str, throttled: bool
) -> None:
    refusal = refusal_of(status, {"__type": kind, "message": "Not now."}, Counting())
    assert "try again later" in str(refusal)
    assert (refusal.throttled, refusal.permanent) == (throttled, False)


def test_a_throttled_call_holds_the_next_ones_back() -> None:
    sent: list[str] = []

    def answer(headers: Message, body: bytes) -> tuple[int, bytes]:
        sent.append(headers["X-Amz-Target"])
        return 400, b'{"__type": "ThrottlingException"}'

    with endpoint(answer) as url:
        crowd = MTurkCrowd(url, RateLimiter(url, calls_per_second=0, most_wait=0))
        for _ in range(3):
            with pytest.raises(CrowdError, match="was not made") as refusal:
                crowd.balance_cents()
            assert refusal.value.throttled
    assert len(sent) == 1


def test_every_page_of_a_list_asks_the_limiter(emulator: str, market: Market) -> None:
    kind, rate = market.hit_type(), Counting()
    for _ in range(101):
        market.publish(hit_type_id=kind)
    listed = list(MTurkCrowd(emulator, rate).hits())
    assert rate.calls == "ar" * -(-len(listed) // 100)
    assert len(rate.calls) >= 4


def test_every_attempt_of_a_call_asks_the_limiter_again() -> None:
    answers = iter(
        [
            (400, b'{"__type": "ThrottlingException"}'),
            (500, b'{"__type": "ServiceFault"}'),
            (200, b'{"AvailableBalance": "1.00"}'),
        ]
    )
    rate = Counting()
    with endpoint(lambda headers, body: next(answers)) as url:
        assert MTurkCrowd(url, rate).balance_cents() == 100
    assert rate.calls == "apa" + "ar"


def test_wrong_credentials_can_be_repaired() -> None:
    body = {
        "__type": "UnrecognizedClientException",
        "message": "The security token included in the request is invalid.",
    }
    refusal = refusal_of(400, body)
    assert "AWS_ACCESS_KEY_ID" in str(refusal)
    assert not refusal.permanent


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, "<html>Welcome</html>"),
        (200, ""),
        (200, {"AvailableBalance": "much"}),
        (404, "<html>Not found</html>"),
        (501, "<html>Unsupported method</html>"),
    ],
)
def test_an_endpoint_that_is_not_mturk_is_recognised(status: int, body: object) -> None:
    refusal = refusal_of(status, body)
    assert "AWS_ENDPOINT_URL_MTURK" in str(refusal)
    assert "127.0.0.1" in str(refusal)
    assert not refusal.permanent


def test_a_list_that_never_ends_is_cut_short() -> None:
    page = {"HITs": [], "NumResults": 0, "NextToken": "again"}
    with endpoint(always(200, page)) as url, pytest.raises(CrowdError):
        list(MTurkCrowd(url).hits())


def test_answers_that_cannot_be_read_name_their_assignment() -> None:
    assignment = {
        "AssignmentId": "3ADA",
        "WorkerId": "AADA",
        "AssignmentStatus": "Submitted",
        "AcceptTime": 1.0,
        "SubmitTime": 2.0,
        "Answer": "item-1=1",
    }
    page = {"Assignments": [assignment], "NumResults": 1}
    with endpoint(always(200, page)) as url, pytest.raises(CrowdError, match="3ADA") as refusal:
        list(MTurkCrowd(url).submissions("3HIT"))
    assert refusal.value.permanent


def test_amazon_needs_credentials() -> None:
    with pytest.raises(CrowdError, match="AWS_ACCESS_KEY_ID") as refusal:
        MTurkCrowd(SANDBOX).balance_cents()
    assert not refusal.value.permanent


def test_a_key_of_amazon_is_not_shown_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAADA")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    signatures: list[str] = []

    def answer(headers: Message, body: bytes) -> tuple[int, bytes]:
        signatures.append(headers["Authorization"])
        return 200, b'{"AvailableBalance": "1.00"}'

    with endpoint(answer) as url:
        MTurkCrowd(url).balance_cents()
    assert "AKIAADA" not in signatures[0]


def test_the_balance_is_exact_to_the_cent(market: Market) -> None:
    before = market.crowd.balance_cents()
    hit_id = market.publish(max_assignments=3)
    assert market.crowd.balance_cents() == before - 3 * PRICE_CENTS
    market.crowd.reject(
        market.hire("eve").work(hit_id), reason="Answered at random.", why=RejectionReason.MISSED
    )
    ada, bonus = market.hire("ada"), 10 + 2  # the fee of a bonus is a fifth of it
    done = ada.work(hit_id)
    market.crowd.approve(done)
    assert market.crowd.balance_cents() == before - 2 * PRICE_CENTS
    token = next(market.tokens)
    market.crowd.bonus(ada.worker_id, done, cents=10, reason="Thank you.", token=token)
    assert market.crowd.balance_cents() == before - 2 * PRICE_CENTS - bonus
