"""Which crowd the settings choose, and that real money asks for --live."""

import pytest
from pytest_django import Settings

from annotation.crowd.open import open_crowd
from retrieval.errors import UserError


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAADA")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")


def test_production_asks_for_live(settings: Settings) -> None:
    settings.MTURK_ENDPOINT = settings.MTURK_PRODUCTION
    with pytest.raises(UserError, match="--live") as refusal:
        open_crowd(live=False)
    assert settings.MTURK_PRODUCTION in str(refusal.value)
    assert open_crowd(live=True).is_production


def test_the_sandbox_and_the_emulator_ask_for_nothing(settings: Settings) -> None:
    for url in (settings.MTURK_SANDBOX, "http://127.0.0.1:8001"):
        settings.MTURK_ENDPOINT = url
        assert open_crowd(live=False).endpoint == url


@pytest.mark.parametrize("url", ["127.0.0.1:8001", "ftp://a", "http://", "http://a:b", "http://[a"])
def test_an_endpoint_that_is_no_url_is_named(settings: Settings, url: str) -> None:
    settings.MTURK_ENDPOINT = url
    with pytest.raises(UserError, match="AWS_ENDPOINT_URL_MTURK"):
        open_crowd(live=False)
