"""The record is to be looked at, and nothing can be changed by hand."""

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.test import Client

from annotation.crowd.inhouse.members import invite
from annotation.crowd.inhouse.models import Invitation, Member
from tests.annotation.crowd.inhouse.team import Team

pytestmark = pytest.mark.concurrent

PAGES = ("member", "invitation", "grant", "block", "queue", "postedhit", "assignment", "bonus")


@pytest.fixture
def boss(db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("boss"))
    return client


@pytest.fixture
def busy(team: Team, ada: Member) -> None:
    """One row of everything."""
    team.publish()
    work = team.do(ada).assignment_id
    team.crowd.bonus(ada.worker_id, work, cents=10, reason="Thank you.", token="a bonus")
    team.crowd.exclude(ada.worker_id, exclusion_id=team.qualification("excluded"))
    team.crowd.block(ada.worker_id, reason="Answers at random.")
    invite(User.objects.create_user("carl"), note="For bob", days=1, uses=1, now=team.now)


@pytest.mark.usefixtures("busy")
@pytest.mark.parametrize("page", PAGES)
def test_every_record_can_be_looked_at_and_not_changed(boss: Client, page: str) -> None:
    listed = boss.get(f"/admin/inhouse/{page}/")
    assert listed.status_code == 200
    assert boss.get(f"/admin/inhouse/{page}/add/").status_code == 403
    row = apps.get_model("inhouse", page)._default_manager.get()
    address = f"/admin/inhouse/{page}/{row.pk}/change/"
    shown = boss.get(address)
    assert (shown.status_code, b'name="_save"' in shown.content) == (200, False)
    assert boss.post(address).status_code == 403


def test_the_digest_of_an_invitation_is_not_shown(boss: Client, team: Team) -> None:
    invite(User.objects.create_user("carl"), note="For bob", days=1, uses=1, now=team.now)
    invitation = Invitation.objects.get()
    for address in ("", f"{invitation.pk}/change/"):
        page = boss.get(f"/admin/inhouse/invitation/{address}").content.decode()
        assert "For bob" in page
        assert invitation.digest not in page
