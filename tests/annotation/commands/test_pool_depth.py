"""`campaign pool-depth` and `pool-depth-report`, and the retrievers of `campaign retrieve`."""

from pathlib import Path

import pytest

from annotation.models import Campaign
from annotation.pipeline.setup.pool_depth import create_depth_study
from tests.annotation.commands.test_commands import refused, run, run_json
from tests.annotation.pipeline.setup.test_pool_depth import judged
from tests.worlds.account import Account
from tests.worlds.small_campaign import ENCODER, retrieved_campaign

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("small_database")]


def test_the_report_says_what_is_hidden_in_json_and_in_words(
    tmp_path: Path, mturk: Account
) -> None:
    parent = retrieved_campaign(tmp_path, candidates_per_query=2)
    study = create_depth_study(parent, "faq-depth", seed=1, encoder=ENCODER)
    assert "No query of faq-depth has all its labels" in refused(
        "campaign", "pool-depth-report", "faq-depth"
    )
    for campaign in (parent, study):
        judged(campaign, mturk, lambda query, rank: int(rank in {1, 4}))
    study.triplets.filter(candidate__query__key="piano").update(status="open", label=None)
    report = run_json("campaign", "pool-depth-report", "faq-depth")
    low_and_high = report.pop("hidden_share_interval")
    assert low_and_high == [0.5, 0.5]
    assert report == {
        "campaign": "faq-depth",
        "study_of": "faq",
        "partial": True,
        "queries": 5,
        "queries_counted": 4,
        "first_rank": 3,
        "last_rank": 4,
        "triplets_without_a_majority": 0,
        "positives_per_query_at_ranks_1_to_2": 1.0,
        "positives_per_query_at_ranks_3_to_4": 1.0,
        "positives_by_rank_at_ranks_1_to_2": [4, 0],
        "positives_by_rank_at_ranks_3_to_4": [0, 4],
        "positive_ranks": [[4]] * 4,
        "hidden_share": 0.5,
        "queries_without_a_positive_at_ranks_1_to_2": 0,
        "of_them_with_one_at_ranks_3_to_4": 0,
    }
    details = run("campaign", "pool-depth-report", "faq-depth")
    assert "positives by rank at ranks 3 to 4           0 4\n" in details
    share = "hidden share of the positives in the top 4  0.5000 (95% interval 0.5000 to 0.5000)\n"
    assert share in details
    assert "hidden share interval" not in details
    assert "partial                                     yes\n" in details


def test_a_study_that_cannot_be_is_refused_in_a_sentence(tmp_path: Path) -> None:
    retrieved_campaign(tmp_path)
    assert "is from 6 to 1000, not 3" in refused("campaign", "pool-depth", "faq", "--to", "3")
    assert "There is a campaign 'faq' already" in refused(
        "campaign", "pool-depth", "faq", "--study", "faq"
    )
    assert "cannot be loaded" in refused("campaign", "pool-depth", "faq")  # there is no such model
    assert not Campaign.objects.exclude(name="faq").exists()


def test_other_retrievers_than_those_of_before_are_refused(tmp_path: Path) -> None:
    retrieved_campaign(tmp_path)
    assert run_json("campaign", "retrieve", "faq")["candidates"] == 25
    assert run_json("campaign", "retrieve", "faq", "--retrievers", "dense")["candidates"] == 25
    report = refused("campaign", "retrieve", "faq", "--retrievers", "dense,bm25")
    assert report.endswith(
        "by dense, not by dense and bm25: make a new query set to retrieve by others."
    )
    report = refused("campaign", "retrieve", "faq", "--retrievers", "splade")
    assert "There is no retriever 'splade'" in report
