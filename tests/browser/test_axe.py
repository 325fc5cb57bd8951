"""The eye for faults of access sees one that is planted."""

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import CheckAccess

PAGE = "<html lang=en><title>A page</title><main><h1>A page</h1>{}</main>"


def test_a_picture_without_words_is_seen(page: Page, axe: CheckAccess) -> None:
    page.set_content(PAGE.format("<img src='data:,'>"))
    with pytest.raises(AssertionError, match="image-alt"):
        axe(page)
    page.set_content(PAGE.format("<img src='data:,' alt='A picture'>"))
    axe(page)
