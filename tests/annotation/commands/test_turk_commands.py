"""`quorum turk`: accounts, deposits and pay-outs from a shell."""

import json
from pathlib import Path

import pytest
from django.core.management import CommandError
from pytest_django import Settings

from annotation.crowd.inhouse.members import deactivate
from annotation.crowd.turk.models import RequesterAccount
from annotation.models import AuditEntry
from tests.annotation.crowd.turk.earner import Earner
from tests.annotation.web.stage import make_member
from tests.support.command_line import quorum

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, settings: Settings) -> None:
    settings.DATA_DIR = tmp_path


def test_the_secret_is_shown_once_and_logged_nowhere(capsys: pytest.CaptureFixture[str]) -> None:
    quorum("turk", "account", "lab")
    account = RequesterAccount.objects.get()
    said = capsys.readouterr().out.splitlines()
    assert said == [
        "Account lab. The secret is shown only once.",
        f"export AWS_ACCESS_KEY_ID={account.access_key_id}",
        f"export AWS_SECRET_ACCESS_KEY={account.secret_access_key}",
        "export AWS_ENDPOINT_URL_MTURK=http://127.0.0.1:8000/turk/sandbox/",
    ]
    quorum("turk", "accounts")
    logs = str(list(AuditEntry.objects.values()))
    assert account.secret_access_key not in capsys.readouterr().out + logs
    assert "turk-account" in logs


def test_an_account_whose_secret_is_lost_gets_new_keys(
    capsys: pytest.CaptureFixture[str],
) -> None:
    quorum("turk", "account", "lab")
    before = RequesterAccount.objects.get()
    capsys.readouterr()
    quorum("turk", "renew", "lab")
    after = RequesterAccount.objects.get()
    assert capsys.readouterr().out.splitlines()[:3] == [
        "Account lab. The secret is shown only once.",
        f"export AWS_ACCESS_KEY_ID={after.access_key_id}",
        f"export AWS_SECRET_ACCESS_KEY={after.secret_access_key}",
    ]
    assert before.access_key_id != after.access_key_id
    assert before.secret_access_key != after.secret_access_key
    entry = AuditEntry.objects.get(verb="turk-renew")
    assert (entry.subject, after.secret_access_key in str(entry.details)) == ("lab", False)
    with pytest.raises(CommandError, match="There is no account 'other'"):
        quorum("turk", "renew", "other")


@pytest.mark.parametrize("name", ["", "Lab", "../x", "a b", "-a", "x" * 51, "lab\0", "läb"])
def test_a_name_is_part_of_paths_and_addresses(name: str) -> None:
    with pytest.raises(CommandError, match="cannot be called"):
        quorum("turk", "account", "--", name)
    assert not RequesterAccount.objects.exists()


def test_a_name_is_taken_once() -> None:
    quorum("turk", "account", "lab")
    with pytest.raises(CommandError, match="There is an account lab already"):
        quorum("turk", "account", "lab")
    with pytest.raises(CommandError, match="There is no account 'other'"):
        quorum("turk", "deposit", "other", "5", "--yes")


def test_money_goes_in_and_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    quorum("turk", "account", "lab")
    quorum("turk", "deposit", "lab", "12.50", "--yes")
    Earner(RequesterAccount.objects.get()).earn("AADA", "0.20")
    capsys.readouterr()
    quorum("turk", "accounts", "--json")
    [figures] = json.loads(capsys.readouterr().out)["accounts"]
    assert (figures["available_cents"], figures["spent_cents"], figures["hits"]) == (1230, 20, 1)
    with pytest.raises(CommandError, match="lab has no pay-outs yet: `quorum turk pay-out lab`"):
        quorum("turk", "payouts", "lab", "--csv", str(tmp_path / "none.csv"))
    quorum("turk", "pay-out", "lab", "--yes")
    assert "quorum turk payouts lab --csv FILE" in capsys.readouterr().out
    with pytest.raises(CommandError, match="Nobody is owed anything"):
        quorum("turk", "pay-out", "lab", "--yes")
    file = tmp_path / "out.csv"
    capsys.readouterr()
    for _ in range(2):
        quorum("turk", "payouts", "lab", "--csv", str(file))
        assert file.read_text().splitlines()[1:] == ["AADA,,,0.20,0.00,0.20,1,USD"]
        assert file.stat().st_mode & 0o777 == 0o600
    assert "total   $0.20\n" in capsys.readouterr().out
    quorum("turk", "payouts", "lab")
    assert "$0.20" in capsys.readouterr().out
    with pytest.raises(CommandError, match="lab has no pay-out 7: it has 1"):
        quorum("turk", "payouts", "lab", "--number", "7", "--csv", str(file))
    with pytest.raises(CommandError, match="--csv FILE"):
        quorum("turk", "payouts", "lab", "--number", "1")


def test_requesters_find_the_worker_ids_of_all_who_may_work(
    capsys: pytest.CaptureFixture[str],
) -> None:
    quorum("turk", "workers")
    assert "There are no members yet: `quorum crowd invite`." in capsys.readouterr().out
    bob, ada, eve = (make_member(name) for name in ("bob", "ada", "eve"))
    deactivate(eve)
    quorum("turk", "workers", "--json")
    assert json.loads(capsys.readouterr().out) == {
        "workers": [
            {"name": one.user.username, "worker_id": f"A{one.worker_id}"} for one in (ada, bob)
        ]
    }
    quorum("turk", "workers")
    assert capsys.readouterr().out.splitlines()[1] == f"ada   A{ada.worker_id}"
