"""Any order of what people, workers, processes and time do to a campaign, against a small model.

After every step the account, the HITs' sizes and reservations, the labels, the exclusions and the
calls to be made are the model's; after a pass that could send everything, so are the crowd's.
"""

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from annotation.models import Campaign
from annotation.pipeline.labelling.tallies import bring_up_to_date
from annotation.pipeline.manual.exclusion import preview
from annotation.pipeline.outbox.threads import FEWEST_CALLS_A_THREAD
from annotation.pipeline.recompute import Differences, audit
from tests.annotation.pipeline.whole.campaign_actor import Actor
from tests.conftest import StartMTurk
from tests.support.examples import examples
from tests.worlds.account import Account
from tests.worlds.small_campaign import BUDGET_CENTS, packed_campaign

pytestmark = [pytest.mark.django_db, pytest.mark.slow, pytest.mark.hypothesis]

EXAMPLES = examples(60, fast=9)
STEPS_AN_EXAMPLE = 50
LEAST_STEPS = 2_500 * EXAMPLES // 60  # in each mode

FIRST_ROUND = 57  # cents that publishing a HIT reserves
# How often each is done, where it can be; in its place the next that can.
TURNS = {
    "resume": 5,
    "work": 6,
    "work_and_advance": 3,
    "take": 2,
    "finish": 2,
    "collect": 3,
    "recompute": 3,
    "die": 4,
    "deliver": 1,
    "advance": 3,
    "publish": 1,
    "first_batch": 1,
    "message": 1,
    "knock_in_vain": 1,
    "exclude": 1,
    "restore": 2,
    "budget": 2,
    "pause": 1,
    "expire": 1,
    "wait": 2,
}
ORDER = list(TURNS)
turns = st.sampled_from([turn for turn, times in TURNS.items() for _ in range(times)])


class CampaignMachine(RuleBasedStateMachine):
    def __init__(self, name: str, mturk: Account, counter: Counter[str]) -> None:
        super().__init__()
        self.counter = counter
        self.actor = Actor(name, mturk)
        self.model = self.actor.model
        self.steps = 0
        self.last = ""
        self.transaction = transaction.atomic()
        self.transaction.__enter__()

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.transaction.__exit__(None, None, None)
        self.actor.mturk.close()

    @initialize(hits=st.integers(1, 7), batch=st.booleans())
    def begin(self, hits: int, batch: bool) -> None:
        """With money for some of five HITs, or for all that may come."""
        self.actor.set_budget(hits * FIRST_ROUND if hits <= 4 else BUDGET_CENTS)
        begin = self.actor.first_batch if batch else self.actor.publish
        begin(random.Random(hits))
        self.actor.deliver(random.Random(0))

    @rule(turn=turns, seed=st.integers(0, 2**32))
    def step(self, turn: str, seed: int) -> None:
        start = ORDER.index(turn)
        turn = next(one for one in ORDER[start:] + ORDER[:start] if self._is_possible(one))
        getattr(self.actor, turn)(random.Random(f"{seed} {self.steps}"))
        self.steps += 1
        self.last = turn
        self.counter["steps"] += 1
        self.counter[turn] += 1
        if turn.endswith(("advance", "recompute")):
            self._check_nothing_was_overlooked()
            bring_up_to_date(Campaign.objects.get())
        if turn.endswith("advance"):
            self._check_ours()
            self._check_crowd()

    def _is_possible(self, turn: str) -> bool:
        """And not quite in vain."""
        actor, model = self.actor, self.model
        possible: dict[str, Callable[[], object]] = {
            "resume": lambda: model.state == "paused",
            "work": actor.offers,
            "work_and_advance": actor.offers,
            "take": actor.offers,
            "finish": lambda: actor.in_hand,
            "collect": lambda: len(model.stored()) < len(model.works),
            "recompute": lambda: len(model.reviewed()) < len(model.stored()),
            "die": lambda: 0 < len(model.ready()) <= FEWEST_CALLS_A_THREAD,
            "deliver": lambda: model.outbox,
            "advance": lambda: self.last != "advance",
            "knock_in_vain": lambda: actor.offers(entitled=False),
            "exclude": lambda: set(model.workers) - model.excluded,
            "restore": lambda: model.excluded,
            "message": model.decided,
            "pause": lambda: model.state != "paused",
            "expire": lambda: self.steps > STEPS_AN_EXAMPLE // 2,
        }
        return turn not in possible or bool(possible[turn]())

    @invariant()
    def all_is_as_the_model_says(self) -> None:
        self._check_ours()

    def _check_ours(self) -> None:
        self._check_calls()
        self._check_labels()
        self._check_hits()
        self._check_account()

    def _check_calls(self) -> None:
        model = self.model
        columns = "SELECT state, first_batch FROM annotation_campaign"
        assert rows(columns) == [(model.state, model.first_batch)]
        assert {worker for (worker,) in rows(EXCLUDED)} == model.excluded
        assert [kind for (kind,) in rows(UNSENT)] == [one.kind for one in model.outbox]

    def _check_labels(self) -> None:
        votes, labels = self.model.votes(), self.model.labels()
        cannot = self.model.cannot_judge()
        assert {pk: tuple(columns) for pk, *columns in rows(TRIPLETS)} == {
            triplet: (
                label.status,
                label.value,
                len(votes[triplet]),
                sum(votes[triplet]),
                cannot[triplet],
            )
            for triplet, label in labels.items()
        }

    def _check_hits(self) -> None:
        """Every place that somebody may take is paid for."""
        model = self.model
        assert {number: tuple(columns) for number, *columns in rows(HITS)} == {
            one.number: (
                one.max_assignments,
                one.tie_reserve,
                one.closed,
                one.reserved * model.price,
            )
            for one in model.hits
        }
        for hit in model.hits:
            booked = sum(bool(work.account) for work in model.stored(hit))
            if hit.asked and not hit.closed:
                assert hit.reserved == hit.max_assignments + hit.tie_reserve - booked

    def _check_account(self) -> None:
        """It is what its entries add up to."""
        model = self.model
        budget, reserved, paid, discarded = rows(ACCOUNT)[0]
        assert (budget, reserved, paid, discarded) == rows(ENTRIES)[0]
        assert (budget, reserved) == (model.budget, model.reserved)
        assert (paid, discarded) == (model.paid, model.discarded)
        assert reserved + paid + discarded <= budget

    def _check_nothing_was_overlooked(self) -> None:
        """A pass looks at what has changed alone: to look at everything finds nothing else.

        Tallies too are brought up to date from pass to pass.
        """
        campaign = Campaign.objects.get()
        differences = preview(lambda: audit(campaign, until=campaign.created_at))
        assert differences == Differences(0, 0, 0, 0, 0)

    def _check_crowd(self) -> None:
        """After a whole pass its record is ours; what it holds back is what we have reserved."""
        model, mturk = self.model, self.actor.mturk
        assert mturk.spent_cents == model.paid + model.discarded
        if any(one.kind in ("create", "extend") for one in model.outbox):
            assert model.state == "paused"
            return
        # A process that died in the middle may have sent one twice.
        assert {*mturk.rows("SELECT worker_id, text FROM notifications")} == model.messages
        theirs = model.crowd.hits()
        asked = [hit for hit in model.hits if hit.asked]
        assert {hit.key: hit.max_assignments for hit in asked} == {
            key: hit.max_assignments for key, hit in theirs.items()
        }
        # Nobody can take what is left of an expired HIT, but somebody may be at work on it still.
        stranded = sum(
            theirs[hit.key].open_assignments
            for hit in asked
            if theirs[hit.key].expired and not hit.closed
        )
        held = sum(hit.reserved - hit.tie_reserve for hit in asked) - stranded
        assert mturk.on_hold_cents == held * model.price
        assert self._holders("no further work") == model.excluded
        assert self._holders("has worked") == model.told

    def _holders(self, name: str) -> set[str]:
        holders = self.actor.mturk.rows(
            "SELECT worker_id FROM qualifications q JOIN qualification_types t"
            " USING (qualification_type_id) WHERE q.status = 'Granted' AND t.name LIKE ?",
            f"%{name}%",
        )
        return {worker for (worker,) in holders}


ACCOUNT = "SELECT budget_cents, reserved_cents, paid_cents, discarded_cents FROM annotation_account"
ENTRIES = "SELECT {} FROM annotation_entry".format(
    ", ".join(
        f"{sign} * COALESCE(SUM(CASE '{place}' WHEN target THEN cents WHEN source THEN -cents"
        " ELSE 0 END), 0)"
        for place, sign in (("funds", -1), ("reserved", 1), ("paid", 1), ("discarded", 1))
    )
)
HITS = """
    SELECT number, max_assignments, tie_reserve, closed_at IS NOT NULL, COALESCE((
        SELECT SUM(CASE 'reserved' WHEN target THEN cents WHEN source THEN -cents ELSE 0 END)
        FROM annotation_entry e WHERE e.hit_id = h.id
    ), 0) FROM annotation_hit h
"""
TRIPLETS = "SELECT id, status, label, votes, positive_votes, cannot_judge FROM annotation_triplet"
EXCLUDED = (
    "SELECT worker_id FROM annotation_worker WHERE id IN"
    " (SELECT worker_id FROM annotation_exclusion WHERE restored_at IS NULL)"
)
UNSENT = (
    "SELECT kind FROM annotation_outboxmessage WHERE state NOT IN ('done', 'cancelled') ORDER BY id"
)


def rows(query: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return cursor.fetchall()


@pytest.mark.usefixtures("small_database")
@pytest.mark.parametrize("tie_mode", ["extend", "repack"])
def test_any_order_of_steps_ends_where_the_model_ends(
    start_mturk: StartMTurk,
    tmp_path: Path,
    tie_mode: str,
    record_property: Callable[[str, object], None],
) -> None:
    rules: dict[str, object] = {"min_assignments": 2, "max_failure_rate": 0.4, "lifetime_days": 30}
    rules["cannot_judge_limit"] = 2
    campaign = packed_campaign(tmp_path, tie_mode=tie_mode, **rules)
    counter: Counter[str] = Counter()
    run_state_machine_as_test(
        lambda: CampaignMachine(campaign.name, start_mturk(), counter),
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
    record_property("campaign machine", counter["steps"])
    print(f"campaign machine, {tie_mode}: {counter['steps']:,} steps")
    assert counter["steps"] >= LEAST_STEPS
    assert all(counter[turn] for turn in TURNS)
