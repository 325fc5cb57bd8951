from dataclasses import asdict
from typing import Any

from core.command import QuorumCommand
from retrieval.corpus.sources.counts import SourceCounts, Words, source_counts

COLUMNS = ("source", "pairs", "questions", "question words", "answer words", "withdrawn")


class Command(QuorumCommand):
    help = "Counts what the database holds of each source, as the paper's Table 1 does."

    def run(self, *args: Any, **options: Any) -> dict[str, object]:
        counts, total = source_counts()
        self.shown = [*counts, total]
        return {"sources": [asdict(one) for one in counts], "total": asdict(total)}

    def render(self, result: dict[str, object]) -> str:
        rows = [COLUMNS, *(_cells(one) for one in self.shown)]
        widths = [max(len(row[place]) for row in rows) for place in range(len(COLUMNS))]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])])
            for row in rows
        ]
        licenses = [
            f"{one.source}: {count:,} pairs under {license or 'no license that is known'}"
            for one in self.shown[:-1]
            for license, count in one.licenses.items()
        ]
        return "\n".join([*lines, "", *licenses])


def _cells(one: SourceCounts) -> tuple[str, ...]:
    return (
        one.source,
        f"{one.pairs:,}",
        f"{one.questions:,}",
        _spread(one.question_words),
        _spread(one.answer_words),
        f"{one.withdrawn:,}",
    )


def _spread(words: Words) -> str:
    return f"{words.mean:.1f} +- {words.sd:.1f}"
