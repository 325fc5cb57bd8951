"""`manage.py evaluate_answers FILE`: how often questions with known answers are answered rightly,
by the whole system and without each of its parts."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from core.command import QuorumCommand
from retrieval.answering import ablations
from retrieval.answering.ablations import FULL, PAPER_SOURCE, OpenSystems, System, index_named
from retrieval.answering.answer import CANDIDATES
from retrieval.answering.answer_match import PROXY
from retrieval.answering.known_answers import in_the_database, read_known
from retrieval.answering.scoring import outcomes, rows
from retrieval.index.versions import current_index
from retrieval.ranking.bootstrap import LEVEL

STAND_IN = ("INDEX", "SELECTOR")
HEAD = (
    "system",
    "accuracy",
    "against all of it",
    "p",
    "answered",
    "right of these",
    "paper: Quora / NQ / TriviaQA",
)


class Command(QuorumCommand):
    help = "Scores answers to questions with known ones, and each ablation that is asked for."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "file", type=Path, help='.jsonl or .jsonl.gz: {"question": ..., "answers": [...]}'
        )
        parser.add_argument(
            "--selector",
            default=settings.SELECTOR,
            help="a registered answer selector, or the folder of one (default: QUORUM_SELECTOR, "
            "or none)",
        )
        parser.add_argument(
            "--without-dataset",
            nargs=2,
            metavar=STAND_IN,
            help="also by an index and a selector that were not tuned on the release",
        )
        parser.add_argument(
            "--without-neural", action="store_true", help="also with BM25 for the neural search"
        )
        parser.add_argument(
            "--without-selector", action="store_true", help="also by the retriever alone"
        )
        parser.add_argument(
            "--without-answer",
            nargs=2,
            metavar=STAND_IN,
            help="also by an index and a selector of the form QQ",
        )
        parser.add_argument(
            "-k", type=int, default=CANDIDATES, help="pairs that a selector reads (%(default)s)"
        )
        parser.add_argument("--device", default=settings.ENCODER_DEVICE, help="auto, cpu or cuda")

    def run(self, *args: Any, **options: Any) -> dict[str, object]:
        questions = read_known(options["file"])
        systems = list(_systems(options))
        opened = OpenSystems(options["device"])
        answerers = {system.name: opened.answerer(system) for system in systems}
        total = len(questions) * len(systems)
        with self.progress(total, "Answering", unit=" questions") as bar:
            found = {
                name: outcomes(answerer, questions, options["k"], bar.update)
                for name, answerer in answerers.items()
            }
        return {
            "file": str(options["file"]),
            "questions": len(questions),
            "in_the_database": in_the_database(questions),
            "k": options["k"],
            "right": PROXY,
            "level": LEVEL,
            "systems": rows(systems, found),
            "paper": PAPER_SOURCE,
        }

    def render(self, result: dict[str, Any]) -> str:
        lines = [HEAD, *map(_cells, result["systems"])]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        notes = [
            f"{result['questions']:,} questions, {result['in_the_database']:,} of them word for "
            f"word in the database; the best of {result['k']:,} candidates counts.",
            f"Right: {result['right']}.",
            f"In brackets: {result['level']:.0%} bootstrap intervals over the questions; p: a "
            "paired randomization test.",
            f"The paper's are accuracies in percent, of {result['paper']}.",
        ]
        return "\n".join([*(_aligned(line, widths) for line in lines), "", *notes])


def _systems(options: dict[str, Any]) -> Iterator[System]:
    full = System(FULL, current_index(), options["selector"] or None)
    yield full
    if stand_in := options["without_dataset"]:
        yield ablations.untuned(full, index_named(stand_in[0]), stand_in[1])
    if options["without_neural"]:
        yield ablations.by_words(full)
    if options["without_selector"]:
        yield ablations.without_selector(full)
    if stand_in := options["without_answer"]:
        yield ablations.without_answer(full, index_named(stand_in[0]), stand_in[1])


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


def _estimate(told: dict[str, float]) -> str:
    return f"{told['value']:.1%} [{told['low']:.1%}, {told['high']:.1%}]"


def _aligned(cells: tuple[str, ...], widths: list[int]) -> str:
    padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
    return "  ".join(padded).rstrip()
