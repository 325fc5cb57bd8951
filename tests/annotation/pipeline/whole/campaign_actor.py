"""What people, workers, processes and time do to a campaign, and the same to its model."""

import random

from django.test import Client

from annotation.crowd.hit_url import hit_url
from annotation.models import Campaign
from annotation.pipeline.collecting.collect import fetch_submissions
from annotation.pipeline.collecting.review import FIELD
from annotation.pipeline.ledger.reservations import OverBudget, set_budget
from annotation.pipeline.manual import exclusion as restore
from annotation.pipeline.manual.message import write_to
from annotation.pipeline.outbox.deliver import deliver
from annotation.pipeline.publishing import lifecycle
from annotation.pipeline.publishing.publish import publish
from annotation.pipeline.recompute import recompute
from annotation.pipeline.setup.create import get_campaign
from annotation.protocol.screening.behaviour import CANNOT_JUDGE
from core.errors import UserError
from tests.annotation.pipeline.publishing.missing_votes_model import open_assignments
from tests.annotation.pipeline.whole.campaign_crowd import DyingCrowd, Records
from tests.annotation.pipeline.whole.campaign_model import Hit, Model, Work, twice
from tests.worlds.account import Account
from tests.worlds.mturk import Killed
from tests.worlds.small_campaign import BUDGET_CENTS, Stage

NAMES = ("ada", "bob", "cara", "dan", "eve", "finn", "gil", "hana", "ivy")
BUDGETS = (57, 114, 171, 209, 285, 361, 500, BUDGET_CENTS, BUDGET_CENTS)
HOURS = (1, 1, 1, 25, 80)  # the crowd forgets tokens after 24, and approves by itself after 72
ITEMS_FOR_1 = 0.25
CANNOT_JUDGE_ITEMS = 0.1
WRONG_CONTROLS = 0.15
TEXTS = ("Thank you.", "Read the instructions again, please.")

Taken = tuple[str, Hit, str]  # (assignment, HIT, name)


class Actor:
    """Each step is done to the campaign, with chances by `rng`, and then to the model."""

    def __init__(self, name: str, mturk: Account) -> None:
        self.name, self.mturk = name, mturk
        self.page = Client()
        self.in_hand: list[Taken] = []
        self.forms: dict[int, list[tuple[str, int | None, int]]] = {}
        self.model = self._model()

    @property
    def campaign(self) -> Campaign:
        """As it is now: each step is another process."""
        return get_campaign(self.name)

    @property
    def stage(self) -> Stage:
        return Stage(self.campaign, self.mturk)

    def _model(self) -> Model:
        campaign = self.campaign
        hits = [
            Hit(
                hit.number,
                hit.key,
                [pk for _, pk, _ in self._form(hit.number) if pk],
                hit.max_assignments,
            )
            for hit in campaign.hits.order_by("number")
        ]
        queries = campaign.triplets.values_list("pk", "candidate__query__key")
        return Model(
            policy=campaign.policy,
            queries=dict(queries),
            hits=hits,
            budget=BUDGET_CENTS,
            key_of=campaign.uid.hex[:16] + "-{:06d}",
            crowd=Records(self.mturk),
        )

    def _form(self, number: int) -> list[tuple[str, int | None, int]]:
        """(form field, triplet, right answer of a control) of each item."""
        if number not in self.forms:
            items = self.stage.hit(number).items.select_related("control")
            self.forms[number] = [
                (FIELD + item.key, item.triplet_id, item.control.expected if item.control else 0)
                for item in items
            ]
        return self.forms[number]

    # Workers

    def offers(self, *, entitled: bool = True) -> list[tuple[Hit, str]]:
        """HITs with open assignments, and who may take them at the crowd; or who surely may not."""
        theirs = self.model.crowd.hits()
        free = [
            hit
            for hit in self.model.hits
            if hit.known and theirs[hit.key].open_assignments and not theirs[hit.key].expired
        ]
        pairs = [(hit, name) for hit in free for name in NAMES]
        return [pair for pair in pairs if (self._entitled(*pair) is not False) == entitled]

    def _entitled(self, hit: Hit, name: str) -> bool | None:
        """None where the crowd may not know yet."""
        worker = worker_id(name)
        mine = [work.hit for work in self.model.works.values() if work.worker == worker]
        if hit in mine or any((held, who) == (hit, name) for _, held, who in self.in_hand):
            return False
        under_way = {one.kind for one in self.model.outbox if one.worker == worker}
        if under_way & {"exclude", "restore"}:
            return None
        if worker in self.model.excluded:
            return False
        if not hit.excluded_workers:
            return True
        if worker in hit.excluded_workers or worker not in self.model.told:
            return False
        return None if "know" in under_way else True

    def work(self, rng: random.Random) -> None:
        """Some submit, each from what is still open."""
        for _ in range(rng.randint(1, 4)):
            if taken := self._take(rng):
                self._submit(taken, rng)

    def work_and_advance(self, rng: random.Random) -> None:
        self.work(rng)
        self.advance(rng)

    def take(self, rng: random.Random) -> None:
        if taken := self._take(rng):
            self.in_hand.append(taken)

    def finish(self, rng: random.Random) -> None:
        taken = self.in_hand.pop(rng.randrange(len(self.in_hand)))
        if rng.random() < 0.3:
            self.mturk.person(taken[2]).give_back(taken[0])
        else:
            self._submit(taken, rng)

    def knock_in_vain(self, rng: random.Random) -> None:
        hit, name = rng.choice(self.offers(entitled=False))
        assert self.stage.accept(name, hit.number) is None

    def _take(self, rng: random.Random) -> Taken | None:
        """Accepted at the crowd and not refused by our page."""
        offers = self.offers()
        if not offers:
            return None
        hit, name = rng.choice(offers)
        assignment = self.stage.accept(name, hit.number)
        assert assignment or self._entitled(hit, name) is None
        if assignment and not self._is_welcome(hit, name, assignment):
            self.mturk.person(name).give_back(assignment)
            return None
        return (assignment, hit, name) if assignment else None

    def _is_welcome(self, hit: Hit, name: str, assignment: str) -> bool:
        """Our page refuses the excluded, and who has judged one of the triplets before."""
        worker = worker_id(name)
        visit = {"assignmentId": assignment, "workerId": worker}
        status = self.page.get(hit_url(hit.key), visit).status_code
        has_had = any(worker in self.model.had(triplet) for triplet in hit.triplets)
        assert (status == 403) == (has_had or worker in self.model.excluded)
        return status == 200

    def _submit(self, taken: Taken, rng: random.Random) -> None:
        assignment, hit, name = taken
        votes: dict[int, int | None] = {
            triplet: None if rng.random() < CANNOT_JUDGE_ITEMS else int(rng.random() < ITEMS_FOR_1)
            for triplet in hit.triplets
        }
        wrong = int(rng.random() < WRONG_CONTROLS)
        sheet = {}
        for field, triplet, expected in self._form(hit.number):
            value = abs(expected - wrong) if triplet is None else votes[triplet]
            sheet[field] = CANNOT_JUDGE if value is None else str(value)
        self.mturk.person(name).submit(assignment, sheet)
        self.model.works[assignment] = Work(hit, worker_id(name), votes, right=not wrong)
        assert not list(twice(self.model.works.values()))

    # Processes

    def publish(self, rng: random.Random) -> None:
        self._publish(None)

    def first_batch(self, rng: random.Random) -> None:
        self._publish(rng.randint(1, 4))

    def _publish(self, most: int | None) -> None:
        try:
            publish(self.campaign, self.mturk.crowd, most=most)
        except UserError:
            assert not self.model.may_publish()
        else:
            assert self.model.may_publish()
            self.model.publish(most)

    def deliver(self, rng: random.Random) -> None:
        delivery = self.stage.deliver()
        assert (delivery.failed, delivery.stopped_by) == (0, None)
        self.model.deliver()

    def collect(self, rng: random.Random) -> None:
        fetch_submissions(self.campaign, self.mturk.crowd, clock=self.mturk.clock.now)
        self.model.collect(self.model.crowd.statuses())

    def recompute(self, rng: random.Random) -> None:
        recompute(self.campaign)
        self.model.review()
        open_assignments(self.model)

    def advance(self, rng: random.Random) -> None:
        model = self.model
        before = model.crowd.statuses()  # of what is not collected yet
        passed = self.stage.advance()
        model.deliver()
        model.collect(before)
        model.review()
        open_assignments(model)
        model.deliver()
        assert passed.waiting == len(model.outbox)
        is_open = any(label.status == "open" for label in model.labels().values())
        assert passed.finished == (not is_open and not passed.waiting)

    def die(self, rng: random.Random) -> None:
        """While it delivers; others find what it left when its claims, or its tokens, run out."""
        ready, model = self.model.ready(), self.model
        # Where some calls wait for others, it must not live to see their turn.
        others = len(ready) < sum(
            not model.is_held(outbox_message) for outbox_message in model.outbox
        )
        calls = 0 if others else rng.randrange(len(ready))
        crowd = DyingCrowd(self.mturk.url, calls=calls, answered=rng.random() < 0.5)
        try:
            deliver(self.campaign, crowd, clock=self.mturk.clock.now, threads=1)
        except Killed:
            model.die()
        else:  # what it had to do was done by somebody who had died before
            model.deliver()
        self._wait(rng.choice((1, 1, 25)))

    # The campaign's people

    def budget(self, rng: random.Random) -> None:
        self.set_budget(rng.choice(BUDGETS))

    def set_budget(self, cents: int) -> None:
        model = self.model
        try:
            set_budget(self.campaign, cents)
        except OverBudget:
            assert cents < model.reserved + model.paid + model.discarded
        else:
            model.budget = cents
            assert model.available >= 0

    def pause(self, rng: random.Random) -> None:
        lifecycle.pause(self.campaign)
        self.model.state = "paused"

    def resume(self, rng: random.Random) -> None:
        lifecycle.resume(self.campaign)
        self.model.state = "active"

    def exclude(self, rng: random.Random) -> None:
        worker = rng.choice(sorted(set(self.model.workers) - self.model.excluded))
        restore.exclude(self.campaign, worker, reason="by hand")
        self.model.exclude(worker)

    def restore(self, rng: random.Random) -> None:
        worker = rng.choice(sorted(self.model.excluded))
        restore.restore(self.campaign, worker)
        self.model.restore(worker)

    def message(self, rng: random.Random) -> None:
        """Few texts: some are asked for again."""
        worker, text = rng.choice(self.model.decided()), rng.choice(TEXTS)
        known = (worker, text) in self.model.messages
        assert write_to(self.campaign, worker, text=text).new != known
        self.model.write_to(worker, text)

    def expire(self, rng: random.Random) -> None:
        lifecycle.expire(self.campaign, self.mturk.clock.now())
        self.model.expire()

    # Time

    def wait(self, rng: random.Random) -> None:
        self._wait(rng.choice(HOURS))

    def _wait(self, hours: int) -> None:
        """What is in somebody's hands is abandoned; the emulator finds out when it is called."""
        self.mturk.clock.move_on(hours=hours)
        self.mturk.crowd.balance_cents()
        self.in_hand = []


def worker_id(name: str) -> str:
    return f"A{name.upper()}"
