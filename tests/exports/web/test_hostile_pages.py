"""Figures that are missing, files that are damaged and texts that attack: the pages stand."""

import html
from typing import Any

import orjson
import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import storages
from django.test import Client

from annotation.models import Campaign
from exports.models import Release
from tests.exports.support.stored_release import stored_release
from tests.exports.web.pages import ADDRESS, text, words

ATTACK = "</dd><script>alert(1)</script>{{ 7|add:7 }}\t\"'\u202e"


@pytest.mark.parametrize(
    "stats",
    [
        {},
        {"splits": {}, "campaign": {}, "agreement": {}, "workers": {}, "controls": {}},
        {"splits": None, "campaign": None, "agreement": None, "baselines": None},
        {"splits": {"all": {"queries": None, "positives_per_query": {"mean": None}}}},
        {"campaign": {"label_error": None, "label_error_reason": "no gold"}},
        {"campaign": {"label_error": 0.5, "label_error_interval": [None, None]}},
        {"agreement": {"alpha": None, "alpha_interval": None, "kappa_interval": [0.1, None]}},
        {"workers": {"gini": None, "robust_share": None, "top_share": None}},
        {"controls": {"judged": {}, "missed": None, "inside_release": None}},
        {"baselines": {"splits": {"dev": {"bm25": {"P@1": None}}, "test": None}}},
    ],
)
def test_figures_that_are_not_there_break_nothing(
    campaign: Campaign, dans: Client, stats: dict[str, Any]
) -> None:
    stored_release(campaign, stats=stats, changes={})
    page = words(dans.get(f"{ADDRESS}/1"))
    assert "None" not in page
    assert "nan" not in page.split()
    assert "The campaign's first release." in page
    assert dans.get("/releases").status_code == dans.get(ADDRESS).status_code == 200


def test_texts_of_others_stay_texts(campaign: Campaign, dans: Client) -> None:
    stored_release(
        campaign,
        created_by=ATTACK,
        stats={"campaign": {"label_error": None, "label_error_reason": ATTACK}},
    )
    from_files = {
        "policy": {"title": ATTACK, "nested": {"a": [ATTACK, True, None]}},
        "corpus": {"name": ATTACK, "sources": [ATTACK]},
        "sources": [{"source": ATTACK, "license": ATTACK, "pairs": None}, None],
        "instructions": [{"version": 1, "file": "instructions/1.md"}, {"version": 2}],
    }
    rewrite(campaign, "campaign.json", from_files)
    for path in ("/releases", ADDRESS, f"{ADDRESS}/1"):
        page = dans.get(path).content.decode()
        assert "<script>alert" not in page
        assert "{{ 7|add:7 }}" in html.unescape(page)


def rewrite(campaign: Campaign, path: str, values: object) -> None:
    """A release's file in the storage, as nobody should."""
    release = campaign.releases.get()
    place = storages["releases"]
    place.delete(f"{release.prefix}/{path}")
    place.save(f"{release.prefix}/{path}", ContentFile(orjson.dumps(values)))


@pytest.mark.parametrize("content", [b"", b"[]", b"no document", b"\xff\xfe"])
def test_a_damaged_record_of_the_campaign_leaves_the_page_whole(
    release: Release, dans: Client, content: bytes
) -> None:
    place = storages["releases"]
    place.delete(f"{release.prefix}/campaign.json")
    place.save(f"{release.prefix}/campaign.json", ContentFile(content))
    assert "Krippendorff" in text(dans.get(f"{ADDRESS}/1"))
    place.delete(f"{release.prefix}/campaign.json")
    assert "Krippendorff" in text(dans.get(f"{ADDRESS}/1"))
