"""Stretches of the way that every campaign's owner goes."""

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.services.life.corpus import Corpus
from tests.services.life.owner import WORK_MS, Owner
from tests.services.life.people import adjudicate, join
from tests.services.life.released import Texts, labels_in, unpacked


def fill_the_database(owner: Owner, corpus: Corpus) -> None:
    owner.import_pairs(corpus.pairs, "faq")
    expect(owner.heading("Rejected rows")).to_be_visible()
    owner.sees("the answer is empty")
    owner.sees("the row has 1 column, the header 3")
    owner.look("imported")
    owner.see_the_index()
    owner.look("database")


def fill_the_pool(owner: Owner, corpus: Corpus) -> None:
    owner.go("Controls")
    owner.follow("Import")
    owner.import_controls(corpus.bad_controls)
    expect(owner.heading("Rejected rows")).to_be_visible()
    owner.look("controls-refused")
    owner.import_controls(corpus.controls)
    owner.sees("80 controls added. The pool holds 80 now.")
    owner.look("controls")


def plan(owner: Owner, *, dollars: int | None = None) -> None:
    """From the cost estimate to packed HITs, which are seen as workers will see them."""
    expect(owner.main.get_by_role("region", name="The estimate, table")).to_be_visible()
    owner.look("budget")
    if dollars:
        owner.page.get_by_label("Budget in dollars").fill(str(dollars))
    owner.press("Create campaign")
    expect(owner.heading("Queries and rules")).to_be_visible(timeout=WORK_MS)
    owner.find_candidates()
    owner.pack()
    owner.main.locator("iframe").scroll_into_view_if_needed()
    hit = owner.page.frame_locator("iframe")
    expect(hit.get_by_text("This is a preview.")).to_be_visible()
    expect(hit.locator("fieldset[data-item]")).to_have_count(7)
    first = hit.locator(".query").first.inner_text()
    owner.follow("Next")
    owner.main.locator("iframe").scroll_into_view_if_needed()
    expect(hit.locator(".query").first).not_to_have_text(first)
    owner.look("milestones")


def dry_run(owner: Owner) -> None:
    owner.follow("Start a dry run")
    owner.page.get_by_label("Queries to draw").fill("4")
    owner.page.get_by_label("Simulated workers", exact=True).fill("8")
    owner.press("Start")
    expect(owner.heading("Last dry run")).to_be_visible(timeout=WORK_MS)
    owner.sees(re.compile("Estimated (cost|assignments)"))
    owner.look("dry-run")


def ask_an_expert(owner: Owner, page: Page, campaign: str, *, pile: str) -> str:
    """How the votes on what dan has labelled went: he is told only then."""
    join(page, owner.invite("dan", 1), "dan")
    owner.open_campaign(campaign)
    owner.tab("Roles")
    owner.give_role("dan", "adjudicator")
    votes = adjudicate(page, campaign, pile=pile)
    owner.tab("Review")
    owner.look("review")
    return votes


def release(owner: Owner, campaign: str, folder: Path) -> dict[Texts, int]:
    """The labels in the archive that the owner has downloaded."""
    owner.open_campaign(campaign)
    owner.follow("Build a release")
    owner.build_release()
    owner.look("release")
    archive = owner.download(folder / "release.tar.zst")
    return labels_in(unpacked(archive, folder / "release"))
