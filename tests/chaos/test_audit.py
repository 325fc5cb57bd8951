"""A finished campaign is found right, and each violation planted in one is named."""

from datetime import UTC, datetime

import pytest

from annotation.models import Assignment, Exclusion, Hit, HitItem, Judgment, Triplet, Worker
from tests.chaos.audit import audit
from tests.chaos.scenes import Scene, first_work, key, of_hit, of_mode, sentences

pytestmark = pytest.mark.django_db

FIRST = "assignment_id = (SELECT assignment_id FROM assignments WHERE submit_number = 1)"


def test_a_finished_campaign_gives_no_sentence(at_its_end: Scene) -> None:
    assert audit(at_its_end.state, at_its_end.campaign) == []


# Duplicates


def duplicate(scene: Scene, annotation: str) -> None:
    """A HIT as the first one, under this annotation."""
    scene.edit(
        "INSERT INTO hits (hit_id, hit_type_id, requester_annotation, max_assignments,"
        " open_assignments, created_at, expires_at, reward_cents, fee_cents, kind,"
        " external_url, frame_height, question)"
        f" SELECT 'TWIN', hit_type_id, '{annotation}', 2, 2, created_at, expires_at, reward_cents,"
        f" fee_cents, kind, external_url, frame_height, question FROM hits WHERE {of_hit(1, scene)}"
    )


def test_two_hits_of_one_annotation_are_named(at_its_end: Scene) -> None:
    duplicate(at_its_end, key(1, at_its_end))
    assert f"The crowd has 2 HITs for our HIT {key(1, at_its_end)}." in sentences(at_its_end)


def test_a_hit_that_we_do_not_know_is_named(at_its_end: Scene) -> None:
    duplicate(at_its_end, key(99, at_its_end))
    assert f"HIT {key(99, at_its_end)}, which is none of ours." in sentences(at_its_end)


def test_hits_of_other_campaigns_are_none_of_its_business(at_its_end: Scene) -> None:
    duplicate(at_its_end, "0123456789abcdef-000001")
    assert audit(at_its_end.state, at_its_end.campaign) == []


def test_a_hit_that_the_crowd_does_not_have_is_named(at_its_end: Scene) -> None:
    first = of_hit(1, at_its_end)
    at_its_end.edit(f"UPDATE hits SET requester_annotation = 'lost' WHERE {first}")
    assert f"HIT {key(1, at_its_end)} is not at the crowd." in sentences(at_its_end)


def test_a_hit_under_another_id_is_named(at_its_end: Scene) -> None:
    Hit.objects.filter(number=1).update(crowd_id="OTHER")
    assert "at the crowd, here it is OTHER." in sentences(at_its_end)


# Votes


def test_an_assignment_that_is_not_stored_is_named(at_its_end: Scene) -> None:
    work = Assignment.objects.create(
        hit=Hit.objects.get(number=1),
        worker=Worker.objects.create(crowd="mturk", worker_id="GHOST"),
        crowd_id="NEVER",
        accepted_at=datetime.now(UTC),
        submitted_at=datetime.now(UTC),
        answers={},
    )
    assert f"Assignment {work.crowd_id} is stored, but nobody has submitted it." in sentences(
        at_its_end
    )


def test_a_lost_assignment_is_named(at_its_end: Scene) -> None:
    lost = first_work(at_its_end)
    Assignment.objects.filter(pk=lost.pk).update(crowd_id="RENAMED")
    said = sentences(at_its_end)
    assert f"Assignment {lost.crowd_id} was submitted and is not stored." in said
    assert "Assignment RENAMED is stored, but nobody has submitted it." in said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"status": "rejected"}, "with the status rejected, at the crowd it is approved."),
        ({"answers": {}}, "with the answers {}, at the crowd it is "),
        ({"passed": False, "failure": "missed"}, "with the review False, at the crowd it is True."),
        ({"passed": None}, "with the review None, at the crowd it is True."),
    ],
)
def test_an_assignment_stored_otherwise_is_named(
    at_its_end: Scene, change: dict[str, object], said: str
) -> None:
    work = first_work(at_its_end)
    Assignment.objects.filter(pk=work.pk).update(**change)
    assert f"Assignment {work.crowd_id} is stored {said}" in sentences(at_its_end)


def test_an_assignment_of_another_worker_or_hit_is_named(at_its_end: Scene) -> None:
    ghost = Worker.objects.create(crowd="mturk", worker_id="GHOST")
    Assignment.objects.filter(pk=first_work(at_its_end).pk).update(
        worker=ghost, hit=Hit.objects.get(number=2)
    )
    said = sentences(at_its_end)
    assert "is stored with the worker GHOST, at the crowd it is AADA." in said
    assert f"is stored with the HIT {key(2, at_its_end)}, at the crowd it is " in said


def test_a_lost_vote_is_named(at_its_end: Scene) -> None:
    lost = Judgment.objects.filter(assignment=first_work(at_its_end)).exclude(triplet=None)[0]
    lost.delete()
    assert f"The answer of AADA to item {lost.item.key} of HIT {key(1, at_its_end)} is lost." in (
        sentences(at_its_end)
    )


def test_a_changed_vote_is_named(at_its_end: Scene) -> None:
    vote = Judgment.objects.filter(assignment=first_work(at_its_end)).exclude(triplet=None)[0]
    Judgment.objects.filter(pk=vote.pk).update(value=1 - vote.value)
    assert f"item {vote.item.key} of HIT {key(1, at_its_end)} is stored as" in sentences(at_its_end)


def test_a_doubled_vote_is_named(at_its_end: Scene) -> None:
    work = first_work(at_its_end)
    elsewhere = HitItem.objects.filter(hit__number=5).exclude(triplet=None)[0]
    ghost = Worker.objects.create(crowd="mturk", worker_id="GHOST")
    Judgment.objects.create(assignment=work, item=elsewhere, worker=ghost, value=1)
    assert f"item {elsewhere.key} is stored that assignment {work.crowd_id} does not hold." in (
        sentences(at_its_end)
    )


# Decisions


def test_an_assignment_without_a_decision_is_named(at_its_end: Scene) -> None:
    at_its_end.edit(f"UPDATE assignments SET status = 'Submitted' WHERE {FIRST}")
    assert "is neither approved nor rejected." in sentences(at_its_end)


def test_good_work_that_was_rejected_is_named(at_its_end: Scene) -> None:
    at_its_end.edit(f"UPDATE assignments SET status = 'Rejected' WHERE {FIRST}")
    assert "is rejected, but its work was to be paid." in sentences(at_its_end)


def test_bad_work_that_was_approved_is_named(at_its_end: Scene) -> None:
    at_its_end.edit("UPDATE assignments SET status = 'Approved' WHERE status = 'Rejected'")
    assert "is approved, but its controls are wrong." in sentences(at_its_end)


def test_bad_work_that_time_has_approved_is_nobody_s_decision(at_its_end: Scene) -> None:
    at_its_end.edit(
        "UPDATE assignments SET status = 'Approved', approved_at = auto_approval_at"
        " WHERE status = 'Rejected'"
    )
    assert "its controls are wrong" not in sentences(at_its_end)


# Workers, exclusions and labels


def test_a_worker_twice_on_a_triplet_is_named(at_its_end: Scene) -> None:
    """Bob, who came second to the first HIT, was ada all along."""
    at_its_end.edit(
        "DROP INDEX assignments_once",
        "UPDATE assignments SET worker_id = 'AADA' WHERE worker_id = 'ABOB'",
    )
    triplet = HitItem.objects.filter(hit__number=1).exclude(triplet=None)[0].triplet_id
    assert f"Worker AADA has judged triplet {triplet} 2 times." in sentences(at_its_end)


@of_mode("extend")
def test_a_missing_exclusion_is_named(at_its_end: Scene) -> None:
    Exclusion.objects.filter(campaign=at_its_end.campaign).delete()
    assert "Worker AEVE failed too often and is not excluded." in sentences(at_its_end)


def test_an_exclusion_without_reason_is_named(at_its_end: Scene) -> None:
    Exclusion.objects.create(
        campaign=at_its_end.campaign,
        worker=Worker.objects.get(worker_id="AADA"),
        failures=1,
        reviewed=1,
    )
    assert "Worker AADA is excluded without having failed too often." in sentences(at_its_end)


def test_a_missing_vote_is_named(at_its_end: Scene) -> None:
    """The last work of all, which broke a tie, was never submitted."""
    at_its_end.edit(
        "DELETE FROM money WHERE assignment_id = (SELECT assignment_id FROM assignments"
        " ORDER BY submit_number DESC LIMIT 1)",
        "DELETE FROM assignments WHERE submit_number ="
        " (SELECT MAX(submit_number) FROM assignments)",
    )
    assert "1 more are missing." in sentences(at_its_end)


@pytest.mark.parametrize(
    "change",
    [
        {"status": "open", "label": None},
        {"status": "unresolved", "label": None},
        {"votes": 9},
        {"positive_votes": 1, "votes": 1},
    ],
)
def test_a_triplet_that_is_stored_otherwise_is_named(
    at_its_end: Scene, change: dict[str, object]
) -> None:
    triplet = Triplet.objects.filter(label=0, votes=2, positive_votes=0)[0]
    Triplet.objects.filter(pk=triplet.pk).update(**change)
    assert f"Triplet {triplet.pk} is stored as (" in sentences(at_its_end)


def test_a_wrong_label_is_named(at_its_end: Scene) -> None:
    triplet = Triplet.objects.filter(label=0)[0]
    Triplet.objects.filter(pk=triplet.pk).update(label=1)
    assert f"Triplet {triplet.pk} is stored as ('labelled', 1," in sentences(at_its_end)


def test_a_triplet_that_nobody_was_asked_about_is_named(at_its_end: Scene) -> None:
    item = HitItem.objects.filter(hit__number=5).exclude(triplet=None)[0]
    Judgment.objects.filter(item=item).delete()
    item.delete()
    assert f"Triplet {item.triplet_id} is in no HIT." in sentences(at_its_end)
