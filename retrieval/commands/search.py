"""`quorum search`: the nearest pairs of questions."""

from dataclasses import asdict
from typing import Annotated, Any

import typer
from django.conf import settings

from core.command import Device, Noun, Result, progress
from core.output import Facts, Rendered
from retrieval.commands.stdin_questions import (
    DEFAULT_RETRIEVERS,
    SHOWN,
    Fresh,
    FromCorpus,
    Question,
    Retrievers,
    read_questions,
)
from retrieval.corpus.corpora import corpus_named
from retrieval.index.versions import approximate, current_index, not_indexed
from retrieval.models.corpus import ALL
from retrieval.search.search_session import DEPTH, Searcher

app = Noun(alone=True)


def _results(result: Result) -> Rendered:
    blocks: list[Any] = []
    for one in result["results"]:
        lines = {"question": one["question"]} | dict(map(_line, one["hits"]))
        blocks += [Facts(lines), ""]
    may_lack = [not_indexed(result["pairs_not_indexed"]), approximate(result["recall"])]
    return [*blocks, *filter(None, may_lack)] if any(may_lack) else blocks[:-1]


@app.verb("search", render=_results)
def search(
    question: Question = None,
    k: Annotated[
        int | None, typer.Option("-k", help=f"Pairs per question (default: {DEPTH}, or all).")
    ] = None,
    retrievers: Retrievers = DEFAULT_RETRIEVERS,
    corpus: FromCorpus = ALL,
    fresh: Fresh = False,
    device: Device = settings.ENCODER_DEVICE,
) -> Result:
    """Find the pairs nearest to a question, or to each line of standard input."""
    questions = read_questions(question)
    searcher = Searcher(current_index(corpus_named(corpus), fresh=fresh), device)
    wanted = min(DEPTH, max(1, searcher.findable())) if k is None else k
    with progress(len(questions), "Searching", " questions") as bar:
        results = []
        for each in questions:
            hits = searcher.search(each, wanted, retrievers=retrievers.split(","))
            results.append({"question": each, "hits": [asdict(hit) for hit in hits]})
            bar.update()
    return {
        "results": results,
        "pairs_not_indexed": searcher.pairs_not_indexed(),
        "recall": searcher.recall,
    }


def _line(hit: dict[str, Any]) -> tuple[str, str]:
    found_by = ", ".join(f"{name} {rank}" for name, rank in hit["found_by"].items())
    texts = " | ".join(hit[name][:SHOWN] for name in ("question", "answer"))
    how = found_by or "no word in common"
    return f"{hit['rank']}.  cosine {hit['score']:.6f}", f"{texts}  (pair {hit['pair_id']}; {how})"
