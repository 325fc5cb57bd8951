"""The worker's face: pages for people, plain enough for a program to read."""

import base64
import hashlib
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from werkzeug import Request, Response
from werkzeug.utils import redirect

from annotation.crowd.emulator.errors import Refused
from annotation.crowd.emulator.state import assignments, money
from annotation.crowd.emulator.state.questions import frame_url
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
        return self._question(request, worker_id, hit, assignment=None, seconds=0)

    def accept(self, request: Request, worker_id: str, hit_id: str) -> Response:
        with self._store.writing() as session:
            assignment_id = assignments.accept(session, worker_id, hit_id)
        return redirect(f"/worker/{worker_id}/assignments/{assignment_id}", 303)

    def assignment(self, request: Request, worker_id: str, assignment_id: str) -> Response:
        with self._store.reading() as session:
            row = assignments.accepted_assignment(session, worker_id, assignment_id)
            seconds = row["deadline"] - session.now
        return self._question(request, worker_id, row, assignment=row, seconds=seconds)

    def give_back(self, request: Request, worker_id: str, assignment_id: str) -> Response:
        with self._store.writing() as session:
            assignments.give_back(session, worker_id, assignment_id)
        return redirect(f"/worker/{worker_id}/hits", 303)

    def submit(self, request: Request) -> Response:
        """Every field but the assignmentId is an answer; equal names are joined as MTurk does."""
        fields = [
            (name, "|".join(values))
            for name, values in request.form.lists()
            if name not in ("", "assignmentId")
        ]
        assignment_id = request.form.get("assignmentId", "")
        haste = self._faults.of_submission()
        with self._store.writing() as session:
            assignment = assignments.submit(session, assignment_id, fields, approved_after=haste)
            if haste is not None:
                record(session, HASTY_APPROVAL, "externalSubmit")
        return self._page("submitted.html", worker_id=assignment["worker_id"])

    def refusal(self, status: int, sentence: str) -> Response:
        return self._page("refused.html", status=status, sentence=sentence)

    def _question(
        self,
        request: Request,
        worker_id: str,
        hit: Row,
        *,
        assignment: Row | None,
        seconds: float,
    ) -> Response:
        assignment_id = NO_ASSIGNMENT if assignment is None else assignment["assignment_id"]
        parameters = [("assignmentId", assignment_id), ("hitId", hit["hit_id"])]
        if assignment is not None:
            parameters.append(("workerId", worker_id))
        parameters.append(("turkSubmitTo", request.host_url.rstrip("/")))
        return self._page(
            "question.html",
            worker_id=worker_id,
            hit=hit,
            assignment=assignment,
            frame=frame_url(hit["external_url"], parameters),
            seconds=seconds,
        )

    def _page(self, template: str, *, status: int = 200, **values: object) -> Response:
        text = self._templates.get_template(template).render(**values)
        return Response(text, status, HEADERS, content_type="text/html; charset=utf-8")


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
