"""Money that goes into an account of the site's Turk, and what is owed to its workers.

The store's ledger is the one record of it, append-only and in the order of its rows. A deposit is
first written down here and then booked there; a pay-out names a stretch of rows, from which its
list can be made again whenever it is wanted. Killed at any moment, neither is lost or done twice.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Sum
from django.utils import timezone

from annotation.crowd.emulator.state.money import deposit as book_deposit
from annotation.crowd.emulator.state.money import dollars
from annotation.crowd.inhouse.models import Member
from annotation.crowd.turk.models import AccountDeposit, Payout, RequesterAccount
from annotation.crowd.turk.stores import Environment, store_of
from annotation.crowd.turk.workers import PREFIX
from annotation.crowd.wire.session import Session
from core.errors import UserError
from core.text.money import money

LARGEST_CENTS = 100_000_000  # of one deposit
HEAD = ("worker id", "name", "email", "rewards", "bonuses", "total", "assignments", "currency")


@dataclass(frozen=True)
class Owed:
    """To one worker."""

    worker_id: str
    reward_cents: int
    bonus_cents: int
    assignments: int

    @property
    def cents(self) -> int:
        return self.reward_cents + self.bonus_cents


def deposit(account: RequesterAccount, cents: int) -> None:
    if not 1 <= cents <= LARGEST_CENTS:
        raise UserError(
            f"A deposit is from {money(1)} to {money(LARGEST_CENTS)}, not {money(cents)}."
        )
    AccountDeposit.objects.create(account=account, cents=cents, made_at=timezone.now())
    transaction.on_commit(lambda: book_deposits(account))


def book_deposits(account: RequesterAccount) -> None:
    """What was deposited and is not in the ledger yet, for whatever reason.

    And the other way round: a backup's ledger is of a later moment than its database.
    """
    with store_of(account, Environment.PRODUCTION).writing() as session:
        # Read while nobody else can book: each deposit is in one of the two sums once.
        made = account.deposits.aggregate(cents=Sum("cents"))["cents"] or 0
        [booked] = session.db.execute(
            "SELECT COALESCE(SUM(available), 0) FROM money WHERE kind = 'deposit'"
        ).fetchone()
        if made > booked:
            book_deposit(session, made - booked)
        elif made < booked:
            account.deposits.create(cents=booked - made, made_at=timezone.now())


def owed(account: RequesterAccount) -> list[Owed]:
    """Since the last pay-out."""
    with store_of(account, Environment.PRODUCTION).reading() as session:
        return _owed(session, _paid(account)[1], _last_row(session))


def new_payout(account: RequesterAccount) -> Payout:
    """All that is owed now; UserError where that is nothing."""
    number, after = _paid(account)
    with store_of(account, Environment.PRODUCTION).reading() as session:
        until = _last_row(session)
        cents = sum(line.cents for line in _owed(session, after, until))
    if not cents:
        raise UserError(f"Nobody is owed anything by {account}: all approved work is paid out.")
    number += 1  # taken, where another one was made since: the stretch would overlap
    stretch = {"after": after, "until": until, "cents": cents}
    try:
        with transaction.atomic():
            return account.payouts.create(number=number, made_at=timezone.now(), **stretch)
    except IntegrityError as error:
        raise UserError(
            f"Pay-out {number} of {account} was made by somebody else at this moment: look at it, "
            "then try again."
        ) from error


def numbered_payout(account: RequesterAccount, number: int) -> Payout:
    payout = account.payouts.filter(number=number).first() if 0 < number < 1 << 31 else None
    if payout is None:
        made = account.payouts.count()
        if not made:
            raise UserError(f"{account} has no pay-outs yet: `quorum turk pay-out {account}`.")
        raise UserError(f"{account} has no pay-out {number}: it has {made}.")
    return payout


def lines_of(payout: Payout) -> Iterator[tuple[object, ...]]:
    """Under HEAD: with the names and addresses that the members have now."""
    with store_of(payout.account, Environment.PRODUCTION).reading() as session:
        lines = _owed(session, payout.after, payout.until)
    ids = [line.worker_id.removeprefix(PREFIX) for line in lines]
    members = Member.objects.filter(worker_id__in=ids).select_related("user")
    users = {PREFIX + member.worker_id: member.user for member in members}
    for line in lines:
        user = users.get(line.worker_id)
        yield (
            line.worker_id,
            user and (user.get_full_name() or user.get_username()),
            user and user.email,
            dollars(line.reward_cents),
            dollars(line.bonus_cents),
            dollars(line.cents),
            line.assignments,
            settings.CURRENCY,
        )


def _paid(account: RequesterAccount) -> tuple[int, int]:
    """The number of the last pay-out, and the last row that is in it."""
    last = account.payouts.order_by("number").last()
    return (last.number, last.until) if last else (0, 0)


def _last_row(session: Session) -> int:
    [last] = session.db.execute("SELECT COALESCE(MAX(seq), 0) FROM money").fetchone()
    return int(last)


def _owed(session: Session, after: int, until: int) -> list[Owed]:
    rows = session.db.execute(
        "SELECT a.worker_id, SUM(CASE m.kind WHEN 'reward' THEN m.spent ELSE 0 END),"
        " SUM(CASE m.kind WHEN 'bonus' THEN m.spent ELSE 0 END), SUM(m.kind = 'reward')"
        " FROM money m JOIN assignments a USING (assignment_id)"
        " WHERE m.kind IN ('reward', 'bonus') AND m.seq > ? AND m.seq <= ?"
        " GROUP BY a.worker_id HAVING SUM(m.spent) > 0 ORDER BY a.worker_id",
        (after, until),
    )
    return [Owed(*row) for row in rows]
