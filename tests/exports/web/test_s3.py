"""Releases on S3: our link is checked and counted here, the bytes come from there."""

import hashlib
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from annotation.models import Campaign
from exports.delivery.signed_links import link
from exports.models import Download, Release
from tests.annotation.web.stage import signed_in
from tests.exports.support.storage import IN_THE_BUCKET, lie_at, s3_server
from tests.exports.support.stored_release import stored_release
from tests.exports.web.people import reader


@pytest.fixture
def stored(
    campaign: Campaign, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Release]:
    with s3_server(monkeypatch):
        lie_at(IN_THE_BUCKET, settings)
        yield stored_release(campaign)


@pytest.fixture
def dan(db: None) -> User:
    return reader("dan")


def sent_to(address: str, method: str = "GET", **headers: str) -> str:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    response = Client().generic(method, address, headers=named)
    assert response.status_code == 302
    return str(response["Location"])


def test_every_kind_of_file_comes_from_the_bucket_under_its_name(
    stored: Release, dan: User
) -> None:
    kinds = {file.path.rpartition(".")[2]: file for file in stored.files.all()}
    assert {"jsonl", "parquet", "tsv", "qrels", "run", "svg", "md", "json", "zst"} <= set(kinds)
    for file in kinds.values():
        got = httpx.get(sent_to(link(file, dan)))
        assert got.status_code == 200
        assert hashlib.sha256(got.content).hexdigest() == file.sha256
        name = file.path.rpartition("/")[2]
        assert got.headers["Content-Disposition"] == f'attachment; filename="{name}"'
        assert "html" not in got.headers["Content-Type"]
    assert Download.objects.count() == len(kinds)


def test_the_buckets_link_ends_when_ours_does(
    stored: Release, dan: User, settings: Settings
) -> None:
    settings.LINK_SECONDS = 300
    address = link(stored.files.get(path="train.jsonl"), dan)
    seconds = int(parse_qs(urlsplit(sent_to(address)).query)["X-Amz-Expires"][0])
    assert 298 <= seconds <= 300


@pytest.mark.parametrize("seconds", [0, -5])
def test_an_expired_link_leads_nowhere(
    stored: Release, dan: User, settings: Settings, seconds: int
) -> None:
    settings.LINK_SECONDS = seconds
    response = Client().get(link(stored.files.get(path="train.jsonl"), dan))
    assert response.status_code == 403
    assert "X-Amz" not in response.content.decode()
    assert not Download.objects.exists()


def test_a_part_and_a_head_are_the_buckets_to_answer_and_count_as_on_disk(
    stored: Release, dan: User
) -> None:
    file = stored.files.get(path="train.jsonl")
    address = link(file, dan)
    part = {"Range": "bytes=100-"}
    rest = httpx.get(sent_to(address, **part), headers=part)
    assert rest.status_code == 206
    assert len(rest.content) == file.bytes - 100
    head = httpx.head(sent_to(address, "HEAD"))
    assert head.status_code == 200
    assert int(head.headers["Content-Length"]) == file.bytes
    assert not Download.objects.exists()


def test_the_page_and_its_plots_are_read_from_the_bucket(stored: Release, dan: User) -> None:
    client = signed_in(dan)
    page = client.get("/campaigns/demo/releases/1")
    assert "Same meaning, same answer?" in page.content.decode()
    assert "CC0-1.0" in page.content.decode()
    plot = client.get("/campaigns/demo/releases/1/plots/hit-at-k.svg")
    assert plot.getvalue().startswith(b"<?xml")
