"""An eye that looks at page after page: in light, in the dark and on a phone."""

import os
from collections.abc import Sequence
from typing import Any, Literal

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import ConsoleMessage, Page, ViewportSize

from demo.processes import ROOT

PATIENCE_MS = 30_000  # of a busy machine: nothing waits for longer than it must
OWN_WORK: ViewportSize = {"width": 1360, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}
WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
ALL = {"type": "tag", "values": WCAG}
# What depends on the colours, or the width, alone; all other rules have seen the page already.
OF_COLOURS = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}
OF_WIDTH = {"type": "rule", "values": ["target-size", "scrollable-region-focusable"]}
# The theme reads the reader's wish once, when the page is loaded.
TURN = "dark => document.documentElement.classList.toggle('dark', dark)"
SETTLED = """document.fonts.ready.then(() => {
  for (const one of document.getAnimations()) {
    if (one.effect.getComputedTiming().endTime < Infinity) one.finish();
  }
})"""
WIDTH = "document.documentElement.scrollWidth"
BACKGROUND = "getComputedStyle(document.body).backgroundColor"
RUN_AXE = "rules => window.axe && axe.run({ runOnly: rules, resultTypes: ['violations'] })"


class Eye:
    """Collects what is wrong with the pages of `url`, so that one run tells it all.

    A page is seen at the size `at`, in both colours, and at the `other` size: by what the width
    may change, or by every rule where the eye is `thorough`.
    """

    def __init__(
        self,
        page: Page,
        url: str = "",
        *,
        at: ViewportSize = OWN_WORK,
        other: ViewportSize | None = PHONE,
        thorough: bool = False,
    ) -> None:
        self.page = page
        self.url = url
        self.at, self.other, self.thorough = at, other, thorough
        self.faults: list[str] = []
        self.theirs: frozenset[str] = frozenset()  # rules that a library's own page breaks
        self._name = ""
        page.set_viewport_size(at)
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.faults.append(f"{self._name}: {error}"))

    def open(self, *paths: str, expect: int | Sequence[int] = 200, until: str = "body") -> None:
        """`until`: what is there when the page's scripts have drawn it."""
        statuses = [expect] if isinstance(expect, int) else expect
        for path in paths:
            self._name = path
            answer = self.page.goto(f"{self.url}{path}")
            if answer is None or answer.status not in statuses:
                self.faults.append(f"{path}: {answer and answer.status}, not {expect}")
            self.page.locator(until).first.wait_for(timeout=2 * PATIENCE_MS)
            self.page.wait_for_function("!document.querySelector('.htmx-request')")
            self.look(path)

    def look(self, name: str) -> None:
        """At the page that is shown."""
        self._name = name
        self.page.wait_for_load_state()  # a click returns before the next page has its body
        self.page.evaluate(SETTLED)
        light = self.page.evaluate(BACKGROUND)
        self._see("light", ALL)
        self._paint("dark")
        if self.page.evaluate(BACKGROUND) == light and not self.theirs:
            self.faults.append(f"{name}: it does not turn dark")
        self._see("dark", OF_COLOURS)
        if self.other:
            self.page.set_viewport_size(self.other)
            if self.thorough:
                self._see("dark, resized", OF_COLOURS)
        self._paint("light")
        if self.other:
            self._see("resized", ALL if self.thorough else OF_WIDTH)
            self.page.set_viewport_size(self.at)

    def assert_well(self) -> None:
        assert not self.faults, "\n".join(self.faults)

    def _see(self, where: str, rules: dict[str, Any]) -> None:
        found = self.page.evaluate(RUN_AXE, rules)
        if found is None:
            self.page.evaluate(AXE_SCRIPT)
            found = self.page.evaluate(RUN_AXE, rules)
        self.faults += [
            f"{self._name}: {fault['id']} ({where}): {node['html']}"
            for fault in found["violations"]
            for node in fault["nodes"]
            if fault["id"] not in self.theirs
        ]
        size = self.page.viewport_size
        assert size
        if (width := self.page.evaluate(WIDTH)) > size["width"]:
            self.faults.append(f"{self._name} ({where}): {width} pixels wide")
        picture(self.page, f"{self._name}-{where}")

    def _paint(self, colours: Literal["light", "dark"]) -> None:
        self.page.emulate_media(color_scheme=colours)
        self.page.evaluate(TURN, colours == "dark")
        self.page.evaluate(SETTLED)

    def _hear(self, message: ConsoleMessage) -> None:
        """A page that is refused is told of by the browser, too."""
        of_the_page = message.location.get("url") == self.page.url
        if message.type in {"error", "warning"} and not of_the_page:
            self.faults.append(f"{self._name}: {message.text}")


def picture(page: Page, name: str) -> None:
    """Of the whole page, in the folder PICTURES, for people who ask for it: each takes a second."""
    if folder := os.environ.get("PICTURES"):
        name = "".join(sign if sign.isalnum() else "-" for sign in name)
        page.screenshot(path=ROOT / folder / f"{name}.png", full_page=True)
