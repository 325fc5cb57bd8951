"""What adjudication does to labels, and that it does nothing to votes."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from hypothesis import given
from hypothesis import strategies as st

from annotation.analytics.quality.expert_agreement import expert_figures
from annotation.models import Campaign, Exclusion, ExpertLabel, Judgment, Triplet, Worker
from annotation.pipeline.adjudicate import Pile, What, pile_with
from annotation.pipeline.gold.import_gold import import_gold
from annotation.pipeline.labelling.label import write_labels
from core.errors import UserError
from tests.exports.support.campaigns import make_campaign

pytestmark = pytest.mark.django_db

# By their votes: two labelled, one a tie that is open, one unresolved, one without enough votes.
VERDICTS = {
    "moon": ["ada+ bob+", "ada+ bob- third-", "ada+ bob-", "ada+ bob- third- fourth+", "ada+"]
}
Label = tuple[str, int | None, str | None]


def campaign_where(adjudication: str) -> Campaign:
    return make_campaign(VERDICTS, candidates_per_query=5, adjudication=adjudication)


def at(campaign: Campaign, rank: int) -> Triplet:
    return campaign.triplets.get(candidate__rank=rank)


def say(campaign: Campaign, rank: int, expert: str, label: int, what: What = What.REPORTED) -> None:
    Pile(campaign, what, expert, None).decide(at(campaign, rank), label, "")


def label(campaign: Campaign, rank: int) -> Label:
    triplet = at(campaign, rank)
    return triplet.status, triplet.label, triplet.label_source


def votes() -> list[dict[str, Any]]:
    return list(Judgment.objects.order_by("pk").values())


STEPS = st.lists(
    st.tuples(
        st.integers(1, 5),
        st.sampled_from(["ada", "bob", "cleo"]),
        st.integers(0, 1),
        st.sampled_from([What.REPORTED, What.SAMPLE]),
        st.booleans(),
    ),
    max_size=8,
)


@pytest.mark.hypothesis
@pytest.mark.parametrize("adjudication", ["decide", "measure"])
def test_whatever_experts_say_votes_stay_and_labels_follow(adjudication: str) -> None:
    campaign = campaign_where(adjudication)
    before = {rank: label(campaign, rank) for rank in range(1, 6)}
    cast, worker = votes(), Worker.objects.get(worker_id="bob")

    @given(STEPS)
    def play(steps: list[tuple[int, str, int, What, bool]]) -> None:
        with transaction.atomic():
            said: defaultdict[int, dict[str, int]] = defaultdict(dict)
            sampled: defaultdict[int, set[str]] = defaultdict(set)
            for rank, expert, value, what, excludes in steps:
                say(campaign, rank, expert, value, what)
                if what == What.SAMPLE and expert not in said[rank]:
                    sampled[rank].add(expert)
                else:
                    said[rank][expert] = value
                if excludes and not Exclusion.objects.filter(worker=worker).exists():
                    Exclusion.objects.create(
                        campaign=campaign, worker=worker, failures=9, reviewed=20
                    )
                    write_labels(campaign)
            for rank, given_to in said.items():
                yes = sum(given_to.values())
                if adjudication == "decide" and 2 * yes != len(given_to):
                    expected = "labelled", int(2 * yes > len(given_to)), "expert"
                    assert label(campaign, rank) == expected
            undecided = before.keys() if adjudication == "measure" else before.keys() - said.keys()
            if not Exclusion.objects.filter(worker=worker).exists():
                assert {rank: label(campaign, rank) for rank in undecided} == {
                    rank: before[rank] for rank in undecided
                }
            assert votes() == cast
            assert write_labels(campaign) == 0  # from scratch, the same
            transaction.set_rollback(True)

    play()


def test_experts_who_are_evenly_split_leave_it_to_the_votes() -> None:
    campaign = campaign_where("decide")
    say(campaign, 2, "ada", 1)
    assert label(campaign, 2) == ("labelled", 1, "expert")
    say(campaign, 2, "bob", 0)
    assert label(campaign, 2) == ("labelled", 0, "majority")
    say(campaign, 3, "ada", 1)
    say(campaign, 3, "bob", 0)
    assert label(campaign, 3) == ("open", None, None)
    say(campaign, 3, "cleo", 0)
    assert label(campaign, 3) == ("labelled", 0, "expert")


def test_a_label_of_the_sample_measures_and_its_own_expert_may_still_decide() -> None:
    """The votes say Yes of the first triplet: blind, the expert said No."""
    campaign = campaign_where("decide")
    say(campaign, 1, "ada", 0, What.SAMPLE)
    assert label(campaign, 1) == ("labelled", 1, "majority")
    error = expert_figures(campaign).label_error
    assert error is not None
    assert (error.triplets, error.wrong) == (1, 1)
    say(campaign, 1, "ada", 0)
    assert label(campaign, 1) == ("labelled", 0, "expert")
    given = ExpertLabel.objects.get()
    assert (given.source, given.adjudicated) == ("sample", True)
    # What they overruled is wrong as before.
    assert expert_figures(campaign).label_error == error
    say(campaign, 1, "ada", 1)
    assert label(campaign, 1) == ("labelled", 1, "expert")
    assert expert_figures(campaign).label_error == error


def test_another_experts_adjudication_of_a_sampled_triplet_leaves_the_error_as_it_was() -> None:
    campaign = campaign_where("decide")
    say(campaign, 2, "ada", 1, What.SAMPLE)
    before = expert_figures(campaign).label_error
    say(campaign, 2, "bob", 1)
    assert label(campaign, 2) == ("labelled", 1, "expert")
    assert expert_figures(campaign).label_error == before


def test_the_sample_is_of_triplets_whose_votes_make_a_label() -> None:
    campaign = campaign_where("decide")
    for rank in (2, 3, 4, 5):
        say(campaign, rank, "bob", 1)
    pile = Pile(campaign, What.SAMPLE, "ada", None)
    ranks = pile.triplets().values_list("candidate__rank", flat=True)
    assert sorted(ranks) == [1, 2]


def test_a_decided_triplet_leaves_the_piles_and_may_be_decided_again_by_its_number() -> None:
    campaign = campaign_where("decide")
    piles = {
        what: Pile(campaign, what, "ada", None)
        for what in (What.OPEN, What.UNRESOLVED, What.DISAGREEMENT)
    }
    ranks = {What.OPEN: 3, What.UNRESOLVED: 4, What.DISAGREEMENT: 2}
    for what, pile in piles.items():
        triplet = at(campaign, ranks[what])
        if what != What.DISAGREEMENT:
            assert pile.next([]) == triplet
        assert pile.takes(triplet, [])
        pile.decide(triplet, 1, "")
        assert Pile(campaign, what, "bob", None).next([]) != triplet
        assert Pile(campaign, what, "bob", None).takes(at(campaign, ranks[what]), [])
        assert pile.done().decided == 1 + (what == What.DISAGREEMENT) * 2


@pytest.mark.parametrize(
    ("adjudication", "taken"), [("decide", [True, True, False]), ("measure", [False, True, False])]
)
def test_an_own_label_of_the_sample_decides_only_in_a_pile_that_has_the_triplet(
    adjudication: str, taken: list[bool]
) -> None:
    campaign = campaign_where(adjudication)
    for rank in (1, 2, 5):
        say(campaign, rank, "ada", 0, What.SAMPLE)
    pile = Pile(campaign, What.DISAGREEMENT, "ada", None)
    assert [pile.takes(at(campaign, rank), []) for rank in (1, 2, 5)] == taken


def test_an_owner_puts_a_label_right_on_which_all_votes_agree() -> None:
    campaign = campaign_where("decide")
    wrong = at(campaign, 1)
    assert pile_with(wrong, campaign) == What.DISAGREEMENT
    say(campaign, 1, "olga", 0, What.DISAGREEMENT)
    assert label(campaign, 1) == ("labelled", 0, "expert")


def test_an_imported_label_decides_nothing_and_changes_no_decision(tmp_path: Path) -> None:
    campaign = campaign_where("decide")
    say(campaign, 3, "ada", 1)
    path = tmp_path / "gold.csv"
    path.write_text(f"query,question,label\nmoon,{at(campaign, 3).candidate.pair.question},0\n")
    with pytest.raises(UserError, match="gave by adjudication"):
        import_gold(path, campaign, expert="ada", replace=True)
    import_gold(path, campaign, expert="cleo")
    assert label(campaign, 3) == ("labelled", 1, "expert")
    assert write_labels(campaign) == 0
