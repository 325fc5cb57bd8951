"""Simulated workers at work, who know nothing but what the page shows.

Everything follows from the seed, the texts and the crowd's own state: a judgment from (seed,
worker, query, question), the order of the workers from the seed and the number of assignments
taken before, so that a second run goes on where the first one stopped. Some assignments do not
go the straight way; which ones, and how, follows from the seed and the assignment's id.
"""

import random
import time
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from annotation.crowd.simulated.browser import Lapsed, QuestionForm, WorkerSite
from annotation.crowd.simulated.knowledge import Gold
from annotation.crowd.simulated.profiles import Worker, WorkerProfiles, fraction, make_workers
from core.progress import Progress, no_progress
from core.text.clean import normalise_question

# A worker takes so many HITs from a page of the list, then looks again.
HITS_FROM_A_LIST = 10
# Workers look at these first pages in turn: they would all crowd on the first one otherwise.
PAGES_IN_USE = 8
# Given back; never submitted; submitted twice; submitted only when the run ends.
STRAYS = ("returned", "abandoned", "repeated", "late")


@dataclass(frozen=True)
class Outcome:
    assignments: int
    judgments: int
    workers: int  # that submitted at least one assignment
    refused_workers: int  # whom the question page turned away
    unknown_pairs: int  # distinct; judged by equality of the texts, for lack of gold
    faults: Mapping[str, int]  # assignments in each way, and too_late: refused by the crowd
    seconds: float

    def to_dict(self) -> dict[str, object]:
        return asdict(self)


class Simulation:
    """One worker after the other does one assignment, until nobody can accept any."""

    def __init__(self, profiles: WorkerProfiles, gold: Gold, site: WorkerSite) -> None:
        self._profiles = profiles
        self._gold = gold
        self._site = site
        self._workers = make_workers(profiles)
        self._random = random.Random(f"{profiles.seed}/{site.assignments_so_far()}")  # noqa: S311
        self._taken: set[str] = set()  # HITs that were full when somebody last tried
        self._page = 0
        self._judgments = 0
        self._refused: list[Worker] = []
        self._done = 0
        self._faults = Counter(dict.fromkeys((*STRAYS, "too_late"), 0))
        self._left: set[str] = set()  # assignments that their workers do not go on with
        self._late: list[tuple[Worker, QuestionForm]] = []
        self._unknown: set[tuple[str, str]] = set()

    def run(self, most: int | None = None, *, progress: Progress = no_progress) -> Outcome:
        """At most `most` assignments are submitted."""
        began = time.monotonic()
        active = list(self._workers)
        while active and not self._is_over(most):
            worker = self._random.choice(active)
            assignment = self._take(worker)
            if assignment is None:
                active.remove(worker)
            elif self._work(worker, assignment):
                progress(1)
            else:
                # An assignment that the worker gave back is open to everybody else.
                active = [other for other in self._workers if other not in self._refused]
        for worker, form in self._late:
            if not self._is_over(most) and self._submit(worker, form):
                progress(1)
        return self._outcome(time.monotonic() - began)

    def _is_over(self, most: int | None) -> bool:
        return most is not None and self._done >= most

    def _outcome(self, seconds: float) -> Outcome:
        return Outcome(
            assignments=self._done,
            judgments=self._judgments,
            workers=sum(worker.submitted > 0 for worker in self._workers),
            refused_workers=len(self._refused),
            unknown_pairs=len(self._unknown),
            faults=dict(self._faults),
            seconds=round(seconds, 2),
        )

    def _take(self, worker: Worker) -> str | None:
        """The address of an assignment; None when the crowd has nothing for this worker."""
        for browse in (self._stay, self._browse_on, self._browse_from_the_start):
            browse(worker)
            if worker.accepted:
                return worker.accepted.popleft()
            while worker.hits:
                hit = worker.hits.popleft()
                if hit.hit_id in self._taken:
                    continue
                if assignment := self._site.accept(hit):
                    return assignment
                self._taken.add(hit.hit_id)
        return None

    def _stay(self, worker: Worker) -> None:
        """Go on with the last list; at the first turn, with what an earlier run left behind."""
        if not worker.list_url:
            worker.list_url = self._site.sign_in(worker.id)
            self._browse_on(worker)

    def _browse_on(self, worker: Worker) -> None:
        self._page = self._page % PAGES_IN_USE + 1
        if not self._open_page(worker, self._page):
            self._page = 0

    def _browse_from_the_start(self, worker: Worker) -> None:
        self._open_page(worker, 1)

    def _open_page(self, worker: Worker, page: int) -> bool:
        """Read a page of the worker's list; whether there is another one."""
        listing = self._site.list_hits(worker.list_url, page)
        self._taken -= {hit.hit_id for hit in listing.hits}
        count = min(HITS_FROM_A_LIST, len(listing.hits))
        worker.accepted = deque(url for url in listing.accepted if url not in self._left)
        worker.hits = deque(self._random.sample(listing.hits, count))
        return listing.more

    def _work(self, worker: Worker, assignment_url: str) -> bool:
        """Judge and submit; False when nothing was submitted, for now at least."""
        try:
            form = self._site.open_question(assignment_url)
        except Lapsed:  # left behind by an earlier run, and its time ran out meanwhile
            return False
        if form is None:
            self._site.give_back(assignment_url)
            self._refused.append(worker)
            return False
        stray = self._stray(assignment_url)
        if stray is None:
            return self._submit(worker, form)
        self._faults[stray] += 1
        if stray == "repeated":
            return self._submit_twice(worker, form)
        if stray == "returned":
            self._site.give_back(assignment_url)
            return False
        self._left.add(assignment_url)
        if stray == "late":
            self._late.append((worker, form))
        return False

    def _stray(self, assignment_url: str) -> str | None:
        """In which way the assignment strays; the same each time the profiles are run."""
        draw = fraction(self._profiles.seed, assignment_url.rpartition("/")[2], "stray")
        if draw >= self._profiles.faults:
            return None
        return STRAYS[int(draw / self._profiles.faults * len(STRAYS))]

    def _submit(self, worker: Worker, form: QuestionForm) -> bool:
        """False when the crowd does not take it any more."""
        if not self._site.submit(form, self._answers(worker, form)):
            self._faults["too_late"] += 1
            return False
        self._done += 1
        worker.submitted += 1
        self._judgments += len(form.items)
        return True

    def _submit_twice(self, worker: Worker, form: QuestionForm) -> bool:
        """The second time with the opposite answers, which must change nothing."""
        done = self._submit(worker, form)
        answers = self._answers(worker, form)
        self._site.submit(form, {name: "10"[int(value)] for name, value in answers.items()})
        return done

    def _answers(self, worker: Worker, form: QuestionForm) -> Mapping[str, str]:
        return {item.name: str(self.judge(worker, item.query, item.judged)) for item in form.items}

    def judge(self, worker: Worker, query: str, question: str) -> int:
        draw = fraction(self._profiles.seed, worker.id, query, question)
        if worker.yes_bias is not None:  # who reads nothing
            return int(draw < worker.yes_bias)
        plain = self._gold.is_plain(query, question)
        return self._label(query, question) ^ (not worker.is_right(draw, plain=plain))

    def _label(self, query: str, question: str) -> int:
        known = self._gold.label(query, question)
        if known is not None:
            return known
        pair = normalise_question(query), normalise_question(question)
        self._unknown.add(pair)
        return int(pair[0] == pair[1])
