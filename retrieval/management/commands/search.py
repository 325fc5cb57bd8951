from dataclasses import asdict
from typing import Any, cast

from django.conf import settings
from django.core.management.base import CommandParser

from core.command import QuorumCommand, table
from retrieval.index.versions import current_index
from retrieval.management.stdin_questions import SHOWN, asked_questions
from retrieval.ranking.fusion import ALONE, RETRIEVERS
from retrieval.search.search_session import DEPTH, Searcher


class Command(QuorumCommand):
    help = "Finds the pairs nearest to a question, or to each line of standard input."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("question", nargs="?", help="default: the lines of standard input")
        parser.add_argument("-k", type=int, default=DEPTH, help="pairs a question (%(default)s)")
        parser.add_argument(
            "--retrievers",
            default=",".join(ALONE),
            help=f"{', '.join(RETRIEVERS)}, or several with a comma between (%(default)s)",
        )
        parser.add_argument("--device", default=settings.ENCODER_DEVICE, help="auto, cpu or cuda")

    def run(self, *args: Any, **options: Any) -> dict[str, object]:
        questions = asked_questions(options["question"])
        searcher = Searcher(current_index(), options["device"])
        names = options["retrievers"].split(",")
        with self.progress(len(questions), "Searching", unit=" questions") as bar:
            found = []
            for question in questions:
                hits = searcher.search(question, options["k"], retrievers=names)
                found.append({"question": question, "hits": [asdict(hit) for hit in hits]})
                bar.update()
        return {"found": found}

    def render(self, result: dict[str, object]) -> str:
        found = cast(list[dict[str, Any]], result["found"])
        return "\n\n".join(
            table({"question": one["question"]} | dict(map(_line, one["hits"]))) for one in found
        )


def _line(hit: dict[str, Any]) -> tuple[str, str]:
    found_by = ", ".join(f"{name} {rank}" for name, rank in hit["found_by"].items())
    texts = " | ".join(hit[name][:SHOWN] for name in ("question", "answer"))
    how = found_by or "no word in common"
    return f"{hit['rank']}.  cosine {hit['score']:.6f}", f"{texts}  (pair {hit['pair_id']}; {how})"
