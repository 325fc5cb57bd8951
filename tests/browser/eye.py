"""An eye that looks at page after page: in light, in the dark and on a phone."""

from typing import Any, Literal

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import ConsoleMessage, Page

from tests.browser.conftest import PATIENCE_MS, WCAG

DESK, PHONE = {"width": 1360, "height": 900}, {"width": 390, "height": 844}
# What depends on the colours alone; all other rules have seen the page in light.
OF_COLOURS = ["color-contrast", "link-in-text-block"]
# The theme reads the reader's wish once, when the page is loaded.
TURN = "dark => document.documentElement.classList.toggle('dark', dark)"
SETTLED = """document.fonts.ready.then(() => {
  for (const one of document.getAnimations()) {
    if (one.effect.getComputedTiming().endTime < Infinity) one.finish();
  }
})"""
WIDTH = "document.documentElement.scrollWidth"


class Eye:
    """Collects what is wrong with the pages of `url`, so that one run tells it all."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.faults: list[str] = []
        self.theirs: frozenset[str] = frozenset()  # rules that a library's own page breaks
        self._at = ""
        page.set_viewport_size(DESK)  # type: ignore[arg-type]
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.faults.append(f"{self._at}: {error}"))

    def open(self, *paths: str, expect: int = 200, until: str = "body") -> None:
        """`until`: what is there when the page's scripts have drawn it."""
        for path in paths:
            self._at = path
            answer = self.page.goto(f"{self.url}{path}")
            if answer is None or answer.status != expect:
                self.faults.append(f"{path}: {answer and answer.status}, not {expect}")
            self.page.locator(until).first.wait_for(timeout=6 * PATIENCE_MS)
            self.look(path)

    def look(self, name: str) -> None:
        """At the page that is shown."""
        self._at = name
        self.page.evaluate(SETTLED)
        self._check({"type": "tag", "values": WCAG}, "light")
        self._paint("dark")
        self._check({"type": "rule", "values": OF_COLOURS}, "dark")
        self._paint("light")
        self.page.set_viewport_size(PHONE)  # type: ignore[arg-type]
        self._check({"type": "rule", "values": ["target-size"]}, "phone")
        if (width := self.page.evaluate(WIDTH)) > PHONE["width"]:
            self.faults.append(f"{name}: {width} pixels wide on a phone")
        self.page.set_viewport_size(DESK)  # type: ignore[arg-type]

    def assert_well(self) -> None:
        assert not self.faults, "\n".join(self.faults)

    def _check(self, rules: dict[str, Any], where: str) -> None:
        options = {"runOnly": rules, "resultTypes": ["violations"]}
        found = Axe().run(self.page, options=options).response["violations"]
        self.faults += [
            f"{self._at}: {fault['id']} ({where}): {node['html']}"
            for fault in found
            for node in fault["nodes"]
            if fault["id"] not in self.theirs
        ]

    def _paint(self, colours: Literal["light", "dark"]) -> None:
        self.page.emulate_media(color_scheme=colours)
        self.page.evaluate(TURN, colours == "dark")
        self.page.evaluate(SETTLED)

    def _hear(self, message: ConsoleMessage) -> None:
        """A page that is refused is told of by the browser, too."""
        of_the_page = message.location.get("url") == self.page.url
        if message.type in {"error", "warning"} and not of_the_page:
            self.faults.append(f"{self._at}: {message.text}")
