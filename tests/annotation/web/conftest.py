import pytest
from django.test import Client

from annotation.crowd.inhouse.models import Member
from tests.annotation.web.stage import make_member, signed_in


@pytest.fixture
def ada(db: None) -> Member:
    return make_member("ada")


@pytest.fixture
def bob(db: None) -> Member:
    return make_member("bob")


@pytest.fixture
def adas(ada: Member) -> Client:
    return signed_in(ada.user)


@pytest.fixture
def bobs(bob: Member) -> Client:
    return signed_in(bob.user)
