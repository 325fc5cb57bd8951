"""What the staff see and do of requesters' accounts."""

from pathlib import Path

import pytest
from django.urls import reverse
from pytest_django import Settings

from annotation.crowd.turk.accounts import create_account
from annotation.crowd.turk.models import RequesterAccount
from annotation.crowd.turk.payments import new_payout
from annotation.crowd.turk.workers import worker_id_of
from annotation.models import AuditEntry
from tests.annotation.crowd.turk.earner import Earner, give_money
from tests.annotation.web.stage import make_member, signed_in, staff
from tests.support.pages import parse, text_of

pytestmark = pytest.mark.django_db
ALL = ("view_requesteraccount", "change_requesteraccount", "add_accountdeposit", "add_payout")


@pytest.fixture
def lab(tmp_path: Path, settings: Settings) -> RequesterAccount:
    settings.DATA_DIR = tmp_path
    return create_account("lab")


def test_the_page_has_balances_and_no_secret(lab: RequesterAccount) -> None:
    give_money(lab, 1000)
    Earner(lab).earn("AADA", "0.20")
    page = signed_in(staff("root", *ALL)).get(reverse("turk-accounts"))
    row = " ".join(parse(page).xpath("//tbody/tr")[0].text_content().split())
    assert row == f"lab $9.80 $0.00 $0.20 1 {lab.access_key_id} Deposit Pay out Close"
    assert lab.secret_access_key not in page.content.decode()


def test_each_part_asks_for_its_permission(lab: RequesterAccount) -> None:
    nobody = signed_in(staff("nobody"))
    viewer = signed_in(staff("viewer", "view_requesteraccount"))
    page = reverse("turk-accounts")
    change = reverse("change-turk-account", args=["lab"])
    csv = reverse("payout-csv", args=["lab", 1])
    assert nobody.get(page).status_code == 403
    assert [viewer.post(change).status_code, viewer.get(csv).status_code] == [403, 403]
    links = parse(viewer.get(page)).xpath("//main//tbody//a | //main//tbody//button")
    assert links == []
    assert RequesterAccount.objects.get().active


def test_an_account_is_closed_and_opened_again(lab: RequesterAccount) -> None:
    client = signed_in(staff("root", *ALL))
    for active in (False, True):
        client.post(reverse("change-turk-account", args=["lab"]), {"active": str(int(active))})
        assert RequesterAccount.objects.get().active == active
    assert list(AuditEntry.objects.values_list("verb", "subject")) == [
        ("turk-close", "lab"),
        ("turk-open", "lab"),
    ]


def test_a_payout_is_downloaded_as_often_as_wanted_without_a_formula(lab: RequesterAccount) -> None:
    ada = make_member("ada")
    ada.user.first_name, ada.user.email = "=HYPERLINK(1)", "+ada@example.org"
    ada.user.save()
    give_money(lab, 1000)
    Earner(lab).earn(worker_id_of(ada), "0.20", bonus="1.05")
    new_payout(lab)
    client = signed_in(staff("root", *ALL))
    for _ in range(2):
        answer = client.get(reverse("payout-csv", args=["lab", 1]))
        lines = answer.getvalue().decode().split("\r\n")
        assert lines == [
            "worker id,name,email,rewards,bonuses,total,assignments,currency",
            f"{worker_id_of(ada)},'=HYPERLINK(1),'+ada@example.org,0.20,1.05,1.25,1,USD",
            "",
        ]
    assert client.get(reverse("payout-csv", args=["lab", 2])).status_code == 404
    assert "lab, pay-out 1: $1.25" in text_of(client.get(reverse("turk-accounts")))
