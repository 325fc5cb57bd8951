"""An owner and a team at the real site, each in a browser context of their own."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import CheckAccess, axe, browser
from tests.services.life.corpus import Corpus, write_corpus
from tests.services.life.owner import Owner
from tests.services.stack import ServiceStack

__all__ = ["axe", "browser"]  # as in the tests of single pages

PATIENCE_MS = 180_000  # for what a worker does: the model is loaded within

NewPage = Callable[[], Page]


@pytest.fixture
def new_page(browser: Browser, stack: ServiceStack) -> Iterator[NewPage]:
    """Somebody else's browser each time: no cookie of another."""
    expect.set_options(timeout=PATIENCE_MS)
    with ExitStack() as contexts:

        def opened() -> Page:
            context = contexts.enter_context(browser.new_context(base_url=stack.site_url))
            context.set_default_timeout(PATIENCE_MS)
            return context.new_page()

        yield opened


@pytest.fixture
def owner(new_page: NewPage, axe: CheckAccess) -> Owner:
    """Who started the site, with the link that it printed."""
    return Owner(new_page(), axe)


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return write_corpus(tmp_path)
