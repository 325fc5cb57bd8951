"""What the downloads page shows."""

import re

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from annotation.models import Campaign
from exports.models import Download, Release
from retrieval.models import IndexVersion
from tests.annotation.web.base.readers import root
from tests.exports.support.stored_release import stored_release
from tests.exports.web.pages import ADDRESS, copy_of, row, text


def test_the_table_of_statistics_is_that_of_the_release(release: Release, dans: Client) -> None:
    page = text(dans.get(f"{ADDRESS}/1"))
    splits = [release.stats["splits"][name] for name in ("train", "dev", "test", "all")]
    assert row(page, "Queries") == [f"{split['queries']:,}" for split in splits]
    assert row(page, "Answerable") == [f"{split['answerable_share']:.1%}" for split in splits]
    assert row(page, "Positives a query") == [
        f"{split['positives_per_query']['mean']:.1f} ± {split['positives_per_query']['std']:.1f}"
        for split in splits
    ]


def test_its_record_in_the_administration_leads_to_it(release: Release) -> None:
    record = root().get(f"/admin/exports/release/{release.pk}/change/")
    assert f'href="{ADDRESS}/1"' in record.content.decode()
    assert f"{release.files.count()}, " in text(record)
    assert release.manifest_sha256 in text(record)


def test_agreement_stands_with_its_interval(release: Release, dans: Client) -> None:
    page = text(dans.get(f"{ADDRESS}/1"))
    found = release.stats["agreement"]
    low, high = found["alpha_interval"]
    assert row(page, "Krippendorff's alpha") == [f"{found['alpha']:.3f} {low:.3f} to {high:.3f}"]
    low, high = found["agreement_interval"]
    assert row(page, "First two votes agree") == [
        f"{found['agreement']:.1%} {low:.1%} to {high:.1%}"
    ]
    assert row(page, "Controls in the release") == ["0"]


@pytest.mark.parametrize(("queries", "shown"), [(10, "0.500 0.250 to 0.750"), (9, "0.500")])
def test_baselines_stand_with_their_intervals_where_a_split_has_enough_queries(
    campaign: Campaign, dans: Client, queries: int, shown: str
) -> None:
    scores = {"P@1": {"value": 0.5, "low": 0.25, "high": 0.75}, "MAP": {"value": None}}
    systems = {"bm25": scores, "retriever": {"P@1": {"value": 0.6251, "low": None, "high": None}}}
    baselines = {"way": "QRC", "splits": {"dev": systems, "test": {}}}
    splits = {"dev": {"queries": queries}}
    stored_release(campaign, stats={"baselines": baselines, "splits": splits})
    page = text(dans.get(f"{ADDRESS}/1"))
    assert row(page, "P@1") == ["0.625", shown]
    assert ("Too few queries for an interval: dev has 9 queries." in page) == (queries < 10)
    assert row(page, "MAP") == ["—", "—"]
    assert "baselines-test" not in page


def test_a_release_without_judgments_says_so_and_offers_none(
    campaign: Campaign, dans: Client
) -> None:
    stored_release(campaign, judgments=False)
    for path in ("/releases", ADDRESS, f"{ADDRESS}/1"):
        assert "without judgments" in text(dans.get(path))
    page = text(dans.get(f"{ADDRESS}/1"))
    assert "judgments.parquet" not in page
    assert "Every valid judgment" not in page
    assert "It lists the figures that cannot be recomputed without judgments" in page


def test_a_release_with_judgments_can_be_recomputed_in_full(release: Release, dans: Client) -> None:
    page = text(dans.get(f"{ADDRESS}/1"))
    assert "Recomputes all figures and checksums" in page
    assert "without judgments" not in page


def test_a_plot_is_shown_where_the_release_has_it(campaign: Campaign, dans: Client) -> None:
    release = stored_release(campaign)
    assert f'src="{ADDRESS}/1/plots/agreement-by-worker.svg"' in text(dans.get(f"{ADDRESS}/1"))
    other = copy_of(release, campaign, 2, without="plots/agreement-by-worker")
    assert other.files.filter(path__startswith="plots/hit-at-k").count() == 2
    page = text(dans.get(f"{ADDRESS}/2"))
    assert f'src="{ADDRESS}/2/plots/hit-at-k-dark.svg"' in page
    assert "agreement-by-worker" not in page


def test_the_order_of_an_import_is_not_called_a_retriever(campaign: Campaign, dans: Client) -> None:
    scored = {"dev": {"retriever": {"P@1": {"value": 1, "low": None, "high": None}}}}
    stored_release(campaign, stats={"baselines": {"way": "QRC", "splits": scored}})
    page = text(dans.get(f"{ADDRESS}/1"))
    assert "Imported order" in page
    assert "Hit@k of the imported order" in page
    campaign.query_set.retrieved_with = IndexVersion.objects.create(
        path="qqa-1", form="QQA", dimension=4, pairs=9, manifest={}, chosen_at=timezone.now()
    )
    campaign.query_set.save()
    page = text(dans.get(f"{ADDRESS}/1"))
    assert "Hit@k of the retriever" in page
    assert "mported order" not in page


def test_every_file_is_offered_once_with_size_checksum_and_downloads(
    release: Release, dans: Client
) -> None:
    file = release.files.get(path="tsv/train.tsv")
    Download.objects.create(file=file, user=None)
    page = text(dans.get(f"{ADDRESS}/1"))
    offered = re.findall(
        r'<a (?:class="dash-button" )?href="(/releases/[^"]+)" data-sha256="(\w+)"', page
    )
    assert sorted(sha256 for _, sha256 in offered) == sorted(
        release.files.values_list("sha256", flat=True)
    )
    assert len({href for href, _ in offered}) == release.files.count()
    for one in release.files.all():
        assert page.count(f"<code>{one.sha256}</code>") >= 1
    assert page.count("1 download<") == 1


def test_the_commands_name_the_public_address_and_the_checksum(
    release: Release, dans: Client, settings: Settings
) -> None:
    settings.PUBLIC_URL = "https://quorum.example.org"
    page = text(dans.get(f"{ADDRESS}/1"))
    assert "curl -fL -o demo-1.tar.zst https://quorum.example.org/releases/" in page
    archive = release.files.get(path="demo-1.tar.zst")
    assert f"echo '{archive.sha256}  demo-1.tar.zst' | sha256sum --check" in page
    assert "python -m exports.verify demo-1" in page
    assert "@misc{demo-1," in page
    assert f"year    = {{{release.created_at.year}}}" in page
    assert f"url     = {{https://quorum.example.org{ADDRESS}/1}}" in page
    assert f"sha256  = {{{release.manifest_sha256}}}" in page
    settings.PUBLIC_URL = "http://127.0.0.1:8000"
    assert "url     =" not in text(dans.get(f"{ADDRESS}/1"))


def test_releases_lead_to_those_beside_them(campaign: Campaign, dans: Client) -> None:
    stored = [stored_release(campaign, number) for number in (1, 2, 3)]
    first, second, third = (text(dans.get(f"{ADDRESS}/{number}")) for number in (1, 2, 3))
    assert 'rel="prev"' not in first
    assert f'href="{ADDRESS}/2" rel="next"' in first
    assert f'href="{ADDRESS}/1" rel="prev"' in second
    assert f'href="{ADDRESS}/3" rel="next"' in second
    assert 'rel="next"' not in third
    added = stored[1].changes["labels"]["added"]
    assert added > 1
    assert f"{added} labels added" in second
    assert "first release" not in second


def test_the_corpus_of_a_release_is_named(release: Release, dans: Client) -> None:
    assert "Corpus coffee: tests" in text(dans.get(f"{ADDRESS}/1"))


def test_times_stand_with_their_zone(release: Release, dans: Client) -> None:
    made = timezone.localtime(release.created_at)
    for path in ("/releases", ADDRESS, f"{ADDRESS}/1"):
        page = text(dans.get(path))
        assert f"{made:%H:%M} UTC</time>" in page
        assert re.search(r'<time datetime="[\d:T.-]+\+00:00">', page)
