"""The worker's face: pages for people, plain enough for a program to read."""

import base64
import hashlib
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from werkzeug import Request, Response
from werkzeug.utils import redirect

from annotation.crowd.emulator.errors import Refused
from annotation.crowd.emulator.question import html_page
from annotation.crowd.emulator.question.answers import Fields
from annotation.crowd.emulator.question.form import Form
from annotation.crowd.emulator.question.render import fields as form_fields
from annotation.crowd.emulator.state import assignments, money, qualification_requests
from annotation.crowd.emulator.state.assignments import WrongAnswers
from annotation.crowd.emulator.state.questions import HTMLQuestion, frame_url, parse_question
from annotation.crowd.emulator.store import Store
from annotation.crowd.wire.faults import HASTY_APPROVAL, Faults, record
from annotation.crowd.wire.session import Row

TEMPLATES = Path(__file__).with_name("templates")
STYLE = (TEMPLATES / "style.css").read_text(encoding="utf-8")
STYLE_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
HEADERS = {
    # A question may come from anywhere, our own pages load nothing and run nothing.
    "Content-Security-Policy": (
        f"default-src 'none'; style-src 'sha256-{STYLE_HASH}'; frame-src http: https:;"
        " form-action 'self'; base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
PAGE_SIZE = 50
# A form of the requester's words is our page, which shows what lies elsewhere.
FORM_SOURCES = ("img-src http: https:", "media-src http: https:")
FRAMES = {  # the sandbox of each kind
    "ExternalQuestion": f"{html_page.SANDBOX} allow-same-origin "
    "allow-top-navigation-by-user-activation",
    HTMLQuestion.kind: html_page.SANDBOX,
}
NO_ASSIGNMENT = "ASSIGNMENT_ID_NOT_AVAILABLE"
MAX_APPROVED = 10**9
MAX_PAGE = 10**6


class Pages:
    def __init__(self, store: Store, faults: Faults) -> None:
        self._store = store
        self._faults = faults
        self._templates = Environment(
            loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined
        )
        self._templates.globals["style"] = Markup(STYLE)  # noqa: S704 - a file of ours
        self._templates.filters |= {"dollars": money.dollars, "duration": duration}

    def index(self, request: Request) -> Response:
        with self._store.reading() as session:
            hits = session.db.execute(
                "SELECT status, COUNT(*) AS number FROM hit_records GROUP BY status"
            ).fetchall()
            assignments = session.db.execute(
                "SELECT status, COUNT(*) AS number FROM assignments GROUP BY status"
            ).fetchall()
            account = money.balance(session)
        return self._page("index.html", hits=hits, assignments=assignments, account=account)

    def sign_in(self, request: Request) -> Response:
        return self._page("sign_in.html")

    def register(self, request: Request) -> Response:
        worker_id = request.form.get("workerId", "").strip()
        with self._store.writing() as session:
            assignments.register(session, worker_id, _status(request))
        return redirect(f"/worker/{worker_id}/hits", 303)

    def hits(self, request: Request, worker_id: str) -> Response:
        page = _number(request.args.get("page", "1"), "page", 1, MAX_PAGE)
        skip = (page - 1) * PAGE_SIZE
        with self._store.reading() as session:
            at_work = assignments.at_work(session, worker_id)
            open_hits = assignments.open_hits(session, worker_id, skip=skip, count=PAGE_SIZE + 1)
            previews = assignments.previews(session, worker_id) if page == 1 else []
            now = session.now
        return self._page(
            "hits.html",
            worker_id=worker_id,
            at_work=at_work,
            open_hits=open_hits[:PAGE_SIZE],
            previews=previews,
            page=page,
            more=len(open_hits) > PAGE_SIZE,
            now=now,
        )

    def preview(self, request: Request, worker_id: str, hit_id: str) -> Response:
        with self._store.reading() as session:
            hit = assignments.previewed_hit(session, worker_id, hit_id)
        return self._question(worker_id, hit, None, host_url=request.host_url)

    def accept(self, request: Request, worker_id: str, hit_id: str) -> Response:
        with self._store.writing() as session:
            assignment_id = assignments.accept(session, worker_id, hit_id)
        return redirect(f"/worker/{worker_id}/assignments/{assignment_id}", 303)

    def assignment(self, request: Request, worker_id: str, assignment_id: str) -> Response:
        with self._store.reading() as session:
            row = assignments.accepted_assignment(session, worker_id, assignment_id)
            seconds = row["deadline"] - session.now
        return self._question(worker_id, row, row, host_url=request.host_url, seconds=seconds)

    def give_back(self, request: Request, worker_id: str, assignment_id: str) -> Response:
        with self._store.writing() as session:
            assignments.give_back(session, worker_id, assignment_id)
        return redirect(f"/worker/{worker_id}/hits", 303)

    def submit(self, request: Request) -> Response:
        """Every field but the assignmentId is an answer."""
        fields = _fields(request)
        assignment_id = request.form.get("assignmentId", "")
        haste = self._faults.of_submission()
        try:
            with self._store.writing() as session:
                done = assignments.submit(session, assignment_id, fields, approved_after=haste)
                if haste is not None:
                    record(session, HASTY_APPROVAL, "externalSubmit")
        except WrongAnswers as wrong:
            return self._form_again(assignment_id, fields, wrong)
        leaves_frame = done["kind"] != HTMLQuestion.kind  # the others may leave their sandbox
        return self._page("submitted.html", worker_id=done["worker_id"], leaves_frame=leaves_frame)

    def _form_again(self, assignment_id: str, fields: Fields, wrong: WrongAnswers) -> Response:
        with self._store.reading() as session:
            row = assignments.open_assignment(session, assignment_id)
            seconds = row["deadline"] - session.now
        return self._question(
            row["worker_id"], row, row, seconds=seconds, entered=fields, wrong=wrong
        )

    def html_question(self, request: Request, hit_id: str) -> Response:
        """In an origin of its own, whoever opens it and wherever."""
        with self._store.reading() as session:
            question = parse_question(assignments.hit(session, hit_id)["question"])
        if not isinstance(question, HTMLQuestion):
            raise Refused(404, "The question of this HIT is not a page of ours.")
        text = html_page.page(
            question.html,
            submit_url=f"{request.host_url}mturk/externalSubmit",
            script_url=f"{request.host_url}question/externalHIT_v1.js",
        )
        return Response(text, 200, html_page.HEADERS, content_type="text/html; charset=utf-8")

    def external_hit_script(self, request: Request) -> Response:
        headers = {
            "X-Content-Type-Options": "nosniff",
            "Cross-Origin-Resource-Policy": "cross-origin",
        }
        return Response(html_page.EXTERNAL_HIT, 200, headers, mimetype="text/javascript")

    def qualifications(self, request: Request, worker_id: str) -> Response:
        page = _number(request.args.get("page", "1"), "page", 1, MAX_PAGE)
        words = request.args.get("words", "").strip()
        with self._store.reading() as session:
            types = qualification_requests.requestable(
                session, worker_id, words=words, skip=(page - 1) * PAGE_SIZE, count=PAGE_SIZE + 1
            )
            now = session.now
        return self._page(
            "qualifications.html",
            worker_id=worker_id,
            types=types[:PAGE_SIZE],
            words=words,
            page=page,
            more=len(types) > PAGE_SIZE,
            now=now,
        )

    def request_qualification(self, request: Request, worker_id: str, type_id: str) -> Response:
        with self._store.writing() as session:
            asked = qualification_requests.request(session, worker_id, type_id)
        to_test = f"/tests/{asked['qualification_request_id']}"
        end = to_test if asked["status"] == "Started" else "/qualifications"
        return redirect(f"/worker/{worker_id}{end}", 303)

    def qualification_test(self, request: Request, worker_id: str, request_id: str) -> Response:
        return self._test(worker_id, request_id)

    def submit_test(self, request: Request, worker_id: str, request_id: str) -> Response:
        fields = _fields(request)
        try:
            with self._store.writing() as session:
                qualification_requests.submit_test(session, worker_id, request_id, fields)
        except WrongAnswers as wrong:
            return self._test(worker_id, request_id, fields, wrong)
        return redirect(f"/worker/{worker_id}/qualifications", 303)

    def _test(
        self,
        worker_id: str,
        request_id: str,
        entered: Fields | None = None,
        wrong: WrongAnswers | None = None,
    ) -> Response:
        with self._store.reading() as session:
            started, form = qualification_requests.started_test(session, worker_id, request_id)
            seconds = started["deadline"] - session.now
        return self._page(
            "test.html",
            status=wrong.status if wrong else 200,
            sources=FORM_SOURCES,
            worker_id=worker_id,
            test=started,
            seconds=seconds,
            wrong=wrong,
            fields=form_fields(form, entered, wrong.faults if wrong else None),
        )

    def refusal(self, status: int, sentence: str) -> Response:
        return self._page("refused.html", status=status, sentence=sentence)

    def _question(
        self,
        worker_id: str,
        hit: Row,
        assignment: Row | None,
        *,
        host_url: str = "",  # for a frame
        seconds: float = 0,
        entered: Fields | None = None,
        wrong: WrongAnswers | None = None,
    ) -> Response:
        is_form = hit["kind"] == Form.kind
        form = parse_question(hit["question"]) if is_form else None
        shown = (
            {"fields": form_fields(form, entered, wrong.faults if wrong else None), "frame": None}
            if isinstance(form, Form)
            else {"frame": _frame(worker_id, hit, assignment, host_url), "fields": None}
        )
        return self._page(
            "question.html",
            status=wrong.status if wrong else 200,
            sources=FORM_SOURCES if is_form else (),
            worker_id=worker_id,
            hit=hit,
            assignment=assignment,
            seconds=seconds,
            wrong=wrong,
            sandbox=FRAMES.get(hit["kind"]),
            **shown,
        )

    def _page(
        self, template: str, *, status: int = 200, sources: tuple[str, ...] = (), **values: object
    ) -> Response:
        text = self._templates.get_template(template).render(**values)
        policy = "; ".join((HEADERS["Content-Security-Policy"], *sources))
        headers = HEADERS | {"Content-Security-Policy": policy}
        return Response(text, status, headers, content_type="text/html; charset=utf-8")


def _frame(worker_id: str, hit: Row, assignment: Row | None, host_url: str) -> str:
    assignment_id = NO_ASSIGNMENT if assignment is None else assignment["assignment_id"]
    parameters = [("assignmentId", assignment_id), ("hitId", hit["hit_id"])]
    if assignment is not None:
        parameters.append(("workerId", worker_id))
    parameters.append(("turkSubmitTo", host_url.rstrip("/")))
    return frame_url(hit["external_url"] or f"{host_url}question/{hit['hit_id']}", parameters)


def _fields(request: Request) -> Fields:
    return [
        (name, value)
        for name, value in request.form.items(multi=True)
        if name not in ("", "assignmentId")
    ]


def duration(seconds: float) -> str:
    """In words, its two largest parts: 30 minutes, 1 hour 5 minutes, 6 days 23 hours."""
    minutes = max(0, int(seconds)) // 60
    days, minutes = divmod(minutes, 24 * 60)
    parts = [(days, "day"), (minutes // 60, "hour"), (minutes % 60, "minute")]
    shown = [f"{number} {unit}{'s' * (number != 1)}" for number, unit in parts if number]
    return " ".join(shown[:2]) or "less than a minute"


def _status(request: Request) -> tuple[bool, int, int] | None:
    """Of the sign-in form; None where it names the worker alone."""
    if "approvalPercent" not in request.form and "approvedHits" not in request.form:
        return None
    percent = _number(request.form.get("approvalPercent", "100"), "approvalPercent", 0, 100)
    approved = _number(request.form.get("approvedHits", "0"), "approvedHits", 0, MAX_APPROVED)
    masters = request.form.get("masters", "").lower() not in ("", "0", "false", "off", "no")
    return masters, percent, approved


def _number(text: str, name: str, low: int, high: int) -> int:
    shown = text.strip()
    if not (shown.isascii() and shown.isdigit() and len(shown) <= 12):
        raise Refused(400, f"{name} must be a whole number.")
    if not low <= int(shown) <= high:
        raise Refused(400, f"{name} must be from {low} to {high}.")
    return int(shown)
