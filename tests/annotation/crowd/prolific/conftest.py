import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from annotation.crowd.inhouse.models import PostedHit
from annotation.protocol.policy.crowds import PROLIFIC
from tests.annotation.crowd.prolific.desk import Desk
from tests.annotation.crowd.prolific.world import Prolific, Target, running
from tests.annotation.support.hits import make_campaign

Start = Callable[..., Prolific]
OpenDesk = Callable[..., Desk]
SITE = "https://quorum.example.org"


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """`start()`, or `start(undo=True)`: each call another emulator, by its readings."""
    with ExitStack() as stack:

        def starter(**options: Any) -> Prolific:
            state = tmp_path / f"{len(list(tmp_path.iterdir()))}.sqlite3"
            return stack.enter_context(running(state, **options))

        yield starter


@pytest.fixture
def prolific(start: Start) -> Prolific:
    return start()


@pytest.fixture
def open_desk(start: Start, settings: Settings, db: None) -> OpenDesk:
    """With a campaign that has pages. Its emulator's clock is ours, for pages know no other."""
    settings.PUBLIC_URL = SITE

    def opened(*, screen_out_cents: int = 0, **readings: Any) -> Desk:
        prolific = start(**readings)
        prolific.clock.now = time.time()
        settings.PROLIFIC_ENDPOINT, settings.PROLIFIC_TOKEN = prolific.url, "local"
        desk = Desk(prolific, screen_out_cents=screen_out_cents)
        desk.publish()
        prolific.clock.now = time.time()
        campaign = make_campaign("study", **PROLIFIC.defaults())
        campaign.hit_type_id = PostedHit.objects.get().hit_type.type_id
        campaign.endpoint = prolific.url
        campaign.save()
        return desk

    return opened


@pytest.fixture
def target() -> Iterator[Target]:
    target = Target()
    yield target
    target.close()
