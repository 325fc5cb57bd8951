"""What every command of Quorum shares: verbs of a noun, results as text or JSON, and errors."""

import errno
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, NoReturn, get_args

import typer
from django.conf import settings
from django.core.management.base import CommandError
from django.db import OperationalError, ProgrammingError, connection
from django.db.migrations.executor import MigrationExecutor
from django.utils.module_loading import import_string
from safetensors import SafetensorError
from tqdm import tqdm
from typer.core import TyperCommand
from typer.models import OptionInfo

from core.errors import OUT_OF_MEMORY, UserError
from core.files.disk_full import is_full
from core.output import Facts, Rendered, harmless, show

REFUSED = 2
INTERRUPTED = 130
METAVARS = {int: "N", float: "NUMBER", str: "TEXT"}
# Seconds before a bar appears: what is refused, or done, at once needs none.
BAR_DELAY = 0.5
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

Result = dict[str, Any]
Render = Callable[[Result], Rendered]
Verb = Callable[..., Result | tuple[Result, Render]]
_silent: ContextVar[bool] = ContextVar("silent", default=False)

Json = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Print the result as one line of JSON, without progress bars.",
        rich_help_panel="Output",
    ),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", help="Show no progress bars.", rich_help_panel="Output")
]
Device = Annotated[
    str,
    typer.Option(
        "--device",
        metavar="DEVICE",
        help="Where models run: auto, cpu or cuda.",
        show_default="QUORUM_DEVICE",
    ),
]
Yes = Annotated[bool, typer.Option("--yes", help="Skip confirmation.")]
ReleaseFolder = Annotated[
    Path, typer.Option("--release", metavar="DIR", help="Folder of the release.")
]


class Error(CommandError):
    """One sentence for standard error, and an exit status (`returncode`)."""


class _Command(TyperCommand):
    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """NAME, as everywhere else, in place of {NAME}."""
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]


class Noun(typer.Typer):
    """A noun of the command line with its verbs; `alone`, a command without verbs.

    A verb is a function that returns a result. Its parameters are the command's, its docstring is
    the help. `render` words the result, unless the function returns its own rendering with it.
    `fault` returns a sentence where the result, though it is printed, ends in exit status 2.
    """

    def __init__(self, help: str = "", *, alone: bool = False) -> None:
        super().__init__(
            help=help,
            short_help=help,  # else it is cut
            add_completion=False,
            invoke_without_command=True,
            rich_markup_mode="rich" if sys.stdout.isatty() else None,
            context_settings={"help_option_names": ["-h", "--help"]},
        )
        if not alone:
            self.callback()(help_without_a_verb)

    def verb(
        self,
        name: str,
        *,
        render: Render = Facts,
        panel: str = "Commands",
        fault: Callable[[Result], str | None] | None = None,
    ) -> Callable[[Verb], Verb]:
        def register(function: Verb) -> Verb:
            def run(json: bool, quiet: bool, **given: Any) -> None:
                with _errors_in_one_sentence(), _silence(json or quiet):
                    returned = function(**given)
                result, words = returned if isinstance(returned, tuple) else (returned, render)
                _print(result, None if json else words)
                if fault is not None and (sentence := fault(result)):
                    raise Error(sentence, returncode=REFUSED)

            described = _with_output_options(function, run)
            about = inspect.getdoc(function) or ""
            short, _, _ = about.partition("\n")
            self.command(name, cls=_Command, help=about, short_help=short, rich_help_panel=panel)(
                described
            )
            return function

        return register


def progress(total: int | None, label: str, unit: str = "") -> "tqdm[Any]":
    """A bar on standard error; pass its `update` as the `progress` of a function."""
    return tqdm(
        total=total,
        desc=label,
        unit=unit,
        unit_scale=unit == "B",
        disable=_silent.get() or not sys.stderr.isatty(),
        file=sys.stderr,
        dynamic_ncols=True,
        mininterval=0.5,
        delay=BAR_DELAY,
    )


def say(sentence: str) -> None:
    """On standard error, unless --json or --quiet was given."""
    if not _silent.get():
        tqdm.write(sentence, file=sys.stderr)


def announce(bar: "tqdm[Any]") -> Callable[[str, int], None]:
    """What says on standard error that so many steps begin, and lets the bar expect them."""

    def begin(words: str, steps: int) -> None:
        say(words)
        bar.total = bar.n + steps if steps else None
        bar.refresh()

    return begin


def confirm(sentences: Sequence[str], *, yes: bool) -> None:
    """Preview, then continue with --yes or a typed y alone."""
    if yes:
        say("\n".join(map(harmless, sentences)))
        return
    print(*map(harmless, sentences), sep="\n", file=sys.stderr)
    if not sys.stdin.isatty():
        _end("Nothing was changed: add --yes to continue.")
    print("Continue? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        _end("Nothing was changed.")


def _end(sentence: str) -> NoReturn:
    """Nothing went wrong, so this is no error; a script still sees that nothing was done."""
    print(sentence, file=sys.stderr)
    raise typer.Exit(REFUSED)


def choice(name: str, allowed: Sequence[str], help: str) -> Any:
    """An option that takes one of these values, or an argument, by its name in capitals."""

    def check(value: str | None) -> str | None:
        if value is not None and value not in allowed:
            raise typer.BadParameter(f"{value!r} is not one of {', '.join(allowed)}.")
        return value

    about: dict[str, Any] = {"callback": check, "autocompletion": lambda: list(allowed)}
    if name.startswith("--"):
        return typer.Option(name, metavar="|".join(allowed), help=help, **about)
    return typer.Argument(metavar=name, help=help, **about)


def one_of(options: Mapping[str, object], *, required: bool = False) -> None:
    """UserError unless exactly one of the options is given, or at most one."""
    given = [name for name, value in options.items() if value is not None and value is not False]
    if len(given) > 1:
        raise UserError(f"{' and '.join(given)} exclude each other: give only one of them.")
    if required and not given:
        raise UserError(f"One of {', '.join(options)} is missing: give one of them.")


def record(verb: str, *, subject: str, details: Mapping[str, object]) -> None:
    """An operation on the database, in the audit log and in the same transaction."""
    import_string(settings.AUDIT_LOG)(verb, subject=subject, details=details)


def run(command: Any, words: Sequence[str], *, program: str) -> None:
    """CommandError with the sentence and the exit status where the command fails."""
    try:
        status = command.main(list(words), prog_name=program, standalone_mode=False)
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        path = context.command_path if context else program
        message = _below_zero(error, words) or error.format_message().strip().rstrip(".")
        end = "" if message.endswith("?") else "."
        sentence = harmless(f"{message}{end} See `{path} --help`.")
        raise Error(sentence, returncode=REFUSED) from error
    if status:
        raise SystemExit(status)


def _below_zero(error: typer.TyperException, words: Sequence[str]) -> str:
    """Of a number that was taken for an option, by its first digit; empty where none was."""
    option = getattr(error, "option_name", "")
    if not re.fullmatch("-[0-9]", option):
        return ""
    number = next(word for word in words if word.startswith(option))
    return f"{number} is below zero: give a number of zero or more"


def help_without_a_verb(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(REFUSED)


def _with_output_options(function: Verb, run: Callable[..., None]) -> Callable[..., None]:
    own = inspect.signature(function, eval_str=True)
    keyword = inspect.Parameter.KEYWORD_ONLY
    output = [
        inspect.Parameter(name, keyword, default=False, annotation=annotation)
        for name, annotation in (("json", Json), ("quiet", Quiet))
    ]
    parameters = [each.replace(kind=keyword) for each in own.parameters.values()] + output
    for each in parameters:
        _name_the_value(each.annotation)
    described: Any = wraps(function)(run)
    described.__signature__ = inspect.Signature(parameters)
    described.__annotations__ = {each.name: each.annotation for each in parameters}
    return described  # type: ignore[no-any-return]


def _name_the_value(annotation: Any) -> None:
    """Of an option that names none: N says more than <int>."""
    kind, *marks = get_args(annotation) or [annotation]
    kinds = {kind, *get_args(kind)}
    for option in marks:
        if isinstance(option, OptionInfo) and option.metavar is None:
            option.metavar = next((METAVARS[one] for one in METAVARS if one in kinds), None)


@contextmanager
def _silence(silent: bool) -> Iterator[None]:
    before = _silent.set(silent)
    try:
        yield
    finally:
        _silent.reset(before)


def _print(result: Result, render: Render | None) -> None:
    if render is None:
        print(json.dumps(result, ensure_ascii=False, default=str))
    else:
        show(render(result))


@contextmanager
def _errors_in_one_sentence() -> Iterator[None]:
    try:
        yield
    except UserError as error:
        raise Error(harmless(str(error)), returncode=REFUSED) from error
    except (OperationalError, ProgrammingError, OSError, SafetensorError) as error:
        reason = _what_is_wrong(error)
        if reason is None:
            raise
        raise Error(harmless(reason), returncode=REFUSED) from error
    except MemoryError as error:
        raise Error(OUT_OF_MEMORY, returncode=REFUSED) from error
    except KeyboardInterrupt as stop:
        message = "Stopped: run the same command again to continue."
        raise Error(message, returncode=INTERRUPTED) from stop


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
        return (
            f"The database {connection.settings_dict['NAME']} lacks tables of this version: run "
            f"`python {settings.BASE_DIR}/manage.py migrate`, or set QUORUM_DATA to the folder "
            "with your data."
        )
    return None
