"""What those who have died have left behind, seen by the next who ask."""

import errno
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from annotation.models import Campaign
from core.leases import MOST_ATTEMPTS
from exports.building.requests import recover
from exports.models import Build
from retrieval.jobs.queue import GIVEN_UP
from tests.exports.support.builds import ask, claim
from tests.exports.support.campaigns import make_campaign

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign() -> Campaign:
    return make_campaign()


def test_builds_of_the_dead_are_given_up_or_free_again(campaign: Campaign, settings: Any) -> None:
    build = ask(campaign)
    claim(build, "of-the-dead")
    (settings.DATA_DIR / "builds" / "of-the-dead" / "extract").mkdir(parents=True)
    recover()
    assert not (settings.DATA_DIR / "builds" / "of-the-dead").exists()
    assert claim(build, "mine") is not None
    Build.objects.update(attempts=MOST_ATTEMPTS, beat_at=None)
    recover()
    build.refresh_from_db()
    assert (build.state, build.error) == ("failed", GIVEN_UP)


@pytest.mark.parametrize("call", ["os.open", "shutil.rmtree"])
def test_what_another_user_has_left_behind_stops_nobody(
    campaign: Campaign,
    settings: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    call: str,
) -> None:
    settings.DATA_DIR = tmp_path
    left = tmp_path / "builds" / "of-root"
    left.mkdir(parents=True)
    module, name = call.split(".")
    real = getattr(sys.modules[module], name)

    def guarded(path: Any, *args: Any, **kwargs: Any) -> Any:
        if str(path) == str(left):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return real(path, *args, **kwargs)

    monkeypatch.setattr(call, guarded)
    assert ask(campaign).state == "queued"
    assert left.exists()
