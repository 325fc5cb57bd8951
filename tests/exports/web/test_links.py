"""Signed links: who may use them, until when, and what is counted."""

import hashlib
import subprocess
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.files.storage import storages
from django.http.response import HttpResponseBase
from django.test import Client
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from exports.delivery.signed_links import LinkError, follow, link
from exports.models import Download, Release, ReleaseFile
from tests.annotation.web.stage import signed_in
from tests.exports.web.people import reader


@pytest.fixture
def dan(db: None) -> User:
    return reader("dan")


@pytest.fixture
def file(release: Release) -> ReleaseFile:
    return release.files.get(path="parquet/train.parquet")


def sentence(response: HttpResponseBase) -> str:
    return response.getvalue().decode()


def refused(address: str, client: Client | None = None) -> str:
    response = (client or Client()).get(address)
    assert response.status_code == 403
    assert Download.objects.count() == 0
    return sentence(response)


def test_every_file_comes_as_it_was_released(release: Release, dan: User) -> None:
    for one in release.files.all():
        response = Client().get(link(one, dan))
        assert response.status_code == 200
        assert hashlib.sha256(response.getvalue()).hexdigest() == one.sha256, one.path
        assert response["Content-Disposition"].startswith("attachment; filename=")
    assert Download.objects.count() == release.files.count()
    assert set(Download.objects.values_list("user", flat=True)) == {dan.pk}


def test_a_link_ends_with_the_files_name(file: ReleaseFile, dan: User) -> None:
    assert link(file, dan).endswith("/train.parquet")


def test_a_link_expires(file: ReleaseFile, dan: User, settings: Settings) -> None:
    settings.LINK_SECONDS = 0
    said = refused(link(file, dan))
    assert "This link has expired: open the release&#x27;s page" in said


def test_a_link_holds_as_long_as_it_says(
    file: ReleaseFile, dan: User, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.LINK_SECONDS = 60
    now = 1_800_000_000.0
    monkeypatch.setattr("exports.delivery.signed_links.time.time", lambda: now)
    token, name = link(file, dan).split("/")[2:]
    for later in (0, 30.5, 59.9):
        monkeypatch.setattr(
            "exports.delivery.signed_links.time.time", lambda later=later: now + later
        )
        followed = follow(token, name)
        assert followed.file == file
        assert 1 <= followed.seconds_left <= 60
    monkeypatch.setattr("exports.delivery.signed_links.time.time", lambda: now + 60)
    with pytest.raises(LinkError, match="expired"):
        follow(token, name)


def test_no_letter_of_a_link_can_be_changed(file: ReleaseFile, dan: User) -> None:
    _, root, token, name = link(file, dan).split("/")
    for place, letter in enumerate(token):
        other = "A" if letter != "A" else "B"
        changed = token[:place] + other + token[place + 1 :]
        assert "no link of this site" in refused(f"/{root}/{changed}/{name}")
    for cut in (token[:-1], token[1:], token.rpartition(":")[0], f"{token}x"):
        assert "no link of this site" in refused(f"/{root}/{cut}/{name}")


def test_a_link_names_one_file_alone(file: ReleaseFile, dan: User) -> None:
    assert "no link of this site" in refused(link(file, dan).replace("train", "test"))


def test_a_link_of_another_site_opens_nothing(
    file: ReleaseFile, dan: User, settings: Settings
) -> None:
    own_key = settings.SECRET_KEY
    settings.SECRET_KEY = "the key of another site"
    foreign = link(file, dan)
    settings.SECRET_KEY = own_key
    assert "no link of this site" in refused(foreign)


def test_a_link_ends_with_the_right_and_with_the_account(file: ReleaseFile, dan: User) -> None:
    address = link(file, dan)
    dan.user_permissions.clear()
    assert "may not download releases any more" in refused(address)
    dan.is_superuser = True
    dan.is_active = False
    dan.save()
    assert "may not download releases any more" in refused(address)
    dan.delete()
    assert "may not download releases any more" in refused(address)


def test_a_link_of_somebody_else_is_refused_to_who_is_signed_in(
    file: ReleaseFile, dan: User
) -> None:
    address = link(file, dan)
    assert "somebody else" in refused(address, signed_in(reader("fay")))
    assert "somebody else" in refused(address, signed_in(User.objects.create_superuser("root")))
    assert signed_in(dan).get(address).status_code == 200


def test_a_download_is_counted_once_however_often_it_is_resumed(
    file: ReleaseFile, dan: User
) -> None:
    address = link(file, dan)
    client = Client()
    client.head(address)
    assert Download.objects.count() == 0
    first = client.get(address, headers={"Range": "bytes=0-99"})
    rest = client.get(address, headers={"Range": "bytes=100-", "If-Range": first["ETag"]})
    assert hashlib.sha256(first.getvalue() + rest.getvalue()).hexdigest() == file.sha256
    assert client.get(address, headers={"If-None-Match": first["ETag"]}).status_code == 304
    past = client.get(address, headers={"Range": f"bytes={file.bytes}-"})
    assert past.status_code == 416
    assert [(one.file, one.user) for one in Download.objects.all()] == [(file, dan)]


@pytest.mark.parametrize("damage", ["missing", "short"])
def test_a_file_that_is_not_as_released_is_not_sent(
    file: ReleaseFile, dan: User, damage: str
) -> None:
    path = Path(storages["releases"].path(f"{file.release.prefix}/{file.path}"))
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-1])
    response = Client().get(link(file, dan))
    assert response.status_code == 500
    assert "from a backup" in sentence(response)
    assert str(path.parent) not in sentence(response)
    assert Download.objects.count() == 0


def test_a_plot_shows_on_its_page_and_can_do_nothing(release: Release, dan: User) -> None:
    response = signed_in(dan).get("/campaigns/demo/releases/1/plots/hit-at-k-dark.svg")
    assert response["Content-Type"] == "image/svg+xml"
    assert "script-src" not in response["Content-Security-Policy"]
    assert response["Content-Security-Policy"].startswith("default-src 'none'")
    assert response["X-Content-Type-Options"] == "nosniff"
    stored = release.files.get(path="plots/hit-at-k-dark.svg")
    assert hashlib.sha256(response.getvalue()).hexdigest() == stored.sha256
    assert Download.objects.count() == 0


@pytest.mark.django_db(transaction=True)
def test_curl_goes_on_where_a_download_broke_off(
    release: Release, live_server: LiveServer, tmp_path: Path
) -> None:
    archive = release.files.get(path="demo-1.tar.zst")
    address = live_server.url + link(archive, reader("dan"))
    target = tmp_path / archive.path
    whole = Path(storages["releases"].path(f"{release.prefix}/{archive.path}")).read_bytes()
    target.write_bytes(whole[: len(whole) // 3])
    resume = ["curl", "-fsSL", "-C", "-", "-o", str(target), "-w", "%{http_code}", address]
    done = subprocess.run(resume, check=True, capture_output=True, text=True, timeout=60)
    assert done.stdout == "206"
    assert target.read_bytes() == whole
    assert Download.objects.count() == 0  # it was begun before
    subprocess.run(["wget", "-q", "-P", str(tmp_path / "again"), address], check=True, timeout=60)
    assert (tmp_path / "again" / archive.path).read_bytes() == whole
    assert Download.objects.count() == 1
