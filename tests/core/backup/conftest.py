from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pytest_django import DjangoDbBlocker, Settings

from tests.worlds.older_site import site_in, unpack_older_site, upgrade

OpenSite = Callable[[Path], Path]


@pytest.fixture
def open_site(
    django_db_setup: None, settings: Settings, django_db_blocker: DjangoDbBlocker
) -> Iterator[OpenSite]:
    """Makes this process work on the site of a folder, which may be new and empty."""
    opened = []

    def opening(folder: Path) -> Path:
        opened.append(site_in(folder, settings, django_db_blocker))
        return opened[-1].__enter__()

    yield opening
    for one in reversed(opened):
        one.__exit__(None, None, None)


@pytest.fixture
def older(open_site: OpenSite, tmp_path: Path) -> Path:
    """With a campaign in flight, a release, and an index."""
    unpack_older_site(tmp_path / "site")
    (tmp_path / "site" / "secret_key").write_text("the key")
    return open_site(tmp_path / "site")


@pytest.fixture
def site(older: Path) -> Path:
    """The same, of this version."""
    upgrade()
    return older
