"""`quorum release`: scores a model on a release, and evaluates and compares runs."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from django.conf import settings

from core.command import Device, ReleaseFolder, Result, choice, progress
from core.output import Rendered
from exports.commands.release import app
from exports.comparison.compare import compare
from exports.comparison.hit_plot import plot_path, write_hit_plot
from exports.comparison.named_runs import FORM, named_runs
from exports.comparison.report import markdown, text, uncertain_text
from exports.evaluation.evaluate import evaluate
from exports.evaluation.pair_metrics import PAIRWISE
from exports.evaluation.score_model import FORM as RETRIEVER_FORM
from exports.evaluation.score_model import ScoreRequest, queries_of, score
from exports.evaluation.systems import BASELINES
from exports.evaluation.uncertainty import Uncertainty
from retrieval.ranking.input_forms import SELECTOR_FORMS
from retrieval.ranking.metrics import WAYS, Way
from retrieval.ranking.thresholds import BY, By

SIGNIFICANT = 0.05
LabelError = Annotated[
    bool,
    typer.Option(
        "--label-error",
        help="Also show intervals that hold the labels' errors, as the labels' posteriors and the "
        "experts' blind sample tell them.",
    ),
]
PoolDepth = Annotated[
    Path | None,
    typer.Option(
        "--pool-depth",
        metavar="FILE",
        help="Also show intervals that hold what nobody judged: a report of `quorum campaign "
        "pool-depth-report STUDY --json`.",
    ),
]
WIDTH = 24
Split = Annotated[str, typer.Option("--split", metavar="SPLIT", help="train, dev or test.")]
ChosenWay = Annotated[
    Way,
    choice(
        "--way",
        list(WAYS),
        "qrc: queries without positives score 0 and are included in the mean; clean: queries whose "
        "candidates are all positive or all negative are dropped.",
    ),
]


ChosenBy = Annotated[
    By,
    choice("--by", list(BY), "The measure by which the threshold is chosen on dev."),
]


@app.verb("score")
def score_model(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="Registered model, folder, or sentence-transformers name."
        ),
    ],
    release: ReleaseFolder,
    out: Annotated[Path, typer.Option(metavar="RUN", help="New file for the run.")],
    split: Split = "test",
    form: Annotated[
        str | None,
        choice(
            "--form",
            SELECTOR_FORMS,
            "What is read of a candidate: its question, its answer, or both. Without it, a "
            f"retriever's form is the one that it was trained with here, else {RETRIEVER_FORM}. A "
            "cross-encoder that was made elsewhere needs it.",
        ),
    ] = None,
    device: Device = settings.ENCODER_DEVICE,
) -> Result:
    """Score every candidate of a split with a model, and write a run for evaluate and compare.

    A retriever scores by the cosine of query and candidate, a cross-encoder by its own score.
    """
    wanted = ScoreRequest(model=model, release=release, split=split, form=form, device=device)
    queries = queries_of(wanted.release, wanted.split)
    with progress(queries, "Scoring", " queries") as bar:
        return score(wanted, out, bar.update)


def _evaluated(result: Result) -> Rendered:
    queries = result["queries"]
    return [
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
        *(f"\n{part}\n" for part in uncertain_text(result)),
        *result["notes"],
        "",
        _verdict(result),
    ]


@app.verb("evaluate", render=_evaluated)
def evaluate_run(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="File of the run.")],
    release: ReleaseFolder,
    split: Split = "test",
    against: Annotated[
        str,
        typer.Option(metavar="BASELINE", help="retriever, bm25, or the file of another run."),
    ] = BASELINES[0],
    way: ChosenWay = "qrc",
    dev_run: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The same system's run on dev, where the threshold for accuracy and F1 is chosen. "
            "Without it, 0.5 if all scores lie from 0 to 1.",
        ),
    ] = None,
    by: ChosenBy = "f1",
    label_error: LabelError = False,
    pool_depth: PoolDepth = None,
) -> Result:
    """Evaluate a run on a split of a release, and test it against a baseline.

    A run is a TREC file (query Q0 candidate rank score tag) or JSON lines, with query_id,
    candidate_id and score, or with id and scores. Files may be compressed as .gz.
    """
    return evaluate(
        run,
        release,
        split=split,
        against=against,
        way=way,
        dev_run=dev_run,
        by=by,
        uncertain=Uncertainty(label_error, pool_depth),
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
        f"{', '.join(known) or 'accuracy, F1, and ROC-AUC are undefined'}; "
        f"threshold: {value}{pairs['threshold_from']}."
    )


def _cell(figure: Mapping[str, float], sign: str = "") -> str:
    low, high = f"{figure['low']:{sign}.3f}", f"{figure['high']:{sign}.3f}"
    return f"{figure['value']:{sign}.4f} [{low}, {high}]"


def _verdict(result: Mapping[str, Any]) -> str:
    differences = result["difference"].items()
    clear = {name: test["value"] for name, test in differences if test["p"] < SIGNIFICANT}
    than = f"than {result['against']['run']} in"
    sides = (
        (f"better {than}", [name for name, value in clear.items() if value > 0]),
        (f"worse {than}", [name for name, value in clear.items() if value < 0]),
        ("not told apart by this test in", [name for name, _ in differences if name not in clear]),
    )
    parts = [f"{words} {', '.join(names)}" for words, names in sides if names]
    return f"At p < {SIGNIFICANT} the run is {'; '.join(parts)}."


@app.verb("compare")
def compare_systems(
    systems: Annotated[list[str], typer.Argument(metavar="SYSTEM...", help=FORM)],
    release: ReleaseFolder,
    split: Split = "test",
    way: ChosenWay = "qrc",
    against: Annotated[
        str, typer.Option(metavar="NAME", help="System that the others are tested against.")
    ] = BASELINES[0],
    dev_run: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=RUN[,RUN...]",
            help="A system's runs on dev, in the order of its other runs, where the thresholds of "
            "accuracy and F1 are chosen; repeatable.",
        ),
    ] = None,
    by: ChosenBy = "f1",
    label_error: LabelError = False,
    pool_depth: PoolDepth = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.svg", help="Draw hit@k, and a version for dark pages in FILE-dark.svg."
        ),
    ] = None,
    paper: Annotated[
        bool, typer.Option("--paper", help="Add the figures of published papers, with sources.")
    ] = False,
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the tables as Markdown.")
    ] = False,
) -> tuple[Result, Callable[[Result], Rendered]]:
    """Compare systems on a split of a release, each with one run or one run per seed.

    Shows means and deviations, intervals, a test against one system, and a hit@k plot.
    """
    path = plot_path(plot) if plot else None
    runs = named_runs(systems, dev_run or [], release=release, split=split, against=against)
    result = compare(
        runs,
        release,
        split=split,
        way=way,
        against=against,
        paper=paper,
        by=by,
        uncertain=Uncertainty(label_error, pool_depth),
    )
    plots = write_hit_plot(path, result) if path else []
    report = result | {"plots": [str(plot) for plot in plots]}
    return report, markdown if as_markdown else text
