"""The address of the HIT page and what of it is believed."""

import re

import pytest
from django.core.signing import BadSignature
from pytest_django import Settings

from annotation.crowd.hit_url import BadVisit, hit_url, read_hit_key, read_visit
from annotation.crowd.mturk.endpoints import site_of

EMULATOR = "http://127.0.0.1:8089"
PRODUCTION = "https://mturk-requester.us-east-1.amazonaws.com"
SANDBOX = "https://mturk-requester-sandbox.us-east-1.amazonaws.com"


@pytest.fixture(autouse=True)
def _addresses(settings: Settings) -> None:
    settings.PUBLIC_URL = "https://quorum.example.org"
    settings.MTURK_ENDPOINT = EMULATOR


def test_a_hit_url_names_the_public_address_and_reads_back() -> None:
    url = hit_url("faq-1")
    assert url.startswith("https://quorum.example.org/hit/faq-1:")
    assert read_hit_key(url.rpartition("/")[2]) == "faq-1"
    assert re.fullmatch(r"[A-Za-z0-9:/._-]+", url)


def test_an_address_signed_with_another_key_is_not_read(settings: Settings) -> None:
    signed = hit_url("faq-1").rpartition("/")[2]
    settings.SECRET_KEY = "another"
    with pytest.raises(BadSignature):
        read_hit_key(signed)


@pytest.mark.parametrize("assignment", ["", "ASSIGNMENT_ID_NOT_AVAILABLE"])
def test_a_page_that_nobody_has_accepted_is_a_preview(assignment: str) -> None:
    assert read_visit({"assignmentId": assignment}).assignment_id == ""
    assert read_visit({}).assignment_id == ""


@pytest.mark.parametrize("assignment", ["3ADA", "a-b_c", "x" * 64])
def test_an_assignment_id_is_taken_as_it_comes(assignment: str) -> None:
    assert read_visit({"assignmentId": assignment}).assignment_id == assignment


@pytest.mark.parametrize("assignment", ["a b", "<script>", "x" * 65, "3ADA\n", "é", "3ADA\x00"])
def test_an_assignment_id_of_no_crowd_is_refused(assignment: str) -> None:
    with pytest.raises(BadVisit, match="assignmentId"):
        read_visit({"assignmentId": assignment})


@pytest.mark.parametrize("worker", ["A\x00", "x" * 65, "' OR 1=1 --", ""])
def test_a_worker_id_of_no_crowd_is_not_looked_at(worker: str) -> None:
    assert read_visit({"workerId": worker}).worker_id == ""


@pytest.mark.parametrize(
    ("endpoint", "asked", "origin"),
    [
        (EMULATOR, "", EMULATOR),
        (EMULATOR, f"{EMULATOR}/", EMULATOR),
        (EMULATOR, "HTTP://127.0.0.1:8089", EMULATOR),
        (EMULATOR, "http://localhost:8089", "http://localhost:8089"),
        (EMULATOR, "https://workersandbox.mturk.com", "https://workersandbox.mturk.com"),
        (EMULATOR, "https://www.mturk.com:443", "https://www.mturk.com"),
        ("http://[::1]:8089", "", "http://[::1]:8089"),
        ("https://crowd.example/", "https://crowd.example", "https://crowd.example"),
        (PRODUCTION, "", "https://www.mturk.com"),
        (PRODUCTION, "https://www.mturk.com", "https://www.mturk.com"),
        (SANDBOX, "", "https://workersandbox.mturk.com"),
    ],
)
def test_answers_go_to_the_crowd(
    settings: Settings, endpoint: str, asked: str, origin: str
) -> None:
    settings.MTURK_ENDPOINT = endpoint
    assert read_visit({"turkSubmitTo": asked}).submit_origin == origin


@pytest.mark.parametrize(
    "asked",
    [
        "https://evil.example",
        "https://www.mturk.com.evil.example",
        "https://www.mturk.com@evil.example",
        "https://evil.example#https://www.mturk.com",
        "https://eve@www.mturk.com",
        "http://www.mturk.com",
        "https://www.mturk.com:8443",
        "http://127.0.0.1:8090",
        "https://127.0.0.1:8089",
        "javascript:alert(1)",
        "//www.mturk.com",
        "https://[",
        "https://www.mturk.com:port",
        "www.mturk.com",
    ],
)
def test_answers_go_nowhere_else(asked: str) -> None:
    with pytest.raises(BadVisit, match="turkSubmitTo"):
        read_visit({"turkSubmitTo": asked})


def test_the_api_of_mturk_is_no_place_to_submit_to(settings: Settings) -> None:
    settings.MTURK_ENDPOINT = PRODUCTION
    assert site_of(PRODUCTION) == "https://www.mturk.com"
    with pytest.raises(BadVisit):
        read_visit({"turkSubmitTo": PRODUCTION})
