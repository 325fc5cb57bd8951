"""The eye for harm sees each kind of it, and takes no offence at words."""

import pytest

from tests.proof.harm import harm
from tests.worlds.hostile import ADDRESSES, HOST, MARK, MARKUP, RUN


@pytest.mark.parametrize(
    "page",
    [
        f"<p>{MARKUP['a picture that fails']}</p>",
        f"<p>{MARKUP['a script']}</p>",
        f"<p>{MARKUP['a form of its own']}</p>",
        f"<p>{MARKUP['another base']}</p>",
        f"<p>{MARKUP['a comment never closed']}",
        f'<input value="{MARKUP["the end of an attribute"]}">',
        f'<a href="{ADDRESSES["a script as an address"]}">x</a>',
        f'<a href="{ADDRESSES["a script as an address with a tab"]}">x</a>',
        f'<a href="{ADDRESSES["a script as an address with entities"]}">x</a>',
        f'<img src="//{HOST}/x.png">',
        f"<{MARK}>",
    ],
)
def test_a_text_that_became_more_is_seen(page: str) -> None:
    assert harm(page.encode())


def test_words_are_no_harm_whatever_they_say() -> None:
    page = f'<p title="{RUN}">&lt;script&gt;{RUN}&lt;/script&gt; <a href="?q={MARK}">q</a></p>'
    assert harm(page.encode()) == []
