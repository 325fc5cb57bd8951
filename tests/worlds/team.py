"""A campaign of the in-house crowd, and the people who are on the team."""

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from playwright.sync_api import Page

from annotation.crowd.factory import open_crowd
from annotation.crowd.inhouse.members import invite, join
from annotation.crowd.inhouse.models import Assignment, Member
from annotation.crowd.port import Crowd
from annotation.models import Campaign
from annotation.pipeline.advance import Pass, advance
from annotation.pipeline.publishing.publish import publish
from annotation.protocol.policy.crowds import INHOUSE
from tests.worlds.small_campaign import packed_campaign

NAMES = ("ada", "bob", "eve")
OWNER = "owner"
PASSWORD = "judges questions all day"


@dataclass
class Team:
    """A published campaign, its crowd, and members who sign in at `url`."""

    campaign: Campaign
    crowd: Crowd
    url: str
    members: dict[str, Member]

    def sign_in(self, page: Page, name: str) -> None:
        """As the form would: `name` is a member's, or the owner's."""
        client = Client()
        client.force_login(User.objects.get(username=name))
        value = client.cookies["sessionid"].value
        page.context.add_cookies([{"name": "sessionid", "value": value, "url": self.url}])

    def advance(self) -> Pass:
        return advance(self.campaign, self.crowd)

    def works(self, name: str) -> list[Assignment]:
        return list(Assignment.objects.filter(member=self.members[name]).order_by("pk"))


def make_team(folder: Path, url: str, **policy: object) -> Team:
    """Published: one HIT, unless the policy says otherwise; ada, bob, eve, and an owner."""
    campaign = packed_campaign(
        folder, **{"candidates_per_query": 1, **INHOUSE.defaults(), **policy}
    )
    return published_team(campaign, url)


def published_team(campaign: Campaign, url: str) -> Team:
    crowd = open_crowd("inhouse", live=False)
    publish(campaign, crowd)
    advance(campaign, crowd)
    owner = User.objects.create_superuser(OWNER, password=PASSWORD)
    code = invite(owner, note="the team", days=1, uses=len(NAMES), now=timezone.now())
    members = {
        name: join(code, User.objects.create_user(name, password=PASSWORD), now=timezone.now())
        for name in NAMES
    }
    return Team(campaign, crowd, url, members)


def run_out(work: Assignment) -> None:
    """Its time is over: what minutes would do."""
    late = timezone.now() - timedelta(seconds=1)
    Assignment.objects.filter(pk=work.pk).update(deadline=late)
