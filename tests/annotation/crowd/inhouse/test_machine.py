"""Any order of what members, the requester and time do, against a model of the rules."""

from collections import Counter
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import transaction
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from annotation.crowd.inhouse import assignments, members
from annotation.crowd.inhouse.assignments import Refused
from annotation.crowd.inhouse.models import Assignment, Member, PostedHit
from tests.annotation.crowd.inhouse.model import Model, ModelHit, ModelWork
from tests.annotation.crowd.inhouse.team import LEASE, Team
from tests.support.examples import examples

pytestmark = pytest.mark.concurrent

EXAMPLES = examples(50)
STEPS_AN_EXAMPLE = 50
LEAST_STEPS = 2_000 * EXAMPLES // 50
EVERYTHING = (
    "take",
    "take nothing",
    "submit",
    "submit in vain",
    "submit late",
    "give back",
    "renew",
    "revive",
    "renew in vain",
    "look at",
)
LIFE = timedelta(hours=3)
NAMES = ("ada", "bob", "eve")

# How often each is done.
TURNS = {
    "take": 8,
    "submit": 6,
    "wait": 5,
    "look": 3,
    "give_back": 2,
    "renew": 3,
    "look_at": 5,
    "list_offers": 2,
    "approve": 1,
    "extend": 1,
    "expire": 1,
    "exclude_or_restore": 1,
    "end_or_renew_membership": 1,
}
turns = st.sampled_from([turn for turn, times in TURNS.items() for _ in range(times)])


class SiteMachine(RuleBasedStateMachine):
    def __init__(self, counter: Counter[str]) -> None:
        super().__init__()
        self.counter = counter
        self.transaction = transaction.atomic()
        self.transaction.__enter__()
        self.team, self.model = Team(), Model()
        self.members: dict[str, Member] = {name: self.team.join(name) for name in NAMES}
        self.exclusion = self.team.qualification("excluded")

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.transaction.__exit__(None, None, None)

    @initialize(sizes=st.lists(st.integers(1, 3), min_size=2, max_size=5))
    def publish(self, sizes: list[int]) -> None:
        """The first line is closed to the excluded, the second is not."""
        for number, max_assignments in enumerate(sizes):
            line = int(number >= len(sizes) / 2)
            wishes = {"title": "Free"} if line else {"exclusion_id": self.exclusion}
            hit_id = self.team.publish_for(max_assignments=max_assignments, **wishes)
            self.team.crowd.set_expiration(hit_id, self.team.now + LIFE)
            self.model.hits.append(
                ModelHit(hit_id, max_assignments, self.team.now + LIFE, closed=not line, line=line)
            )

    @rule(turn=turns, pick=st.integers(0, 9_999))
    def step(self, turn: str, pick: int) -> None:
        getattr(self, turn)(pick)

    def take(self, pick: int) -> None:
        name = NAMES[pick % len(NAMES)]
        model, now = self.model, self.team.now
        held = model.in_hand(name)
        # What anybody left lying is looked for last, even where the taker has one in hand.
        model.lapse(now, name if model.best_for(name, now) else "")
        if held is not None and held.status == "lapsed":
            held = None
        best = model.best_for(name, now)
        work = self.team.take(self.members[name])
        if held is not None:
            assert work is not None
            assert work.assignment_id == held.assignment_id
        elif work is None:
            assert not best
        else:
            assert work.posted_hit.hit_id in best
            (hit,) = (hit for hit in model.hits if hit.hit_id == work.posted_hit.hit_id)
            model.works.append(ModelWork(work.assignment_id, hit, name, now, now + LEASE))
        self._count("take nothing" if work is None else "take")

    def submit(self, pick: int) -> None:
        work = self._one_of_the_last(pick)
        if work is None:
            return
        allowed = self.model.can_submit(work, self.team.now)
        late = work.status == "lapsed"
        assert self._is_done(work, submit_there) == allowed
        if allowed and work.status in ("accepted", "lapsed"):
            work.status = "submitted"
        self._count("submit in vain" if not allowed else "submit late" if late else "submit")

    def give_back(self, pick: int) -> None:
        work = self._one_of_the_last(pick)
        if work is None:
            return
        allowed = work.status in ("accepted", "returned", "lapsed")
        assert self._is_done(work, assignments.give_back) == allowed
        if work.status == "accepted":
            work.status = "returned"
        self._count("give back")

    def renew(self, pick: int) -> None:
        work, now = self._one_of_the_last(pick), self.team.now
        if work is None:
            return
        in_time = work.status == "accepted" and work.deadline > now
        allowed = self.model.revive(work, now)
        assert self._is_done(work, assignments.renew) == allowed
        if allowed:
            work.deadline = self.model.renewed(work, now)
        self._count("renew" if in_time else "revive" if allowed else "renew in vain")

    def look_at(self, pick: int) -> None:
        """Its page, which brings back what ran out."""
        work, now = self._one_of_the_last(pick), self.team.now
        if work is None:
            return
        in_time = work.status == "accepted" and work.deadline > now
        allowed = self.model.revive(work, now)
        assert self._is_done(work, assignments.revive) == allowed
        self._count("revive" if allowed and not in_time else "look at")

    def approve(self, pick: int) -> None:
        submitted = [work for work in self.model.works if work.status == "submitted"]
        if submitted:
            work = submitted[pick % len(submitted)]
            self.team.crowd.approve(work.assignment_id)
            work.status = "approved"
            self._count("approve")

    def extend(self, pick: int) -> None:
        hit = self.model.hits[pick % len(self.model.hits)]
        if hit.max_assignments < 9:
            token = f"{hit.hit_id} {hit.max_assignments}"
            self.team.crowd.extend_hit(hit.hit_id, extra=1, token=token)
            hit.max_assignments += 1
            self._count("extend")

    def expire(self, pick: int) -> None:
        later = pick % 2 == 0
        hit = self.model.hits[pick // 2 % len(self.model.hits)]
        hit.expires_at = self.team.now + (LIFE if later else timedelta(0))
        self.team.crowd.set_expiration(hit.hit_id, hit.expires_at)
        self._count("expire")

    def exclude_or_restore(self, pick: int) -> None:
        name = NAMES[pick % len(NAMES)]
        worker_id = self.members[name].worker_id
        if name in self.model.excluded:
            self.team.crowd.restore(worker_id, exclusion_id=self.exclusion)
        else:
            self.team.crowd.exclude(worker_id, exclusion_id=self.exclusion)
        self.model.excluded ^= {name}
        self._count("exclude")

    def end_or_renew_membership(self, pick: int) -> None:
        name = NAMES[pick % len(NAMES)]
        if name in self.model.inactive:
            members.activate(self.members[name])
        else:
            members.deactivate(self.members[name])
            if (held := self.model.in_hand(name)) is not None:
                held.status = "returned"
        self.model.inactive ^= {name}
        self._count("deactivate")

    def wait(self, pick: int) -> None:
        self.team.move_on((LEASE / 30, LEASE / 2, LEASE)[pick % 3])
        self._count("wait")

    def look(self, _: int) -> None:
        """What the requester is told, when all leases that ran out have lapsed."""
        model, now = self.model, self.team.now
        model.lapse(now)
        assert {
            hit.hit_id: (hit.max_assignments, hit.available, hit.pending, hit.completed)
            for hit in self.team.crowd.hits()
        } == {
            hit.hit_id: (
                hit.max_assignments,
                model.open_assignments(hit) if hit.expires_at > now else 0,
                sum(work.status == "accepted" for work in model.live(hit)),
                sum(work.status == "approved" for work in model.live(hit)),
            )
            for hit in model.hits
        }
        self._count("look")

    def list_offers(self, pick: int) -> None:
        name = NAMES[pick % len(NAMES)]
        self.model.lapse(self.team.now)
        lines = Counter(hit.line for hit in self.model.free_for(name, self.team.now))
        shown = assignments.open_queues(self.members[name], now=self.team.now)
        assert [line.count for line in shown] == [lines[line] for line in sorted(lines)]
        self._count("list")

    @invariant()
    def the_record_is_the_model_s(self) -> None:
        works = Assignment.objects.values_list("assignment_id", "status", "deadline")
        assert {one: rest for one, *rest in works} == {
            work.assignment_id: [work.status, work.deadline] for work in self.model.works
        }
        max_assignments = PostedHit.objects.values_list(
            "hit_id", "max_assignments", "open_assignments"
        )
        assert {one: rest for one, *rest in max_assignments} == {
            hit.hit_id: [hit.max_assignments, self.model.open_assignments(hit)]
            for hit in self.model.hits
        }

    def _one_of_the_last(self, pick: int) -> ModelWork | None:
        last = self.model.works[-6:]
        return last[pick % len(last)] if last else None

    def _is_done(self, work: ModelWork, operation: Callable[..., object]) -> bool:
        try:
            operation(self.members[work.name], work.assignment_id, now=self.team.now)
        except Refused:
            return False
        return True

    def _count(self, what: str) -> None:
        self.counter[what] += 1


def submit_there(member: Member, assignment_id: str, **now: object) -> None:
    assignments.submit(member, assignment_id, {"item-1": "1"}, **now)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.hypothesis
@pytest.mark.django_db
def test_any_order_of_steps_keeps_the_rules(
    record_property: Callable[[str, object], None],
) -> None:
    counter: Counter[str] = Counter()
    run_state_machine_as_test(
        lambda: SiteMachine(counter),
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS_AN_EXAMPLE,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
    record_property("in-house machine", counter.total())
    print(f"in-house machine: {counter.total():,} steps, {dict(counter)}")
    assert counter.total() >= LEAST_STEPS
    assert min(counter[what] for what in EVERYTHING) > 0
