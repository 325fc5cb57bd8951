"""People at the site's Turk, by real HTTP, and a requester with boto3."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest
from django.conf import settings as django_settings
from django.core.servers.basehttp import WSGIRequestHandler
from django.test import Client
from lxml import html
from lxml.html import HtmlElement
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from annotation.crowd.inhouse.models import Member
from annotation.crowd.turk.accounts import create_account
from annotation.crowd.turk.models import RequesterAccount
from tests.annotation.support.turk import client_of
from tests.annotation.web.stage import make_member


class Person:
    """A signed-in member with a browser of their own."""

    def __init__(self, member: Member, http: httpx.Client, environment: str = "sandbox") -> None:
        self.member = member
        self.http = http
        self.home = f"/work/turk/{environment}"

    def page(self, path: str = "") -> HtmlElement:
        answer = self.http.get(self.home + path)
        assert answer.status_code == 200, answer.text
        return html.document_fromstring(answer.text)

    def titles(self, query: str = "") -> list[str]:
        return self.page(query).xpath("//article[.//a[text()='Preview']]//h3/text()")

    def accept(self, path: str) -> httpx.Response:
        """An open HIT's page, as the list links to it."""
        return self.http.post(path, data=self.fields(path))

    def take(self) -> dict[str, str]:
        """Accepts the first HIT; what its frame's address says."""
        link: str = self.page().xpath("//a[text()='Preview']/@href")[0]
        answer = self.accept(link)
        assert answer.status_code == 200
        return question_of(answer)

    def send_back(self, page: str) -> None:
        self.http.post(page, data=self.fields(page) | {"return": "1"})

    def fields(self, path: str) -> dict[str, str]:
        """The hidden ones of its page's forms, of which the way out is always one."""
        document = html.document_fromstring(self.http.get(path).text)
        found: str = document.xpath("//input[@name='csrfmiddlewaretoken']/@value")[0]
        return {"csrfmiddlewaretoken": found}


def question_of(page: httpx.Response) -> dict[str, str]:
    """What the address of its frame says."""
    source: str = html.document_fromstring(page.text).xpath("//iframe/@src")[0]
    return {**dict(parse_qsl(urlsplit(source).query)), "page": str(page.url)}


def submit(parameters: dict[str, str], **answers: str) -> httpx.Response:
    """As a question's own page does it: without cookies, from another origin."""
    return httpx.post(
        parameters["turkSubmitTo"] + "/mturk/externalSubmit",
        data={"assignmentId": parameters["assignmentId"], **answers},
        headers={"Origin": "https://example.org"},
    )


Join = Callable[..., Person]


@pytest.fixture(autouse=True)
def _answers_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the second packet of each answer waits for the first one's receipt."""
    monkeypatch.setattr(WSGIRequestHandler, "disable_nagle_algorithm", True)


@pytest.fixture
def join(live_server: LiveServer, settings: Settings, tmp_path: Path) -> Iterator[Join]:
    settings.DATA_DIR = tmp_path
    settings.PUBLIC_URL = live_server.url
    with ExitStack() as stack:

        def by_name(name: str, environment: str = "sandbox") -> Person:
            member = make_member(name)
            client = Client()
            client.force_login(member.user)
            key = django_settings.SESSION_COOKIE_NAME
            http = httpx.Client(
                base_url=live_server.url,
                cookies={key: client.cookies[key].value},
                follow_redirects=True,
                timeout=60,
            )
            return Person(member, stack.enter_context(http), environment)

        yield by_name


@pytest.fixture
def lab(join: Join) -> RequesterAccount:
    return create_account("lab")


@pytest.fixture
def labs(lab: RequesterAccount, live_server: LiveServer) -> Any:
    """boto3 of the lab in the sandbox."""
    return client_of(lab, live_server.url)
