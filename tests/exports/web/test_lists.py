"""The lists of releases, and the way to them."""

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import Campaign
from exports.models import Download, Release
from tests.annotation.support.hits import make_campaign
from tests.exports.support.stored_release import stored_release
from tests.exports.web.pages import ADDRESS, copy_of, text
from tests.exports.web.people import client_of


def test_the_newest_comes_first_and_long_lists_have_pages(
    release: Release, dans: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exports.web.releases.PAGE_SIZE", 2)
    for name in ("birds", "fish"):
        copy_of(release, make_campaign(name), 1)
    page = text(dans.get("/releases"))
    assert page.index("/campaigns/fish/releases/1") < page.index("/campaigns/birds/releases/1")
    assert "/campaigns/demo/" not in page
    assert "Page 1 of 2" in page
    assert "/campaigns/demo/releases/1" in text(dans.get("/releases?page=2"))
    assert dans.get("/releases?page=x").status_code == 200


def test_many_releases_and_downloads_cost_no_more_queries(release: Release, dans: Client) -> None:
    def queries(path: str) -> int:
        with CaptureQueriesContext(connection) as asked:
            assert dans.get(path).status_code == 200
        return len(asked)

    pages = ("/releases", ADDRESS, f"{ADDRESS}/1")
    few = {path: queries(path) for path in pages}
    assert max(few.values()) <= 12, few
    user = User.objects.get(username="dan")
    for number in range(2, 9):
        copy_of(release, release.campaign, number)
    files = list(release.files.all())
    Download.objects.bulk_create(Download(file=file, user=user) for file in files * 5)
    assert {path: queries(path) for path in pages} == few
    assert "Fetched 5 times" in text(dans.get(f"{ADDRESS}/1"))
    total = 5 * len(files)
    assert f">{total}</td>" in text(dans.get("/releases"))


def test_many_files_cost_the_record_of_a_release_no_more_queries(release: Release) -> None:
    root = Client()
    root.force_login(User.objects.create_superuser("root"))
    page = reverse("admin:exports_release_change", args=[release.pk])
    assert release.files.count() > 5
    with CaptureQueriesContext(connection) as asked:
        assert root.get(page).status_code == 200
    assert len(asked) <= 10


def test_where_there_is_no_release_the_page_says_what_makes_one(
    campaign: Campaign, dans: Client
) -> None:
    assert "No releases yet" in text(dans.get("/releases"))
    assert "No releases yet" in text(dans.get(ADDRESS))
    assert "Build the next release" not in text(dans.get(ADDRESS))


def test_the_way_to_the_releases_is_shown_to_those_who_may_go_there(campaign: Campaign) -> None:
    link, page = '<a href="/releases"', "/password"
    assert link in text(client_of("download").get(page))
    root = client_of("root")
    assert link in text(root.get(page))
    tab = f'<a href="{ADDRESS}">Releases</a>'
    assert tab in text(root.get("/admin/campaigns/demo/log/"))
    staff = client_of("staff")
    assert link not in text(staff.get(page))
    assert tab not in text(staff.get("/admin/campaigns/demo/log/"))
    assert link not in text(client_of("nobody").get("/"))


def test_changes_are_told_in_words(campaign: Campaign, dans: Client) -> None:
    changes = {
        "previous": {"queries": 9, "labels": 90},
        "labels": {"added": 1200, "changed": 1, "withdrawn": 0},
        "queries": {"added": 1, "withdrawn": 2, "moved": 0},
    }
    stored_release(campaign, changes=changes)
    report = "1,200 labels added, 1 label changed, 1 query added, 2 queries withdrawn."
    assert report in text(dans.get(ADDRESS))
    assert report in text(dans.get(f"{ADDRESS}/1"))
