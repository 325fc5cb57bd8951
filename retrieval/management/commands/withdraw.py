from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction

from core.command import QuorumCommand, record
from retrieval.corpus.withdraw import (
    Withdrawal,
    read_names,
    restored_hint,
    withdraw_pairs,
    withdraw_source,
)


class Command(QuorumCommand):
    help = (
        "Withdraws q/a pairs: from now on no search finds them and no query or control is drawn "
        "from them. What was retrieved before stays."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        which = parser.add_mutually_exclusive_group(required=True)
        which.add_argument("--source", help="all pairs of this source")
        which.add_argument(
            "--ids",
            type=Path,
            metavar="FILE",
            help="pairs by their keys or their ids in the database, one a line of a .txt, or the "
            "column `pair` of a csv, tsv or jsonl file",
        )
        which.add_argument("--pair", metavar="KEY", help="one pair by its key or id")
        parser.add_argument(
            "--restore",
            action="store_true",
            help="the reverse; where an index has been made since they were withdrawn, the next "
            "`manage.py index` takes them in again",
        )

    def run(self, *args: Any, **options: Any) -> dict[str, object]:
        restore: bool = options["restore"]
        with transaction.atomic():
            done = _withdraw(options, restore=restore)
            if done.changed:
                verb = (
                    f"{'restore' if restore else 'withdraw'} pair{'' if options['pair'] else 's'}"
                )
                details = {"named": done.named, "changed": done.changed}
                record(verb, subject=_subject(options), details=details)
        word = "restored" if restore else "withdrawn"
        told: dict[str, object] = {"pairs_named": done.named, word: done.changed}
        return told | ({"next": hint} if restore and (hint := restored_hint()) else {})


def _withdraw(options: dict[str, Any], *, restore: bool) -> Withdrawal:
    if options["source"] is not None:
        return withdraw_source(options["source"], restore=restore)
    names = read_names(options["ids"]) if options["ids"] else [options["pair"]]
    return withdraw_pairs(names, restore=restore)


def _subject(options: dict[str, Any]) -> str:
    if options["source"] is not None:
        return f"source {options['source']}"
    return options["ids"].name if options["ids"] else f"pair {options['pair']}"
