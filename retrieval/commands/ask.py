"""`quorum ask`: an answer out of the corpus, with the pair that it comes from."""

from typing import Annotated, Any

import typer
from django.conf import settings

from core.command import Device, Noun, Result, one_of, progress
from core.errors import UserError
from core.output import Facts, Rendered
from retrieval.answering.answer import CANDIDATES, Answered, Answerer, Choice
from retrieval.answering.load_selector import find_selector
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
from retrieval.encoders.lazy import load_selector
from retrieval.index.versions import approximate, current_index, not_indexed
from retrieval.models.corpus import ALL
from retrieval.search.search_session import Searcher

app = Noun(alone=True)
Selector = Annotated[
    str | None,
    typer.Option(
        help="Registered answer selector, or the folder of one; without it, QUORUM_SELECTOR."
    ),
]
Candidates = Annotated[int, typer.Option("-k", help="Pairs that the selector reads.")]


def _answers(result: Result) -> Rendered:
    blocks: list[Any] = []
    for one in result["answered"]:
        blocks += [Facts(_in_lines(one)), ""]
    may_lack = [not_indexed(result["pairs_not_indexed"]), approximate(result["recall"])]
    return [*blocks, *filter(None, may_lack)] if any(may_lack) else blocks[:-1]


@app.verb("ask", render=_answers)
def ask(
    question: Question = None,
    selector: Selector = None,
    no_selector: Annotated[
        bool, typer.Option("--no-selector", help="Answer with the retriever's best pair.")
    ] = False,
    k: Candidates = CANDIDATES,
    threshold: Annotated[
        float | None,
        typer.Option(
            help="Give no answer below this score; without it, the threshold that was chosen on "
            "dev when the selector was trained, or the retriever if there is no selector."
        ),
    ] = None,
    retrievers: Retrievers = DEFAULT_RETRIEVERS,
    corpus: FromCorpus = ALL,
    fresh: Fresh = False,
    device: Device = settings.ENCODER_DEVICE,
) -> Result:
    """Answer a question, or each line of standard input, with the best pair of the corpus."""
    one_of({"--selector": selector, "--no-selector": no_selector})
    questions = read_questions(question)
    if threshold is not None and not -1 <= threshold <= 1:
        raise UserError(f"A score lies between -1 and 1, so --threshold cannot be {threshold:g}.")
    named = "" if no_selector else settings.SELECTOR if selector is None else selector
    chosen = find_selector(named) if named else None
    if threshold is None and chosen:
        threshold = chosen.threshold
    searcher = Searcher(current_index(corpus_named(corpus), fresh=fresh), device)
    answerer = Answerer(
        searcher,
        load_selector(chosen.folder, device) if chosen else None,
        name=chosen.name if chosen else None,
        threshold=threshold,
        retrievers=retrievers.split(","),
    )
    with progress(len(questions), "Answering", " questions") as bar:
        answers = []
        for each in questions:
            answers.append(_result(answerer.answer(each, k)))
            bar.update()
    return {
        "answered": answers,
        "pairs_not_indexed": searcher.pairs_not_indexed(),
        "recall": searcher.recall,
    }


def _result(answered: Answered) -> dict[str, object]:
    return {
        "question": answered.question,
        "answer": answered.answer and _row(answered.answer),
        "nearest": list(map(_row, answered.nearest)),
        "candidates": answered.candidates,
        "selector": answered.selector,
        "threshold": answered.threshold,
    }


def _row(choice: Choice) -> dict[str, object]:
    pair = choice.pair
    return {
        "pair_id": pair.pk,
        "source": pair.source,
        "source_id": pair.source_id,
        "question": pair.question,
        "answer": pair.answer,
        "license": pair.license,
        "score": choice.score,
        "rank": choice.rank,
    }


def _in_lines(report: dict[str, Any]) -> dict[str, object]:
    score = f"selector {report['selector']}" if report["selector"] else "cosine"
    lines: dict[str, object] = {"question": report["question"]}
    if answer := report["answer"]:
        lines |= {
            "answer": answer["answer"],
            "to": answer["question"],
            "source": f"{answer['source']} {answer['source_id']}, "
            f"{answer['license'] or 'no licence known'} (pair {answer['pair_id']})",
            "score": f"{answer['score']:.6f} ({score})",
        }
    elif report["nearest"]:
        lines["answer"] = f"none is sure enough, below {report['threshold']:g} ({score})"
    else:
        lines["answer"] = "none, no pair has a word of the question"
    nearest = (
        (
            f"{number}.  {row['score']:.6f}",
            " | ".join(row[n][:SHOWN] for n in ("question", "answer")),
        )
        for number, row in enumerate(report["nearest"], 2 if report["answer"] else 1)
    )
    return lines | dict(nearest)
