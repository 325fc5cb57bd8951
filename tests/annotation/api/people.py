"""Accounts with a part each, and programs that call the API in their names."""

import json
from typing import Any, Protocol

from django.contrib.auth.models import User
from django.test import Client
from knox.models import AuthToken

from annotation.models import Campaign, Role

PASSWORD = "judges questions all day"
ROLES = ("owner", "manager", "adjudicator", "viewer", "annotator")
# Beside the roles: who owns another campaign, who has no part at all, who runs the site.
OTHERS = ("elsewhere", "stranger", "staff", "root")


class Answer(Protocol):
    status_code: int

    @property
    def headers(self) -> Any: ...

    def json(self) -> Any: ...


class Program:
    """Calls the API with a token; without a user, with none."""

    def __init__(self, user: User | None) -> None:
        self.headers: dict[str, str] = {}
        if user is not None:
            _, token = AuthToken.objects.create(user)
            self.headers = {"Authorization": f"Bearer {token}"}
        self.client = Client(headers=self.headers, raise_request_exception=False)

    def get(self, path: str) -> Answer:
        return self.client.get(_whole(path))

    def delete(self, path: str) -> Answer:
        return self.client.delete(_whole(path))

    def post(self, path: str, sent: object = None, *, key: str = "") -> Answer:
        headers = {"Idempotency-Key": key} if key else {}
        body = json.dumps({} if sent is None else sent)
        return self.client.post(
            _whole(path), body, content_type="application/json", headers=headers
        )


def _whole(path: str) -> str:
    return path if path.startswith(("/", "http")) else f"/api/v1/{path}"


def person(
    name: str, campaign: Campaign | None = None, role: str = "", *, password: str | None = None
) -> User:
    """Without a password, for to make one takes long."""
    user = User.objects.create_user(name, password=password)
    if role:
        Role.objects.create(user=user, campaign=campaign, name=role)
    return user


def everybody(campaign: Campaign, other: Campaign) -> dict[str, User]:
    """By the name of the part that they have in the campaign."""
    cast = {role: person(role, campaign, role) for role in ROLES}
    cast["elsewhere"] = person("elsewhere", other, "owner")
    cast["stranger"] = person("stranger")
    cast["staff"] = User.objects.create_user("staff", is_staff=True)
    cast["root"] = User.objects.create_superuser("root")
    return cast


def is_problem(answer: Answer, status: int) -> bool:
    """A problem document of this status, with all that it must have."""
    report = answer.json()
    return (
        answer.status_code == status
        and answer.headers["Content-Type"] == "application/problem+json"
        and {"type", "title", "status", "detail"} <= report.keys()
        and report["status"] == status
        and bool(report["detail"])
    )
