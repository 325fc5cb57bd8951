"""The console script `quorum`: the nouns, each loaded when it is asked for."""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import django
import typer
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError
from django.core.management.color import color_style
from typer.core import TyperGroup

from core.command import help_without_a_verb, run
from core.version import quorum_version

# The first module of each defines `app`, the others add verbs to it.
NOUNS = {
    "corpus": ["retrieval.commands.corpus", "annotation.commands.campaign_operations"],
    "index": ["retrieval.commands.index"],
    "search": ["retrieval.commands.search"],
    "controls": ["annotation.commands.controls", "annotation.commands.campaign_operations"],
    "campaign": [
        "annotation.commands.campaign",
        "annotation.commands.campaign_operations",
        "annotation.commands.campaign_reconcile",
        "annotation.commands.campaign_studies",
    ],
    "crowd": ["annotation.commands.crowd"],
    "import": ["annotation.commands.history", "annotation.commands.campaign_operations"],
    "turk": ["annotation.commands.turk", "annotation.commands.campaign_operations"],
    "experts": ["annotation.commands.experts"],
    "release": [
        "exports.commands.release",
        "exports.commands.release_scores",
        "exports.commands.release_import",
    ],
    "model": ["retrieval.commands.model", "annotation.commands.model_answers"],
    "material": ["retrieval.commands.material"],
    "experiment": ["exports.commands.experiment"],
    "ask": ["retrieval.commands.ask"],
    "doctor": ["annotation.commands.doctor"],
    "backup": ["annotation.commands.backup"],
    "restore": ["annotation.commands.restore"],
}


class Nouns(TyperGroup):
    def list_commands(self, ctx: Any) -> list[str]:
        return list(NOUNS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return load(cmd_name) if cmd_name in NOUNS else None


def load(noun: str) -> Any:
    """Its command, with its verbs."""
    if not django.apps.apps.ready:
        django.setup()
    modules = [import_module(name) for name in NOUNS[noun]]
    command = typer.main.get_command(modules[0].app)
    command.name = noun
    return command


app = typer.Typer(
    cls=Nouns,
    invoke_without_command=True,
    rich_markup_mode="rich" if sys.stdout.isatty() else None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"quorum {quorum_version()}")
        raise typer.Exit


@app.callback()
def quorum(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Build question-ranking datasets with people: from pairs to releases and models."""
    help_without_a_verb(context)


def execute(words: Sequence[str]) -> None:
    """CommandError where a command fails."""
    run(typer.main.get_command(app), words, program="quorum")


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        execute(sys.argv[1:])
    except ImproperlyConfigured as error:
        _fail(error, 2)
    except CommandError as error:
        _fail(error, error.returncode)


def _fail(error: Exception, status: int) -> None:
    style = color_style()
    paint = style.ERROR if sys.stderr.isatty() else str
    print(paint(f"Error: {error}"), file=sys.stderr)
    sys.exit(status)


if __name__ == "__main__":
    main()
