import pytest

from annotation.crowd.inhouse.models import Member
from tests.annotation.crowd.inhouse.team import Team


@pytest.fixture
def team(db: None) -> Team:
    return Team()


@pytest.fixture
def ada(team: Team) -> Member:
    return team.join("ada")


@pytest.fixture
def bob(team: Team) -> Member:
    return team.join("bob")


@pytest.fixture
def eve(team: Team) -> Member:
    return team.join("eve")
