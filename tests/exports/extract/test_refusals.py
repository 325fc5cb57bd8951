"""Records that no release can be made of: one sentence each."""

from pathlib import Path

import pytest

from annotation.models import Campaign, Triplet, Worker
from core.errors import UserError
from exports.extract.extract import extract
from retrieval.models import QaPair
from tests.exports.extract.oracle import lines
from tests.exports.support.campaigns import VERDICTS, make_campaign

pytestmark = [pytest.mark.django_db, pytest.mark.concurrent]


def refusal(campaign: Campaign, folder: Path, *, partial: bool = False) -> str:
    with pytest.raises(UserError) as caught:
        extract(campaign, folder, partial=partial)
    return str(caught.value)


def test_an_unfinished_campaign_is_refused_with_the_counts(tmp_path: Path) -> None:
    campaign = make_campaign(VERDICTS | {"tea": ["ada+ bob+", "ada+", "ada+ bob-"]})
    assert refusal(campaign, tmp_path) == (
        "Campaign demo is not finished, 2 of its 9 triplets are open: collect their votes first, "
        "or leave them out (on the command line by --partial)."
    )


def test_in_part_it_is_read_without_the_open_ones(tmp_path: Path) -> None:
    campaign = make_campaign(VERDICTS | {"tea": ["ada+ bob+", "ada+", "ada+ bob-"]})
    extract(campaign, tmp_path, partial=True)
    tea = lines(tmp_path / "queries.jsonl")[-1]
    assert [candidate["rank"] for candidate in tea["candidates"]] == [1]


def test_a_campaign_without_any_label_is_refused_even_in_part(tmp_path: Path) -> None:
    campaign = make_campaign({"moon": ["ada+", "", ""]})
    assert refusal(campaign, tmp_path, partial=True) == (
        "None of campaign demo's 3 triplets has a label yet: "
        "`quorum campaign status demo` shows its progress."
    )


def test_a_campaign_that_is_not_packed_is_refused(tmp_path: Path) -> None:
    assert "None of campaign demo's 0 triplets" in refusal(make_campaign({}), tmp_path)


@pytest.mark.parametrize(
    "wrong", [{"label": 0}, {"votes": 3}, {"positive_votes": 1}, {"label": None, "status": "open"}]
)
def test_a_label_that_its_votes_do_not_make_is_refused(
    tmp_path: Path, wrong: dict[str, object]
) -> None:
    campaign = make_campaign()
    stale = Triplet.objects.filter(label=1, votes=2).first()
    assert stale is not None
    Triplet.objects.filter(pk=stale.pk).update(**wrong)
    assert refusal(campaign, tmp_path, partial=True) == (
        f"The label of triplet {stale.pk} is not the one its 2 valid votes make: "
        "run `quorum campaign collect demo` first."
    )


def test_a_label_that_nothing_makes_is_refused(tmp_path: Path) -> None:
    """Neither votes nor an import."""
    campaign = make_campaign({"moon": ["", "ada+ bob+"]})
    Triplet.objects.filter(votes=0).update(label=1, status="labelled")
    assert "is not the one its 0 valid votes make" in refusal(campaign, tmp_path)


def test_the_votes_of_a_worker_excluded_since_make_no_release(tmp_path: Path) -> None:
    campaign = make_campaign()
    bob = Worker.objects.get(worker_id="bob")
    campaign.exclusions.create(worker=bob, failures=5, reviewed=10)
    assert "is not the one its 1 valid votes make" in refusal(campaign, tmp_path)


def test_two_candidates_that_a_release_could_not_tell_apart_are_refused(tmp_path: Path) -> None:
    campaign = make_campaign()
    one = QaPair.objects.get(question="tea question 1").pair_key
    other = one[:20] + "0" * 44
    QaPair.objects.filter(question="tea question 2").update(pair_key=other)
    assert refusal(campaign, tmp_path) == (
        f"Query 'tea' has two candidates whose pairs {min(one, other)} and {max(one, other)} begin "
        "with the same 20 digits, so that a release cannot tell them apart: change the text of "
        "one of the two pairs."
    )
