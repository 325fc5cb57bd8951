"""Question-answer pairs withdrawn from search, and restored."""

from functools import partial

from django.db.models import QuerySet

from annotation.operations.operation import Argument, Operation, Options, Result
from core.errors import UserError
from retrieval.corpus.withdraw import change, pairs_named, pairs_of_source, restored_hint
from retrieval.models import QaPair
from retrieval.web.access import WITHDRAW

MOST_LOGGED = 100  # a file may name many more
ARGUMENTS = (
    Argument("pairs", "pairs", "Pairs", "by their keys or database ids", optional=True),
    Argument("source", "source", "Source", "all pairs of it", optional=True),
    Argument("reason", "text", "Reason", "recorded in the audit log", optional=True),
)
WITHDRAWN = (
    "Searches no longer find them, and no query or control is drawn from them. Candidates already"
    " retrieved are kept."
)
RESTORED = (
    "Searches can find them again. Indexes built while they were withdrawn do not contain them:"
    " rebuild them before you use them in a campaign."
)


def _pairs_named(options: Options) -> list[QuerySet[QaPair]]:
    names, source = options["pairs"], options["source"]
    if bool(names) == bool(source):
        raise UserError("Name either pairs or a source, and not both.")
    return pairs_named(names) if names else [pairs_of_source(source)]


def _preview(database: None, options: Options, *, restore: bool) -> list[str]:
    named = sum(part.count() for part in _pairs_named(options))
    done = "restored" if restore else "withdrawn"
    return [f"Pairs {done}: {named:,}.", RESTORED if restore else WITHDRAWN]


def _execute(database: None, options: Options, *, restore: bool) -> Result:
    done = change(_pairs_named(options), restore=restore)
    counts = {"pairs_named": done.named, "restored" if restore else "withdrawn": done.changed}
    return counts | {"pairs": (options["pairs"] or [])[:MOST_LOGGED]}


def _hint(database: None, options: Options) -> str:
    return restored_hint()


OPERATIONS = (
    Operation(
        "withdraw-pairs",
        "exclude pairs from search, queries and controls",
        WITHDRAW,
        partial(_preview, restore=False),
        partial(_execute, restore=False),
        ARGUMENTS,
        noun="corpus",
        verb="withdraw",
        calls_crowd=False,
        confirms=False,
    ),
    Operation(
        "restore-pairs",
        "restore withdrawn pairs, so that searches can find them again",
        WITHDRAW,
        partial(_preview, restore=True),
        partial(_execute, restore=True),
        ARGUMENTS,
        noun="corpus",
        verb="restore",
        calls_crowd=False,
        confirms=False,
        hint=_hint,
    ),
)
