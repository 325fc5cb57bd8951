"""A ledger that is not the crowd's money is named, to the cent."""

import pytest

from annotation.models import Account, Assignment, Entry, Hit
from tests.chaos.audit import audit
from tests.chaos.scenes import Scene, first_work, key, of_hit, sentences

pytestmark = pytest.mark.django_db


def move(scene: Scene, source: str, target: str, cents: int, **of: object) -> None:
    Entry.objects.create(
        account=scene.campaign.account,
        key=f"planted:{source}:{target}",
        source=source,
        target=target,
        cents=cents,
        **of,
    )


def test_an_account_that_its_entries_do_not_make_is_named(at_its_end: Scene) -> None:
    account = Account.objects.get(campaign=at_its_end.campaign)
    Account.objects.update(paid_cents=account.paid_cents + 1)
    said = sentences(at_its_end)
    assert f"{account.paid_cents + 1} cents are paid, its entries sum to {account.paid_cents}." in (
        said
    )
    assert f"The ledger has spent {account.spent_cents + 1} cents, the crowd " in said


def test_a_cent_more_than_the_crowd_has_spent_is_named(at_its_end: Scene) -> None:
    spent = at_its_end.campaign.account.spent_cents
    move(at_its_end, "available", "discarded", 1)
    assert f"The ledger has spent {spent + 1} cents, the crowd {spent}." in sentences(at_its_end)


def test_a_payment_of_the_crowd_that_was_not_booked_is_named(at_its_end: Scene) -> None:
    at_its_end.edit(
        "INSERT INTO money (at, kind, hit_id, assignment_id, available, on_hold, spent)"
        " SELECT 0, 'reward', hit_id, assignment_id, -15, 0, 15 FROM assignments"
        " WHERE submit_number = 1"
    )
    said = sentences(at_its_end)
    assert " cost 34 cents, 19 are booked." in said
    assert "The ledger has spent" in said


def test_money_booked_for_the_wrong_assignment_is_named(at_its_end: Scene) -> None:
    """In all as much as the crowd, but not for this work."""
    first, second = Assignment.objects.filter(account="paid").order_by("submitted_at")[:2]
    move(at_its_end, "paid", "available", 1, assignment=first)
    move(at_its_end, "available", "paid", 1, assignment=second)
    said = sentences(at_its_end)
    assert f"{first.crowd_id} cost 19 cents, 18 are booked." in said
    assert f"{second.crowd_id} cost 19 cents, 20 are booked." in said


def test_money_on_the_wrong_account_is_named(at_its_end: Scene) -> None:
    work = first_work(at_its_end)
    move(at_its_end, "paid", "discarded", 19, assignment=work)
    assert f"{work.crowd_id} is paid; it is marked as paid, and its money as ['discarded']." in (
        sentences(at_its_end)
    )


@pytest.mark.parametrize(("mark", "said"), [("", "reserved"), ("released", "released")])
def test_an_assignment_marked_otherwise_is_named(at_its_end: Scene, mark: str, said: str) -> None:
    work = first_work(at_its_end)
    Assignment.objects.filter(pk=work.pk).update(account=mark)
    assert f"{work.crowd_id} is paid; it is marked as {said}," in sentences(at_its_end)


def test_a_reservation_that_the_crowd_does_not_hold_is_named(at_its_end: Scene) -> None:
    hit = Hit.objects.get(number=1)
    move(at_its_end, "available", "reserved", 19, hit=hit)
    said = sentences(at_its_end)
    assert f"For HIT {hit.key}, 19 cents are reserved, but the crowd holds 0" in said
    assert (
        "19 cents are reserved, but the crowd's hold and the assignments kept for ties are 0."
        in said
    )


def test_a_reservation_for_no_hit_is_named(at_its_end: Scene) -> None:
    move(at_its_end, "available", "reserved", 7)
    assert (
        "7 cents are reserved, but the crowd's hold and the assignments kept for ties are 0."
        in (sentences(at_its_end))
    )


def test_a_hold_of_the_crowd_without_a_reservation_is_named(at_its_end: Scene) -> None:
    at_its_end.edit(
        "INSERT INTO money (at, kind, hit_id, available, on_hold, spent)"
        f" SELECT 0, 'hold', hit_id, -19, 19, 0 FROM hits WHERE {of_hit(1, at_its_end)}"
    )
    assert f"For HIT {key(1, at_its_end)}, 0 cents are reserved, but the crowd holds 19" in (
        sentences(at_its_end)
    )


def test_a_tie_reserve_without_money_is_named(at_its_end: Scene) -> None:
    Hit.objects.filter(number=1).update(tie_reserve=1)
    assert "and its assignments kept for ties cost 19." in sentences(at_its_end)


def test_a_hold_and_a_tie_reserve_with_money_are_right(at_its_end: Scene) -> None:
    hit = Hit.objects.get(number=1)
    Hit.objects.filter(pk=hit.pk).update(tie_reserve=1)
    at_its_end.edit(
        "INSERT INTO money (at, kind, hit_id, available, on_hold, spent)"
        f" SELECT 0, 'hold', hit_id, -19, 19, 0 FROM hits WHERE {of_hit(1, at_its_end)}"
    )
    move(at_its_end, "available", "reserved", 38, hit=hit)
    assert audit(at_its_end.state, at_its_end.campaign) == []
