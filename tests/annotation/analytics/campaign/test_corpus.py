"""A campaign's corpus is named wherever the campaign is, with its sources and their licences."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from annotation.analytics.campaign.corpus import corpus_of
from annotation.analytics.campaign.progress import progress
from annotation.analytics.campaign.publication_preview import publication_of
from annotation.models import Campaign
from retrieval.corpus.corpora import create_corpus, include, named_corpus
from retrieval.indexing.build import build_index
from retrieval.models import QaPair
from tests.annotation.commands.test_commands import run_json
from tests.support.pages import parse
from tests.worlds.small_campaign import ENCODER, Stage

pytestmark = pytest.mark.django_db
UNSTATED = "No licence is stated for pairs of faq: find out whether you may show and release them."


@pytest.fixture
def owner() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("owner"))
    return client


def licensed(*licences: str, source: str = "faq") -> None:
    """Its pairs have these in turn."""
    for number, pair in enumerate(QaPair.objects.filter(source=source).order_by("pk")):
        pair.license = licences[number % len(licences)]
        pair.save(update_fields=["license"])


def in_coffee(campaign: Campaign, *sources: str) -> Campaign:
    campaign.query_set.corpus = create_corpus("coffee", sources)
    campaign.query_set.save()
    return campaign


def copied(source: str) -> None:
    """A few pairs of this source too."""
    QaPair.objects.bulk_create(
        QaPair(
            source=source,
            source_id=str(number),
            question=f"{source} {number}",
            answer="Yes.",
            question_key=f"{source} {number}",
            pair_key=f"{source} {number}",
        )
        for number in range(3)
    )


def test_a_corpus_is_told_with_the_pairs_of_its_index_and_its_sources(stage: Stage) -> None:
    copied("tea")
    pairs = QaPair.objects.filter(source="faq").count()
    every = f"all ({pairs} pairs of 2 sources: faq, tea)"
    assert corpus_of(stage.campaign).in_words == every
    in_coffee(stage.campaign, "faq")
    assert corpus_of(stage.campaign).in_words == f"coffee ({pairs} pairs of 1 source: faq)"


def test_without_an_index_the_sources_alone_are_told(stage: Stage) -> None:
    campaign = in_coffee(stage.campaign, "faq")
    campaign.query_set.retrieved_with = None
    assert corpus_of(campaign).in_words == "coffee (1 source: faq)"
    build_index("keywords", "QQA", encoder=ENCODER, corpus=campaign.query_set.corpus)
    assert corpus_of(campaign).in_words == "coffee (36 pairs of 1 source: faq)"


def test_pages_commands_and_api_name_the_corpus(stage: Stage, owner: Client) -> None:
    campaign = in_coffee(stage.campaign, "faq")
    licensed("CC0-1.0")
    words = corpus_of(campaign).in_words
    overview = owner.get(f"/admin/campaigns/{campaign}/")
    assert f"Corpus: {words}" in parse(overview).text_content()
    milestones = parse(owner.get(f"/admin/campaigns/{campaign}/milestones")).text_content()
    assert "coffeefaq (CC0-1.0)" in milestones
    told = progress(campaign)
    assert (told["corpus"], told["sources"]) == ("coffee", ["faq"])
    estimate = run_json("campaign", "estimate", "faq")
    assert (estimate["corpus"], estimate["licences"]) == ("coffee", "faq (CC0-1.0)")
    read = owner.get(f"/api/v1/campaigns/{campaign}").json()
    assert (read["corpus"], read["licences"]) == ("coffee", {"faq": ["CC0-1.0"]})


@pytest.mark.parametrize(
    ("licences", "words", "unstated"),
    [
        (("CC0-1.0",), "faq (CC0-1.0)", False),
        (("MIT", "CC0-1.0"), "faq (CC0-1.0, MIT)", False),
        (("",), "faq (no licence stated)", True),
        (("MIT", ""), "faq (MIT, none for some pairs)", True),
        (tuple("abcdefgh"), "faq (a, b, c, d, e, f and maybe others)", False),
    ],
)
def test_who_publishes_reads_the_licence_of_each_source_or_that_none_is_stated(
    stage: Stage, owner: Client, licences: tuple[str, ...], words: str, unstated: bool
) -> None:
    licensed(*licences)
    sentences = publication_of(stage.campaign, None).sentences()
    assert f"The pairs come from the corpus all: {words}." in sentences
    assert (UNSTATED in sentences) == unstated
    page = parse(owner.get(f"/admin/campaigns/{stage.campaign}/publish")).text_content()
    assert words in page
    preview = owner.post(
        f"/api/v1/campaigns/{stage.campaign}/jobs/publish", {"agreed": False}, "application/json"
    )
    assert set(sentences) <= set(preview.json()["sentences"])


def test_licences_of_other_corpora_are_not_stated(stage: Stage) -> None:
    copied("tea")
    licensed("secret", source="tea")
    licensed("CC0-1.0")
    campaign = in_coffee(stage.campaign, "faq")
    assert not any("secret" in one for one in publication_of(campaign, None).sentences())
    include(named_corpus("coffee"), "mocca")
    stated = "The pairs come from the corpus coffee: faq (CC0-1.0); mocca (no pairs yet)."
    assert stated in publication_of(campaign, None).sentences()
