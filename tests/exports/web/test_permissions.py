"""Who may do what: every address of the releases, for everybody there is."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern, get_resolver, reverse

from exports.delivery.signed_links import link
from exports.models import Build, Release, ReleaseFile
from retrieval.models import Job
from tests.exports.support.builds import build_of
from tests.exports.web.people import PEOPLE, client_of, reader

IN = "/sign-in?next="
OUT = "/sign-in"
OF_DEMO = "/campaigns/demo/releases"
SIGNED = "/releases/TOKEN/train.jsonl"
TRAININGS = "/admin/database/trainings"
JOB = f"{TRAININGS}/7"
SEES = (200, 200, 403, 200)  # who may download, who may build, who may only build, root
FORM = {"split": "clusters", "judgments": "on"}


def page(path: str) -> tuple[int | str, ...]:
    """Of those who may download, and of nobody else."""
    return (f"{IN}{path}", 403, 403, 403, *SEES, f"{IN}{path}")


def of_staff(path: str, staff: int, root: int) -> tuple[int | str, ...]:
    """Of who looks at the database."""
    return (f"{IN}{path}", 403, 403, staff, 403, 403, 403, root, f"{IN}{path}")


# What each of PEOPLE gets: a status, or where they are sent.
TABLE: Mapping[tuple[str, str], tuple[int | str, ...]] = {
    ("GET", "/releases"): page("/releases"),
    ("POST", "/releases"): (405,) * 9,
    ("GET", OF_DEMO): page(OF_DEMO),
    ("POST", OF_DEMO): (405,) * 9,
    ("GET", f"{OF_DEMO}/1"): page(f"{OF_DEMO}/1"),
    ("POST", f"{OF_DEMO}/1"): (405,) * 9,
    ("GET", f"{OF_DEMO}/1/plots/hit-at-k.svg"): page(f"{OF_DEMO}/1/plots/hit-at-k.svg"),
    ("POST", f"{OF_DEMO}/1/plots/hit-at-k.svg"): (405,) * 9,
    ("GET", f"{OF_DEMO}/build"): (405,) * 9,
    ("POST", f"{OF_DEMO}/build"): (OUT, 403, 403, 403, 403, OF_DEMO, 403, OF_DEMO, OUT),
    ("GET", f"{OF_DEMO}/builds/PK"): page(f"{OF_DEMO}/builds/PK"),
    ("POST", f"{OF_DEMO}/builds/PK"): (405,) * 9,
    ("GET", TRAININGS): of_staff(TRAININGS, 200, 200),
    ("POST", TRAININGS): (OUT, 403, 403, 403, 403, 403, 403, 422, OUT),
    ("GET", JOB): of_staff(JOB, 200, 200),
    ("POST", JOB): (405,) * 9,
    ("GET", f"{JOB}/answers.jsonl"): of_staff(f"{JOB}/answers.jsonl", 200, 200),
    ("POST", f"{JOB}/answers.jsonl"): (405,) * 9,
    ("GET", f"{JOB}/hit/dark.svg"): of_staff(f"{JOB}/hit/dark.svg", 200, 200),
    ("POST", f"{JOB}/hit/dark.svg"): (405,) * 9,
    ("GET", f"{JOB}/cancel"): (405,) * 9,
    ("POST", f"{JOB}/cancel"): (OUT, 403, 403, 403, 403, 403, 403, JOB, OUT),
    ("GET", f"{JOB}/resume"): (405,) * 9,
    ("POST", f"{JOB}/resume"): (OUT, 403, 403, 403, 403, 403, 403, JOB, OUT),
    # A link of hers opens for programs without any session, and for no other account.
    ("GET", SIGNED): (200, 403, 403, 403, 403, 403, 403, 403, 200),
    ("POST", SIGNED): (405,) * 9,
}


@pytest.fixture
def addresses(release: Release, settings: Any, tmp_path: Path) -> Mapping[str, str]:
    """What stands for the words in capitals; JOB is an experiment with its files."""
    settings.DATA_DIR = tmp_path
    (tmp_path / "experiments").mkdir()
    for name in ("table-hit-dark.svg", "table-answers.jsonl"):
        (tmp_path / "experiments" / name).touch()
    files = {"plots": {"hit": "table-hit.svg"}, "answers": "table-answers.jsonl"}
    report = {"title": "A table", "text": "", **files}
    Job.objects.create(pk=7, kind="experiment", state="done", result={"report": report})
    user = reader("fay")
    token = link(release.files.get(path="train.jsonl"), user).split("/")[2]
    done = build_of(release.campaign, state="done", result={"release": 1, "unchanged": False})
    return {"TOKEN": token, "PK": str(done.pk)}


def cases() -> list[object]:
    return [
        pytest.param(method, path, who, expected, id=f"{method} {path} {who}")
        for (method, path), row in TABLE.items()
        for who, expected in zip(PEOPLE, row, strict=True)
    ]


@pytest.mark.parametrize(("method", "path", "who", "expected"), cases())
def test_everybody_gets_what_the_table_says(
    addresses: Mapping[str, str], method: str, path: str, who: str, expected: int | str
) -> None:
    # By whole parts: a token may have a word of the table in it.
    address = "/".join(addresses.get(part, part) for part in path.split("/"))
    client = client_of(who)
    response = client.post(address, FORM) if method == "POST" else client.get(address)
    if isinstance(expected, str):
        assert response.status_code == 302
        assert response["Location"] == expected.replace("PK", addresses["PK"])
    else:
        assert response.status_code == expected
    if expected == 403:
        assert b"<h1" in response.content
    asked_for = method == "POST" and expected == OF_DEMO
    assert Build.objects.filter(state="queued").count() == int(asked_for)


def test_the_table_names_every_address() -> None:
    values = {"name": "demo", "number": 1, "plot": "hit-at-k", "pk": 0, "theme": "dark"}
    values |= {"token": "TOKEN", "filename": "train.jsonl"}
    of_job = values | {"plot": "hit", "pk": 7}
    for urls, known in (("exports.urls", values), ("exports.web.trainings", of_job)):
        for pattern in get_resolver(urls).url_patterns:
            assert isinstance(pattern, URLPattern)
            wanted = {name: known[name] for name in pattern.pattern.converters}
            path = reverse(str(pattern.name), kwargs=wanted).replace("/builds/0", "/builds/PK")
            assert {("GET", path), ("POST", path)} <= set(TABLE), path


def test_a_form_of_another_site_asks_for_nothing(release: Release) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.create_superuser("root"))
    assert client.post(f"{OF_DEMO}/build", FORM).status_code == 403
    assert not Build.objects.exists()


def test_a_script_hears_why_it_gets_nothing(release: Release) -> None:
    build = build_of(release.campaign)
    json = {"Accept": "application/json"}
    address = f"{OF_DEMO}/builds/{build.pk}"
    assert "Sign in again" in Client().get(address, headers=json).json()["error"]
    refused = client_of("staff").get(address, headers=json)
    assert refused.status_code == 403
    assert "exports.download_release" in refused.json()["error"]


@pytest.mark.parametrize(
    "path",
    [
        "/campaigns/other/releases",
        f"{OF_DEMO}/2",
        f"{OF_DEMO}/0",
        f"{OF_DEMO}/99999999999999999999",
        f"{OF_DEMO}/builds/0",
        f"{OF_DEMO}/builds/99999999999999999999",
        f"{OF_DEMO}/1/plots/none.svg",
        f"{OF_DEMO}/1/plots/..%2F..%2Fsecret.svg",
        "/campaigns/other/releases/1",
        "/releases/x",
    ],
)
def test_what_is_not_there_is_not_found(release: Release, path: str) -> None:
    assert client_of("root").get(path).status_code == 404


def test_the_build_of_another_campaign_is_not_found_under_this_one(release: Release) -> None:
    build = build_of(release.campaign)
    root = client_of("root")
    assert root.get(f"{OF_DEMO}/builds/{build.pk}").status_code == 200
    assert root.get(f"/campaigns/other/releases/builds/{build.pk}").status_code == 404


def test_a_right_of_a_group_is_a_right(release: Release) -> None:
    assert ReleaseFile.objects.exists()
    user = User.objects.create_user("otto")
    group = reader("fay").user_permissions.all()
    team = user.groups.create(name="readers")
    team.permissions.set(group)
    client = Client()
    client.force_login(user)
    assert client.get(f"{OF_DEMO}/1").status_code == 200
