"""Bonuses, in Prolific's two steps: set up, which is harmless, and pay, which is not."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from annotation.crowd.port import CrowdError
from annotation.crowd.prolific.api.values import Record, id_of, major_units
from annotation.crowd.prolific.connection import ProlificConnection

MOST_AT_ONCE = 200  # as Prolific recommends


@dataclass(frozen=True)
class BulkBonus:
    """In cents, fees and taxes with parts of a cent."""

    bulk_id: str
    study_id: str
    amount_cents: int
    fees: Decimal
    tax: Decimal
    total: Decimal


class Bonuses:
    def __init__(self, connection: ProlificConnection) -> None:
        self._connection = connection

    def set_up(self, study_id: str, cents: Sequence[tuple[str, int]]) -> BulkBonus:
        """By submission. Nothing is paid yet, and what is never paid costs nothing."""
        if not 1 <= len(cents) <= MOST_AT_ONCE:
            raise CrowdError(
                f"A bulk payment at Prolific takes 1 to {MOST_AT_ONCE} bonuses, not {len(cents)}:"
                " divide them.",
                permanent=True,
            )
        lines = [f"{id_of(it, 'submission')},{major_units(each)}\n" for it, each in cents]
        body = {"study_id": id_of(study_id, "study"), "csv_bonuses": "".join(lines)}
        path = "/submissions/bonus-payments/"
        record = Record(self._connection.call("POST", path, body), "bulk bonus")
        bulk = BulkBonus(
            record.id(),
            record.id("study"),
            record.number("amount"),
            record.exact("fees"),
            record.exact("vat"),
            record.exact("total_amount"),
        )
        if bulk.amount_cents != sum(each for _, each in cents):
            raise CrowdError(
                f"Prolific read bonuses of {sum(each for _, each in cents)} cents as"
                f" {bulk.amount_cents}: do not pay {bulk.bulk_id}.",
                permanent=True,
            )
        return bulk

    def pay(self, bulk_id: str) -> None:
        """Each call pays all of it again: OutcomeUnknown where no answer came.

        Record the intent before the call; the bonuses of its submissions show later what was paid.
        """
        self._connection.pay(f"/bulk-bonus-payments/{id_of(bulk_id, 'bulk bonus')}/pay/")
