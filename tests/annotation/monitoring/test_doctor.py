"""What `quorum doctor` finds missing, and what it says to do about it."""

import json
from collections.abc import Iterator
from datetime import timedelta
from functools import cache
from io import StringIO
from pathlib import Path
from socket import create_server

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError
from django.utils import timezone
from pytest_django import Settings

from annotation.crowd.inhouse.adapter import InhouseCrowd
from annotation.crowd.inhouse.members import deactivate, invite, join
from annotation.crowd.mturk.adapter import MTurkCrowd
from annotation.crowd.port import Crowd
from annotation.models import Control
from annotation.monitoring.doctor import (
    Check,
    check_account,
    check_broker,
    check_controls,
    check_database,
    check_index,
    check_jobs,
    check_people,
    check_public_url,
    examine,
)
from annotation.protocol.policy.crowds import crowd_defaults
from core.text.clean import pair_key, question_key
from retrieval.index.versions import index_root
from retrieval.indexing.build import build_index
from retrieval.models import Corpus, IndexVersion, Job, QaPair
from tests.annotation.crowd.conftest import running_emulator
from tests.annotation.support.hits import make_campaign
from tests.retrieval.encoders.keywords import KeywordEncoder
from tests.support.command_line import quorum

PRODUCTION = "https://mturk-requester.us-east-1.amazonaws.com"
SANDBOX = "https://mturk-requester-sandbox.us-east-1.amazonaws.com"
LOCAL = "http://127.0.0.1:8001"


@pytest.fixture(autouse=True)
def surroundings(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.DATA_DIR = tmp_path / "data"
    settings.DATA_DIR.mkdir(mode=0o700)
    settings.INDEX_DIR = tmp_path / "index"
    settings.PUBLIC_URL = "http://127.0.0.1:8000"
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAADA")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")


@pytest.fixture(scope="module")
def rich(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_emulator(tmp_path_factory.mktemp("rich") / "state", balance_cents=123_456) as url:
        yield url


@pytest.fixture(scope="module")
def poor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_emulator(tmp_path_factory.mktemp("poor") / "state", balance_cents=0) as url:
        yield url


@pytest.fixture
def nowhere() -> str:
    with create_server(("127.0.0.1", 0)) as closed:
        return f"http://127.0.0.1:{closed.getsockname()[1]}"


def add_controls(count: int, *, start: int = 0) -> None:
    Control.objects.bulk_create(
        Control(kind=Control.Kind.POSITIVE, key=f"c{number}", query="a?", question="A?")
        for number in range(start, start + count)
    )


def add_index() -> None:
    """As `quorum index build` stores it; whether its vectors are any good is not asked here."""
    add_pair("How many legs has a spider?", "Eight.")
    build_index("unused", "QQA", encoder=KeywordEncoder("spider legs"))


def add_pair(question: str, answer: str) -> None:
    QaPair.objects.create(
        source="faq",
        source_id=question,
        question=question,
        answer=answer,
        question_key=question_key(question),
        pair_key=pair_key(question, answer),
    )


@cache
def crowd_at(url: str) -> MTurkCrowd:
    return MTurkCrowd(url)


def account(url: str) -> dict[str, Check]:
    return {check.name: check for check in check_account(crowd_at(url))}


AT_HAND = "without --crowd"


def doctor(url: str, settings: Settings, *options: str) -> tuple[str, CommandError | None]:
    settings.MTURK_ENDPOINT = url
    out = StringIO()
    crowd = () if "--crowd" in options or AT_HAND in options else ("--crowd", "mturk")
    try:
        quorum("doctor", *crowd, *(one for one in options if one != AT_HAND), stdout=out)
    except CommandError as error:
        return out.getvalue(), error
    return out.getvalue(), None


def test_a_crowd_that_answers_says_its_balance(rich: str) -> None:
    found = account(rich)
    assert all(check.ok for check in found.values())
    assert rich in found["crowd"].message
    assert found["balance"].message == "$1,234.56 available"


def test_an_empty_account_is_missing_money(poor: str) -> None:
    found = account(poor)
    assert found["crowd"].ok
    assert not found["balance"].ok
    assert "--balance" in found["balance"].hint


def test_a_crowd_that_does_not_answer_is_missing(nowhere: str) -> None:
    found = account(nowhere)
    assert not found["crowd"].ok
    assert nowhere in found["crowd"].message
    assert not found["balance"].ok


@pytest.mark.parametrize(
    ("endpoint", "public_url", "ok"),
    [
        (LOCAL, "http://127.0.0.1:8000", True),
        (LOCAL, "https://quorum.acme.org", True),
        ("http://localhost:8001", "http://localhost:8000", True),
        (LOCAL, "127.0.0.1:8000", False),
        (LOCAL, "https://[acme.org", False),
        ("http://emulator:8001", "http://quorum:8000", False),
        ("http://emulator:8001", "https://quorum:8000", True),
        (SANDBOX, "http://quorum.acme.org", False),
        (SANDBOX, "https://quorum.acme.org", True),
        (PRODUCTION, "https://quorum.acme.org:8443/hits", True),
        (PRODUCTION, "http://quorum.acme.org", False),
        (PRODUCTION, "https://localhost", False),
        (PRODUCTION, "https://127.0.0.1", False),
        (PRODUCTION, "https://[::1]", False),
        (PRODUCTION, "https://192.168.1.7", False),
        (PRODUCTION, "https://93.184.215.14", True),
        (PRODUCTION, "https://example.com", False),
        (PRODUCTION, "https://quorum.example.org", False),
        (PRODUCTION, "https://counterexample.com", True),
        (PRODUCTION, "https://quorum", False),
        (PRODUCTION, "https://quorum.local", False),
    ],
)
def test_workers_must_be_able_to_reach_the_hit_page(
    endpoint: str, public_url: str, ok: bool
) -> None:
    check = check_public_url(public_url, crowd_at(endpoint))
    assert check.ok == ok
    assert bool(check.hint) != ok


@pytest.mark.parametrize(
    ("public_url", "ok"),
    [
        ("http://127.0.0.1:8000", True),
        ("http://localhost:8000", True),
        ("https://quorum.acme.org", True),
        ("https://quorum:8000", True),
        ("http://quorum.acme.org", False),
        ("http://192.168.1.7:8000", False),
        ("quorum", False),
    ],
)
def test_one_s_own_people_sign_in_at_home_or_over_https(public_url: str, ok: bool) -> None:
    assert check_public_url(public_url, InhouseCrowd()).ok == ok


@pytest.mark.django_db
def test_somebody_must_be_there_to_judge_or_be_invited() -> None:
    assert check_people().message == "members: 0, open invitations: 0"
    assert "quorum crowd invite" in check_people().hint
    now = timezone.now()
    invite(None, note="", days=1, uses=1, now=now - timedelta(days=2))
    assert not check_people().ok
    code = invite(None, note="", days=1, uses=1, now=now)
    assert check_people() == Check("people", True, "members: 0, open invitations: 1")
    ada = join(code, User.objects.create_user("ada"), now=now)
    assert check_people() == Check("people", True, "members: 1, open invitations: 0")
    deactivate(ada)
    assert not check_people().ok


@pytest.mark.django_db
def test_an_in_house_crowd_is_asked_for_people_and_for_no_balance(
    nowhere: str, settings: Settings
) -> None:
    add_controls(60)
    add_index()
    output, error = doctor(nowhere, settings, "--crowd", "inhouse")
    assert str(error) == "Something is missing: people."
    assert "balance" not in output
    assert nowhere not in output
    invite(None, note="", days=1, uses=1, now=timezone.now())
    output, error = doctor(nowhere, settings, "--crowd", "inhouse")
    assert error is None
    assert [line.split()[0] for line in output.splitlines()] == ["ok"] * 5


@pytest.mark.django_db
def test_the_pool_needs_as_many_controls_as_the_policy_says() -> None:
    add_controls(59)
    assert check_controls().message == "59 positive controls, 60 wanted"
    assert not check_controls().ok
    add_controls(1, start=59)
    assert check_controls().ok


@pytest.mark.django_db
def test_campaigns_with_controls_of_their_own_need_no_pool() -> None:
    campaign = make_campaign()
    assert "0 positive controls, 60 wanted" in check_controls().message
    own = campaign.controls.create(kind="positive", key="d", drafted=True)
    assert check_controls().ok
    own.delete()
    campaign.policy_data |= {"control_pool_size": 7}
    campaign.save()
    assert check_controls().message == "0 positive controls, 7 wanted"


@pytest.mark.django_db
def test_an_index_that_fits_the_database_is_found_and_any_other_is_not() -> None:
    assert "quorum index build" in check_index().hint
    add_index()
    assert check_index().ok
    assert check_index().message == "1 pairs by keywords (QQA, fp32), exact, on the CPU"
    add_pair("How many conditions has an octopus?", "Eight.")
    assert check_index().ok
    assert "The q/a pairs have changed since the index was made (1 then, 2 now)" in (
        check_index().message
    )


@pytest.mark.django_db
def test_only_a_corpus_that_a_campaign_has_still_to_find_candidates_in_needs_an_index() -> None:
    campaign = make_campaign()
    campaign.query_set.corpus = Corpus.objects.create(name="coffee")
    campaign.query_set.save()
    add_index()  # of all pairs
    assert not check_index().ok
    assert "--corpus coffee" in check_index().message
    campaign.query_set.retrieved_with = IndexVersion.objects.get()
    campaign.query_set.save()
    assert check_index() == Check("index", True, "every campaign has its candidates")


@pytest.mark.django_db
def test_the_hint_for_a_damaged_index_is_the_command_that_its_message_names() -> None:
    add_index()
    [shard] = index_root().glob("stores/*/shard-*.vectors.npy")
    shard.write_bytes(b"")
    check = check_index()
    assert check.message.endswith("run `quorum index build --model keywords --form QQA`.")
    assert check.hint == "Run `quorum index build --model keywords --form QQA`."


@pytest.mark.django_db
def test_jobs_that_nobody_takes_are_told_once_they_have_waited_for_a_minute() -> None:
    job = Job.objects.create(kind="import")
    assert list(check_jobs()) == []
    minute_ago = timezone.now() - timedelta(seconds=61)
    Job.objects.update(requested_at=minute_ago)
    [check] = check_jobs()
    assert (check.ok, check.message) == (
        False,
        "1 waiting for a minute or more, and no process takes them",
    )
    working = Job.objects.create(kind="index", state="running", beat_at=timezone.now())
    assert list(check_jobs()) == []
    Job.objects.filter(pk=working.pk).update(beat_at=minute_ago)  # its process died
    assert len(list(check_jobs())) == 1
    Job.objects.filter(pk=job.pk).update(state="done")
    assert list(check_jobs()) == []


@pytest.mark.django_db
def test_a_migrated_database_is_found() -> None:
    assert check_database().ok


@pytest.mark.django_db
def test_all_is_well_on_the_embedded_default(rich: str, settings: Settings) -> None:
    add_controls(60)
    add_index()
    output, error = doctor(rich, settings)
    assert error is None
    assert [line.split()[0] for line in output.splitlines()] == ["ok"] * 6


@pytest.mark.django_db
def test_what_is_missing_is_named_with_a_hint_and_status_2(poor: str, settings: Settings) -> None:
    output, error = doctor(poor, settings)
    assert error is not None
    assert error.returncode == 2
    assert str(error) == "Something is missing: balance, control pool, index."
    assert "missing control pool    0 positive controls, 60 wanted" in output
    assert "quorum controls import" in output


@pytest.mark.django_db
def test_json_is_one_line_even_where_something_is_missing(poor: str, settings: Settings) -> None:
    output, error = doctor(poor, settings, "--json")
    assert error is not None
    assert len(output.splitlines()) == 1
    result = json.loads(output)
    assert result["ok"] is False
    assert result["checks"][0] == {
        "name": "database",
        "ok": True,
        "message": result["checks"][0]["message"],
        "hint": "",
    }
    assert {check["name"] for check in result["checks"] if not check["ok"]} == {
        "balance",
        "control pool",
        "index",
    }


@pytest.mark.django_db
def test_production_is_examined_without_live(settings: Settings) -> None:
    class Account(MTurkCrowd):
        """Production cannot be asked from a test."""

        def balance_cents(self) -> int:
            return 100

    crowd: Crowd = Account(PRODUCTION)
    found = {check.name: check for check in examine(crowd, public_url=settings.PUBLIC_URL)}
    assert "real money" in found["crowd"].message
    assert not found["public address"].ok


def test_a_malformed_endpoint_is_one_sentence(settings: Settings) -> None:
    output, error = doctor("127.0.0.1", settings)
    assert error is not None
    assert error.returncode == 2
    assert "AWS_ENDPOINT_URL_MTURK" in str(error)
    assert not output


# the broker


@pytest.mark.parametrize("scheme", ["redis", "rediss"])
def test_a_redis_that_does_not_answer_is_missing_and_its_password_is_not_shown(
    scheme: str, nowhere: str
) -> None:
    place = nowhere.removeprefix("http://")
    found = check_broker(f"{scheme}://:hunter2@{place}/0")
    assert not found.ok
    assert found.message == f"Redis does not answer at {place}"
    assert "make services" in found.hint
    assert "hunter2" not in repr(found)


def test_a_broker_address_that_is_no_url_is_said_without_its_password() -> None:
    found = check_broker("redis://:hunter2@[::1")
    assert not found.ok
    assert "hunter2" not in repr(found)


@pytest.mark.django_db
def test_the_doctor_names_the_broker_once_and_warns_of_nothing_above(
    rich: str, nowhere: str, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    broker = nowhere.replace("http://", "redis://")
    settings.CELERY_BROKER_URL = settings.CROWD_RATE_STORAGE = broker
    output, error = doctor(rich, settings)
    assert [line.split()[:2] for line in output.splitlines() if "broker" in line] == [
        ["missing", "broker"]
    ]
    assert error is not None
    assert not [entry for entry in caplog.records if entry.name == "annotation.crowd.rate_limit"]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("crowds", "asked"),
    [([], {"people"}), (["inhouse"], {"people"}), (["mturk", "inhouse"], {"people", "crowd"})],
)
def test_what_is_asked_for_is_what_the_campaigns_need(
    nowhere: str, settings: Settings, crowds: list[str], asked: set[str]
) -> None:
    for number, kind in enumerate(crowds):
        campaign = make_campaign(f"campaign-{number}")
        campaign.policy_data = {"crowd": kind, **crowd_defaults(kind)}
        campaign.save()
    output, _ = doctor(nowhere, settings, AT_HAND, "--json")
    names = [check["name"] for check in json.loads(output)["checks"]]
    assert {*names} & {"people", "crowd"} == asked
    assert names.count("control pool") == 1


@pytest.mark.django_db
def test_a_data_folder_that_others_can_read_is_told(settings: Settings) -> None:
    crowd = InhouseCrowd()
    told = {check.name for check in examine(crowd, public_url=LOCAL)}
    settings.DATA_DIR.chmod(0o750)
    first = next(examine(crowd, public_url=LOCAL))
    assert ("data folder" in told, first.name, first.ok) == (False, "data folder", False)
    assert first.hint == f"Run `chmod 700 {settings.DATA_DIR}`."
