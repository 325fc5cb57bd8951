"""Places that nobody needed to ask for are named, and all those that were needed are not."""

import re

import pytest

from annotation.models import Campaign
from tests.chaos.audit import audit
from tests.chaos.scenes import Scene, key, of_hit, of_mode, sentences

pytestmark = pytest.mark.django_db


def grow(scene: Scene, number: int, *, at: float | str) -> None:
    """One place more of a HIT, by an accepted call."""
    hit = f"(SELECT hit_id FROM hits WHERE {of_hit(number, scene)})"
    scene.edit(
        f"UPDATE hits SET max_assignments = max_assignments + 1 WHERE hit_id = {hit}",
        "INSERT INTO extensions (hit_id, assignments, request_id, created_at)"
        f" VALUES ({hit}, 1, 'planted', {at})",
    )


BEYOND = "beyond what the rules ask for."
NEVER_NEEDED = f"(by 1) {BEYOND}"


def test_a_place_for_a_hit_whose_votes_agree_is_named(at_its_end: Scene) -> None:
    grow(at_its_end, 1 if at_its_end.campaign.policy.tie_mode == "extend" else 5, at="4e9")
    assert NEVER_NEEDED in sentences(at_its_end)


@of_mode("repack")
def test_a_place_for_a_tie_that_is_repacked_is_named(at_its_end: Scene) -> None:
    grow(at_its_end, 1, at="4e9")
    assert NEVER_NEEDED in sentences(at_its_end)


def test_a_second_place_for_the_same_tie_is_named(at_its_end: Scene) -> None:
    number = 2 if at_its_end.campaign.policy.tie_mode == "extend" else 4
    grow(at_its_end, number, at="4e9")
    assert "(by 1, 1) beyond what the rules ask for." in sentences(at_its_end)


def test_an_extension_before_anybody_had_voted_is_named(at_its_end: Scene) -> None:
    at_its_end.edit("UPDATE extensions SET created_at = 1 WHERE seq = 1")
    assert BEYOND in sentences(at_its_end)


def test_two_places_at_once_where_one_was_wanted_are_named(at_its_end: Scene) -> None:
    at_its_end.edit(
        "UPDATE extensions SET assignments = 2 WHERE seq = 1",
        "UPDATE hits SET max_assignments = max_assignments + 1"
        " WHERE hit_id = (SELECT hit_id FROM extensions WHERE seq = 1)",
    )
    assert re.search(
        r"extended \(by 2(, 1)?\) beyond what the rules ask for.", sentences(at_its_end)
    )


def test_a_hit_made_with_a_place_too_many_is_named(at_its_end: Scene) -> None:
    at_its_end.edit("UPDATE hits SET max_assignments = max_assignments + 1 WHERE seq = 1")
    assert "was made with 3 assignments, not with 2." in sentences(at_its_end)


@of_mode("repack")
def test_a_repacked_hit_made_with_a_place_too_many_is_named(at_its_end: Scene) -> None:
    at_its_end.edit("UPDATE hits SET max_assignments = 2 WHERE max_assignments = 1")
    assert "was made with 2 assignments, not with 1." in sentences(at_its_end)


# The sixth HIT was made after the tenth work, for ties of the first three HITs.
REPACKED = "was made though the rules did not ask for it."


@of_mode("repack")
def test_a_repacked_hit_for_a_triplet_that_has_its_label_is_named(at_its_end: Scene) -> None:
    """Bob had agreed with ada on the first HIT."""
    at_its_end.edit(
        "UPDATE assignments SET answer ="
        " (SELECT answer FROM assignments b WHERE b.hit_id = assignments.hit_id"
        "  AND b.worker_id = 'AADA')"
        " WHERE worker_id = 'ABOB' AND hit_id = (SELECT hit_id FROM hits"
        f" WHERE {of_hit(1, at_its_end)})"
    )
    assert f"HIT {key(6, at_its_end)} {REPACKED}" in sentences(at_its_end)


@of_mode("repack")
def test_a_repacked_hit_made_before_the_tie_is_named(at_its_end: Scene) -> None:
    at_its_end.edit(
        f"UPDATE hits SET created_at = 1 WHERE requester_annotation = '{key(6, at_its_end)}'"
    )
    assert f"HIT {key(6, at_its_end)} {REPACKED}" in sentences(at_its_end)


@of_mode("repack")
def test_a_repacked_hit_while_a_place_is_outstanding_is_named(at_its_end: Scene) -> None:
    grow(at_its_end, 2, at="1")
    assert f"HIT {key(6, at_its_end)} {REPACKED}" in sentences(at_its_end)


@of_mode("repack")
def test_a_repacked_hit_where_the_tie_was_to_be_extended_is_named(at_its_end: Scene) -> None:
    Campaign.objects.filter(pk=at_its_end.campaign.pk).update(
        policy_data=at_its_end.campaign.policy_data | {"tie_mode": "extend"}
    )
    assert f"HIT {key(6, at_its_end)} {REPACKED}" in sentences(at_its_end)


@of_mode("repack")
def test_a_repacked_hit_because_the_first_is_closed_is_right(at_its_end: Scene) -> None:
    """Nobody could take a place of those that hold its triplets."""
    Campaign.objects.filter(pk=at_its_end.campaign.pk).update(
        policy_data=at_its_end.campaign.policy_data | {"tie_mode": "extend"}
    )
    at_its_end.edit("UPDATE hits SET expired = 1")
    assert audit(at_its_end.state, at_its_end.campaign) == []
