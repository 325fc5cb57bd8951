"""`make bench SIZE=shared_errors`: who is named for errors in common, in crowds that are made up.

Two hundred workers err with unlike chances, apart for each label, on controls of unlike hardness,
of which one in fifty has a wrong key. Each answers more and more of them, and all are looked at
each time. Honest crowds name nobody; of two who answer as one, or one who asks a machine, the
figure is after how many controls they are named.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import median

import numpy as np
from numpy.random import Generator

import benchmarks.ready  # noqa: F401
from annotation.protocol.screening.shared_errors import Answers, name_pairs
from benchmarks import folders
from benchmarks.main_job import machine

CONTROLS = 800
LOOKS = (20, 30, 40, 50, 60, 80, 100, 150, 200, 300)
COPIED = 0.9  # of the answers
ERRORS = (0.1, 0.2, 0.05)  # of workers, on controls
COPYING = {
    "two who answer as one": None,
    "one who asks a machine that errs on 10 %": 0.1,
    "one who asks a machine that errs on 20 %": 0.2,
}


@dataclass(frozen=True)
class Size:
    workers: int = 200
    honest: int = 100
    copying: int = 15


def crowd(random: Generator, workers: int, error: float) -> Answers:
    """Each worker's answers are in the order of work."""
    kind = random.integers(0, 2, CONTROLS)
    hardness = random.normal(0, 1, CONTROLS) + 4 * (random.random(CONTROLS) < 0.02)
    ability = random.normal(np.log(error / (1 - error)), 1, (workers, 2))
    each = LOOKS[-1]
    item = np.concatenate([random.choice(CONTROLS, each, replace=False) for _ in range(workers)])
    worker = np.repeat(np.arange(workers), each)
    chance = 1 / (1 + np.exp(-ability[worker, kind[item]] - hardness[item]))
    return Answers(worker, item, random.random(len(item)) < chance, kind)


def with_a_copyist(answers: Answers, random: Generator) -> Answers:
    """The second worker has the first one's items, and most answers of theirs."""
    item, wrong = answers.item.copy(), answers.wrong.copy()
    first, second = (np.flatnonzero(answers.worker == one) for one in (0, 1))
    item[second] = item[first]
    copied = random.random(len(first)) < COPIED
    wrong[second] = np.where(copied, wrong[first], random.permutation(wrong[second]))
    return replace(answers, item=item, wrong=wrong)


def with_a_machine(answers: Answers, random: Generator, error: float) -> Answers:
    """It labels all controls, and the first worker asks it."""
    by_machine = random.random(CONTROLS) < error
    wrong = answers.wrong.copy()
    asked = (answers.worker == 0) & (random.random(len(wrong)) < COPIED)
    wrong[asked] = by_machine[answers.item[asked]]
    return Answers(
        np.append(answers.worker, np.full(CONTROLS, answers.workers)),
        np.append(answers.item, np.arange(CONTROLS)),
        np.append(wrong, by_machine),
        answers.kind,
    )


def looks(
    answers: Answers, workers: int, after: Sequence[int] = LOOKS
) -> Iterator[tuple[int, Answers]]:
    """After so many controls of each worker; a machine has labelled all."""
    place = np.arange(len(answers.item)) % LOOKS[-1]
    for look in after:
        seen = (place < look) | (answers.worker == workers)
        yield (
            look,
            replace(
                answers,
                worker=answers.worker[seen],
                item=answers.item[seen],
                wrong=answers.wrong[seen],
            ),
        )


def alarms(size: Size, error: float) -> int:
    """Honest crowds in which anybody is named, at any of three looks."""
    crowds = (
        crowd(np.random.default_rng(seed), size.workers, error) for seed in range(size.honest)
    )
    return sum(
        any(name_pairs(seen).pairs for _, seen in looks(one, size.workers, LOOKS[2::3]))
        for one in crowds
    )


def named_after(size: Size, error: float, asked: float | None) -> dict[str, object]:
    """The median number of controls, None where most are never named; and how many others are
    named in all. `asked`: how often the machine errs that one of them asks."""
    controls, others = [], 0
    for seed in range(size.copying):
        random = np.random.default_rng(1000 + seed)
        answers = crowd(random, size.workers, error)
        if asked is None:
            answers, wanted = with_a_copyist(answers, random), (0, 1)
        else:
            answers, wanted = with_a_machine(answers, random, asked), (0, size.workers)
        after = np.inf
        for look, seen in looks(answers, size.workers):
            named = name_pairs(seen, machine=None if asked is None else size.workers)
            pairs = {(pair.first, pair.second) for pair in named.pairs}
            others += len(pairs - {wanted})
            if wanted in pairs:
                after = look
                break
        controls.append(after)
    middle = median(controls)
    return {"controls": None if np.isinf(middle) else middle, "others_named": others}


def measured(size: Size) -> dict[str, object]:
    figures: dict[str, object] = {"machine": machine(), "size": asdict(size)}
    for error in ERRORS:
        figures[f"errors on {error:.0%}"] = of = {
            "honest_crowds_that_name_anybody": alarms(size, error),
            **{name: named_after(size, error, asked) for name, asked in COPYING.items()},
        }
        print(f"errors on {error:.0%} of controls: {of}", flush=True)
    return figures


def main(size: Size = Size()) -> int:
    folders.keep("labels/shared_errors", measured(size))
    return 0


if __name__ == "__main__":
    sys.exit(main())
