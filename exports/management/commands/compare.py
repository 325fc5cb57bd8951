"""`manage.py compare NAME=RUN,RUN ... --release DIR`: several systems in one table and one plot."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from core.command import QuorumCommand
from exports.comparison.compare import compare
from exports.comparison.hit_plot import plot_path, write_hit_plot
from exports.comparison.named_runs import FORM, named_runs
from exports.comparison.report import markdown, text
from exports.evaluation.systems import BASELINES
from retrieval.ranking.metrics import WAYS


class Command(QuorumCommand):
    help = (
        "Compare systems on a split of a release, each of one run or of one for each seed: means "
        "and deviations, intervals, a test against one of them, and a hit@k plot."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("systems", nargs="+", metavar="SYSTEM", help=FORM)
        parser.add_argument(
            "--release", type=Path, required=True, metavar="DIR", help="the release's folder"
        )
        parser.add_argument("--split", default="test", help="train, dev or test (the default)")
        parser.add_argument(
            "--way",
            default="qrc",
            choices=list(WAYS),
            help="qrc (the default): a query without a positive counts 0; clean: queries whose "
            "candidates are all positive or all negative are dropped",
        )
        parser.add_argument(
            "--against",
            default=BASELINES[0],
            metavar="NAME",
            help="the system that the others are tested against (%(default)s)",
        )
        parser.add_argument(
            "--dev-run",
            action="append",
            default=[],
            metavar="NAME=RUN[,RUN...]",
            help="a system's runs on dev, in the order of its others: where the thresholds of "
            "accuracy and F1 are chosen; again for each system",
        )
        parser.add_argument(
            "--plot",
            type=Path,
            metavar="FILE.svg",
            help="draws hit@k into it, and for dark pages into FILE-dark.svg",
        )
        parser.add_argument(
            "--paper", action="store_true", help="papers' figures beside, with their source"
        )
        parser.add_argument(
            "--markdown", action="store_true", help="the tables as Markdown, to be pasted"
        )

    def run(self, *args: Any, **options: Any) -> dict[str, object]:
        self.as_markdown: bool = options["markdown"]
        path = plot_path(options["plot"]) if options["plot"] else None
        release, split, against = (options[name] for name in ("release", "split", "against"))
        result = compare(
            named_runs(
                options["systems"],
                options["dev_run"],
                release=release,
                split=split,
                against=against,
            ),
            release,
            split=split,
            way=options["way"],
            against=against,
            paper=options["paper"],
        )
        plots = write_hit_plot(path, result) if path else []
        return result | {"plots": [str(plot) for plot in plots]}

    def render(self, result: dict[str, Any]) -> str:
        return markdown(result) if self.as_markdown else text(result)
