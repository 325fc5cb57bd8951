"""`quorum release import`: a labelled set as it is published, to train and measure models on."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from core.command import Result, choice, progress
from core.errors import UserError
from core.output import Rendered, Rows
from exports.commands.release import app
from exports.evaluation.baselines import BM25
from exports.experiments.labelled_set import (
    MOST_RANKED,
    WAYS,
    LabelledSet,
    Way,
    write_labelled_set,
)
from exports.splits.splits import SPLITS
from retrieval.query_sets.published_sets import FORMATS, Companions
from retrieval.ranking.read_runs import run_path

COLUMNS = {
    "queries": "queries",
    "candidates": "candidates",
    "positive": "right",
    "without_question": "without question",
    "without_answer": "without answer",
    "repeated": "repeated",
    "left_out": "queries left out",
}


def _imported(result: Result) -> Rendered:
    rows = (
        (split, *(f"{counts[name]:,}" for name in COLUMNS))
        for split, counts in result["counts"].items()
    )
    return [
        Rows(("split", *COLUMNS.values()), rows),
        "",
        *(
            f"Columns of {one['file']} ({split}) that nothing reads: "
            f"{', '.join(one['unread_columns'])}."
            for split, files in result["sources"].items()
            for one in files
            if one["unread_columns"]
        ),
        *(
            f"Candidates of {split} that repeat another with the other label, as published: "
            f"{counts['contradictory']:,}."
            for split, counts in result["counts"].items()
            if counts["contradictory"]
        ),
        *([] if result["has_bm25"] else [f"No BM25: it has over {MOST_RANKED:,} candidates."]),
        f"Written to {result['folder']}.",
    ]


def _files(help: str) -> Any:
    return typer.Option(metavar="FILE", help=help)


@app.verb("import", render=_imported)
def import_set(
    format: Annotated[
        str,
        choice("FORMAT", list(FORMATS), f"How it is published: {', '.join(FORMATS)}."),
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="New folder for the set.")],
    train: Annotated[list[Path] | None, _files("Of the split train; repeatable.")] = None,
    dev: Annotated[list[Path] | None, _files("Of the split dev; repeatable.")] = None,
    test: Annotated[list[Path] | None, _files("Of the split test; repeatable.")] = None,
    way: Annotated[
        Way,
        choice(
            "--way",
            list(WAYS),
            "raw: all queries; clean: without those of dev and test whose candidates are all right "
            "or all wrong.",
        ),
    ] = "raw",
    answers: Annotated[Path | None, _files("InsuranceQA's answers (label2answer).")] = None,
    vocabulary: Annotated[Path | None, _files("InsuranceQA's vocabulary.")] = None,
) -> Result:
    """Import a labelled set as it is published, to train and measure models on.

    The folder stands for a release in `model train`, `experiment`, and in score, evaluate and
    compare. Nobody voted on it, so that it cannot be verified. See docs/training.md.
    """
    files = {
        split: tuple(paths)
        for split, paths in (("train", train), ("dev", dev), ("test", test))
        if paths
    }
    if not files:
        raise UserError("No file is named: name the set's files by --train, --dev, --test.")
    _require_different(files)
    if train and not dev:
        raise UserError(
            "Only train is named, and a training stops by dev: name its files by --dev, or leave "
            "--train out for a set to measure by."
        )
    wanted = LabelledSet(format, files, way, Companions(answers, vocabulary))
    total = sum(
        os.path.getsize(path) for paths in files.values() for path in paths if path.exists()
    )
    with progress(total, "Importing", "B") as bar:
        made = write_labelled_set(wanted, out, bar.update)
    manifest = {name: made[name] for name in ("counts", "sources")}
    has_bm25 = run_path(out, SPLITS[0], BM25).is_file()
    return {"folder": str(out), "format": format, "way": way, **manifest, "has_bm25": has_bm25}


def _require_different(files: Mapping[str, Sequence[Path]]) -> None:
    """A model would be measured on what it has learned."""
    splits: dict[Path, str] = {}
    for split, paths in files.items():
        for path in paths:
            if (other := splits.setdefault(path.resolve(), split)) != split:
                raise UserError(
                    f"{path} is named as {other} and as {split}: name another file for one of them."
                )
