"""A walk over every address that the resolver knows, by everybody there is.

A row of a table says who may, and what they get; the others get what that kind of address says to
them. A request is undone after it: each finds the site as it was.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.cookies import SimpleCookie

from django.apps import apps
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, URLResolver, get_resolver

from annotation.analytics.campaign import snapshots
from annotation.analytics.workers import worker_figures
from annotation.crowd.inhouse.members import invite
from annotation.crowd.inhouse.models import Invitation
from annotation.models import Control, Hit, Role, Triplet, Worker
from retrieval.models import Job
from tests.annotation.support.events import delivered
from tests.annotation.support.parts import with_role
from tests.annotation.web.stage import make_member, staff
from tests.exports.support.campaigns import make_campaign

ROLES = ("viewer", "adjudicator", "manager", "owner")
PEOPLE = ("nobody", "outsider", "annotator", *ROLES, "staff", "root")
WHO: Mapping[str, frozenset[str]] = {
    "all": frozenset(PEOPLE),
    "signed in": frozenset(PEOPLE) - {"nobody"},
    "members": frozenset({"annotator"}),
    "view": frozenset({*ROLES, "staff", "root"}),
    "see votes": frozenset({"viewer", "manager", "owner", "staff", "root"}),
    "download": frozenset({"viewer", "manager", "owner", "root"}),
    "adjudicate": frozenset({"adjudicator", "manager", "owner", "root"}),
    "manage": frozenset({"manager", "owner", "root"}),
    "own": frozenset({"owner", "root"}),
    "staff": frozenset({"staff", "root"}),
    "root": frozenset({"root"}),
    "nobody": frozenset(),
}
# A test's transaction has these where a request's would be the outermost.
SAVEPOINTS = ("SAVEPOINT", "RELEASE SAVEPOINT", "ROLLBACK TO SAVEPOINT")
ADMIN_OF_A_MODEL = re.compile(r"^admin/([a-z]+)/([a-z]+)/")


@dataclass(frozen=True)
class Rule:
    who: str
    gets: int
    # What the others get, and who has not signed in.
    refused: int = 403
    stranger: int = 302
    # What an adjudicator gets before a label of their own, where that is another thing.
    blind: int | None = None

    def __call__(self, person: str) -> int:
        if person == "adjudicator" and self.blind:
            return self.blind
        if person in WHO[self.who]:
            return self.gets
        return self.stranger if person == "nobody" else self.refused


def routes() -> Iterator[tuple[str, URLPattern]]:
    """The first of each: a later one of the same form is never reached."""
    seen: set[str] = set()
    for route, pattern in _below(get_resolver().url_patterns, ""):
        if route not in seen:
            seen.add(route)
            yield route, pattern


def _below(
    patterns: Sequence[URLPattern | URLResolver], prefix: str
) -> Iterator[tuple[str, URLPattern]]:
    for one in patterns:
        route = prefix + str(one.pattern)
        if isinstance(one, URLPattern):
            yield route, one
        else:
            yield from _below(one.url_patterns, route)


class Site:
    """A judged campaign, and a session of each of PEOPLE."""

    def __init__(self) -> None:
        self.campaign = make_campaign()
        # Figures that are counted at once where a campaign is small.
        snapshots.take(self.campaign)
        worker_figures.take(self.campaign)
        # One for all of them: each would load the middleware again.
        self._client = Client(raise_request_exception=False)
        self._cookies = {name: self._session_of(name) for name in PEOPLE}
        self._values = self._samples()

    def _session_of(self, name: str) -> SimpleCookie:
        client = Client()
        if name != "nobody":
            client.force_login(self._account_of(name))
        return client.cookies

    def _account_of(self, name: str) -> User:
        if name in ROLES:
            return with_role(name, name, self.campaign)
        if name == "annotator":
            make_member(name)
            return with_role(name, name, self.campaign)
        make: Mapping[str, Callable[[], User]] = {
            "outsider": lambda: User.objects.create_user(name),
            "staff": lambda: staff(name),
            "root": lambda: User.objects.create_superuser(name),
        }
        return make[name]()

    def _samples(self) -> dict[str, object]:
        """By the address's end, or by the parameter's name."""
        now = self.campaign.created_at
        code = invite(None, note="friends", days=300, uses=3, now=now)
        sent = delivered()
        job = Job.objects.create(kind="collect", subject=self.campaign.name, arguments={})
        return {
            "name": self.campaign.name, "operation": "pause", "key": "kappa", "number": 1,
            "version": 0, "plot": "x", "theme": "dark", "digest": "0" * 64, "code": code,
            "signed": "x", "token": "x", "uidb64": "x", "filename": "x.jsonl",
            "assignment_id": "0" * 32, "hit_id": "0" * 30,
            "type_id": "0" * 30, "request_id": "0" * 30, "group_id": "0" * 30, "crowd": "prolific",
            "environment": "sandbox", "requester": "lab",
            "worker": "ada", "source": "made", "url": "nothing",
            "app_label": "annotation", "content_type_id": 1, "object_id": 1, "id": 1, "pk": 0,
            "roles/": Role.objects.get(name="viewer").pk,
            "workers/": Worker.objects.order_by("pk")[0].pk,
            "jobs/": job.pk,
            "webhooks/": sent.webhook_id,
            "events/": sent.event_id,
            "deliveries/": sent.pk,
            "hits/": Hit.objects.order_by("pk")[0].pk,
            "triplets/": Triplet.objects.order_by("pk")[0].pk,
            "controls/": Control.objects.order_by("pk")[0].pk,
            "invitations/": Invitation.objects.get().pk,
            "members/": User.objects.get(username="annotator").member.pk,  # type: ignore[attr-defined]
        }  # fmt: skip

    def address(self, route: str) -> str:
        path = re.sub(r"\(\?P<(\w+)>[^)]*\)", r"<\1>", route).strip("^").replace("$", "")
        model = ADMIN_OF_A_MODEL.match(route)
        if model and model[1] in apps.app_configs and "object_id" in route:
            first = apps.get_model(model[1], model[2])._default_manager.order_by("pk").first()
            path = path.replace("<path:object_id>", str(first.pk if first else 0))
        for name, value in self._values.items():
            if name.endswith("/"):
                path = re.sub(rf"\b{name}<int:pk>", f"{name}{value}", path)
        return "/" + re.sub(r"<(?:\w+:)?(\w+)>", lambda found: str(self._values[found[1]]), path)

    def ask(self, person: str, method: str, route: str) -> int:
        return self.count(person, method, route)[0]

    def count(self, person: str, method: str, route: str) -> tuple[int, int]:
        """The status, and how often the database was asked for it."""
        connection.queries_log.clear()
        with CaptureQueriesContext(connection) as asked:
            status = self._ask(person, method, route)
        return status, sum(not query["sql"].startswith(SAVEPOINTS) for query in asked)

    def _ask(self, person: str, method: str, route: str) -> int:
        client = self._client
        client.cookies = SimpleCookie(self._cookies[person].output(header=""))
        with transaction.atomic():
            if method == "GET":
                answer = client.get(self.address(route))
            elif route.startswith("api/"):
                body = json.dumps({})
                answer = client.post(self.address(route), body, content_type="application/json")
            else:
                answer = client.post(self.address(route))
            if answer.streaming:
                answer.getvalue()
            transaction.set_rollback(True)
        return answer.status_code
