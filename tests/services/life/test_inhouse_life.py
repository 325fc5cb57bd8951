"""With a team of one's own: two annotators and an expert, each in a browser of their own."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from annotation.crowd.simulated.knowledge import Gold
from tests.services.life.conftest import NewPage
from tests.services.life.corpus import Corpus
from tests.services.life.owner import SOON_MS, Owner
from tests.services.life.people import Annotator, join
from tests.services.life.released import majorities
from tests.services.life.steps import (
    ask_an_expert,
    dry_run,
    fill_the_database,
    fill_the_pool,
    plan,
    release,
)

pytestmark = pytest.mark.services

QUERIES, CANDIDATES, FIRST = 6, 5, 2
# Both have to say the same: where they do not, an expert is asked.
RULES = {"candidates_per_query": CANDIDATES, "annotators": 2, "max_votes": 2}


def careful(gold: Gold) -> Callable[[str, str], int]:
    return lambda query, question: gold.label(query, question) or 0


def careless(gold: Gold, misread: str) -> Callable[[str, str], int]:
    """Takes everything for an answer to one of the queries, and is careful otherwise."""
    right = careful(gold)
    return lambda query, question: 1 if query == misread else right(query, question)


def test_in_house_with_two_annotators(
    owner: Owner, corpus: Corpus, new_page: NewPage, tmp_path: Path
) -> None:
    queries = corpus.queries.read_text().splitlines()[:QUERIES]
    corpus.queries.write_text("\n".join(queries))
    owner.arrive()
    fill_the_database(owner, corpus)
    fill_the_pool(owner, corpus)
    plan_it(owner, corpus)
    ada, bob = invite_two(owner, corpus.gold, queries[0], new_page)
    owner.tab("Milestones")
    assert "$" not in " ".join(owner.publish(first=FIRST))
    assert ada.work() == bob.work() == FIRST
    look_at_bob(owner)
    owner.tab("Milestones")
    owner.publish()
    assert ada.work() == bob.work() == QUERIES * CANDIDATES // 5 - FIRST
    owner.tab("Overview")
    said = {texts: [ada.said[texts], bob.said[texts]] for texts in ada.said if texts[0] in queries}
    labels = majorities(said)
    assert len(labels) < len(said) == QUERIES * CANDIDATES
    expect(owner.count_of("Labelled")).to_have_text(str(len(labels)), timeout=SOON_MS)
    owner.look("team-overview")
    votes = ask_an_expert(owner, new_page(), "team", pile="Unresolved triplets")
    assert votes == "1 Yes, 1 No"
    released = release(owner, "team", tmp_path)
    (decided,) = released.keys() - labels.keys()
    assert released == labels | {decided: 1}


def plan_it(owner: Owner, corpus: Corpus) -> None:
    owner.go("Campaigns")
    owner.follow("Plan the first campaign")
    owner.name_queries("team", who="Your team", file=corpus.queries)
    owner.set_rules(RULES)
    plan(owner)
    dry_run(owner)


def invite_two(
    owner: Owner, gold: Gold, misread: str, new_page: NewPage
) -> tuple[Annotator, Annotator]:
    """Annotators of the campaign: nobody else of the team is offered its HITs."""
    link = owner.invite("ada and bob", 2)
    people = {"ada": careful(gold), "bob": careless(gold, misread)}
    annotators = []
    for name, judge in people.items():
        page = new_page()
        join(page, link, name)
        annotators.append(Annotator(page, judge))
    owner.open_campaign("team")
    owner.tab("Roles")
    for name in people:
        owner.give_role(name, "annotator")
    ada, bob = annotators
    return ada, bob


def look_at_bob(owner: Owner) -> None:
    owner.tab("Overview")
    expect(owner.count_of("Judged")).to_have_text(str(5 * FIRST), timeout=SOON_MS)
    report = owner.preview(owner.worker("bob"))
    assert "Votes that no longer count" in report
    owner.look("team-worker")
