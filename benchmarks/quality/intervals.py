"""`make bench SIZE=intervals`: whether intervals of P@1 and MAP cover what true labels would say.

The made-up campaigns of `label_error`, in queries of 30 candidates. Experts judge some labels at
random. A good and a fair system rank each query and know nothing of votes. Their figures, and how
much better the good one is, are read from a release's files: with the chances of its labels where
these are shown, and with majorities.
"""

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson

import benchmarks.ready  # noqa: F401
from annotation.protocol.aggregation.fit import Fit, fit
from annotation.protocol.aggregation.table import UNKNOWN
from annotation.protocol.labels.claims import Claims
from benchmarks import folders
from benchmarks.main_job import machine
from benchmarks.quality.label_error import Flags, Floats, Ints, Made, campaign, order_of
from exports.evaluation.scoring import Labels, split_labels
from exports.evaluation.uncertainty import label_chances, ranks_by
from exports.evaluation.worlds import LabelChances, LogOdds, Orders, Worlds, metrics
from exports.layout.files import CAMPAIGN, GOLD, SPLIT_FILES
from retrieval.ranking.bootstrap import LEVEL
from retrieval.ranking.metrics import METRICS
from retrieval.ranking.records import CandidateRecord, QueryRecord, line

CANDIDATES = 30
WORLDS = 300  # for each interval
SYSTEMS = {"good": 2.0, "fair": 1.0}  # how far they score positives above the rest, in deviations
# Whether an interval covers the value of the campaign's queries by true labels, and that of all
# queries; its width; how far its mean is from the first value.
FIGURES = ("covers", "covers_of_all", "width", "off")
COMPARED = (*SYSTEMS, "good less fair")
NAMES = ("P@1", "MAP")
SHOWN = [list(METRICS).index(name) for name in NAMES]
NOTHING_HIDDEN = np.zeros((1, 0), bool)


@dataclass(frozen=True)
class Size:
    campaigns: int = 200
    queries: int = 100
    judged: int = 400
    all_queries: int = 20_000  # that there might be


class Truth(NamedTuple):
    """By system, or their difference, and metric: of the campaign's queries, and of all."""

    here: Floats
    of_all: Floats


@dataclass(frozen=True)
class Ranked:
    made: Made
    fitted: Fit
    judged: Ints
    orders: Sequence[Ints]  # of each system: a row a query, its candidates best first
    truth: Truth


def ranked(seed: int, size: Size) -> Ranked:
    random = np.random.default_rng(seed)
    made = campaign(size.queries * CANDIDATES, random)
    judged = order_of(made, random)[: size.judged]
    audit = np.full(len(made.label), UNKNOWN)
    fitted = fit(made.table, audit, audit)
    audit[judged] = made.truth[judged]
    truth = made.truth.reshape(-1, CANDIDATES) == 1
    others = random.random((size.all_queries, CANDIDATES)) < truth.mean()
    orders = [by_score(truth, apart, random) for apart in SYSTEMS.values()]
    here = [values(truth, order) for order in orders]
    of_all = [values(others, by_score(others, apart, random)) for apart in SYSTEMS.values()]
    found = Truth(*(with_difference(np.stack(each)) for each in (here, of_all)))
    return Ranked(made, replace(fitted, audit=audit), judged, orders, found)


def by_score(truth: Flags, apart: float, random: np.random.Generator) -> Ints:
    return np.argsort(-(apart * truth + random.normal(size=truth.shape)), axis=1)


def values(truth: Flags, order: Ints) -> Floats:
    best_first = np.take_along_axis(truth, order, axis=1)
    means: Floats = metrics(best_first, best_first.sum(axis=1)).mean(axis=0)
    return means[SHOWN]


def with_difference(of_systems: Floats) -> Floats:
    """The last but one axis is of systems."""
    good, fair = np.moveaxis(of_systems, -2, 0)
    return np.stack([good, fair, good - fair], axis=-2)


def write(folder: Path, one: Ranked, *, chances: bool) -> None:
    """What is read of a release: all queries are its test's, each id is a place."""
    facts, label = one.fitted.facts(), one.made.label
    posteriors: Sequence[float | None] = [None] * len(label)
    if chances:
        claims = Claims(*(facts[name] for name in ("aggregator", "offset", "slope", "sampled")))
        posteriors = [claims.shown(odds) for odds in one.fitted.log_odds.tolist()]
        label = (one.fitted.log_odds > 0).astype(int)
        (folder / CAMPAIGN).write_bytes(orjson.dumps({"aggregation": [facts]}))
    rows = [
        CandidateRecord(
            str(at), "", "", at % CANDIDATES + 1, None, said, 0, 0, None, None, True, posterior
        )
        for at, (said, posterior) in enumerate(zip(label.tolist(), posteriors, strict=True))
    ]
    queries = [
        line(QueryRecord(str(at), "", rows[at : at + CANDIDATES]))
        for at in range(0, len(rows), CANDIDATES)
    ]
    for name in SPLIT_FILES:
        (folder / name).write_bytes(b"".join(queries) if name == "test.jsonl" else b"")
    given = {"expert": "x", "blind_label": None, "source": "sample"}
    gold = [
        {"query_id": str(at - at % CANDIDATES), "candidate_id": str(at), "label": int(truth)}
        for at, truth in zip(one.judged.tolist(), one.made.truth[one.judged], strict=True)
    ]
    (folder / GOLD).write_bytes(b"".join(orjson.dumps(row | given) + b"\n" for row in gold))


def figures(one: Ranked, *, chances: bool) -> Mapping[str, Floats]:
    """By what an interval knows: (systems, metrics, FIGURES)."""
    with tempfile.TemporaryDirectory() as name:
        write(Path(name), one, chances=chances)
        labels = split_labels(Path(name), "test")
        drawn, _ = label_chances(Path(name), "test")
    taken = np.array([label for judged in labels.values() for label in judged.values()], float)
    places = np.arange(len(taken)).reshape(-1, CANDIDATES)
    systems: list[Sequence[Orders]] = [
        [np.take_along_axis(places, order, axis=1).astype(str).tolist()] for order in one.orders
    ]
    exact = [(pairs, LogOdds.exact(part.expected)) for pairs, part in drawn.parts]
    ranks = ranks_by(systems, labels)
    known = {
        "no label errs": LabelChances(taken),
        "chances are exact": replace(drawn, parts=exact),
        "chances are exact, and ranks": replace(drawn, parts=exact).with_ranks(ranks),
        "chances are drawn, and ranks": drawn.with_ranks(ranks),
    }
    return {name: _figures(each, systems, labels, one.truth) for name, each in known.items()}


def _figures(
    chances: LabelChances, systems: Sequence[Sequence[Orders]], labels: Labels, truth: Truth
) -> Floats:
    worlds = Worlds(chances, [CANDIDATES] * len(labels), NOTHING_HIDDEN, "qrc")
    drawn = with_difference(worlds.means(systems, labels, worlds=WORLDS)[..., SHOWN])
    low, high = np.quantile(drawn, ((1 - LEVEL) / 2, (1 + LEVEL) / 2), axis=0)
    covers = [(low <= value) & (value <= high) for value in truth]
    return np.stack([*covers, high - low, drawn.mean(axis=0) - truth.here], axis=-1)


def summary(rows: Sequence[Mapping[str, Floats]]) -> dict[str, Any]:
    return {
        name: {
            system: {
                metric: dict(zip(FIGURES, cell.round(4).tolist(), strict=True))
                for metric, cell in zip(NAMES, of_system, strict=True)
            }
            for system, of_system in zip(
                COMPARED, np.mean([row[name] for row in rows], axis=0), strict=True
            )
        }
        for name in (rows[0] if rows else ())
    }


def measured(size: Size) -> dict[str, Any]:
    by_chances, by_majority = [], []
    for seed in range(size.campaigns):
        one = ranked(seed, size)
        by_majority.append(figures(one, chances=False))
        if one.fitted.calibration:
            by_chances.append(figures(one, chances=True))
        if not (seed + 1) % 20:
            print(f"{seed + 1} of {size.campaigns} campaigns", flush=True)
    return {
        "machine": machine(),
        "size": asdict(size),
        "majorities": {"campaigns": len(by_majority), **summary(by_majority)},
        "chances": {"campaigns": len(by_chances), **summary(by_chances)},
    }


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make bench SIZE=intervals", description=__doc__)
    parser.add_argument("--campaigns", type=int, default=Size.campaigns)
    options = parser.parse_args(words)
    folders.keep("labels/intervals", measured(Size(campaigns=options.campaigns)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
