"""Every page that shows a hostile text: it stays a text."""

from pathlib import Path
from urllib.parse import quote

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from annotation.crowd.hit_url import hit_url
from annotation.models import Assignment, Campaign, Hit
from core.text.clean import clean_text
from tests.proof.conftest import Read
from tests.proof.harm import harm, parse
from tests.proof.hostile_forms import all_yes, qualification_path
from tests.worlds.account import Account
from tests.worlds.hostile import ATTACKS, LONG
from tests.worlds.hostile_campaign import TEXTS, hostile_campaign
from tests.worlds.small_campaign import Stage

pytestmark = pytest.mark.django_db

VISIT = {"assignmentId": "3ADA", "hitId": "3HIT", "workerId": "AADA"}


def path_of(hit: Hit) -> str:
    return "/" + hit_url(hit.key).partition("//")[2].partition("/")[2]


def test_each_text_is_shown_on_its_hit_as_it_is(campaign: Campaign, read: Read) -> None:
    shown: set[str] = set()
    for hit in campaign.hits.all():
        response = read(path_of(hit), VISIT)
        assert response.status_code == 200
        page = parse(response.content)
        texts = page.xpath("//*[@class='query' or @class='question' or @class='answer']")
        shown |= {element.text_content() for element in texts}
    assert {clean_text(text) for text in TEXTS} <= shown


@pytest.mark.parametrize("parameter", ["assignmentId", "hitId", "workerId", "turkSubmitTo", "x"])
def test_no_parameter_of_a_hits_address_reaches_the_page_as_more_than_text(
    campaign: Campaign, read: Read, parameter: str
) -> None:
    path = path_of(campaign.hits.get(number=1))
    for text in TEXTS:
        assert read(path, VISIT | {parameter: text}).status_code in {200, 400, 403}


def test_no_address_of_the_site_stumbles_over_a_hostile_part(owner: User, read: Read) -> None:
    for name, argument in (("hit", "signed"),):
        for text in (*TEXTS, *LONG.values()):
            address = reverse(name, kwargs={argument: "TEXT"})
            assert read(address.replace("TEXT", quote(text[:2000], safe=""))).status_code != 200


def test_no_claimed_worker_id_reaches_the_qualification_test_as_more_than_text(
    tmp_path: Path, settings: Settings, mturk: Account, client: Client
) -> None:
    settings.INDEX_DIR = tmp_path / "index"
    stage = Stage(hostile_campaign(tmp_path, qualification_items=4), mturk)
    stage.publish()
    address = qualification_path(stage.campaign)
    answers = all_yes(stage.campaign)
    for text in (*TEXTS, *LONG.values(), "\x00"):
        for response in (
            client.get(address, {"workerId": text}),
            client.post(address, answers | {"workerId": text}),
        ):
            assert response.status_code == 422
            assert harm(response.content) == []
    assert not stage.campaign.qualification_results.exists()


def test_what_workers_send_stays_text_in_the_records(stage: Stage, owner: User, read: Read) -> None:
    for number, text in enumerate(ATTACKS.values(), 1):
        hit = stage.hit(1 + number % stage.campaign.hits.count())
        name = f"w{number}"
        assignment = stage.accept(name, hit.number)
        if assignment is None:  # both places are taken
            continue
        fields = dict.fromkeys(stage.sheet(hit.number), text)
        key = hit.items.earliest("position").key
        fields |= {f"report-{key}": text, f"report-text-{key}": text, "behaviour": text, text: text}
        stage.mturk.person(name).submit(assignment, fields)
    passed = stage.advance()
    assert passed.new == passed.failed > len(ATTACKS) // 3
    assert Assignment.objects.filter(passed=False).count() == passed.new
    read_admin(read)


def read_admin(read: Read) -> None:
    """Each table's list, a search in it and its first row."""
    for model, options in admin.site._registry.items():
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        assert read(reverse(f"{name}_changelist")).status_code == 200
        if options.search_fields:
            for text in TEXTS[::8]:
                assert read(reverse(f"{name}_changelist"), {"q": text}).status_code == 200
        for row in model._default_manager.all()[:3]:
            assert read(reverse(f"{name}_change", args=[row.pk])).status_code == 200
