"""`quorum experts`: what experts say of a campaign's triplets."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from annotation.access.audit_log import by_command
from annotation.operations.gold import add_gold_of
from annotation.pipeline.gold.import_gold import EXPERT
from annotation.pipeline.setup.create import get_campaign
from core.command import Noun, Result, progress
from core.output import Facts, Rendered

FILE = (
    "JSONL, CSV or TSV, plain or as .gz, with query, question and label (1: equivalent, 0: not); "
    "optional: answer (to tell pairs with the same question apart), expert and note. Or with "
    "question and meaning: questions with the same meaning are equivalent."
)

app = Noun("Labels of experts, to measure the crowd's labels: import.")


def _imported(result: Result) -> Rendered:
    shown = ", ".join(map(str, result["first_lines_without"])) or None
    return Facts({**result, "first_lines_without": shown})


@app.verb("import", render=_imported)
def import_labels(
    file: Annotated[Path, typer.Argument(metavar="FILE", help=FILE)],
    campaign: Annotated[str, typer.Option(metavar="NAME", help="Campaign of the triplets.")],
    expert: Annotated[
        str,
        typer.Option(metavar="NAME", help="Who gave the labels, if the file does not say."),
    ] = EXPERT,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace labels that the same expert gave before.")
    ] = False,
) -> Result:
    """Import the labels of experts from a file. They measure, and change no label."""
    chosen = get_campaign(campaign)
    with progress(None, "Importing", "B") as bar:
        imported = add_gold_of(
            by_command(),
            chosen,
            file,
            str(file),
            expert=expert,
            replace=replace,
            progress=bar.update,
        )
    return {"campaign": chosen.name, **asdict(imported)}
