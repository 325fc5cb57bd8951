"""Bonuses: set up in bulk, paid later, and paid again by each call that says so."""

import pytest

from annotation.crowd.port import CrowdError
from annotation.crowd.prolific.emulator.state import money
from tests.annotation.crowd.prolific.conftest import Start
from tests.annotation.crowd.prolific.world import NOBODY, Prolific


def test_a_bonus_is_set_up_for_nothing_and_paid_later(prolific: Prolific) -> None:
    study_id = prolific.study()
    submission_id = prolific.person().do(study_id)
    before = prolific.wallet()
    bulk = prolific.client.bonuses.set_up(study_id, [(submission_id, 425)])
    assert (bulk.amount_cents, str(bulk.fees), str(bulk.total)) == (425, "141.67", "566.67")
    assert prolific.wallet() == before
    prolific.client.bonuses.pay(bulk.bulk_id)
    assert prolific.client.submissions.get(submission_id).bonus_cents == ()
    assert prolific.wallet() == (before[0] - 56_667, before[1] + 56_667, 0)
    prolific.clock.forward(60)
    assert prolific.client.submissions.get(submission_id).bonus_cents == (425,)
    (listed,) = prolific.client.submissions.of_study(study_id)
    assert listed.bonus_cents == (425,)
    assert prolific.wallet() == (before[0] - 56_667, before[1], 56_667)


def test_the_documented_fee_of_the_example() -> None:
    assert money.in_cents(money.fee(85_000)) == 283.34


def test_paying_twice_pays_twice(prolific: Prolific) -> None:
    study_id = prolific.study()
    submission_id = prolific.person().do(study_id)
    bulk = prolific.client.bonuses.set_up(study_id, [(submission_id, 30)])
    for _ in range(2):
        prolific.client.bonuses.pay(bulk.bulk_id)
    prolific.clock.forward(60)
    assert prolific.client.submissions.get(submission_id).bonus_cents == (30, 30)
    assert prolific.wallet()[2] == 8_000


def test_amounts_are_in_major_units(prolific: Prolific) -> None:
    study_id, ada = prolific.study(), prolific.person()
    ada.do(study_id)
    for text, cents in (("30", 3_000), ("0.5", 50), ("4.25", 425), ("0.01", 1)):
        body = {"study_id": study_id, "csv_bonuses": f"{ada.id},{text}\n"}
        answer = prolific.http.post("/submissions/bonus-payments/", json=body)
        assert answer.json()["amount"] == cents
    for text in ("0", "0.001", "-1", "1e3", "x", "1,2", ""):
        body = {"study_id": study_id, "csv_bonuses": f"{ada.id},{text}\n"}
        assert prolific.http.post("/submissions/bonus-payments/", json=body).status_code == 400


def test_who_did_not_take_part_is_named(prolific: Prolific) -> None:
    study_id = prolific.study()
    with pytest.raises(CrowdError, match=f"{NOBODY} did not take part"):
        prolific.client.bonuses.set_up(study_id, [(NOBODY, 100)])


def test_without_funds_nothing_is_paid(start: Start) -> None:
    prolific = start(balance_cents=267)
    study_id = prolific.study()
    submission_id = prolific.person().do(study_id)
    bulk = prolific.client.bonuses.set_up(study_id, [(submission_id, 100)])
    with pytest.raises(CrowdError, match="top up") as refused:
        prolific.client.bonuses.pay(bulk.bulk_id)
    assert not refused.value.permanent
    prolific.clock.forward(60)
    assert prolific.client.submissions.get(submission_id).bonus_cents == ()


def test_an_unknown_bulk_is_refused(prolific: Prolific) -> None:
    with pytest.raises(CrowdError, match="No bulk bonus payment"):
        prolific.client.bonuses.pay(NOBODY)


def test_a_workspace_shows_its_balance_and_a_new_one_has_none(prolific: Prolific) -> None:
    prolific.study()
    balance = prolific.client.workspaces.balance(prolific.workspace)
    assert (balance.currency, balance.available_cents) == ("USD", 99_733)  # 99,733.33
    assert balance.total_cents == 100_000
    body = {"title": "Other", "currency_code": "GBP"}
    other = prolific.http.post("/workspaces/", json=body).json()["id"]
    assert prolific.client.workspaces.balance(other).available_cents == 0
    project = prolific.client.workspaces.create_project(other, "Labels")
    assert list(prolific.client.workspaces.projects(other)) == [project]
    study_id = prolific.draft(project_id=project.project_id)
    assert [it.study_id for it in prolific.client.studies.list(project.project_id)] == [study_id]
    with pytest.raises(CrowdError, match="top up"):
        prolific.client.studies.transition(study_id, "PUBLISH")
