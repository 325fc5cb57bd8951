"""Asking for a release on its campaign's page, and seeing how far it is."""

import html

import pytest
from django.test import Client

from annotation.models import Campaign
from exports.models import Build, Release
from tests.annotation.support.hits import make_campaign
from tests.annotation.web.stage import signed_in
from tests.exports.support import campaigns
from tests.exports.support.builds import build_of, build_queued
from tests.exports.web.people import reader
from tests.support.pages import Response

ADDRESS = "/campaigns/demo/releases"
FORM = {"split": "clusters", "judgments": "on"}
JSON = {"Accept": "application/json"}


@pytest.fixture
def cleos(campaign: Campaign) -> Client:
    return signed_in(reader("cleo", "download_release", "add_build"))


def text(response: Response) -> str:
    return html.unescape(response.content.decode())


@pytest.mark.parametrize(
    ("form", "options"),
    [
        (FORM, {"partial": False, "split": "clusters", "judgments": True}),
        (
            {"split": "random", "partial": "on"},
            {"partial": True, "split": "random", "judgments": False},
        ),
    ],
)
def test_a_build_is_asked_for_with_what_was_chosen(
    cleos: Client, campaign: Campaign, form: dict[str, str], options: dict[str, object]
) -> None:
    response = cleos.post(f"{ADDRESS}/build", form)
    assert response.status_code == 302
    assert response["Location"] == ADDRESS
    build = Build.objects.get()
    by = build.requested_by and build.requested_by.username
    assert (build.campaign, by, build.state) == (campaign, "cleo", "queued")
    assert build.options == options
    assert "Waiting for a worker" in text(cleos.get(ADDRESS))


@pytest.mark.parametrize("form", [{}, {"split": ""}, {"split": "by the moon"}])
def test_a_form_that_says_something_else_is_shown_again(
    cleos: Client, form: dict[str, str]
) -> None:
    response = cleos.post(f"{ADDRESS}/build", form)
    assert response.status_code == 422
    assert 'dash-bad" role="alert"' in text(response)
    assert not Build.objects.exists()


def test_a_second_build_waits_for_the_first(cleos: Client, campaign: Campaign) -> None:
    cleos.post(f"{ADDRESS}/build", FORM)
    refused = cleos.post(f"{ADDRESS}/build", FORM)
    assert refused.status_code == 422
    assert "is being built already" in text(refused)
    assert Build.objects.count() == 1
    # Where the progress leads when it is done: loading the refusal again would ask again.
    assert f'<a href="{ADDRESS}" data-refresh>' in text(refused)
    other = make_campaign("other")
    assert cleos.post(f"/campaigns/{other.name}/releases/build", FORM).status_code == 302


def test_while_a_build_runs_the_page_tells_how_far_it_is(cleos: Client, campaign: Campaign) -> None:
    build = build_of(campaign, state="running", stage="writing the formats", done=7, total=40)
    page = text(cleos.get(ADDRESS))
    assert 'max="100" value="48.5"' in page
    assert "Writing the formats" in page
    assert "Build the next release" not in page
    assert f'href="{ADDRESS}"' in page  # without a script, a link loads the page again
    state = cleos.get(f"{ADDRESS}/builds/{build.pk}", headers=JSON)
    assert state.json() == {"unfinished": True, "stage": "Writing the formats", "percent": 48.5}


def test_a_build_that_failed_says_why_until_the_next_one(cleos: Client, campaign: Campaign) -> None:
    error = "Campaign demo is <not> finished: collect its votes first."
    failed = build_of(campaign, state="failed", error=error)
    response = cleos.get(ADDRESS)
    assert error in text(response)
    assert "<not>" not in response.content.decode()
    assert "Build the next release" in text(response)
    state = cleos.get(f"{ADDRESS}/builds/{failed.pk}", headers=JSON).json()
    assert state["unfinished"] is False
    cleos.post(f"{ADDRESS}/build", FORM)
    assert error not in text(cleos.get(ADDRESS))


def test_where_nothing_has_changed_the_page_names_the_release_that_holds(
    cleos: Client, release: Release
) -> None:
    build_of(release.campaign, state="done", result={"release": 1, "unchanged": True})
    page = text(cleos.get(ADDRESS))
    assert "No changes since" in page
    assert f'<a href="{ADDRESS}/1">release 1</a>' in page


def test_who_may_not_build_sees_the_progress_and_no_form(campaign: Campaign) -> None:
    dans = signed_in(reader("dan"))
    assert "Build the next release" not in text(dans.get(ADDRESS))
    build_of(campaign, state="running")
    assert "<progress" in text(dans.get(ADDRESS))


def test_from_the_form_to_the_downloads_page_of_the_release_that_was_built(db: None) -> None:
    campaigns.make_campaign()
    cleos = signed_in(reader("cleo", "download_release", "add_build"))
    assert cleos.post(f"{ADDRESS}/build", FORM).status_code == 302
    build_queued(Build.objects.get())
    assert f'<a href="{ADDRESS}/1">Release 1</a>' in text(cleos.get(ADDRESS))
    page = text(cleos.get(f"{ADDRESS}/1"))
    assert "by cleo" in page
    for file in Release.objects.get().files.all():
        assert f'data-sha256="{file.sha256}"' in page
    cleos.post(f"{ADDRESS}/build", FORM)
    build_queued(Build.objects.latest("pk"))
    assert "No changes since" in text(cleos.get(ADDRESS))
