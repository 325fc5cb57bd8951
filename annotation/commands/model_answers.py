"""`quorum model evaluate-answers`: how often questions are answered rightly, by the whole system
and without each of its parts; by known answers, or by what people said."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from django.conf import settings

from annotation.analytics.quality.answer_accuracy import (
    answer_labels,
    correctness,
    judged_outcomes,
)
from annotation.pipeline.setup.create import get_campaign
from core.command import Device, Result, progress
from core.errors import UserError
from core.output import Rendered, Rows
from core.text.words import plural
from retrieval.answering import ablations
from retrieval.answering.ablations import FULL, PAPER_SOURCE, OpenSystems, System, index_named
from retrieval.answering.answer import CANDIDATES
from retrieval.answering.answer_match import PROXY
from retrieval.answering.answers_file import read_answers, write_answers
from retrieval.answering.known_answers import in_the_database, read_known
from retrieval.answering.scoring import compared, outcomes, rows
from retrieval.commands.ask import Candidates, Selector
from retrieval.commands.model import app
from retrieval.commands.stdin_questions import Fresh, FromCorpus
from retrieval.corpus.corpora import corpus_named
from retrieval.index.versions import current_index, not_indexed
from retrieval.models.corpus import ALL
from retrieval.ranking.bootstrap import LEVEL

HEAD = (
    "system",
    "accuracy",
    "against all of it",
    "p",
    "answered",
    "right of these",
    "paper: Quora / NQ / TriviaQA",
)
PAPER_CORPUS = (
    "QUADRo, section 4.1: people said that 92.6 % of its database's answers are right, "
    "93.0 % of those collected for QuoraQP, and 84.3 % of ELI5's"
)
StandIn = tuple[str, str] | None


def _scores(result: Result) -> Rendered:
    if "judge" in result:
        return _judged(result)
    return [
        Rows(HEAD, map(_cells, result["systems"])),
        "",
        f"{result['questions']:,} questions, {result['in_the_database']:,} of them word for "
        f"word in the database; the best of {result['k']:,} candidates counts.",
        f"Right: {result['right']}.",
        f"In brackets: {result['level']:.0%} bootstrap intervals over the questions; p: a "
        "paired randomization test.",
        f"The paper's are accuracies in percent, of {result['paper']}.",
        *filter(None, [not_indexed(result["pairs_not_indexed"])]),
    ]


def _judged(result: Result) -> Rendered:
    said = (
        f"Right: as people of {result['judge']} said. In brackets: {result['level']:.0%} bootstrap"
    )
    if "sources" in result:
        rows = [
            (each["source"], f"{each['pairs']:,}", _estimate(each["correctness"]))
            for each in result["sources"]
        ]
        return [
            Rows(("source", "pairs judged", "right answers"), rows),
            "",
            f"{said} intervals over the pairs.",
            f"The paper's: {result['paper']}.",
        ]
    return [
        Rows(HEAD, map(_cells, result["systems"])),
        "",
        f"{result['questions']:,} questions; {result['left_out']:,} more are left out "
        f"({plural(result['unjudged'], 'answer')} without a label).",
        f"{said} intervals over the questions; p: a paired randomization test.",
        f"The paper's are accuracies in percent, of {result['paper']}.",
    ]


@app.verb("evaluate-answers", render=_scores)
def evaluate(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]",
            help='.jsonl or .jsonl.gz: {"question": ..., "answers": [...]}; with --judge, what '
            "--answers wrote.",
            show_default=False,
        ),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(
            metavar="CAMPAIGN",
            help="Count what people of a campaign of the task `answer` said: of the answers in "
            "FILE, or without it of all pairs that they judged.",
        ),
    ] = None,
    answers: Annotated[
        Path | None,
        typer.Option(
            metavar="OUT",
            help="Write the answers of all systems to this .jsonl, for people to judge.",
        ),
    ] = None,
    selector: Selector = None,
    without_dataset: Annotated[
        StandIn,
        typer.Option(
            metavar="INDEX SELECTOR",
            help="Compare with an index and a selector that were not tuned on the release.",
        ),
    ] = None,
    without_neural: Annotated[
        bool, typer.Option("--without-neural", help="Compare with BM25 as the only search.")
    ] = False,
    without_selector: Annotated[
        bool, typer.Option("--without-selector", help="Compare with the retriever alone.")
    ] = False,
    without_answer: Annotated[
        StandIn,
        typer.Option(
            metavar="INDEX SELECTOR", help="Compare with an index and a selector of the form QQ."
        ),
    ] = None,
    k: Candidates = CANDIDATES,
    corpus: FromCorpus = ALL,
    fresh: Fresh = False,
    device: Device = settings.ENCODER_DEVICE,
) -> Result:
    """Score the answers to questions with known answers, or by people; and each ablation."""
    if judge:
        return _by_people(judge, file)
    if file is None:
        raise UserError("Name the FILE of questions, or a campaign by --judge.")
    questions = read_known(file)
    index = current_index(corpus_named(corpus), fresh=fresh)
    full = System(FULL, index, (settings.SELECTOR if selector is None else selector) or None)
    systems = [full, *_ablated(full, without_dataset, without_neural, without_selector, fresh)]
    if without_answer:
        named, stand_in = without_answer
        alone = index_named(named, fresh=fresh)
        systems.append(ablations.without_answer(full, alone, stand_in))
    opened = OpenSystems(device)
    answerers = {system.name: opened.answerer(system) for system in systems}
    with progress(len(questions) * len(systems), "Answering", " questions") as bar:
        figures = {
            name: outcomes(answerer, questions, k, bar.update)
            for name, answerer in answerers.items()
        }
    if answers:
        write_answers(answers, questions, figures)
    return {
        "file": str(file),
        "questions": len(questions),
        "in_the_database": in_the_database(questions),
        "k": k,
        "pairs_not_indexed": opened.pairs_not_indexed(),
        "right": PROXY,
        "level": LEVEL,
        "systems": rows(systems, figures),
        "paper": PAPER_SOURCE,
    }


def _by_people(judge: str, file: Path | None) -> Result:
    campaign = get_campaign(judge)
    head = {"judge": campaign.name, "level": LEVEL}
    if file is None:
        return {**head, "sources": correctness(campaign), "paper": PAPER_CORPUS}
    judged = judged_outcomes(answer_labels(campaign), read_answers(file))
    if not judged.questions:
        raise UserError(
            f"{campaign} has no label for the answers to any of these questions yet: create it "
            "from this file, and let people judge first."
        )
    return {
        **head,
        "file": str(file),
        "questions": judged.questions,
        "left_out": judged.left_out,
        "unjudged": judged.unjudged,
        "systems": compared(judged.scored),
        "paper": PAPER_SOURCE,
    }


def _ablated(
    full: System, dataset: StandIn, neural: bool, selector: bool, fresh: bool
) -> Iterator[System]:
    if dataset:
        yield ablations.untuned(full, index_named(dataset[0], fresh=fresh), dataset[1])
    if neural:
        yield ablations.by_words(full)
    if selector:
        yield ablations.without_selector(full)


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    less = row["difference"]
    right = row["right_of_answered"]
    return (
        row["words"],
        _estimate(row["accuracy"]),
        _estimate(less) if less else "",
        f"{less['p']:.4f}" if less else "",
        f"{row['answered']:.1%}",
        "" if right is None else f"{right:.1%}",
        " / ".join(f"{figure:.1f}" for figure in row["paper"].values()),
    )


def _estimate(report: dict[str, float]) -> str:
    return f"{report['value']:.1%} [{report['low']:.1%}, {report['high']:.1%}]"
