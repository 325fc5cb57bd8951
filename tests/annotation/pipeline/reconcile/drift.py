"""A reconciliation on the stage, and the ways to make ours and theirs differ."""

from collections.abc import Iterator

from annotation.crowd.hit_url import hit_url
from annotation.crowd.port import CrowdError, CrowdHit
from annotation.models import Account
from annotation.pipeline.ledger.reservations import account_of, set_budget
from annotation.pipeline.reconcile.report import Reconciled
from annotation.pipeline.reconcile.run import reconcile
from tests.worlds.mturk import LentCrowd
from tests.worlds.small_campaign import Stage


def compare(stage: Stage, **options: bool) -> Reconciled:
    stage.campaign.refresh_from_db()
    return reconcile(stage.campaign, stage.mturk.crowd, clock=stage.mturk.clock.now, **options)


def mended(stage: Stage, **options: bool) -> dict[str, int]:
    """What was mended; a second run finds nothing more."""
    report = compare(stage, **options)
    assert report.stopped_by is None
    assert compare(stage, **options).done == []
    return repairs(report)


def repairs(report: Reconciled) -> dict[str, int]:
    return {kind: count for kind, count in report.repaired.items() if count}


def create_there(
    stage: Stage, annotation: str, *, token: str = "by hand", max_assignments: int = 2
) -> str:
    """A HIT that somebody else made at the crowd."""
    return stage.mturk.crowd.create_hit(
        hit_type_id=stage.campaign.hit_type_id,
        url=hit_url(annotation),
        max_assignments=max_assignments,
        lifetime_seconds=86400,
        token=token,
        annotation=annotation,
    )


def delete_there(stage: Stage, number: int) -> str:
    crowd_id = stage.hit(number).crowd_id
    assert crowd_id
    stage.mturk.crowd.set_expiration(crowd_id, stage.mturk.clock.now())
    stage.mturk.crowd.delete_hit(crowd_id)
    return crowd_id


def forget_there(stage: Stage, number: int) -> None:
    """The crowd loses a HIT, whatever was done on it."""
    gone = "UPDATE hits SET expired = 1, deleted_at = created_at WHERE hit_id = ?"
    stage.mturk.alter(gone, stage.hit(number).crowd_id)


def account(stage: Stage) -> Account:
    return account_of(stage.campaign)


def spend_all_but(stage: Stage, cents: int) -> None:
    """Lower the budget to what is in use, and so many cents."""
    now = account(stage)
    set_budget(stage.campaign, now.budget_cents - now.available_cents + cents)


class FailingCrowd(LentCrowd):
    """The real adapter, whose list of HITs breaks off after the first of them."""

    def hits(self) -> Iterator[CrowdHit]:
        yield next(super().hits())
        raise CrowdError("The list broke off.", permanent=False)


def finish(stage: Stage, *names: str) -> None:
    """All who can take a HIT judge it; the campaign ends, and the money is right to the cent."""
    for number in stage.campaign.hits.values_list("number", flat=True):
        for name in names:
            if assignment_id := stage.accept(name, number):
                stage.mturk.person(name).submit(assignment_id, stage.sheet(number))
    assert stage.advance().finished
    assert money(stage) == (stage.mturk.spent_cents, 0)
    assert stage.mturk.on_hold_cents == 0


def money(stage: Stage) -> tuple[int, int]:
    """(spent, reserved)"""
    now = account(stage)
    return now.spent_cents, now.reserved_cents
