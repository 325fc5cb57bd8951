import pytest
from django.test import Client

from annotation.models import Campaign
from exports.models import Release
from tests.annotation.hits import make_campaign
from tests.annotation.site.stage import signed_in
from tests.exports.site.people import reader
from tests.exports.stored import stored_release


@pytest.fixture
def campaign(db: None) -> Campaign:
    return make_campaign("demo")


@pytest.fixture
def release(campaign: Campaign) -> Release:
    return stored_release(campaign)


@pytest.fixture
def dans(db: None) -> Client:
    return signed_in(reader("dan"))
