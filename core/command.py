"""What every command of Quorum shares: output for people or as JSON, progress, and refusals."""

import argparse
import errno
import json
import sys
from collections.abc import Mapping
from typing import Any, final

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import OperationalError, ProgrammingError, connection
from django.db.migrations.executor import MigrationExecutor
from django.utils.module_loading import import_string
from safetensors import SafetensorError
from tqdm import tqdm

from core.errors import UserError
from core.files.disk_full import is_full

REFUSED = 2
INTERRUPTED = 130
# Of a file or folder that a user named, or that lies under one.
UNUSABLE = (
    errno.EACCES,
    errno.EEXIST,
    errno.EISDIR,
    errno.ELOOP,
    errno.ENAMETOOLONG,
    errno.ENOENT,
    errno.ENOTDIR,
    errno.EPERM,
    errno.EROFS,
)


class Error(CommandError):
    """Django prints the class's name before the sentence and exits with `returncode`."""


def record(verb: str, *, subject: str, details: Mapping[str, object]) -> None:
    """An operation on the database, in the audit log and in the same transaction."""
    import_string(settings.AUDIT_LOG)(verb, subject=subject, details=details)


class QuorumCommand(BaseCommand):
    """A thin command: `run` calls a function and returns the result, `render` words it.

    A subclass with subcommands adds each by `add_subcommand`, so that `--json` and `--quiet`
    may also stand after the subcommand.
    """

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        add_output_options(parser)
        return parser

    @final
    def handle(self, *args: Any, **options: Any) -> None:
        self.silent: bool = options.get("json", False) or options.get("quiet", False)
        try:
            result = self.run(**options)
        except UserError as error:
            raise Error(_harmless(str(error)), returncode=REFUSED) from error
        except (OperationalError, ProgrammingError, OSError, SafetensorError) as error:
            reason = _what_is_wrong(error)
            if reason is None:
                raise
            raise Error(_harmless(reason), returncode=REFUSED) from error
        except KeyboardInterrupt as stop:
            message = "Stopped: run the same command again to go on."
            raise Error(message, returncode=INTERRUPTED) from stop
        if options.get("json", False):
            self.stdout.write(json.dumps(result, ensure_ascii=False, default=str))
        else:
            self.stdout.write(self.render(result))

    def run(self, *args: Any, **options: Any) -> dict[str, object]:
        raise NotImplementedError("a command must say what it does")

    def render(self, result: dict[str, object]) -> str:
        return table(result)

    def progress(self, total: int | None, label: str, unit: str = "") -> "tqdm[Any]":
        """A bar on standard error; pass its `update` as the `progress` of a function."""
        return tqdm(
            total=total,
            desc=label,
            unit=unit,
            unit_scale=unit == "B",
            disable=self.silent,
            file=sys.stderr,
            dynamic_ncols=True,
            mininterval=0.5,
        )


def add_output_options(parser: argparse.ArgumentParser) -> None:
    # No default: where a command and its subcommand both have the option, either may set it.
    parser.add_argument(
        "--json",
        action="store_true",
        default=argparse.SUPPRESS,
        help="print the result as one line of JSON, without progress bars",
    )
    parser.add_argument(
        "--quiet", action="store_true", default=argparse.SUPPRESS, help="no progress bars"
    )


def add_subcommand(
    subparsers: "argparse._SubParsersAction[CommandParser]", name: str, help: str
) -> CommandParser:
    parser = subparsers.add_parser(name, help=help, description=help)
    add_output_options(parser)
    return parser


def table(result: dict[str, object]) -> str:
    """One aligned line for each entry that has a value."""
    shown = {key.replace("_", " "): value for key, value in result.items() if value is not None}
    width = max((len(key) for key in shown), default=0)
    return "\n".join(f"{key:<{width}}  {_in_words(value)}" for key, value in shown.items())


def _what_is_wrong(error: Exception) -> str | None:
    """Of the disk, a path or the database; None where it is none of them."""
    if isinstance(error, SafetensorError):  # of a model that is written: it is no OSError
        full = "The disk is full: make room and run the command again."
        return full if is_full(error) else None
    if not isinstance(error, OSError):
        return _what_is_wrong_with_the_database(error)
    if is_full(error):
        name = f" ({error.filename})" if error.filename else ""
        return f"The disk is full{name}: make room and run the command again."
    if error.errno in UNUSABLE and error.filename:
        return (
            f"{error.filename} cannot be used ({error.strerror}): name another path, "
            "or see whose it is."
        )
    return None


def _what_is_wrong_with_the_database(error: Exception) -> str | None:
    if is_full(error):
        state = "full" if "full" in str(error) or "space" in str(error) else "full or broken"
        return (
            f"The disk of the database is {state}: make room and run the command again; nothing "
            "was half-written."
        )
    if connection.connection is None:
        start = ", or start it (`make services`)" if connection.vendor == "postgresql" else ""
        reason = " ".join(str(error).split())
        return f"The database cannot be reached ({reason}): check QUORUM_DATABASE_URL{start}."
    if "database is locked" in str(error):
        return "The database is busy with another command: run this one again when that is done."
    migrations = MigrationExecutor(connection)
    if migrations.migration_plan(migrations.loader.graph.leaf_nodes()):
        return "The database lacks tables of this version: run `manage.py migrate` first."
    return None


def _in_words(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return _harmless(str(value))


def _harmless(text: str) -> str:
    """Texts of a crowd or of a file may hold anything: none of it moves the cursor."""
    return "".join(sign if sign.isprintable() or sign == "\n" else "?" for sign in text)
