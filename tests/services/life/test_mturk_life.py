"""On the emulator: what its owner does is done by pages alone, from a CSV to a downloaded release.

Simulated workers are the crowd: they are let loose by a command, which is none of the owner's.
"""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.services.life.conftest import NewPage
from tests.services.life.corpus import GOLD, Corpus
from tests.services.life.owner import SOON_MS, Owner
from tests.services.life.released import majorities, votes_at_the_emulator
from tests.services.life.steps import (
    ask_an_expert,
    dry_run,
    fill_the_database,
    fill_the_pool,
    plan,
    release,
)
from tests.services.stack import ServiceStack

pytestmark = pytest.mark.services

RULES = {"candidates_per_query": 8}
QUERIES, FIRST = 10, 4
BUDGET = 30  # the estimate leaves out what is bought again
PROFILES = ["--workers", 6, "--accuracy", 0.97, "--spammers", 0.15, "--seed", 3]
MOST_TURNS = 20


def let_loose(stack: ServiceStack) -> None:
    gold = [word for path in GOLD for word in ("--gold", path)]
    assert stack.result("crowd", "simulate", *PROFILES, *gold)


def watch_the_first_batch(owner: Owner, stack: ServiceStack) -> None:
    """The overview moves by itself: it is the same document before and after."""
    owner.tab("Overview")
    expect(owner.count_of("Published")).to_have_text(str(5 * FIRST), timeout=SOON_MS)
    owner.page.evaluate("window.opened = true")
    let_loose(stack)
    expect(owner.count_of("Judged")).not_to_have_text("0", timeout=SOON_MS)
    expect(owner.count_of("Labelled")).not_to_have_text("0", timeout=SOON_MS)
    assert owner.page.evaluate("window.opened")
    owner.look("overview-first-batch")


def look_at_a_worker(owner: Owner) -> None:
    """Who is excluded, and taken back before anything else happens."""
    owner.tab("Workers")
    owner.look("workers")
    report = owner.preview(owner.main.locator("tbody th a").first)
    assert "Votes that no longer count" in report
    owner.look("worker")
    owner.exclude_and_take_back()


def judge_the_rest(owner: Owner, stack: ServiceStack) -> None:
    owner.tab("Overview")
    for _ in range(MOST_TURNS):
        let_loose(stack)
        if is_decided(owner):
            return
    raise AssertionError(f"after {MOST_TURNS} turns: {owner.main.inner_text()}")


def is_decided(owner: Owner) -> bool:
    """As the overview says within some passes."""
    owner.page.wait_for_timeout(6_000)
    ends = [int(owner.count_of(stage).inner_text()) for stage in ("Labelled", "Unresolved")]
    return sum(ends) == QUERIES * RULES["candidates_per_query"]


def test_on_the_emulator_with_simulated_workers(
    owner: Owner, stack: ServiceStack, corpus: Corpus, new_page: NewPage, tmp_path: Path
) -> None:
    owner.arrive()
    fill_the_database(owner, corpus)
    fill_the_pool(owner, corpus)
    owner.go("Campaigns")
    owner.follow("Plan the first campaign")
    owner.name_queries("life", who="Paid workers of a Mechanical Turk", sample=QUERIES)
    owner.set_rules(RULES)
    plan(owner, dollars=BUDGET)
    dry_run(owner)
    owner.tab("Milestones")
    said = " ".join(owner.publish(first=FIRST))
    assert f"{FIRST} of the" in said
    assert "The budget has" in said
    watch_the_first_batch(owner, stack)
    look_at_a_worker(owner)
    owner.tab("Milestones")
    owner.publish()
    judge_the_rest(owner, stack)
    owner.look("overview-decided")
    votes = ask_an_expert(owner, new_page(), "life", pile="Disagreements")
    owner.sees("1 expert label")
    assert re.fullmatch(r"[1-9]\d* Yes, [1-9]\d* No", votes)
    owner.tab("Controls")
    question = owner.confirm_a_control()
    owner.go("Controls")
    owner.sees(question)
    labels = release(owner, "life", tmp_path)
    assert labels == majorities(votes_at_the_emulator(stack))
    assert set(labels.values()) == {0, 1}
