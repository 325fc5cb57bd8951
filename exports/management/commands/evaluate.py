"""`manage.py evaluate RUN --release DIR`: a user's own run, scored on a release."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from core.command import QuorumCommand
from exports.evaluation.evaluate import evaluate
from exports.evaluation.pair_metrics import PAIRWISE
from exports.evaluation.systems import BASELINES
from retrieval.ranking.metrics import WAYS

SIGNIFICANT = 0.05
WIDTH = 24


class Command(QuorumCommand):
    help = (
        "Score a run on a split of a release, and test it against a baseline. A run is a TREC "
        "file (query Q0 candidate rank score tag) or JSON lines, with query_id, candidate_id and "
        "score, or with id and scores; .gz is read too."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="RUN", type=Path, help="the run")
        parser.add_argument(
            "--release", type=Path, required=True, metavar="DIR", help="the release's folder"
        )
        parser.add_argument("--split", default="test", help="train, dev or test (the default)")
        parser.add_argument(
            "--against",
            default=BASELINES[0],
            metavar="BASELINE",
            help="retriever (the default), bm25, or the path of another run",
        )
        parser.add_argument(
            "--way",
            default="qrc",
            choices=list(WAYS),
            help="qrc (the default): a query without a positive counts 0; clean: queries whose "
            "candidates are all positive or all negative are dropped",
        )
        parser.add_argument(
            "--dev-run",
            type=Path,
            metavar="FILE",
            help="the same system's run on dev: its best threshold there is the one of accuracy "
            "and F1; without it, 0.5 where all scores lie from 0 to 1",
        )

    def run(self, *args: Any, **options: Any) -> dict[str, object]:
        return evaluate(
            options["file"],
            options["release"],
            split=options["split"],
            against=options["against"],
            way=options["way"],
            dev_run=options["dev_run"],
        )

    def render(self, result: dict[str, Any]) -> str:
        queries = result["queries"]
        return "\n".join(
            [
                f"{result['run']} against {result['against']['run']}, {result['split']} of "
                f"{result['release']}",
                f"{result['way']}: {queries['counted']:,} queries, {queries['dropped']:,} dropped",
                "",
                *_table(result),
                "",
                _pair_by_pair(result["pairs"]),
                f"In brackets: {result['level']:.0%} bootstrap intervals over the queries; p: a "
                f"two-sided paired randomization test of {result['flips']:,} flips, each metric "
                "by itself.",
                *result["notes"],
                "",
                _verdict(result),
            ]
        )


def _table(result: Mapping[str, Any]) -> Iterator[str]:
    yield f"{'':8}{'run':{WIDTH}}{'baseline':{WIDTH}}{'difference':{WIDTH + 2}}p"
    for name, difference in result["difference"].items():
        run, baseline = result["metrics"][name], result["against"]["metrics"][name]
        yield (
            f"{name:8}{_cell(run):{WIDTH}}{_cell(baseline):{WIDTH}}"
            f"{_cell(difference, sign='+'):{WIDTH + 2}}{difference['p']:.4f}"
        )


def _pair_by_pair(pairs: Mapping[str, Any]) -> str:
    known = [f"{name} {pairs[name]:.4f}" for name in PAIRWISE if pairs[name] is not None]
    value = "" if pairs["threshold"] is None else f"{pairs['threshold']:.6g}, "
    return (
        f"Pair by pair, {pairs['judged']:,} judged, {pairs['positive']:,} positive: "
        f"{', '.join(known) or 'nothing to tell'}; threshold: {value}{pairs['threshold_from']}."
    )


def _cell(figure: Mapping[str, float], sign: str = "") -> str:
    low, high = f"{figure['low']:{sign}.3f}", f"{figure['high']:{sign}.3f}"
    return f"{figure['value']:{sign}.4f} [{low}, {high}]"


def _verdict(result: Mapping[str, Any]) -> str:
    differences = result["difference"].items()
    clear = {name: found["value"] for name, found in differences if found["p"] < SIGNIFICANT}
    than = f"than {result['against']['run']} in"
    told = (
        (f"better {than}", [name for name, value in clear.items() if value > 0]),
        (f"worse {than}", [name for name, value in clear.items() if value < 0]),
        ("not told apart by this test in", [name for name, _ in differences if name not in clear]),
    )
    parts = [f"{words} {', '.join(names)}" for words, names in told if names]
    return f"At p < {SIGNIFICANT} the run is {'; '.join(parts)}."
