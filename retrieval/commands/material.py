"""`quorum material`: builds what models learn from beside releases."""

from pathlib import Path
from typing import Annotated

import typer
from django.conf import settings

from core.command import Device, Noun, Result, choice, progress
from core.errors import UserError
from core.output import Facts, Rendered
from core.text.words import plural
from retrieval.commands.stdin_questions import FromCorpus
from retrieval.corpus.corpora import corpus_named
from retrieval.models.corpus import ALL
from retrieval.ranking.thresholds import BY, By
from retrieval.training.building.documents import build_documents
from retrieval.training.building.ranks import (
    DEPTH,
    RankOptions,
    build_ranks,
    of_file,
    sampled,
    shard_count,
)
from retrieval.training.building.shards import read_manifest, shards_of
from retrieval.training.building.spans import OBJECTIVES, build_spans
from retrieval.training.lazy import measure_material
from retrieval.training.recipes.materials import KINDS

app = Noun(
    "Materials that models learn from beside releases: ranks, documents, spans, measure, verify."
)
Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of the material.")]

Epochs = Annotated[
    int,
    typer.Option(metavar="N", help="Draws for so many epochs: a recipe then learns them in one."),
]


def _built(result: Result) -> Rendered:
    done = "Built before, unchanged" if result["unchanged"] else "Built"
    use = f"A recipe names them by {{kind: {result['kind']}, file: FOLDER}}."
    if result["kind"] == "documents":
        use = "Spans are built of them: quorum material spans."
    files = plural(len(result["files"]), "file")
    return f"{done}: {result['rows']:,} {result['kind']} in {files} of {result['folder']}. {use}"


@app.verb("ranks", render=_built)
def ranks(
    folder: Folder,
    queries: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Queries of your own, a column `query`.")
    ] = None,
    sample: Annotated[
        int | None, typer.Option(metavar="N", help="Or so many questions of the corpus.")
    ] = None,
    depth: Annotated[int, typer.Option(help="Pairs in a rank.")] = DEPTH,
    corpus: FromCorpus = ALL,
    seed: Annotated[int, typer.Option(help="Of the sample, and of what is swapped.")] = 1,
    epochs: Epochs = 1,
    device: Device = settings.ENCODER_DEVICE,
) -> Result:
    """Build ranks to learn from: the index's first pairs for each query.

    In half of the ranks, the first pair is swapped with another. Pairs with the query's own
    question are left out. Stopped, the same command continues.
    """
    chosen = corpus_named(corpus)
    if (queries is None) == (sample is None):
        raise UserError("Say which queries: --queries FILE, or --sample N.")
    if queries is not None:
        texts = of_file(queries)
    else:
        with progress(None, "Drawing queries", " questions") as bar:
            texts = sampled(sample or 0, seed, chosen, bar.update)
    options = RankOptions(depth, seed, epochs, chosen, device)
    with progress(shard_count(texts), "Ranking", " shards") as bar:
        built = build_ranks(folder, texts, options, progress=bar.update)
    return {**built, "folder": str(folder)}


@app.verb("documents", render=_built)
def documents(
    folder: Folder,
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="A .jsonl file with `text`, or .txt documents."),
    ],
    language: Annotated[str, typer.Option(help="Whose sentences these are, such as en.")] = "en",
) -> Result:
    """Build documents to make spans of: their paragraphs, and the sentences of these.

    Paragraphs of under 60 characters and documents of under 200 are left out. Paragraphs are lines
    of a `text`, or stand between empty lines of a .txt file.
    """
    with progress(None, "Reading", " shards") as bar:
        built = build_documents(folder, files, language=language, progress=bar.update)
    return {**built, "folder": str(folder)}


@app.verb("spans", render=_built)
def spans(
    folder: Folder,
    documents: Annotated[
        Path, typer.Option(metavar="FOLDER", help="That `quorum material documents` built.")
    ],
    objective: Annotated[
        str,
        choice(
            "--objective",
            list(OBJECTIVES),
            "What belongs together: spans of one paragraph (ssp), a span and the rest of its "
            "paragraph (sp), or paragraphs of one document (psd).",
        ),
    ],
    seed: Annotated[int, typer.Option(help="Of all that is drawn.")] = 1,
    epochs: Epochs = 1,
) -> Result:
    """Build pairs of texts that belong together or do not, after the paper on AS2."""
    with progress(None, "Drawing", " shards") as bar:
        built = build_spans(
            folder, documents, objective, seed=seed, epochs=epochs, progress=bar.update
        )
    return {**built, "folder": str(folder)}


def _measured(result: Result) -> Rendered:
    lines = [f"{result['model']} on {result['rows']:,} {result['kind']}"]
    if result["threshold"] is not None:
        lines.append(f"threshold {result['threshold']:.6g}, by {result['by']} on {result['dev']}")
    return [*lines, Facts(result["figures"])]


@app.verb("measure", render=_measured)
def measure(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file, or a folder built here.")],
    kind: Annotated[
        str, choice("--kind", list(KINDS), "What the file holds, see docs/training.md.")
    ],
    model: Annotated[
        str, typer.Option(help="Registered model, folder, or sentence-transformers name.")
    ],
    dev: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Of the same kind, where the threshold is chosen."),
    ] = None,
    by: Annotated[
        By,
        choice("--by", list(BY), "The measure by which the threshold is chosen."),
    ] = "f1",
    among: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Look for positives among the file's first so many texts; without it, all.",
        ),
    ] = None,
    device: Device = settings.ENCODER_DEVICE,
) -> Result:
    """Measure a model: correlation, accuracy among topics or texts, or of pairs or ranks."""
    measured = measure_material(
        model, kind=kind, file=file, dev=dev, by=by, among=among, device=device, draws=False
    )
    del measured["drawn"]  # there are none
    said = {"kind": kind, "file": str(file), "dev": dev and str(dev), "by": by}
    return {"model": model, **said, **measured}


@app.verb("verify", render=lambda result: f"{result['rows']:,} rows read, all as they were built")
def verify(folder: Folder) -> Result:
    """Read every file of a material again. Exit status 2 if any has changed."""
    manifest = read_manifest(folder)
    with progress(len(manifest["files"]), "Reading", " files") as bar:
        for _ in shards_of(folder):
            bar.update()
    return {"folder": str(folder), "kind": manifest["kind"], "rows": manifest["rows"]}
