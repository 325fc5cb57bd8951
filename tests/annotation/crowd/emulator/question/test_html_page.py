"""What a page of a requester would send to MTurk, or load from there, comes to us."""

import pytest

from annotation.crowd.emulator.question.html_page import page

SUBMIT = "https://turk.example/mturk/externalSubmit"
SCRIPT = "https://turk.example/script.js"


@pytest.mark.parametrize(
    ("written", "served"),
    [
        ("action='https://www.mturk.com/mturk/externalSubmit'", f"action='{SUBMIT}'"),
        ("https://workersandbox.mturk.com/mturk/externalSubmit?a=1", f"{SUBMIT}?a=1"),
        ("http://WWW.MTURK.COM/mturk/externalSubmit", SUBMIT),
        ("//www.mturk.com/mturk/externalSubmit", SUBMIT),
        ("src='https://s3.amazonaws.com/mturk-public/externalHIT_v1.js'", f"src='{SCRIPT}'"),
        ("https://mturk-public.s3.amazonaws.com/externalHIT_v1.js", SCRIPT),
        ("//s3.amazonaws.com/mturk-public/externalHIT_v1.js", SCRIPT),
        ("https://www.mturk.com/worker", "https://www.mturk.com/worker"),
        ("https://evilwww.mturk.com/mturk/externalSubmit",) * 2,
        ("https://s3.amazonaws.com/other/externalHIT_v1.js",) * 2,
        ("no address, \\1 and \\g<0>",) * 2,
    ],
)
def test_mturks_addresses_are_ours(written: str, served: str) -> None:
    assert page(written, submit_url=SUBMIT, script_url=SCRIPT) == served
