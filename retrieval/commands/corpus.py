"""`quorum corpus`: the question/answer pairs and their sources."""

import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from django.conf import settings

from core.command import Device, Noun, Result, choice, progress, record
from core.errors import UserError
from core.output import Facts, Rendered, Rows
from retrieval.corpus.corpora import (
    corpora,
    corpus_named,
    include,
)
from retrieval.corpus.ingest import IngestResult, ingest
from retrieval.corpus.pair_reader import check_source
from retrieval.corpus.sources.counts import source_counts
from retrieval.corpus.sources.formats import FORMATS
from retrieval.corpus.sources.top_share import TopShare, share_of
from retrieval.encoders.lazy import load_scorer
from retrieval.indexing.build import build_index
from retrieval.indexing.plan import BuildOptions
from retrieval.jobs.handlers import as_before
from retrieval.models import Corpus, IndexVersion
from retrieval.models.corpus import ALL
from retrieval.registry.registry import resolve_either, resolve_model

COLUMNS = ("source", "pairs", "questions", "question words", "answer words", "withdrawn")

app = Noun("Question/answer pairs and the corpora that they make: import, list, withdraw.")


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
    corpus: Annotated[
        str, typer.Option(metavar="NAME", help="Corpus that the source joins; `all` has it anyway.")
    ] = ALL,
    index: Annotated[
        bool, typer.Option("--index", help="Build the corpus's index again afterwards.")
    ] = False,
) -> Result:
    """Import the pairs of a JSONL, CSV, TSV or Parquet file.

    All but Parquet may be compressed as .gz. With --format, a source is read as it is published.
    """
    source = check_source(source)
    chosen = corpus_named(corpus)
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
        "corpus": corpus,
    }

    def conclude(done: IngestResult) -> None:
        if chosen:
            include(chosen, source)
        counts = {name: getattr(done, name) for name in ("added", "duplicates", "rejected")}
        record("import pairs", subject=source, details=wanted | counts)

    with progress(size and size * (2 if best else 1), f"Reading {file.name}", "B") as bar:
        result = ingest(
            file,
            source,
            license=license,
            format=format,
            best=best,
            conclude=conclude,
            progress=bar.update,
        )
    built = _index(corpus, chosen) if index else None
    return {
        "source": source,
        "corpus": corpus,
        "rows_read": result.read,
        "added": result.added,
        "duplicates": result.duplicates,
        "of_these_withdrawn": result.withdrawn or None,
        "of_these_in_other_sources": result.elsewhere or None,
        "skipped": result.skipped,
        "best": result.best and asdict(result.best),
        "rejected": result.rejected,
        "first_rejected": result.first_rejected or None,
        "rejects_file": result.rejects_path and str(result.rejects_path),
        "index": built and str(built),
        "next": None if index or not result.added else _index_hint(chosen),
    }


def _index_hint(corpus: Corpus | None) -> str:
    of = f" --corpus {corpus}" if corpus else ""
    return f"`quorum index build{of}`: searches do not find the new pairs before"


def _index(name: str, corpus: Corpus | None) -> IndexVersion:
    """By the model and in the form of the last one."""
    wanted = as_before(name)
    with progress(None, "Encoding", " pairs") as bar:
        return build_index(
            resolve_model(wanted.model or settings.ENCODER_MODEL),
            wanted.form,
            settings.ENCODER_DEVICE,
            bar.update,
            corpus=corpus,
            options=BuildOptions(kind=wanted.kind, recall=wanted.recall),
        )


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
    if not result["sources"] and len(result["corpora"]) < 2:
        return "There are no q/a pairs yet: add some with `quorum corpus import`."
    rows = [*result["sources"], result["total"]]
    licenses = [
        f"{one['source']}: {count:,} pairs under {license or 'no license that is known'}"
        for one in result["sources"]
        for license, count in one["licenses"].items()
    ]
    named = len(result["corpora"]) > 1  # beside all pairs
    corpora = ["", *map(_corpus_line, result["corpora"])] if named else []
    return [Rows(COLUMNS, map(_cells, rows), numbers=True), "", *licenses, *corpora]


def _corpus_line(one: Result) -> str:
    sources = ", ".join(one["sources"]) or "no source"
    size = f"index of {one['indexed']:,} pairs" if one["indexed"] else "no index"
    return f"corpus {one['corpus']}: {sources}; {size}"


@app.verb("list", render=_counted)
def list_sources() -> Result:
    """Count the pairs, questions and words of each source, and list the corpora."""
    counts, total = source_counts()
    return {
        "sources": [asdict(one) for one in counts],
        "total": asdict(total),
        "corpora": [asdict(one) for one in corpora()],
    }


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
