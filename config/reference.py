"""`python -m config.reference`: writes docs/commands.md, docs/settings.md, the tables of
docs/crowds.md and the one of installed bases in docs/training.md from the code."""

import json
import os
import re
from collections.abc import Iterable, Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

from annotation.protocol.policy.crowds import CROWDS
from annotation.protocol.policy.panels import PANELS
from config.commands import NOUNS, load
from config.environment import VARIABLES, Variable
from retrieval.encoders.bundled import bundled_folder

DOCS = Path(__file__).resolve().parent.parent / "docs"
COMMANDS = """\
# Commands

Every command is `quorum NOUN VERB`, or `var/venv/bin/quorum` if that folder is not in your `PATH`.
You can run each step again: it does only what is missing. A wrong argument or a refusal is one
sentence on standard error and exit status 2. A command that asks first prints what would follow.
Without `--yes` or a typed `y` it changes nothing and exits with status 2.

- `--json` prints the result as one line of JSON on standard output. `--quiet` hides the
  progress bars. Every command that reports a result has both, so the tables leave them out.
- `quorum --install-completion` completes commands and options in your shell, and `quorum --version`
  prints the version.
- `manage.py` keeps the commands of Django, such as `manage.py migrate` and
  `manage.py createsuperuser`.

`python -m config.reference` writes this page.
"""
SETTINGS = """\
# Settings

Every setting is an environment variable. Without any, Quorum runs on this machine alone: SQLite,
folders as the queue, and the local MTurk emulator. `python -m config.reference` writes this page.

| variable | default | meaning |
| --- | --- | --- |
"""
SHARED = {"--json", "--quiet", "--help"}


def pages() -> dict[Path, str]:
    """The text of each page, by its path."""
    rows = (_variable(name, about) for name, about in VARIABLES.items())
    crowds, training = DOCS / "crowds.md", DOCS / "training.md"
    return {
        DOCS / "commands.md": _commands(),
        DOCS / "settings.md": SETTINGS + "".join(rows),
        crowds: _with_tables(crowds.read_text(encoding="utf-8"), _crowds(), _panels()),
        training: _with_tables(training.read_text(encoding="utf-8"), _bases()),
    }


def _with_tables(page: str, *tables: str) -> str:
    """In place of those that have the same head."""
    for table in tables:
        head = re.escape(table.partition("\n")[0])
        literally = table.replace("\\", r"\\")
        page, count = re.subn(rf"(?m)^{head}\n(\|.*\n)*", literally, page)
        assert count == 1, f"one table of the page has the head {table.partition(chr(10))[0]}"
    return page


def _crowds() -> str:
    head = ("crowd", *next(iter(CROWDS.values())).abilities)
    rows = ((f"`{one.kind}`", *one.abilities.values()) for one in CROWDS.values())
    return _table(head, rows)


def _panels() -> str:
    """Nobody pastes a link where Quorum makes the study."""
    head = ("panel", "ID in the link", "what to do there")
    rows = (
        (f"`{name}`", f"`{'='.join(filter(None, [one.parameter, one.placeholder]))}`", one.advice)
        for name, one in PANELS.items()
        if not one.crowd.by_study
    )
    return _table(head, rows)


def _bases() -> str:
    """Of packages that carry a model."""
    head = ("base", "layers", "numbers of a vector", "tokens it reads")
    packages = {name for of in packages_distributions().values() for name in of}
    folders = {name: bundled_folder(name) for name in sorted(packages)}
    rows = (_base(name, folder) for name, folder in folders.items() if folder is not None)
    return _table(head, rows)


def _base(name: str, folder: Path) -> tuple[str, ...]:
    model, reading = (
        json.loads((folder / file).read_text(encoding="utf-8"))
        for file in ("config.json", "sentence_bert_config.json")
    )
    numbers = model["num_hidden_layers"], model["hidden_size"], reading["max_seq_length"]
    return (f"`{name}`", *map(str, numbers))


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = (head, ("---" for _ in head), *rows)
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _variable(name: str, about: Variable) -> str:
    return f"| `{name}` | {about.default or f'`{about.value}`'} | {about.meaning} |\n"


def _commands() -> str:
    return "\n".join([COMMANDS, *(line for noun in NOUNS for line in _noun(noun))]).rstrip() + "\n"


def _noun(noun: str) -> Iterator[str]:
    command = load(noun)
    verbs = getattr(command, "commands", None)
    yield f"## {noun}\n"
    if verbs is None:
        yield from _command(f"quorum {noun}", command)
        return
    yield f"{command.help}\n"
    for name, verb in verbs.items():
        yield f"### {noun} {name}\n"
        yield from _command(f"quorum {noun} {name}", verb)


def _command(path: str, command: Any) -> Iterator[str]:
    given = [each for each in command.params if not SHARED & set(each.opts)]
    words = [_metavar(each) for each in given if each.param_type_name == "argument"]
    options = ["[OPTIONS]"] if any(each.param_type_name == "option" for each in given) else []
    yield f"`{' '.join([path, *options, *words])}`\n"
    yield f"{command.help}\n"
    if given:
        yield "| argument | meaning | default |"
        yield "| --- | --- | --- |"
        yield from map(_row, given)
        yield ""


def _row(parameter: Any) -> str:
    name = _metavar(parameter)
    if parameter.param_type_name == "option":
        flag = parameter.is_flag
        name = parameter.opts[-1] if flag else f"{parameter.opts[-1]} {name}"
    cells = (f"`{name}`", parameter.help or "", _default(parameter))
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _metavar(parameter: Any) -> str:
    return str(parameter.metavar or parameter.type.name.upper())


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    if isinstance(parameter.show_default, str):
        return str(parameter.show_default)
    silent = not parameter.show_default or getattr(parameter, "is_flag", False)
    return "" if silent or parameter.default in (None, "", []) else f"`{parameter.default}`"


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    for path, content in pages().items():
        path.write_text(content, encoding="utf-8")
