"""Releases of real pairs that a simulated crowd judges, for `make bench-models`.

Queries whose duplicates are known (`benchmarks.quality.tasks`), each with the nearest pairs of a
corpus of real ones. The workers are those of `quorum crowd`, but they vote without HITs and pages:
nobody spams, and there are no controls. Two vote, and a third where they disagree; the labels are
as wrong as they make them. What nobody knows for a duplicate is none to them.
"""

import random
from collections.abc import Sequence

from annotation.crowd.simulated.profiles import Worker, WorkerProfiles, fraction, make_workers
from benchmarks.models.splits import Asked, Judged, Size, Splits
from benchmarks.quality.search import dense
from benchmarks.quality.tasks import SEED, TASKS

NO_ANSWER = "(No answer is known.)"
DEV_SHARE, TEST_SHARE = 0.1, 0.2


def judged_by_crowd(task_name: str, size: Size, device: str) -> Splits:
    task = TASKS[task_name](size.queries)
    found = dense(task, "QQ", size.retriever, device)(size.corpus)
    workers = make_workers(WorkerProfiles(accuracy=size.accuracy, spammers=0, seed=SEED))
    asked = []
    for query, rows, known in zip(task.queries, found, task.known, strict=True):
        candidates = []
        for row in rows:
            question, answer = task.corpus[row]
            gold = int(row in known)
            label = vote(workers, query, question, gold)
            candidates.append(Judged(question, answer or NO_ANSWER, label, gold))
        asked.append(Asked(query, candidates))
    return _parted(asked, size)


def vote(workers: Sequence[Worker], query: str, question: str, gold: int) -> int:
    """The majority of two workers, or of three where two disagree; drawn from the texts alone."""
    drawn = random.Random(f"{SEED}/{query}/{question}").sample(list(workers), 3)
    first, second, third = (
        gold ^ (not worker.is_right(fraction(SEED, worker.id, query, question), plain=False))
        for worker in drawn
    )
    return first if first == second else third


def _parted(asked: Sequence[Asked], size: Size) -> Splits:
    """The queries come in an order by lot; a training reads fewer candidates of each."""
    dev, test = round(len(asked) * DEV_SHARE), round(len(asked) * TEST_SHARE)
    train_depth, dev_depth = size.depths
    return {
        "train": [one.first(train_depth) for one in asked[dev + test :]],
        "dev": [one.first(dev_depth) for one in asked[:dev]],
        "test": list(asked[dev : dev + test]),
    }
