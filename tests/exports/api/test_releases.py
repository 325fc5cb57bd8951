"""Releases in the API."""

import hashlib

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from annotation.models import AuditEntry, Campaign
from exports.models import Build, Release
from tests.annotation.api.people import Program, is_problem, person
from tests.annotation.support.hits import make_campaign

BUILDS = "campaigns/demo/builds"


def test_a_release_is_read_with_a_link_to_each_file(release: Release, owner: Program) -> None:
    report = owner.get("campaigns/demo/releases/1").json()
    assert report["manifest_sha256"] == release.manifest_sha256
    assert [file["path"] for file in report["files"]] == sorted(
        release.files.values_list("path", flat=True)
    )
    for file in report["files"]:
        fetched = b"".join(Client().get(file["link"]))  # without signing in
        assert (len(fetched), hashlib.sha256(fetched).hexdigest()) == (
            file["bytes"],
            file["sha256"],
        )


def test_the_list_has_what_the_reader_may_download(release: Release, owner: Program) -> None:
    facts = {"options": {}, "stats": {}, "changes": {}, "manifest_sha256": "0" * 64}
    Release.objects.create(campaign=make_campaign("other"), number=1, prefix="other/1", **facts)

    def listed(program: Program, path: str = "releases") -> list[tuple[str, int]]:
        rows = program.get(path).json()["results"]
        return [(row["campaign"], row["number"]) for row in rows]

    assert listed(owner) == [("demo", 1)]
    root = Program(User.objects.create_superuser("root"))
    assert listed(root) == [("other", 1), ("demo", 1)]
    assert listed(root, "releases?campaign=demo") == [("demo", 1)]
    downloader = person("dan")
    downloader.user_permissions.add(Permission.objects.get(codename="download_release"))
    assert listed(Program(downloader)) == [("other", 1), ("demo", 1)]


def test_who_may_only_read_the_campaign_downloads_nothing(release: Release) -> None:
    staff = Program(User.objects.create_user("cleo", is_staff=True))
    assert is_problem(staff.get("campaigns/demo/releases/1"), 403)
    assert staff.get("releases").json()["results"] == []


def test_a_release_is_asked_for_once(campaign: Campaign, owner: Program) -> None:
    answer = owner.post(BUILDS, {"judgments": False}, key="one")
    assert answer.status_code == 202
    build = Build.objects.get()
    by = build.requested_by and build.requested_by.username
    assert (by, build.options["judgments"]) == ("ada", False)
    assert answer.headers["Location"] == f"/api/v1/{BUILDS}/{build.pk}"
    assert owner.get(answer.headers["Location"]).json() == answer.json()
    assert owner.post(BUILDS, {"judgments": False}, key="one").json() == answer.json()
    assert is_problem(owner.post(BUILDS, {}, key="two"), 422)  # one is being built
    assert [row["id"] for row in owner.get(BUILDS).json()["results"]] == [build.pk]
    assert AuditEntry.objects.get().via == "api"


def test_the_way_of_splitting_is_that_of_the_release_before(
    release: Release, owner: Program
) -> None:
    before = release.options["split"]
    other = {"clusters": "random", "random": "clusters"}[before]
    assert is_problem(owner.post(BUILDS, {"split": other}, key="one"), 422)
    assert owner.post(BUILDS, {}, key="two").status_code == 202
    assert Build.objects.get().options["split"] == before


@pytest.mark.parametrize("sent", [{"split": "by luck"}, {"partial": "yes"}, {"judgments": 1}])
def test_what_is_no_option_is_refused(
    campaign: Campaign, owner: Program, sent: dict[str, object]
) -> None:
    assert is_problem(owner.post(BUILDS, sent, key="one"), 400)
    assert not Build.objects.exists()


def test_a_release_of_a_campaign_that_is_not_seen_is_not_there(release: Release) -> None:
    eve = Program(person("eve", make_campaign("other"), "owner"))
    assert is_problem(eve.get("campaigns/demo/releases/1"), 404)
    assert is_problem(eve.post(BUILDS, {}, key="one"), 404)
