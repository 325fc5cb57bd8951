"""`manage.py ask QUESTION`: an answer out of the database, with the pair that it comes from."""

from typing import Any, cast

from django.conf import settings
from django.core.management.base import CommandParser

from core.command import QuorumCommand, table
from core.errors import UserError
from retrieval.answering.answer import CANDIDATES, Answered, Answerer, Choice
from retrieval.answering.load_selector import find_selector
from retrieval.encoders.lazy import load_selector
from retrieval.index.versions import current_index
from retrieval.management.stdin_questions import SHOWN, asked_questions
from retrieval.ranking.fusion import ALONE, RETRIEVERS
from retrieval.search.search_session import Searcher


class Command(QuorumCommand):
    help = "Answers a question, or each line of standard input, by the best pair of the database."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("question", nargs="?", help="default: the lines of standard input")
        which = parser.add_mutually_exclusive_group()
        which.add_argument(
            "--selector",
            default=settings.SELECTOR,
            help="a registered answer selector, or the folder of one (default: QUORUM_SELECTOR)",
        )
        which.add_argument(
            "--no-selector", action="store_true", help="the retriever's best pair is the answer"
        )
        parser.add_argument(
            "-k", type=int, default=CANDIDATES, help="pairs that the selector reads (%(default)s)"
        )
        parser.add_argument(
            "--threshold",
            type=float,
            help="below this score there is no answer (default: as chosen on dev, where the "
            "selector's training did)",
        )
        parser.add_argument(
            "--retrievers",
            default=",".join(ALONE),
            help=f"{', '.join(RETRIEVERS)}, or several with a comma between (%(default)s)",
        )
        parser.add_argument("--device", default=settings.ENCODER_DEVICE, help="auto, cpu or cuda")

    def run(self, *args: Any, **options: Any) -> dict[str, object]:
        questions = asked_questions(options["question"])
        answerer = _answerer(options)
        with self.progress(len(questions), "Answering", unit=" questions") as bar:
            found = []
            for question in questions:
                found.append(_result(answerer.answer(question, options["k"])))
                bar.update()
        return {"answered": found}

    def render(self, result: dict[str, object]) -> str:
        found = cast(list[dict[str, Any]], result["answered"])
        return "\n\n".join(map(_rendered, found))


def _answerer(options: dict[str, Any]) -> Answerer:
    threshold = options["threshold"]
    if threshold is not None and not -1 <= threshold <= 1:
        raise UserError(f"A score lies between -1 and 1, so --threshold cannot be {threshold:g}.")
    named = "" if options["no_selector"] else options["selector"]
    chosen = find_selector(named) if named else None
    if threshold is None and chosen:
        threshold = chosen.threshold
    return Answerer(
        Searcher(current_index(), options["device"]),
        load_selector(chosen.folder, options["device"]) if chosen else None,
        name=chosen.name if chosen else None,
        threshold=threshold,
        retrievers=options["retrievers"].split(","),
    )


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


def _rendered(told: dict[str, Any]) -> str:
    score = f"selector {told['selector']}" if told["selector"] else "cosine"
    lines: dict[str, object] = {"question": told["question"]}
    if answer := told["answer"]:
        lines |= {
            "answer": answer["answer"],
            "to": answer["question"],
            "source": f"{answer['source']} {answer['source_id']}, "
            f"{answer['license'] or 'no licence known'} (pair {answer['pair_id']})",
            "score": f"{answer['score']:.6f} ({score})",
        }
    elif told["nearest"]:
        lines["answer"] = f"none is sure enough, below {told['threshold']:g} ({score})"
    else:
        lines["answer"] = "none, no pair has a word of the question"
    nearest = (
        (
            f"{number}.  {row['score']:.6f}",
            " | ".join(row[n][:SHOWN] for n in ("question", "answer")),
        )
        for number, row in enumerate(told["nearest"], 2 if told["answer"] else 1)
    )
    return table(lines | dict(nearest))
