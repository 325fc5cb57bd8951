import pytest

from annotation.api.base.throttling import counts_in
from annotation.models import Campaign
from exports.models import Release
from tests.annotation.api.people import Program, person
from tests.annotation.support.hits import make_campaign
from tests.exports.support.stored_release import stored_release


@pytest.fixture(autouse=True)
def _nobody_has_called_yet() -> None:
    counts_in.cache_clear()


@pytest.fixture
def campaign(db: None) -> Campaign:
    return make_campaign("demo")


@pytest.fixture
def release(campaign: Campaign) -> Release:
    return stored_release(campaign)


@pytest.fixture
def owner(campaign: Campaign) -> Program:
    return Program(person("ada", campaign, "owner"))
