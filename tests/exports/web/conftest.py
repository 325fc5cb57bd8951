import pytest
from django.test import Client

from annotation.models import Campaign
from exports.models import Release
from tests.annotation.support.hits import make_campaign
from tests.annotation.web.stage import signed_in
from tests.exports.support.stored_release import stored_release
from tests.exports.web.people import reader


@pytest.fixture
def campaign(db: None) -> Campaign:
    return make_campaign("demo")


@pytest.fixture
def release(campaign: Campaign) -> Release:
    return stored_release(campaign)


@pytest.fixture
def dans(db: None) -> Client:
    return signed_in(reader("dan"))
