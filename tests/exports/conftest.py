from pathlib import Path

import pytest
from pytest_django import Settings

from tests.exports.support.storage import lie_at


@pytest.fixture(autouse=True)
def releases(tmp_path_factory: pytest.TempPathFactory, settings: Settings) -> Path:
    """The folder in which the test's releases lie."""
    folder = tmp_path_factory.mktemp("releases")
    lie_at(str(folder), settings)
    return folder
