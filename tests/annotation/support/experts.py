"""Experts at the adjudication page of a judged campaign."""

import re

from django.contrib.auth.models import Permission, User
from django.test import Client

from annotation.models import Assignment, Campaign, HitItem, ItemReport, Triplet
from tests.support.pages import Response

ADDRESS = "/campaigns/demo/adjudicate"


def expert(name: str) -> User:
    user = User.objects.create_user(name, is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="add_expertlabel"))
    return user


def at(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def shown(response: Response) -> Triplet | None:
    found = re.search(r'name="triplet" value="(\d+)"', response.content.decode())
    return Triplet.objects.get(pk=int(found[1])) if found else None


def show(client: Client, what: str = "unresolved") -> Triplet | None:
    return shown(client.get(ADDRESS, {"what": what}))


def decide(
    client: Client, triplet: Triplet | None, label: int, what: str = "unresolved", **more: str
) -> Response:
    assert triplet is not None
    form = {"triplet": str(triplet.pk), "label": str(label), **more}
    return client.post(f"{ADDRESS}?what={what}", form)


def report(triplet: Triplet, text: str = "what a mess") -> ItemReport:
    item = HitItem.objects.get(triplet=triplet)
    work = Assignment.objects.filter(hit=item.hit).earliest("pk")
    return ItemReport.objects.create(assignment=work, item=item, reason="unclear", text=text)


def unresolved(campaign: Campaign) -> Triplet:
    return campaign.triplets.get(status="unresolved")
