"""Ties go into new HITs of one place, which none of their earlier workers may take."""

from collections import Counter

import pytest
from django.test import Client
from django.utils import timezone

from annotation.crowd.hit_url import hit_url
from annotation.models import Control, Hit, Judgment, Worker
from annotation.pipeline.collecting.collect import fetch_submissions
from annotation.pipeline.collecting.review import review
from annotation.pipeline.controls.controls import retire
from annotation.pipeline.ledger.reservations import account_of, set_budget
from annotation.pipeline.manual import exclusion as restore
from annotation.pipeline.publishing.pack import pack_hits
from core.errors import UserError
from tests.annotation.pipeline.ledger.ledger_book import FIRST_ROUND, PRICE
from tests.annotation.pipeline.publishing.test_own_controls import add_own
from tests.annotation.pipeline.publishing.test_top_up import disagree, sizes, state, tie_reserves
from tests.conftest import SetStage
from tests.worlds.small_campaign import Judge, Stage

pytestmark = pytest.mark.django_db


@pytest.fixture
def stage(set_stage: SetStage) -> Stage:
    """Two HITs at the crowd, of five triplets each, of five queries."""
    stage = set_stage(candidates_per_query=2, tie_mode="repack")
    stage.publish()
    return stage


@pytest.fixture
def repacked(stage: Stage) -> Stage:
    """Ada and Bob disagreed on all of HIT 1, which went into HIT 3; HIT 2 is for Cara and Dan."""
    disagree(stage, 1, "ada", "bob")
    stage.work("cara", 2, 1)
    stage.advance()
    return stage


def yes_but(*triplets: tuple[str, int]) -> Judge:
    return lambda *triplet: int(triplet not in triplets)


def numbers(*names: str) -> list[int]:
    rows = Worker.objects.filter(worker_id__in=[f"A{name.upper()}" for name in names])
    return sorted(rows.values_list("pk", flat=True))


def controls(hit: Hit) -> Counter[str]:
    return Counter(hit.items.exclude(control=None).values_list("control__kind", flat=True))


def visit(stage: Stage, client: Client, name: str, number: int) -> int:
    """The status of our page as the crowd shows it to somebody who has accepted."""
    parameters = {"assignmentId": "3XYZ", "workerId": f"A{name.upper()}"}
    return client.get(hit_url(stage.hit(number).key), parameters).status_code


# The new HIT


def test_ties_of_five_queries_go_into_a_hit_of_one_place_at_once(repacked: Stage) -> None:
    assert sizes(repacked) == {1: 2, 2: 2, 3: 1}
    hit = repacked.hit(3)
    assert (hit.repack, hit.price_cents, hit.excluded_workers) == (
        True,
        PRICE,
        numbers("ada", "bob"),
    )
    assert set(repacked.triplets(3)) == set(repacked.triplets(1))
    assert tie_reserves(repacked) == [0, 1, 0]


def test_it_has_controls_of_its_own(repacked: Stage) -> None:
    assert controls(repacked.hit(3)) == {"positive": 1, "negative": 1}
    negatives = [
        hit.items.get(control__kind="negative").control for hit in repacked.campaign.hits.all()
    ]
    assert len(set(negatives)) == 3


def test_no_revealed_negative_is_shown_while_a_fresh_one_is_left(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The only fresh one goes into both HITs."""
    negatives = stage.campaign.controls.filter(kind="negative").order_by("key")
    fresh, *revealed = negatives.values_list("key", flat=True)
    monkeypatch.setattr(
        "annotation.pipeline.publishing.repack.reveal_values",
        lambda *_, **__: {(key,) for key in revealed},
    )
    disagree(stage, 1, "ada", "bob")
    disagree(stage, 2, "cara", "dan")
    assert stage.advance().assignments_requested == 2
    shown = stage.campaign.hits.filter(number__gt=2, items__control__kind="negative")
    assert list(shown.values_list("items__control__key", flat=True)) == [fresh, fresh]


def with_own_controls(stage: Stage, each: int) -> dict[str, list[Control]]:
    """Packed with so many of each kind, and published."""
    own = {kind: add_own(stage.campaign, kind) for kind in Control.Kind.values}
    left = {kind: controls[:each] for kind, controls in own.items()}
    kept = [control.pk for controls in left.values() for control in controls]
    stage.campaign.controls.filter(drafted=True).exclude(pk__in=kept).delete()
    pack_hits(stage.campaign, again=True)
    stage.publish()
    return left


def tie_on_one_triplet(stage: Stage) -> None:
    """In HIT 1; of all others two people say the same."""
    one = stage.triplets(1)[0]
    for number in range(1, stage.campaign.hits.count() + 1):
        stage.work("ada", number, 1)
        stage.work("bob", number, yes_but(one))


def test_of_a_campaign_with_controls_of_its_own_it_has_those(set_stage: SetStage) -> None:
    stage = set_stage(candidates_per_query=2, tie_mode="repack")
    own = with_own_controls(stage, each=5)
    disagree(stage, 1, "ada", "bob")
    stage.work("cara", 2, 1)
    stage.advance()
    for kind, known in own.items():
        assert stage.hit(3).items.get(control__kind=kind).control in known


def test_worn_controls_fill_up_a_hit_for_which_the_fresh_ones_are_too_few(
    set_stage: SetStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One worker wears a control: three HITs wear three of four, and one triplet needs three."""
    monkeypatch.setattr("annotation.protocol.packing.own_controls.MOST_WORKERS", 1)
    stage = set_stage(candidates_per_query=3, tie_mode="repack")
    own = with_own_controls(stage, each=4)
    fresh = {one for known in own.values() for one in known if not one.items.exists()}
    tie_on_one_triplet(stage)
    assert stage.advance().assignments_requested == 1
    items = stage.hit(4).items.exclude(control=None).select_related("control")
    assert controls(stage.hit(4)) == {"positive": 3, "negative": 3}
    assert len(fresh) == 2
    assert fresh < {item.control for item in items}


def test_a_hit_is_shorter_where_all_controls_of_its_own_are_too_few(set_stage: SetStage) -> None:
    """One of each kind serves two HITs, but one triplet would be filled up with three of each."""
    stage = set_stage(candidates_per_query=2, tie_mode="repack")
    with_own_controls(stage, each=1)
    tie_on_one_triplet(stage)
    assert stage.advance().assignments_requested == 1
    assert controls(stage.hit(3)) == {"positive": 1, "negative": 1}


def test_a_draft_that_is_confirmed_after_packing_with_the_pool_changes_nothing(
    stage: Stage,
) -> None:
    own = add_own(stage.campaign, "positive")
    disagree(stage, 1, "ada", "bob")
    stage.work("cara", 2, 1)
    assert stage.advance().assignments_requested == 1
    assert controls(stage.hit(3)) == {"positive": 1, "negative": 1}
    for control in own:
        assert not control.items.exists()
        retire(control, now=timezone.now())


def test_its_form_names_none_of_the_earlier_items(repacked: Stage) -> None:
    assert not repacked.sheet(1).keys() & repacked.sheet(3).keys()


def test_its_vote_decides(repacked: Stage) -> None:
    repacked.work("dan", 2, 1)
    repacked.advance()
    repacked.work("cara", 3, 1)
    assert repacked.advance().finished
    assert set(repacked.labels().values()) == {1}
    assert account_of(repacked.campaign).paid_cents == 5 * PRICE
    assert account_of(repacked.campaign).reserved_cents == 0


def test_a_second_pass_makes_no_second_hit(repacked: Stage) -> None:
    for _ in range(2):
        assert repacked.advance().assignments_requested == 0
    assert sizes(repacked) == {1: 2, 2: 2, 3: 1}


# Who may take it


def test_at_the_crowd_only_those_may_take_it_who_are_known_and_have_not_judged_it(
    repacked: Stage,
) -> None:
    known = repacked.mturk.rows(
        "SELECT worker_id, value FROM qualifications WHERE qualification_type_id = ?",
        repacked.campaign.known_id,
    )
    assert dict(known) == dict(Worker.objects.values_list("worker_id", "pk"))
    assert len(known) == 3
    for name in ("ada", "bob", "newcomer"):
        assert repacked.accept(name, 3) is None
    assert repacked.accept("cara", 3)


def test_our_page_refuses_it_to_those_who_have_judged_it(repacked: Stage, client: Client) -> None:
    statuses = {name: visit(repacked, client, name, 3) for name in ("ada", "bob", "cara", "new")}
    assert statuses == {"ada": 403, "bob": 403, "cara": 200, "new": 200}
    assert client.get(hit_url(repacked.hit(3).key)).status_code == 200  # a preview
    # The HIT that they had is still theirs to look at.
    assert visit(repacked, client, "ada", 1) == 200


def test_who_has_judged_the_new_hit_is_refused_the_old_one(repacked: Stage, client: Client) -> None:
    repacked.work("cara", 3)
    repacked.advance()
    assert visit(repacked, client, "cara", 1) == 403


def test_who_is_reviewed_later_is_known_when_the_next_hit_is_made(repacked: Stage) -> None:
    repacked.work("dan", 2, 0)
    repacked.advance()
    assert repacked.hit(4).excluded_workers == numbers("cara", "dan")
    assert repacked.accept("dan", 3)
    assert repacked.accept("dan", 4) is None
    assert repacked.accept("bob", 4)


def test_a_vote_of_somebody_who_got_round_both_counts_once(repacked: Stage) -> None:
    """Ada holds another number at the crowd, and sends the form without opening our page."""
    repacked.mturk.crowd.grant("AADA", qualification_id=repacked.campaign.known_id, value=10**6)
    repacked.work("ada", 3, 1)
    assert repacked.advance().assignments_requested == 1
    assert Judgment.objects.filter(worker__worker_id="AADA", triplet__isnull=False).count() == 5
    assert {repacked.labels()[triplet] for triplet in repacked.triplets(3)} == {"open"}
    repacked.work("cara", 3, 0)
    repacked.advance()
    assert {repacked.labels()[triplet] for triplet in repacked.triplets(3)} == {0}


# When it is made


def test_ties_wait_while_a_vote_for_them_may_come_from_their_hit(stage: Stage) -> None:
    """Bob is excluded and taken back: then there is a tie, and a place for his replacement."""
    disagree(stage, 1, "ada", "bob")
    fetch_submissions(stage.campaign, stage.mturk.crowd)
    review(stage.campaign)
    restore.exclude(stage.campaign, "ABOB", reason="by hand")
    assert stage.advance().assignments_requested == 1
    restore.restore(stage.campaign, "ABOB")
    assert stage.advance().assignments_requested == 0
    assert sizes(stage) == {1: 3, 2: 2}
    stage.work("cara", 1, 0)
    assert stage.advance().labelled == 5


def test_a_group_that_is_not_full_waits_for_companions(stage: Stage) -> None:
    one, other = stage.triplets(1)[0], stage.triplets(2)[1]
    stage.work("ada", 1, 1)
    stage.work("bob", 1, yes_but(one))
    stage.work("cara", 2, 1)
    assert stage.advance().assignments_requested == 0
    stage.work("dan", 2, yes_but(other))
    assert stage.advance().assignments_requested == 1
    assert set(stage.triplets(3)) == {one, other}
    assert stage.hit(3).excluded_workers == numbers("ada", "bob", "cara", "dan")


def test_what_is_left_goes_when_nothing_more_can_come(stage: Stage) -> None:
    one = stage.triplets(1)[0]
    stage.work("ada", 1, 1)
    stage.work("bob", 1, yes_but(one))
    for name in ("cara", "dan"):
        stage.work(name, 2, 1)
    assert stage.advance().assignments_requested == 1
    assert stage.triplets(3) == [one]
    assert controls(stage.hit(3)) == {"positive": 3, "negative": 3}
    stage.work("cara", 3, 0)
    assert stage.advance().finished
    assert stage.labels()[one] == 0


def test_a_hit_that_failed_in_its_only_place_grows(repacked: Stage) -> None:
    repacked.work("cara", 3, slips=1)
    assert repacked.advance().assignments_requested == 1
    assert sizes(repacked) == {1: 2, 2: 2, 3: 2}
    assert repacked.accept("cara", 3) is None


def test_a_tie_that_is_back_by_an_exclusion_grows_the_newest_hit(repacked: Stage) -> None:
    repacked.work("cara", 3, 1)
    repacked.work("dan", 2, 1)
    assert repacked.advance().open == 0
    restore.exclude(repacked.campaign, "ACARA", reason="by hand")
    found = repacked.advance()
    assert (found.open, found.assignments_requested) == (10, 2)
    assert sizes(repacked) == {1: 2, 2: 3, 3: 2}


def test_a_triplet_whose_workers_cannot_all_be_excluded_is_unresolved(set_stage: SetStage) -> None:
    stage = set_stage(candidates_per_query=1, tie_mode="repack", annotators=12, max_votes=13)
    stage.publish()
    bread = ("bread", 1)
    for number in range(12):
        stage.work(f"ada{number}", 1, yes_but(bread) if number % 2 else 1)
    found = stage.advance()
    assert (found.labelled, found.unresolved, found.open, found.finished) == (4, 1, 0, True)
    assert stage.labels()[bread] == "unresolved"
    assert stage.campaign.hits.count() == 1
    assert stage.advance().unresolved == 1


# What it costs


def test_groups_that_the_budget_does_not_reach_wait(set_stage: SetStage) -> None:
    """Eve is paid for nothing, out of what the second group would cost."""
    stage = set_stage(
        candidates_per_query=2, tie_mode="repack", on_failed_control="pay_and_discard"
    )
    set_budget(stage.campaign, 2 * FIRST_ROUND)
    stage.publish()
    stage.work("eve", 1, slips=1)
    stage.work("ada", 1, 1)
    stage.advance()
    stage.work("bob", 1, 0)
    disagree(stage, 2, "cara", "dan")
    assert stage.advance().assignments_requested == 1
    assert (sizes(stage), state(stage)) == ({1: 3, 2: 2, 3: 1}, "capped")
    assert stage.advance().assignments_requested == 0
    set_budget(stage.campaign, 2 * FIRST_ROUND + PRICE)
    assert stage.advance().assignments_requested == 1
    assert (sizes(stage), state(stage)) == ({1: 3, 2: 2, 3: 1, 4: 1}, "active")
    assert {*stage.triplets(3), *stage.triplets(4)} == {*stage.triplets(1), *stage.triplets(2)}


def test_a_pool_too_small_for_a_triplet_alone_is_refused_before_anything_is_spent(
    set_stage: SetStage, small_database: None
) -> None:
    pool = Control.objects.filter(kind="positive").order_by("pk")
    pool.filter(pk__gt=pool[1].pk).delete()
    sentence = "holds 2 positive controls, but a HIT of one repacked triplet needs 3: import more"
    with pytest.raises(UserError, match=sentence):
        set_stage(candidates_per_query=2, control_pool_size=2)


def test_a_pool_that_became_too_small_is_told_and_nothing_is_bought(stage: Stage) -> None:
    """Nobody can retire so many; an administrator of the database could."""
    disagree(stage, 1, "ada", "bob")
    Control.objects.filter(kind="positive").update(retired_at=timezone.now())
    with pytest.raises(UserError, match="No HIT of repacked triplets can be made: The pool holds"):
        stage.advance()
    assert stage.campaign.hits.count() == 2
    Control.objects.filter(kind="positive").update(retired_at=None)
    assert stage.advance().assignments_requested == 1
