"""Controls that the record proposes: a person has the last word."""

import pytest
from django.utils import timezone

from annotation.jobs.handlers import HANDLERS
from annotation.models import Campaign, Control, ControlCandidate, Judgment, Triplet
from annotation.pipeline.controls import candidates
from annotation.pipeline.controls.candidates import (
    CandidateCounts,
    confirm,
    dismiss,
    find_candidates,
)
from annotation.pipeline.controls.controls import Texts
from annotation.pipeline.labelling.label import write_labels
from annotation.pipeline.publishing.pack import positive_names
from core.errors import UserError
from retrieval.jobs.queue import request, run
from tests.annotation.support.experts import report
from tests.exports.support.campaigns import make_campaign

pytestmark = pytest.mark.django_db

# The first of each is agreed on by three, the second by two, the third is disputed.
VERDICTS = {name: ["ada+ bob+ third+", "ada+ bob+", "ada+ bob- third+"] for name in ("moon", "tea")}
NEW = Texts("how far is the moon", "distance to the moon", "Far.")


@pytest.fixture
def campaign() -> Campaign:
    """Queries and questions are put into words that share most of each other's."""
    campaign = make_campaign(VERDICTS)
    for triplet in campaign.triplets.select_related("candidate__query", "candidate__pair"):
        candidate = triplet.candidate
        candidate.pair.question = f"about {candidate.query.key}, what is {candidate.rank}"
        candidate.pair.save()
        candidate.query.text = f"what about {candidate.query.key}"
        candidate.query.save()
    return campaign


def proposed(campaign: Campaign) -> set[tuple[str, int]]:
    rows = ControlCandidate.objects.filter(triplet__campaign=campaign)
    columns = "triplet__candidate__query__key", "triplet__candidate__rank"
    return set(rows.values_list(*columns))


def test_what_three_agree_on_is_a_candidate(campaign: Campaign) -> None:
    assert find_candidates(campaign) == CandidateCounts(looked_at=4, new=2, open=2)
    assert proposed(campaign) == {("moon", 1), ("tea", 1)}


def test_two_votes_are_enough_of_steady_workers(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ada agrees with all six labels, bob with four of them."""
    monkeypatch.setattr("annotation.protocol.labels.control_candidates.STEADY_JUDGED", 4)
    find_candidates(campaign)
    assert proposed(campaign) == {("moon", 1), ("tea", 1)}
    monkeypatch.setattr("annotation.protocol.labels.control_candidates.STEADY_SHARE", 4 / 6)
    find_candidates(campaign)
    assert proposed(campaign) == {(name, rank) for name in ("moon", "tea") for rank in (1, 2)}


def say(campaign: Campaign, name: str, rank: int, label: int) -> None:
    triplet = campaign.triplets.get(candidate__query__key=name, candidate__rank=rank)
    triplet.expert_labels.create(expert=f"dan {label}", label=label, source="import")


def test_two_votes_are_enough_where_an_expert_says_yes(campaign: Campaign) -> None:
    say(campaign, "tea", 2, 1)
    find_candidates(campaign)
    assert proposed(campaign) == {("moon", 1), ("tea", 1), ("tea", 2)}


def test_what_an_expert_denies_is_no_candidate(campaign: Campaign) -> None:
    """Whatever another expert says."""
    say(campaign, "moon", 1, 0)
    say(campaign, "tea", 1, 1)
    say(campaign, "tea", 1, 0)
    find_candidates(campaign)
    assert proposed(campaign) == set()


def test_votes_that_do_not_count_propose_nothing(campaign: Campaign) -> None:
    Judgment.objects.filter(worker__worker_id="third").delete()
    write_labels(campaign)
    assert find_candidates(campaign).new == 0


def test_what_somebody_has_reported_is_no_candidate(campaign: Campaign) -> None:
    report(campaign.triplets.get(candidate__query__key="tea", candidate__rank=1))
    find_candidates(campaign)
    assert proposed(campaign) == {("moon", 1)}


def test_run_again_it_proposes_nothing_twice(campaign: Campaign) -> None:
    find_candidates(campaign)
    dismiss(ControlCandidate.objects.all()[0], by="dan", now=timezone.now())
    assert find_candidates(campaign) == CandidateCounts(looked_at=2, new=0, open=1)


def test_no_more_wait_than_a_person_can_read(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "MOST_OPEN", 1)
    assert find_candidates(campaign).open == 1
    assert find_candidates(campaign).new == 0


def test_nothing_is_packed_before_a_person_has_confirmed_it(campaign: Campaign) -> None:
    before = positive_names()
    find_candidates(campaign)
    assert positive_names() == before
    first, second = ControlCandidate.objects.order_by("pk")
    dismiss(first, by="dan", now=timezone.now())
    assert positive_names() == before
    control = confirm(second, NEW, by="dan", now=timezone.now())
    assert set(positive_names()) == {*before, control.key}
    second.refresh_from_db()
    assert (second.state, second.control, second.decided_by) == ("confirmed", control, "dan")
    assert Texts(control.query, control.question, control.answer) == NEW


def test_where_a_campaign_has_controls_of_its_own_it_joins_those(campaign: Campaign) -> None:
    own = campaign.controls.create(kind="positive", key="d", drafted=True)
    campaign.hits.all()[0].items.filter(control__isnull=False).update(control=own)
    before = positive_names()
    find_candidates(campaign)
    control = confirm(ControlCandidate.objects.all()[0], NEW, by="dan", now=timezone.now())
    assert (control.campaign, control.drafted) == (campaign, True)
    assert positive_names() == before


def test_what_all_deny_joins_them_as_a_negative(campaign: Campaign) -> None:
    own = campaign.controls.create(kind="negative", key="d", drafted=True)
    Judgment.objects.filter(triplet__candidate__rank=1).update(value=0)
    write_labels(campaign)
    find_candidates(campaign)
    assert not ControlCandidate.objects.exists()  # the pool's negatives are drawn
    campaign.hits.all()[0].items.filter(control__isnull=False).update(control=own)
    pairs = [triplet.candidate.pair for triplet in campaign.triplets.filter(label=0)]
    for pair in pairs:  # of the same topic, yet something else
        pair.question = "about this, who knows more of it"
        pair.save()
    find_candidates(campaign)
    assert proposed(campaign) == {("moon", 1), ("tea", 1)}
    control = confirm(ControlCandidate.objects.all()[0], NEW, by="dan", now=timezone.now())
    assert (control.kind, control.campaign, control.expected) == ("negative", campaign, 0)


def test_a_control_candidate_is_decided_once(campaign: Campaign) -> None:
    find_candidates(campaign)
    first = ControlCandidate.objects.all()[0]
    confirm(first, NEW, by="dan", now=timezone.now())
    other = Texts("how old is ada", "the age of ada", "Ten.")
    with pytest.raises(UserError, match="decided on this candidate already"):
        confirm(first, other, by="cleo", now=timezone.now())
    with pytest.raises(UserError, match="decided on this candidate already"):
        dismiss(first, by="cleo", now=timezone.now())
    assert not Control.objects.filter(query=other.query).exists()


def test_words_that_are_no_control_leave_the_candidate_open(campaign: Campaign) -> None:
    find_candidates(campaign)
    first = ControlCandidate.objects.all()[0]
    with pytest.raises(UserError, match="the answer is empty"):
        confirm(first, NEW._replace(answer=""), by="dan", now=timezone.now())
    first.refresh_from_db()
    assert (first.state, first.control) == ("open", None)


def test_what_is_disputed_since_cannot_be_confirmed(campaign: Campaign) -> None:
    find_candidates(campaign)
    first = ControlCandidate.objects.all()[0]
    Triplet.objects.filter(pk=first.triplet_id).update(votes=4)
    first = ControlCandidate.objects.get(pk=first.pk)
    with pytest.raises(UserError, match="has no label, or somebody disagrees"):
        confirm(first, NEW, by="dan", now=timezone.now())


def test_what_an_expert_denies_since_cannot_be_confirmed(campaign: Campaign) -> None:
    find_candidates(campaign)
    say(campaign, "tea", 1, 0)
    denied = ControlCandidate.objects.get(triplet__candidate__query__key="tea")
    with pytest.raises(UserError, match="somebody disagrees"):
        confirm(denied, NEW, by="dan", now=timezone.now())


def test_it_is_a_job_that_says_what_it_found(campaign: Campaign) -> None:
    job = run(request("control-candidates", "demo", {}, by=None).pk, "me", HANDLERS)
    assert job
    assert job.result == {"looked_at": 4, "new": 2, "open": 2}
