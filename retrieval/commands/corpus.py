"""`quorum corpus`: the question/answer pairs and their sources."""

import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from django.conf import settings
from django.db import transaction

from core.command import Device, Noun, Result, choice, one_of, progress, record
from core.errors import UserError
from core.output import Facts, Rendered, Rows
from retrieval.corpus.ingest import ingest
from retrieval.corpus.sources.counts import source_counts
from retrieval.corpus.sources.formats import FORMATS
from retrieval.corpus.sources.top_share import TopShare, share_of
from retrieval.corpus.withdraw import (
    read_names,
    restored_hint,
    withdraw_pairs,
    withdraw_source,
)
from retrieval.encoders.lazy import load_scorer
from retrieval.registry.registry import resolve_either

COLUMNS = ("source", "pairs", "questions", "question words", "answer words", "withdrawn")

app = Noun("Question/answer pairs: import, list, withdraw.")


def _imported(result: Result) -> Rendered:
    words: Result = {"skipped": None}
    if skipped := result["skipped"]:
        words["skipped"] = "; ".join(f"{count:,} {why}" for why, count in skipped.items())
    if best := result["best"]:
        words["best"] = (
            f"{best['kept']:,} of {best['pairs']:,} pairs, down to the score {best['threshold']:g}"
        )
    return Facts(result | words)


@app.verb("import", render=_imported)
def import_pairs(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="Columns: question, answer; optional: id, license."),
    ],
    source: Annotated[str, typer.Option(help="Name of the source of these pairs.")],
    format: Annotated[
        str | None,
        choice(
            "--format",
            sorted(FORMATS),
            "Published format of the file, see docs/sources.md; without it, the file's ending "
            "decides.",
        ),
    ] = None,
    license: Annotated[
        str,
        typer.Option(
            help="License of the rows that name none; without it, the one that the format's "
            "publisher states."
        ),
    ] = "",
    keep_best: Annotated[
        str | None,
        typer.Option(metavar="SHARE", help="Add only the pairs with the best scores: 10% or 0.1."),
    ] = None,
    score_field: Annotated[
        str | None, typer.Option(metavar="NAME", help="Column of the file that holds the scores.")
    ] = None,
    scorer: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Model that scores the pairs: a registered model, a folder with a CrossEncoder, "
            "or an encoder.",
        ),
    ] = None,
    device: Device = settings.ENCODER_DEVICE,
) -> Result:
    """Add the pairs of a JSONL, CSV, TSV or Parquet file to the corpus.

    All but Parquet may be compressed as .gz. With --format, a source is read as it is published.
    """
    best = _best(keep_best, score_field, scorer, device)
    size = os.path.getsize(file) if os.path.isfile(file) else None
    wanted = {
        "source": source,
        "license": license,
        "format": format or "",
        "share": keep_best or "",
        "score_field": score_field or "",
        "scorer": scorer or "",
        "files": [file.name],
    }
    with progress(size and size * (2 if best else 1), f"Reading {file.name}", "B") as bar:
        result = ingest(
            file,
            source,
            license=license,
            format=format,
            best=best,
            conclude=lambda done: record(
                "import pairs",
                subject=source,
                details=wanted
                | {
                    "added": done.added,
                    "duplicates": done.duplicates,
                    "rejected": done.rejected,
                },
            ),
            progress=bar.update,
        )
    return {
        "source": source,
        "rows_read": result.read,
        "added": result.added,
        "duplicates": result.duplicates,
        "of_these_withdrawn": result.withdrawn or None,
        "skipped": result.skipped,
        "best": result.best and asdict(result.best),
        "rejected": result.rejected,
        "rejects_file": result.rejects_path and str(result.rejects_path),
    }


def _best(share: str | None, field: str | None, scorer: str | None, device: str) -> TopShare | None:
    if share is None:
        if field or scorer:
            raise UserError("Say how many pairs to keep: --keep-best 10% goes with the score.")
        return None
    if field and scorer:
        raise UserError("Both --score-field and --scorer give scores: give only one of them.")
    if not field and not scorer:
        raise UserError("--keep-best needs either --score-field NAME or --scorer MODEL.")
    wanted = share_of(share)
    model = load_scorer(resolve_either(scorer), device) if scorer else None
    return TopShare(wanted, field or "", model)


def _counted(result: Result) -> Rendered:
    rows = [*result["sources"], result["total"]]
    licenses = [
        f"{one['source']}: {count:,} pairs under {license or 'no license that is known'}"
        for one in result["sources"]
        for license, count in one["licenses"].items()
    ]
    return [Rows(COLUMNS, map(_cells, rows), numbers=True), "", *licenses]


@app.verb("list", render=_counted)
def list_sources() -> Result:
    """Count the pairs, questions and words of each source."""
    counts, total = source_counts()
    return {"sources": [asdict(one) for one in counts], "total": asdict(total)}


def _cells(one: Result) -> tuple[str, ...]:
    return (
        one["source"],
        f"{one['pairs']:,}",
        f"{one['questions']:,}",
        _spread(one["question_words"]),
        _spread(one["answer_words"]),
        f"{one['withdrawn']:,}",
    )


def _spread(words: dict[str, float]) -> str:
    return f"{words['mean']:.1f} +- {words['sd']:.1f}"


@app.verb("withdraw")
def withdraw(
    source: Annotated[str | None, typer.Option(help="All pairs of this source.")] = None,
    ids: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Pairs by their keys or database ids: one per line of a .txt file, or the column "
            "`pair` of a CSV, TSV or JSONL file.",
        ),
    ] = None,
    pair: Annotated[
        str | None, typer.Option(metavar="KEY", help="One pair by its key or database id.")
    ] = None,
    restore: Annotated[
        bool,
        typer.Option(
            "--restore",
            help="Undo. If an index was built since the withdrawal, the pairs are found again "
            "after the next `quorum index build`.",
        ),
    ] = False,
) -> Result:
    """Exclude pairs from search, queries and controls; undo with --restore.

    What was retrieved before stays as it is.
    """
    one_of({"--source": source, "--ids": ids, "--pair": pair}, required=True)
    with transaction.atomic():
        if source is not None:
            done = withdraw_source(source, restore=restore)
        else:
            done = withdraw_pairs(read_names(ids) if ids else [str(pair)], restore=restore)
        if done.changed:
            verb = f"{'restore' if restore else 'withdraw'} pair{'' if pair else 's'}"
            details = {"named": done.named, "changed": done.changed}
            record(verb, subject=_subject(source, ids, pair), details=details)
    word = "restored" if restore else "withdrawn"
    told: Result = {"pairs_named": done.named, word: done.changed}
    return told | ({"next": hint} if restore and (hint := restored_hint()) else {})


def _subject(source: str | None, ids: Path | None, pair: str | None) -> str:
    if source is not None:
        return f"source {source}"
    return ids.name if ids else f"pair {pair}"
