"""`quorum crowd invite`: a link by which people join the in-house crowd."""

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError
from django.utils import timezone
from pytest_django import Settings

from annotation.crowd.inhouse.members import join
from annotation.crowd.inhouse.models import Invitation, Member
from tests.support.command_line import quorum

pytestmark = pytest.mark.django_db


def invite(*options: str) -> str:
    out = StringIO()
    quorum("crowd", "invite", *options, stdout=out)
    return out.getvalue()


def test_the_link_leads_to_this_site_and_makes_a_member(settings: Settings) -> None:
    settings.PUBLIC_URL = "https://quorum.acme.org"
    link = json.loads(invite("--json"))["link"]
    site, _, code = link.rpartition("/join/")
    assert site == "https://quorum.acme.org"
    ada = User.objects.create_user("ada")
    assert join(code, ada, now=timezone.now()) == Member.objects.get(user=ada)


def test_it_says_how_long_and_for_how_many() -> None:
    shown = invite("--note", "the library", "--days", "3", "--uses", "25")
    assert "/join/" in shown
    made = Invitation.objects.get()
    assert (made.note, made.max_uses, made.created_by) == ("the library", 25, None)
    assert made.expires_at - made.created_at == timedelta(days=3)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--days", "0"], "from 1 to 365 days, not 0"),
        (["--days", "366"], "from 1 to 365 days, not 366"),
        (["--uses", "0"], "not 0"),
        (["--note", "x" * 201], "at most 200 characters"),
        (["--note", "two\nlines"], "one line"),
        (["--note", "\udcff"], "one line"),
    ],
)
def test_what_no_invitation_can_be_is_one_sentence(options: list[str], sentence: str) -> None:
    with pytest.raises(CommandError, match=sentence) as refusal:
        invite(*options)
    assert refusal.value.returncode == 2
    assert not Invitation.objects.exists()
