"""A first dataset by pages alone, from an empty site: a corpus of its own, two annotators."""

import json
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.services.life.coffee import (
    OTHER_ANSWER,
    is_slip,
    same_question,
    write_coffee,
    write_other_shelf,
)
from tests.services.life.conftest import NewPage
from tests.services.life.owner import SOON_MS, WORK_MS, Owner
from tests.services.life.people import Annotator, Judge, join
from tests.services.life.released import SPLITS, Texts, majorities, unpacked

pytestmark = pytest.mark.services

NAME = "coffee-first"
QUERIES, CANDIDATES = 8, 5
RULES = {"candidates_per_query": CANDIDATES, "annotators": 2}
DRAFTS = 40  # gone through by the owner


@dataclass(frozen=True)
class Team:
    ada: Annotator
    bob: Annotator
    controls: set[Texts]


@pytest.mark.parametrize("adjudication", ["decide", "measure"])
def test_two_annotators_on_a_corpus_of_their_own_end_with_a_release(
    adjudication: str, owner: Owner, new_page: NewPage, tmp_path: Path
) -> None:
    owner.arrive()
    fill_two_corpora(owner, tmp_path)
    plan(owner, adjudication)
    team = invite_two(owner, new_page, confirm_drafts(owner))
    publish(owner)
    assert team.ada.work() == team.bob.work() == QUERIES * CANDIDATES // 5
    votes = votes_of(team.ada, team.bob, controls=team.controls)
    assert len(votes) == QUERIES * CANDIDATES
    labels = majorities(votes)
    ties = votes.keys() - labels.keys()
    assert ties, "they never differ: nothing is tested"
    see_ties(owner, len(ties), adjudication)
    sources = dict.fromkeys(labels, "majority")
    if adjudication == "decide":
        labels |= (decided := decide_ties(owner))
        sources |= dict.fromkeys(decided, "expert")
    else:
        carol = ask_a_third(owner, new_page, team.controls)
        carol.work()
        labels = majorities(votes_of(team.ada, team.bob, carol, controls=team.controls))
        sources = dict.fromkeys(labels, "majority")
    assert labels.keys() == votes.keys()
    if adjudication == "measure":
        contradict(owner)
    released = release(owner, tmp_path)
    assert {texts: one["label"] for texts, one in released.items()} == labels
    assert {t: one.get("label_source", "majority") for t, one in released.items()} == sources
    assert OTHER_ANSWER not in {one["answer"] for one in released.values()}


def fill_two_corpora(owner: Owner, folder: Path) -> None:
    """What lies on the other shelf is nearer to the queries, and none of the campaign's."""
    write_other_shelf(folder / "other.csv")
    pairs = write_coffee(folder / "coffee.csv")
    owner.import_pairs(folder / "other.csv", "other shelf")
    owner.go("Pairs and indexes")
    owner.follow("Create a corpus")
    owner.page.get_by_label("Name").fill("coffee")
    owner.press("Preview")
    owner.agree("Create corpus")
    owner.import_pairs(folder / "coffee.csv", "coffee shelf", corpus="coffee")
    owner.go("Pairs and indexes")
    row = owner.main.get_by_role("row", name=f"coffee coffee shelf {pairs}", exact=True)
    expect(row).to_be_visible(timeout=WORK_MS)


def plan(owner: Owner, adjudication: str) -> None:
    owner.go("Campaigns")
    owner.follow("Plan the first campaign")
    owner.page.get_by_label("Corpus", exact=True).select_option("coffee")
    owner.name_queries(NAME, who="Your team", sample=QUERIES)
    owner.set_rules({**RULES, "adjudication": adjudication})
    owner.press("Create campaign")
    expect(owner.heading("Queries and rules")).to_be_visible(timeout=WORK_MS)
    owner.find_candidates()


def confirm_drafts(owner: Owner) -> set[Texts]:
    """By the keys of the page: a draft that is none is dismissed."""
    owner.tab("Controls")
    owner.follow("Draft controls")
    owner.press("Draft controls")
    page, confirmed = owner.page, set()
    decision = page.get_by_role("button", name="Confirm")
    expect(decision).to_be_visible(timeout=WORK_MS)
    owner.look("coffee-drafts")
    for number in range(1, DRAFTS + 1):
        expect(page.get_by_label("Use single keys")).to_be_visible()
        texts = (
            page.locator(".dash-triplet dd").inner_text(),
            page.get_by_label("Question").input_value(),
        )
        is_positive = page.get_by_role("heading", name="Positive control").count()
        fits = same_question(*texts) == is_positive
        page.keyboard.press("y" if fits else "n")
        if fits:
            confirmed.add(texts)
        expect(
            page.get_by_text(
                re.compile(rf"{len(confirmed)} confirmed, {number - len(confirmed)} dismissed")
            )
        ).to_be_visible()
    return confirmed


def publish(owner: Owner) -> None:
    owner.open_campaign(NAME)
    owner.tab("Milestones")
    owner.pack()
    owner.look("coffee-packed")
    owner.sees("Ties need a third person")
    owner.follow("All at once")
    owner.main.get_by_role("button", name=re.compile("^Publish")).click()
    owner.sees(re.compile(r"All \d+ tasks are open"), timeout=WORK_MS)


def invite_two(owner: Owner, new_page: NewPage, controls: set[Texts]) -> Team:
    link = owner.invite("ada and bob", 2)
    ada, bob = (
        join_as(new_page(), link, name, judge)
        for name, judge in (("ada", same_question), ("bob", hasty(controls)))
    )
    return Team(ada, bob, controls)


def join_as(page: Page, link: str, name: str, judge: Judge) -> Annotator:
    join(page, link, name)
    return Annotator(page, judge)


def hasty(controls: set[Texts]) -> Judge:
    """Wrong on a fifth of what is not obvious."""

    def judge(query: str, question: str) -> int:
        slips = (query, question) not in controls and is_slip(query, question)
        return same_question(query, question) ^ slips

    return judge


def votes_of(*people: Annotator, controls: set[Texts]) -> dict[Texts, list[int]]:
    votes = defaultdict(list)
    for one in people:
        for texts, label in one.said.items():
            if texts not in controls:
                votes[texts].append(label)
    return votes


def see_ties(owner: Owner, ties: int, adjudication: str) -> None:
    """At once: on the overview, with what would help."""
    owner.open_campaign(NAME)
    owner.sees(
        re.compile("that nobody eligible is left for: invite one more person"), timeout=SOON_MS
    )
    owner.look(f"coffee-ties-{adjudication}")
    alone = "1 tie" if ties == 1 else f"{ties} ties"
    instead = "let an owner decide" if adjudication == "decide" else "release without"
    owner.sees(f"{instead} {alone}")


def decide_ties(owner: Owner) -> dict[Texts, int]:
    owner.follow("Decide them")
    page, decided = owner.page, {}
    yes = page.get_by_role("button", name="Yes")
    none_left = page.get_by_text("Nothing left to decide here.")
    while True:
        expect(yes.or_(none_left)).to_be_visible()  # a page between two has neither
        if none_left.count():
            return decided
        texts = (
            page.locator(".triplet .query").inner_text(),
            page.locator(".triplet .question").inner_text(),
        )
        decided[texts] = same_question(*texts)
        page.get_by_role("button", name="Yes" if decided[texts] else "No").click()
        expect(page.get_by_role("heading", name="You said")).to_be_visible()
        page.get_by_role("link", name="Next").click()


def ask_a_third(owner: Owner, new_page: NewPage, controls: set[Texts]) -> Annotator:
    owner.follow("Invite people")
    link = owner.invite("carol", 1)
    return join_as(new_page(), link, "carol", same_question)


def contradict(owner: Owner) -> None:
    """An expert who says the opposite of what a label is."""
    owner.open_campaign(NAME)
    owner.tab("Review")
    section = owner.page.locator("section").filter(
        has=owner.page.get_by_role("heading", name="Disagreements")
    )
    section.get_by_role("link", name="Adjudicate").click()
    texts = (
        owner.page.locator(".triplet .query").inner_text(),
        owner.page.locator(".triplet .question").inner_text(),
    )
    owner.page.get_by_role("button", name="No" if same_question(*texts) else "Yes").click()
    owner.sees("unlike yours")


def release(owner: Owner, folder: Path) -> dict[Texts, dict[str, Any]]:
    """Every candidate of the archive that the owner has downloaded."""
    owner.open_campaign(NAME)
    owner.sees(
        f"{QUERIES * CANDIDATES} of {QUERIES * CANDIDATES} triplets labelled", timeout=SOON_MS
    )
    owner.look("coffee-complete")
    owner.follow("Build a release")
    owner.build_release()
    archive = owner.download(folder / "release.tar.zst")
    files = unpacked(archive, folder / "release")
    lines = [
        line
        for name in SPLITS
        for line in (files / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    return {
        (query["query"], one["question"]): one
        for query in map(json.loads, lines)
        for one in query["candidates"]
    }
