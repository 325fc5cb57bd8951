"""What a log line is about stands in it, as words and as JSON, in threads and after errors too."""

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings

from core.log_context import About, JsonLines, OneLine, about, also_about, facts

ROOT = Path(__file__).resolve().parent.parent.parent
LINE = settings.LOGGING["formatters"]["line"]["format"]


@pytest.fixture
def written() -> Iterator[StringIO]:
    """What a logger of its own writes, in both formats, one after the other."""
    out, log = StringIO(), logging.getLogger("tests.log_context")
    for formatter in (OneLine(LINE, style="{"), JsonLines()):
        handler = logging.StreamHandler(out)
        handler.setFormatter(formatter)
        handler.addFilter(About())
        log.addHandler(handler)
    log.setLevel("INFO")
    log.propagate = False
    yield out
    log.handlers.clear()


def say(text: str, **extra: object) -> None:
    logging.getLogger("tests.log_context").info(text, extra=extra)


def lines(written: StringIO) -> tuple[str, dict[str, object]]:
    first, second = written.getvalue().splitlines()
    return first, json.loads(second)


def test_a_line_says_what_it_is_about(written: StringIO) -> None:
    with about(campaign="faq"), about(hit="faq-1"):
        say("it went well")
    words, fields = lines(written)
    assert words.endswith("INFO tests.log_context [campaign=faq hit=faq-1]: it went well")
    assert fields.pop("time")
    assert fields == {
        "level": "INFO",
        "logger": "tests.log_context",
        "message": "it went well",
        "campaign": "faq",
        "hit": "faq-1",
    }


def test_about_nothing_says_nothing_of_it(written: StringIO) -> None:
    say("it went well")
    words, fields = lines(written)
    assert words.endswith("INFO tests.log_context: it went well")
    assert set(fields) == {"time", "level", "logger", "message"}


def test_what_began_ends_after_an_error_too() -> None:
    with pytest.raises(ZeroDivisionError), about(campaign="faq"):
        _ = 1 / 0
    assert facts() == {}


def test_the_inner_one_holds_and_what_is_unknown_hides_nothing() -> None:
    with about(campaign="faq", hit="1"), about(hit=None, campaign="other"):
        assert facts() == {"campaign": "other", "hit": "1"}


def test_what_is_learnt_on_the_way_holds_until_the_work_ends() -> None:
    with about(request="r1"):
        with about(job="7"):
            also_about(campaign="faq")
            assert facts() == {"request": "r1", "job": "7", "campaign": "faq"}
        assert facts() == {"request": "r1"}
    assert facts() == {}


def test_threads_that_take_the_context_along_know_it_and_others_do_not() -> None:
    with about(campaign="faq"), ThreadPoolExecutor(2) as pool:
        assert pool.submit(copy_context().run, facts).result() == {"campaign": "faq"}
        assert pool.submit(facts).result() == {}


def test_nobody_forges_a_line_by_a_name(written: StringIO) -> None:
    with about(campaign="faq\nERROR root: all is lost"):
        say("it went well")
    words, fields = lines(written)
    assert "ERROR root: all" not in words
    assert fields["campaign"] == "faq\nERROR root: all is lost"


FORGED = "a header\n2026-03-01 09:12:03,211 ERROR root: all is lost"


def test_nobody_forges_a_line_by_a_message(written: StringIO) -> None:
    say(FORGED)
    words, fields = lines(written)
    assert words.endswith(": a header\\n2026-03-01 09:12:03,211 ERROR root: all is lost")
    assert fields["message"] == FORGED


@pytest.mark.parametrize(
    ("hostile", "harmless"),
    [
        ("a\rb", "a\\rb"),
        ("a\x1b[2Kb", "a\\x1b[2Kb"),
        ("a\x85b", "a\\x85b"),
        ("a\u2028b\u2029c", "a\\u2028b\\u2029c"),
        ("a\u202eb", "a\\u202eb"),
        ("a\0\tb", "a\\x00\\tb"),
        ("wärme, 5 % …", "wärme, 5 % …"),
        ("non\u00a0breaking", "non\u00a0breaking"),
    ],
)
def test_what_moves_or_hides_on_a_screen_is_written_out(
    written: StringIO, hostile: str, harmless: str
) -> None:
    say(hostile)
    first, _ = written.getvalue().split("\n", 1)
    assert first.endswith(f"tests.log_context: {harmless}")


def test_a_traceback_keeps_its_lines(written: StringIO) -> None:
    try:
        _ = 1 / 0
    except ZeroDivisionError:
        logging.getLogger("tests.log_context").exception("it went\nwrong")
    words, trace, *_ = written.getvalue().splitlines()
    assert words.endswith("it went\\nwrong")
    assert trace == "Traceback (most recent call last):"


def test_the_settings_lines_are_such() -> None:
    assert settings.LOGGING["formatters"]["line"]["class"] == "core.log_context.OneLine"


def test_django_s_request_is_not_written_out(written: StringIO) -> None:
    with about(request="r1"):
        say("slow", request=object(), status_code=500)
    _, fields = lines(written)
    assert (fields["request"], fields["status_code"]) == ("r1", 500)


def test_an_error_is_one_line_of_json(written: StringIO) -> None:
    try:
        _ = 1 / 0
    except ZeroDivisionError:
        logging.getLogger("tests.log_context").exception("it went wrong")
    last = json.loads(written.getvalue().splitlines()[-1])
    assert "ZeroDivisionError" in str(last["exc_info"])


@pytest.mark.parametrize(("choice", "begins"), [("json", "{"), ("line", "2"), ("", "2")])
def test_the_environment_chooses_the_format(tmp_path: Path, choice: str, begins: str) -> None:
    script = "import django; django.setup(); import logging; logging.warning('here')"
    environment = {"QUORUM_DATA": str(tmp_path), "QUORUM_LOG_FORMAT": choice}
    environment["DJANGO_SETTINGS_MODULE"] = "config.settings"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.startswith(begins)
    assert "here" in done.stderr
