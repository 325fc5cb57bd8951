"""What an owner does on the dashboard: links, forms and buttons alone, no address typed in."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from playwright.sync_api import Locator, Page, ViewportSize, expect

from annotation.access.first_account import link
from tests.browser.conftest import SHOTS, CheckAccess

NAME, PASSWORD = "owner", "runs campaigns all day"
WORK_MS = 300_000  # of a job: the model is loaded, pairs are encoded
SOON_MS = 180_000  # of figures: they are counted after passes, with rests between
# The page is there, all of it, and asks for no job.
SETTLED = """document.readyState === "complete"
  && !document.querySelector("main [hx-trigger='every 2s']")"""
PHONE, OWN_WORK = ViewportSize(width=390, height=844), ViewportSize(width=1360, height=900)


class Owner:
    """Signed in at `page` from `arrive` on; `look` is at every page on the way."""

    def __init__(self, page: Page, axe: CheckAccess) -> None:
        self.page = page
        self._axe = axe
        self.main = page.locator("main")

    # The frame

    def arrive(self) -> None:
        self.page.goto(urlsplit(link()).path)
        self.page.get_by_label("Username").fill(NAME)
        for label in "Password", "Password confirmation":
            self.page.get_by_label(label, exact=True).fill(PASSWORD)
        self.page.get_by_role("button", name="Create account").click()
        expect(self.heading("To your first dataset")).to_be_visible()

    def go(self, name: str) -> None:
        """By the side bar."""
        self.page.locator("#nav-sidebar-apps, aside, nav").get_by_role(
            "link", name=re.compile(rf"\b{name}$")
        ).first.click()

    def open_campaign(self, name: str) -> None:
        self.go("Campaigns")
        self.follow(name)

    def tab(self, name: str) -> None:
        """Of the campaign's row of pages."""
        with self.page.expect_navigation():
            self.page.locator(".dash-tabs").get_by_role("link", name=name, exact=True).click()

    def heading(self, words: str) -> Locator:
        return self.page.get_by_role("heading", name=words)

    def press(self, name: str) -> None:
        self.main.get_by_role("button", name=name).click()

    def follow(self, name: str) -> None:
        self.main.get_by_role("link", name=name).first.click()

    def sees(self, words: str | re.Pattern[str], *, timeout: float | None = None) -> None:
        """Visible by itself, without a reload by the reader."""
        expect(self.page.get_by_text(words).first).to_be_visible(timeout=timeout)

    def settle(self) -> None:
        """Until no job is under way: a page loads itself again when one has ended."""
        self.page.wait_for_function(SETTLED, timeout=WORK_MS)

    def look(self, name: str) -> None:
        """No fault of access in either scheme, no page that scrolls sideways, and pictures."""
        self.settle()
        for scheme, size in (("light", OWN_WORK), ("dark", OWN_WORK), ("phone", PHONE)):
            self.page.set_viewport_size(size)
            self._turn("dark" if scheme == "dark" else "light")
            self.page.screenshot(path=SHOTS / f"life-{name}-{scheme}.png", full_page=True)
            if scheme != "phone":
                self._axe(self.page)
            wide = "document.documentElement.scrollWidth > innerWidth"
            assert not self.page.evaluate(wide), f"{name} scrolls sideways ({scheme})"
        self.page.set_viewport_size(OWN_WORK)
        self._turn("light")

    def _turn(self, scheme: Literal["light", "dark"]) -> None:
        """The dashboard's frame reads the scheme when it is loaded, and loading may send a form."""
        self.page.emulate_media(color_scheme=scheme)
        dark = "dark => document.documentElement.classList.toggle('dark', dark)"
        self.page.evaluate(dark, scheme == "dark")

    # The q/a database and the controls

    def import_pairs(self, path: Path, source: str, *, corpus: str = "all") -> None:
        self.go("Import")
        self.page.get_by_label("Name of the source").fill(source)
        self.page.get_by_label("Corpus", exact=True).select_option(corpus)
        self.page.get_by_label("Licence").fill("CC0-1.0")
        self.page.get_by_label("Files").set_input_files(path)
        self.look("import")
        self.press("Import")
        expect(self.main.get_by_role("link", name="Import more")).to_be_visible(timeout=WORK_MS)

    def see_the_index(self) -> None:
        """By the import's own box, which is ticked."""
        self.follow("Jobs")
        expect(self.main.get_by_text("current", exact=True)).to_be_visible(timeout=WORK_MS)

    def import_controls(self, path: Path) -> None:
        self.page.get_by_label("File of controls").set_input_files(path)
        self.press("Import")

    # A new campaign

    def name_queries(
        self, name: str, *, who: str, sample: int | None = None, file: Path | None = None
    ) -> None:
        self.page.get_by_role("radio", name=re.compile(f"^{who}")).check()
        self.page.get_by_label("Name", exact=True).fill(name)
        if file:
            self.page.get_by_label("My own, from a file").check()
            self.page.get_by_label("File of queries").set_input_files(file)
        else:
            self.page.get_by_label("How many to sample").fill(str(sample))
        self.press("Continue")

    def set_rules(self, rules: Mapping[str, object]) -> None:
        """Fields by their names in the policy."""
        self.page.get_by_text("Advanced", exact=True).click()
        for name, value in rules.items():
            field = self.page.locator(f"[name={name}]")
            if field.evaluate("field => field.tagName") == "SELECT":
                field.select_option(str(value))
            else:
                field.fill(str(value))
        self.page.get_by_role("button", name="Continue").click()

    # Its plan

    def find_candidates(self) -> None:
        self.press("Retrieve candidates")
        self.sees(re.compile(r"\d+ pairs found by"), timeout=WORK_MS)

    def pack(self) -> None:
        self.main.get_by_role("button", name=re.compile("^Pack")).click()
        self.sees(re.compile("(HITs|tasks) are packed"), timeout=WORK_MS)

    def publish(self, first: int | None = None) -> list[str]:
        """What the page said would follow; `first`: HITs of the first batch."""
        if first:
            self.page.get_by_label(re.compile("in the first batch")).fill(str(first))
            self.main.get_by_role("button", name=re.compile("^Review")).click()
        else:
            self.follow("The rest")
        publish = self.main.get_by_role("button", name=re.compile("^Publish"))
        expect(publish).to_be_visible()  # it stands below what is said
        said = self.main.locator("form .dash-note p").all_inner_texts()
        publish.click()
        asked = (
            f"The first {first} of"
            if first
            else re.compile(r"All \d+ (HITs are requested|tasks are open)")
        )
        self.sees(asked, timeout=WORK_MS)
        return said

    # While it runs

    def count_of(self, stage: str) -> Locator:
        """Triplets of a stage on the overview."""
        one = self.main.locator(".overview-stages > div", has_text=stage)
        return one.locator("dd").first

    def worker(self, name: str) -> Locator:
        """As the list of workers has it once its figures are newer than the worker's first HIT."""
        link = self.main.get_by_role("link", name=name, exact=True)
        for _ in range(SOON_MS // 1_000):
            self.tab("Workers")
            self.page.wait_for_timeout(1_000)
            if link.count():
                break
        return link

    def preview(self, worker: Locator) -> str:
        """What a worker's page says of an exclusion, or of its end."""
        worker.click()
        report = self.page.locator("section[aria-labelledby=exclusion-impact-title] dl")
        expect(report).to_be_visible()
        return report.inner_text()

    def agree(self, act: str) -> None:
        """To an act whose page has told what follows."""
        self.main.get_by_role("button", name=act, exact=True).click()
        self.sees("Done: ")

    def exclude_and_take_back(self) -> None:
        self.follow("Exclude")
        self.press("Preview")
        self.sees("takes no further part")
        self.agree("Exclude")
        expect(self.main.get_by_text("excluded", exact=True).first).to_be_visible()
        self.follow("Restore")
        self.sees("may work in")
        self.agree("Restore")
        expect(self.main.get_by_role("link", name="Exclude", exact=True)).to_be_visible()

    # People

    def invite(self, note: str, accounts: int) -> str:
        """The link that is to be sent to them."""
        self.go("Team")
        self.page.get_by_label("For whom").fill(note)
        self.page.get_by_label("Accounts").fill(str(accounts))
        self.press("Create link")
        return self.main.locator("code.team-link").inner_text()

    def give_role(self, name: str, role: str) -> None:
        self.page.get_by_label("User name").fill(name)
        self.page.get_by_label("Role", exact=True).select_option(role)
        self.press("Give the role")
        self.sees(f"{name} is {role} of")

    # Its end

    def confirm_a_control(self) -> str:
        """The question of the first that the votes propose."""
        self.press("Look for more")
        self.main.get_by_role("link", name="Confirm").first.click(timeout=WORK_MS)
        question = self.page.get_by_label("Question").input_value()
        self.press("Preview")
        self.agree("Confirm as a control")
        return question

    def build_release(self) -> None:
        self.press("Build a release")
        self.main.get_by_role("link", name="Release 1").click(timeout=WORK_MS)

    def download(self, path: Path) -> Path:
        with self.page.expect_download() as download:
            self.main.locator(".get a").click()
        download.value.save_as(path)
        return path
