"""`make bench SIZE=controls`: can a worker tell the controls from the rest without reading?

Twenty seeded campaigns over four real corpora, with the general pool and with controls of their
own. Confirming by a person is simulated: see the arms.
"""

import argparse
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import benchmarks.ready  # noqa: F401
from annotation.crowd.simulated.profiles import Worker, WorkerProfiles, fraction, make_workers
from annotation.protocol.labels.rewordings import Style
from annotation.protocol.packing.pack import PackingError
from annotation.protocol.policy.policy import Policy
from benchmarks import folders
from benchmarks.control_leak import arms
from benchmarks.control_leak.attackers import attacks
from benchmarks.control_leak.corpora import NAMES, NEEDED, Corpus, load
from benchmarks.main_job import machine
from benchmarks.quality.tasks import MINILM

PARAPHRASED = ("quora", "banking")  # corpora with so many questions of one meaning


@dataclass(frozen=True)
class Size:
    campaigns: int = 5  # of each corpus
    queries: int = 20
    pairs: int = 6_000
    depth: int = 30
    kept_out: int = arms.KEPT_OUT
    negative_max_cosine: float = Policy().negative_max_cosine
    model: str = MINILM


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make bench SIZE=controls", description=__doc__)
    parser.add_argument("--data", type=Path, default=folders.DATA, help="the folder of real data")
    options = parser.parse_args(words)
    if missing := [path for path in NEEDED if not (options.data / path).is_file()]:
        print(f"{missing[0]} is not in {options.data}: the benchmark is skipped.")
        return 0
    folders.keep("control_leak", measured(Size(), options.data))
    return 0


def measured(size: Size, data: Path) -> dict[str, Any]:
    began = time.monotonic()
    corpora = {name: _of_corpus(name, size, data) for name in NAMES}
    return {
        "machine": machine(),
        "size": asdict(size),
        "corpora": corpora,
        "seconds": round(time.monotonic() - began, 1),
    }


def _of_corpus(name: str, size: Size, data: Path) -> dict[str, object]:
    corpus = load(name, data=data, most=size.pairs, model=size.model)
    style = Style.of(question for question, *_ in corpus.rows)
    answers = Counter(answer for _, answer, _ in corpus.rows)
    pairs = {(question, answer) for question, answer, _ in corpus.rows}
    found: defaultdict[str, list[dict[str, float]]] = defaultdict(list)
    too_few: Counter[str] = Counter()
    for seed in range(1, size.campaigns + 1):
        for arm, made in _arms(corpus, seed, size, style, answers):
            if made is None:
                too_few[arm] += 1
            else:
                found[arm].append(attacks(made, seed, pairs) | passed(made, seed) | fair(made))
    shown = {arm: _together(rows) for arm, rows in found.items()}
    print(name, *(f"{arm}: {rows}" for arm, rows in shown.items()), sep="\n  ", flush=True)
    return {"questions": len(corpus.rows), "arms": shown, "too_few_drafts": dict(too_few)}


def _arms(
    corpus: Corpus, seed: int, size: Size, style: Style, answers: Mapping[str, int]
) -> Iterator[tuple[str, arms.Arm | None]]:
    policy = Policy(candidates_per_query=size.depth, negative_max_cosine=size.negative_max_cosine)
    drawn = arms.drawn(corpus, seed, policy, queries=size.queries)
    yield "pool", arms.pool(drawn)
    yield "drafts", _own(drawn, style, answers, "unread")
    yield "read", _own(drawn, style, answers, "read")
    if corpus.name in PARAPHRASED:
        apart = arms.drawn(corpus, seed, policy, queries=size.queries, kept_out=size.kept_out)
        yield "paraphrases", _own(apart, style, answers, "paraphrased")


def _own(
    drawn: arms.Drawn, style: Style, answers: Mapping[str, int], how: arms.Confirming
) -> arms.Arm | None:
    try:
        return arms.own(drawn, style, answers, how)
    except PackingError:
        return None


def passed(arm: arms.Arm, seed: int) -> dict[str, float]:
    """The share of HITs whose controls a worker of each kind answers as expected."""
    workers = make_workers(WorkerProfiles(careless=0.2, seed=seed))
    controls: defaultdict[int, list[arms.Triple]] = defaultdict(list)
    for item in arm.items:
        if item.is_control:
            controls[item.hit].append((item.query, item.question, item.answer))
    shares: defaultdict[str, list[float]] = defaultdict(list)
    for worker in workers:
        right = [
            all(_answers(worker, one, arm, seed) == arm.expected[one] for one in of)
            for of in controls.values()
        ]
        shares[f"{worker.kind} pass"].append(fmean(right))
    return {kind: fmean(of) for kind, of in shares.items()}


def _answers(worker: Worker, control: arms.Triple, arm: arms.Arm, seed: int) -> int:
    """By the gold, where it says something of the control; else as it was confirmed."""
    draw = fraction(seed, worker.id, *control[:2])
    if worker.yes_bias is not None:
        return int(draw < worker.yes_bias)
    known = arm.known[control]
    label = arm.expected[control] if known is None else known
    return label ^ (not worker.is_right(draw, plain=False))


def fair(arm: arms.Arm) -> dict[str, float]:
    """How many drafts there are, and the share that the gold calls right, where it says it."""
    figures: dict[str, float] = dict(arm.controls) | {"yes": fmean(arm.yes.values())}
    for kind, expected in (("positive", 1), ("negative", 0)):
        of_kind = [label for one, label in arm.known.items() if arm.expected[one] == expected]
        known = [label == expected for label in of_kind if label is not None]
        if known:
            figures |= {f"{kind} judged": len(known), f"{kind} right": fmean(known)}
    return figures


def _together(rows: Sequence[Mapping[str, float]]) -> dict[str, object]:
    """The mean of each figure over the campaigns, and each campaign's of the first attack."""
    names = sorted({name for row in rows for name in row})
    means = {name: round(fmean([row[name] for row in rows if name in row]), 3) for name in names}
    return {
        "campaigns": len(rows),
        **means,
        "words of each": [round(row["words"], 3) for row in rows],
    }


if __name__ == "__main__":
    sys.exit(main())
