"""What spends or creates is done once, however often it is asked for."""

from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import RequestFactory
from rest_framework.parsers import JSONParser
from rest_framework.request import Request

from annotation.api.base.idempotency import Done, once
from annotation.models import AuditEntry, Campaign, Role
from annotation.models import Request as Asked
from tests.annotation.api.campaign import campaign_at_work
from tests.annotation.api.people import Answer, Program, is_problem, person
from tests.support.threads import together

pytestmark = pytest.mark.concurrent

BUDGET = "campaigns/faq/operations/budget"
PAUSE = "campaigns/faq/operations/pause"
RAISED = {"amount": "200", "agreed": True}
QUERIES = [{"query": "How is bread made?"}, {"query": "Who sells pianos?"}]
CREATE = {"name": "new-one", "queries": QUERIES, "budget": "12.50"}


def made() -> int:
    return AuditEntry.objects.filter(verb__in=["budget", "create"]).count()


def test_a_repeated_request_gets_the_answer_of_the_first_and_does_nothing(
    campaign: Campaign, owner: Program
) -> None:
    first = owner.post(BUDGET, RAISED, key="one")
    assert first.status_code == 200
    owner.post(BUDGET, {"amount": "300", "agreed": True}, key="two")
    again = owner.post(BUDGET, RAISED, key="one")
    assert (again.status_code, again.json()) == (200, first.json())
    campaign.account.refresh_from_db()
    assert campaign.account.budget_cents == 30_000  # not what the repeated one asked for
    assert made() == 2


def test_the_order_of_fields_makes_no_other_request(owner: Program) -> None:
    owner.post(BUDGET, RAISED, key="one")
    again = owner.post(BUDGET, dict(reversed(RAISED.items())), key="one")
    assert again.status_code == 200


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        (BUDGET, {"amount": "201", "agreed": True}),
        (PAUSE, {"agreed": True}),
    ],
)
def test_a_key_is_of_one_request_alone(owner: Program, path: str, sent: dict[str, object]) -> None:
    owner.post(BUDGET, RAISED, key="one")
    assert is_problem(owner.post(path, sent, key="one"), 422)
    assert made() == 1


def test_a_key_is_of_one_account_alone(campaign: Campaign, owner: Program) -> None:
    bob = Program(person("bob", campaign, "owner"))
    owner.post(BUDGET, RAISED, key="one")
    assert bob.post(BUDGET, {"amount": "300", "agreed": True}, key="one").status_code == 200


@pytest.mark.parametrize("key", ["", "with space", "ä", "x" * 201])
@pytest.mark.parametrize(
    ("path", "sent"), [(BUDGET, RAISED), ("campaigns/faq/jobs/pack", {}), ("campaigns", CREATE)]
)
def test_without_a_key_nothing_is_done(
    campaign: Campaign, path: str, sent: dict[str, object], key: str
) -> None:
    root = Program(User.objects.create_superuser("root"))
    answer = root.post(path, sent, key=key)
    assert is_problem(answer, 400)
    assert list(answer.json()["errors"]) == ["Idempotency-Key"]
    assert made() == 0


def test_what_is_only_told_needs_no_key_and_changes_nothing(
    campaign: Campaign, owner: Program
) -> None:
    report = owner.post(BUDGET, RAISED | {"agreed": False}).json()
    assert not report["agreed"]
    assert report["result"] is None
    assert report["sentences"][0] == "faq may cost $200.00 at most, until now $100.00."
    campaign.account.refresh_from_db()
    assert campaign.account.budget_cents == 10_000
    assert not Asked.objects.exists()


def test_a_refusal_is_not_kept(campaign: Campaign, owner: Program) -> None:
    Campaign.objects.update(state="paused")
    pause = partial(owner.post, PAUSE, {"agreed": True}, key="one")
    assert is_problem(pause(), 422)
    Campaign.objects.update(state="active")
    assert pause().status_code == 200


class Killed(BaseException):
    """As the end of the process: nobody catches it."""


def a_request(user: User) -> Request:
    django = RequestFactory().post(
        "/api/v1/anything", "{}", content_type="application/json", headers={"Idempotency-Key": "k"}
    )
    request = Request(django, parsers=[JSONParser()])
    request.user = user
    return request


@pytest.mark.django_db(transaction=True)
def test_what_was_cut_off_has_done_nothing_and_is_done_by_the_repeat() -> None:
    user = person("ada")
    campaign = campaign_at_work()

    def execute(*, killed: bool) -> Done:
        Role.objects.create(user=user, campaign=campaign, name=Role.Name.VIEWER)
        if killed:
            raise Killed
        return Done(201, {"roles": Role.objects.count()})

    with pytest.raises(Killed):
        once(a_request(user), partial(execute, killed=True))
    assert (Asked.objects.get().status, Role.objects.count()) == (None, 0)
    assert once(a_request(user), partial(execute, killed=False)).data == {"roles": 1}
    assert once(a_request(user), partial(execute, killed=False)).data == {"roles": 1}
    assert Role.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_two_at_once_create_one_campaign() -> None:
    programs = [Program(User.objects.create_superuser("root"))]
    programs.append(programs[0])
    answers: list[Answer] = together(
        *(partial(program.post, "campaigns", CREATE, key="one") for program in programs)
    )
    assert Campaign.objects.count() == 1
    assert made() == 1
    assert 201 in {answer.status_code for answer in answers}
    for answer in answers:  # the second one has waited, or is told to ask again
        assert answer.status_code == 201 or is_problem(answer, 409)
    report: list[Any] = [answer.json() for answer in answers if answer.status_code == 201]
    assert all(one == report[0] for one in report)


@pytest.mark.django_db(transaction=True)
def test_two_at_once_with_keys_of_their_own_are_two_requests() -> None:
    root = Program(User.objects.create_superuser("root"))
    answers = together(
        *(partial(root.post, "campaigns", CREATE, key=key) for key in ("one", "two"))
    )
    assert sorted(answer.status_code for answer in answers) == [201, 422]  # the name is taken
    assert Campaign.objects.count() == 1
