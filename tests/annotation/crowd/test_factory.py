"""Which crowd the settings choose, and that real money asks for --live."""

import pytest
from pytest_django import Settings

from annotation.crowd.factory import open_crowd
from annotation.crowd.mturk.adapter import MTurkCrowd
from core.errors import UserError


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAADA")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")


def test_production_asks_for_live(settings: Settings) -> None:
    settings.MTURK_ENDPOINT = settings.MTURK_PRODUCTION
    with pytest.raises(UserError, match="--live") as refusal:
        open_crowd("mturk", live=False)
    assert settings.MTURK_PRODUCTION in str(refusal.value)
    assert open_crowd("mturk", live=True).site.is_production


def test_one_s_own_people_are_reached_without_live_and_without_an_endpoint(
    settings: Settings,
) -> None:
    settings.MTURK_ENDPOINT = settings.MTURK_PRODUCTION
    site = open_crowd("inhouse", live=False).site
    assert (site.endpoint, site.is_local, site.is_production) == ("inhouse", True, False)


def test_the_sandbox_and_the_emulator_ask_for_nothing(settings: Settings) -> None:
    for url in (settings.MTURK_SANDBOX, "http://127.0.0.1:8001"):
        settings.MTURK_ENDPOINT = url
        assert open_crowd("mturk", live=False).site.endpoint == url


@pytest.mark.parametrize("url", ["127.0.0.1:8001", "ftp://a", "http://", "http://a:b", "http://[a"])
def test_an_endpoint_that_is_no_url_is_named(settings: Settings, url: str) -> None:
    settings.MTURK_ENDPOINT = url
    with pytest.raises(UserError, match="AWS_ENDPOINT_URL_MTURK"):
        open_crowd("mturk", live=False)


@pytest.mark.parametrize("path", ["/turk", "/turk/", "/turk/sandbox"])
def test_the_turk_of_a_quorum_site_is_no_endpoint_of_campaigns(
    settings: Settings, path: str
) -> None:
    settings.MTURK_ENDPOINT = f"https://quorum.example.org{path}"
    with pytest.raises(UserError, match="create it there with --crowd inhouse"):
        open_crowd("mturk", live=True)


def test_all_crowds_of_a_process_count_together(settings: Settings) -> None:
    settings.MTURK_ENDPOINT = "http://127.0.0.1:9"
    settings.CROWD_CALLS_PER_SECOND = 1
    settings.CROWD_RATE_STORAGE = "memory://"
    first, second = open_crowd("mturk", live=False), open_crowd("mturk", live=False)
    assert isinstance(first, MTurkCrowd)
    assert isinstance(second, MTurkCrowd)
    assert first.rate is second.rate
