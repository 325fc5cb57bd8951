"""A worker's way through the crowd's site and the HIT page, over HTTP as a browser takes it."""

from collections.abc import Mapping
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from types import TracebackType
from typing import Self
from urllib.parse import urljoin

import httpx
from lxml import html
from lxml.html import HtmlElement

from core.errors import UserError

TIMEOUT_SECONDS = 60
STATUS = {"masters": "1", "approvalPercent": "100", "approvedHits": "10000"}
REFUSED_TO_WORKER = 403, 410
TAKEN = TOO_LATE = 409


class Lapsed(Exception):
    """The assignment is the worker's no more: its time ran out, or it was submitted before."""


@dataclass(frozen=True)
class ListedHit:
    hit_id: str
    accept_url: str


@dataclass(frozen=True)
class Listing:
    """One page of a worker's list."""

    accepted: tuple[str, ...]  # addresses of assignments to go on with
    hits: tuple[ListedHit, ...]
    more: bool


@dataclass(frozen=True)
class Item:
    """What a worker reads; the name is the form field that takes the answer."""

    name: str
    query: str
    judged: str  # against it: another question, or where there is none an answer


@dataclass(frozen=True)
class QuestionForm:
    action: str
    hidden: Mapping[str, str]
    items: tuple[Item, ...]


class WorkerSite:
    """The crowd's site at `url`. Every method raises UserError when a server does not answer."""

    def __init__(self, url: str) -> None:
        self._url = url
        # As in the crowd's frame, where browsers keep no cookie of ours.
        no_cookies = CookieJar(policy=DefaultCookiePolicy(allowed_domains=[]))
        self._client = httpx.Client(
            timeout=TIMEOUT_SECONDS, cookies=no_cookies, trust_env=False, follow_redirects=False
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._client.close()

    def sign_in(self, worker_id: str) -> str:
        """The address of the worker's list of HITs."""
        form = STATUS | {"workerId": worker_id}
        answer = self._crowd("POST", f"{self._url}/worker/register", form=form)
        return _expect_redirect(answer)

    def assignments_so_far(self) -> int:
        """Assignments that anybody ever took, from the numbers on the crowd's first page."""
        page = _parse(self._crowd("GET", f"{self._url}/"))
        shown = page.xpath("//h2[.='Assignments']/following-sibling::dl[1]/dd/text()")
        return sum(int(number) for number in shown)

    def list_hits(self, list_url: str, page: int) -> Listing:
        answer = self._crowd("GET", f"{list_url}?page={page}")
        document = _parse(answer)
        return Listing(
            accepted=tuple(
                urljoin(list_url, link) for link in document.xpath("//li[@data-assignment]/a/@href")
            ),
            hits=tuple(
                ListedHit(form.getparent().get("data-hit"), urljoin(list_url, form.get("action")))
                for form in document.xpath("//li[@data-hit]/form[@method='post']")
            ),
            more=bool(document.xpath("//a[@rel='next']")),
        )

    def accept(self, hit: ListedHit) -> str | None:
        """The address of the assignment; None when the HIT is not to be had any more."""
        answer = self._crowd("POST", hit.accept_url, form={})
        return None if answer.status_code == TAKEN else _expect_redirect(answer)

    def open_question(self, assignment_url: str) -> QuestionForm | None:
        """Read the frame of an assignment; None when our page refuses this worker.

        Raises Lapsed.
        """
        page = self._crowd("GET", assignment_url)
        if page.status_code == TOO_LATE:
            raise Lapsed(assignment_url)
        frames = _parse(page).xpath("//iframe/@src")
        if len(frames) != 1:
            raise UserError(f"{assignment_url} shows no question in a frame: is it the emulator's?")
        answer = self._question_page(frames[0])
        if answer.status_code in REFUSED_TO_WORKER:
            return None
        return _question_form(answer)

    def submit(self, form: QuestionForm, answers: Mapping[str, str]) -> bool:
        """False when it comes too late: the time has run out, or it was submitted before."""
        answer = self._crowd("POST", form.action, form={**form.hidden, **answers})
        if answer.status_code not in (httpx.codes.OK, TOO_LATE):
            raise _refused(answer)
        return answer.status_code == httpx.codes.OK

    def give_back(self, assignment_url: str) -> None:
        """Also what is the worker's no more."""
        answer = self._crowd("POST", f"{assignment_url}/return", form={})
        if answer.status_code != TOO_LATE:
            _expect_redirect(answer)

    def _crowd(
        self, method: str, url: str, *, form: Mapping[str, str] | None = None
    ) -> httpx.Response:
        try:
            answer = self._client.request(method, url, data=form)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise UserError(
                f"The crowd at {self._url} does not answer ({error}): start the emulator with"
                " `quorum crowd emulator`, or say where it is with --emulator."
            ) from error
        if answer.is_server_error or answer.status_code == httpx.codes.NOT_FOUND:
            raise _refused(answer)
        return answer

    def _question_page(self, url: str) -> httpx.Response:
        try:
            answer = self._client.get(url)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise UserError(
                f"The question page {_short(url)} does not answer ({error}): start the site with"
                " `make run`, which brings an emulator of its own, so stop yours first;"
                " HITs name the QUORUM_PUBLIC_URL that they were published with."
            ) from error
        if answer.is_server_error:
            raise UserError(
                f"The question page {_short(url)} answers {answer.status_code}:"
                " the site's log says why."
            )
        return answer


def _question_form(answer: httpx.Response) -> QuestionForm:
    """The contract of the HIT page: a form of fieldsets, each with radio inputs for Yes and No."""
    document = _parse(answer)
    url = str(answer.url)
    forms = document.xpath("//form[@method='post'][.//fieldset[@data-item]]")
    if len(forms) != 1:
        raise UserError(
            f"The question page {_short(url)} has no form with items (it answers"
            f" {answer.status_code}: {_excerpt(document)}): is the site of these HITs running?"
        )
    form = forms[0]
    hidden = form.xpath(".//input[@type='hidden']")
    return QuestionForm(
        action=urljoin(url, form.get("action")),
        hidden={field.get("name"): field.get("value", "") for field in hidden},
        items=tuple(_item(fieldset, url) for fieldset in form.xpath(".//fieldset[@data-item]")),
    )


def _item(fieldset: HtmlElement, url: str) -> Item:
    choices = fieldset.xpath(".//input[@type='radio']")
    names = {choice.get("name") for choice in choices}
    other = "question" if fieldset.find_class("question") else "answer"
    texts = [fieldset.find_class(name) for name in ("query", other)]
    if (
        not {"0", "1"} <= {choice.get("value") for choice in choices}
        or len(names) != 1
        or any(len(nodes) != 1 for nodes in texts)
    ):
        raise UserError(f"The question page {_short(url)} has an item without texts or choices.")
    query, judged = (nodes[0].text_content() for nodes in texts)
    return Item(name=names.pop(), query=query, judged=judged)


def _parse(answer: httpx.Response) -> HtmlElement:
    parser = html.HTMLParser(encoding="utf-8")
    try:
        return html.document_fromstring(answer.content, parser=parser)
    except ValueError as error:  # an empty page
        raise _refused(answer) from error


def _expect_redirect(answer: httpx.Response) -> str:
    if not answer.has_redirect_location:
        raise _refused(answer)
    return urljoin(str(answer.url), answer.headers["Location"])


def _refused(answer: httpx.Response) -> UserError:
    request = f"{answer.request.method} {_short(str(answer.url))}"
    return UserError(
        f"{request} was answered with {answer.status_code}: is this the emulator's address?"
    )


def _excerpt(document: HtmlElement) -> str:
    return " ".join(document.text_content().split())[:200]


def _short(url: str) -> str:
    return url.partition("?")[0]
