"""Members of the team in browsers of their own: annotators at the judging page, and an expert."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from playwright.sync_api import Page, expect

PASSWORD = "judges questions all day"

Judge = Callable[[str, str], int]  # of a query and a question


def join(page: Page, link: str, name: str) -> None:
    page.goto(link)
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Password confirmation").fill(PASSWORD)
    page.get_by_role("button", name="Create account").click()
    expect(page.get_by_role("heading", name="Your work")).to_be_visible()


@dataclass
class Annotator:
    """Reads each item on the page and answers by the keyboard; `said` is what they answered."""

    page: Page
    judge: Judge
    said: dict[tuple[str, str], int] = field(default_factory=dict)

    def work(self) -> int:
        """HITs submitted, until there is none."""
        self.page.goto("/work")
        done = 0
        start = self.page.get_by_role("button", name="Start")
        if not start.count():
            return done
        start.click()
        while self._judge_one():
            done += 1
        return done

    def _judge_one(self) -> bool:
        """False on the page that has nothing more to do."""
        nothing = self.page.get_by_text("There is nothing to do at the moment")
        expect(self.page.locator("fieldset[aria-current]").or_(nothing)).to_be_visible()
        if nothing.count():
            return False
        place = self.page.url
        items = self.page.locator("fieldset[data-item]").all()
        texts = [
            (item.locator(".query").inner_text(), item.locator(".question").inner_text())
            for item in items
        ]
        items[0].focus()
        for query, question in texts:
            self.said[query, question] = self.judge(query, question)
            self.page.keyboard.press("y" if self.said[query, question] else "n")
        expect(self.page.locator(".count")).to_have_text(f"{len(items)} of {len(items)}")
        self.page.keyboard.press("Enter")
        self.page.wait_for_url(lambda address: address != place)
        return True


def adjudicate(page: Page, campaign: str, *, pile: str) -> str:
    """An expert's own way to the first triplet of a pile; how the votes went, told after the label.

    Before it, nothing on the page tells them.
    """
    page.goto("/")
    page.get_by_role("link", name="Campaigns").first.click()
    page.get_by_role("link", name=campaign, exact=True).click()
    page.get_by_role("link", name="Review", exact=True).click()
    section = page.locator("section").filter(has=page.get_by_role("heading", name=pile))
    section.get_by_role("link", name="Adjudicate").click()
    expect(page.get_by_role("button", name="Yes")).to_be_visible()
    assert page.get_by_text(re.compile(r"\d+ (Yes|No)\b")).count() == 0
    page.get_by_role("button", name="Yes").click()
    expect(page.get_by_role("heading", name="You said Yes")).to_be_visible()
    return page.locator("section.revealed dd").first.inner_text()
