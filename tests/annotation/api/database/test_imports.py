"""Files of pairs sent by a program: as the page takes them, once, with the refused rows told."""

from pathlib import Path

import pytest
from django.contrib.auth.models import Permission, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from pytest_django import Settings

from annotation.jobs.handlers import HANDLERS
from annotation.models import AuditEntry
from retrieval.corpus.uploads import uploads_root
from retrieval.jobs.queue import run
from retrieval.models import Job, QaPair
from tests.annotation.api.people import Answer, Program, is_problem, person

IMPORT = "/api/v1/jobs/import"
PAIRS = b"question,answer\nhow do planes fly,Their wings push air down.\nwhy,\n"


@pytest.fixture
def root(db: None, tmp_path: Path, settings: Settings) -> Program:
    settings.DATA_DIR = tmp_path
    return Program(User.objects.create_superuser("root"))


def send(program: Program, content: bytes = PAIRS, *, key: str = "one", **fields: str) -> Answer:
    form = {"source": "planes", "files": SimpleUploadedFile("pairs.csv", content), **fields}
    return program.client.post(IMPORT, form, headers={"Idempotency-Key": key})


def folders() -> int:
    return len(list(uploads_root().iterdir())) if uploads_root().is_dir() else 0


def test_files_become_pairs_by_a_job_that_tells_the_refused_rows(root: Program) -> None:
    answer = send(root, license="CC0-1.0")
    assert answer.status_code == 202
    job = Job.objects.get()
    assert answer.headers["Location"] == f"/api/v1/jobs/{job.pk}"
    assert is_problem(root.get(f"jobs/{job.pk}/rejected"), 404)  # not over yet
    run(job.pk, "here", HANDLERS)
    report = root.get(answer.headers["Location"]).json()
    assert (report["state"], report["result"]["added"], report["result"]["rejected"]) == (
        "done",
        1,
        1,
    )
    pair = QaPair.objects.get()
    assert (pair.source, pair.license) == ("planes", "CC0-1.0")
    (row,) = root.get(f"jobs/{job.pk}/rejected").json()["results"]
    assert (row["file"], row["line"]) == ("pairs.csv", 3)
    assert "answer" in row["reason"]
    (listed,) = root.get("pairs?source=planes").json()["results"]
    assert listed == root.get(f"pairs/{pair.pk}").json()
    logged = AuditEntry.objects.get(verb="import pairs")
    assert (logged.via, logged.subject, logged.details["files"]) == ("api", "planes", ["pairs.csv"])


def test_a_row_of_another_encoding_is_told_by_program_page_and_file(root: Program) -> None:
    content = "question,answer\nwho bakes a Br\xf6tchen,A baker.\n".encode("latin-1")
    send(root, content)
    job = Job.objects.get()
    run(job.pk, "here", HANDLERS)
    (row,) = root.get(f"jobs/{job.pk}/rejected").json()["results"]
    assert "not valid UTF-8" in row["reason"]
    assert "a Br\\udcf6tchen" in row["text"]
    staff = Client()
    staff.force_login(User.objects.get(username="root"))
    page = staff.get(f"/admin/database/imports/{job.pk}")
    assert "a Br\\udcf6tchen" in page.content.decode()
    file = staff.get(f"/admin/database/imports/{job.pk}/1/rejected.csv")
    assert b"".join(file).decode().count("udcf6") == 1


def test_sent_again_it_is_imported_once(root: Program) -> None:
    first, again = send(root), send(root)
    assert (again.status_code, again.json()) == (202, first.json())
    assert (Job.objects.count(), folders()) == (1, 1)


def test_a_key_is_of_these_files_alone(root: Program) -> None:
    send(root)
    assert is_problem(send(root, PAIRS + b"a,b\n"), 422)
    assert (Job.objects.count(), folders()) == (1, 1)


def test_the_refused_rows_come_in_pages(root: Program) -> None:
    send(root, b"question,answer\n" + b"why,\n" * 5 + b"how,so\n")
    job = Job.objects.get()
    run(job.pk, "here", HANDLERS)
    page = root.get(f"jobs/{job.pk}/rejected?page_size=2").json()
    lines, pages = [row["line"] for row in page["results"]], 1
    assert page["previous"] is None
    while page["next"]:
        page = root.get(page["next"]).json()
        lines, pages = lines + [row["line"] for row in page["results"]], pages + 1
    assert (lines, pages) == ([2, 3, 4, 5, 6], 3)
    before = root.get(page["previous"]).json()
    assert [row["line"] for row in before["results"]] == [4, 5]


@pytest.mark.parametrize(
    ("content", "fields", "status", "said"),
    [
        (b"", {}, 422, "pairs.csv is empty"),
        (b"%PDF-1.7", {}, 422, "is a PDF"),
        (PAIRS, {"source": ""}, 400, "source"),
        (PAIRS, {"format": "of nobody"}, 400, "format"),
        (PAIRS, {"share": "10%"}, 422, "Choose how pairs are ranked"),
    ],
)
def test_what_cannot_be_imported_is_refused_and_leaves_nothing(
    root: Program, content: bytes, fields: dict[str, str], status: int, said: str
) -> None:
    answer = send(root, content, **fields)
    assert is_problem(answer, status)
    assert said in str(answer.json())
    assert (Job.objects.count(), folders()) == (0, 0)


def test_without_a_file_or_without_a_key_nothing_is_imported(root: Program) -> None:
    form = {"source": "planes"}
    headers = {"Idempotency-Key": "one"}
    assert is_problem(root.client.post(IMPORT, form, headers=headers), 422)
    assert is_problem(send(root, key=""), 400)
    assert is_problem(root.post(IMPORT, form, key="two"), 415)  # JSON holds no files
    assert (Job.objects.count(), folders()) == (0, 0)


def test_who_may_not_import_leaves_nothing_on_the_disk(root: Program) -> None:
    for program, status in ((Program(None), 401), (Program(person("stranger")), 403)):
        assert is_problem(send(program), status)
    assert (Job.objects.count(), folders()) == (0, 0)


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Basic YWRhOg=="}])
@pytest.mark.parametrize("may", ["nothing", "look"])
def test_of_a_session_that_may_not_import_no_byte_is_kept_even_for_a_moment(
    root: Program, may: str, headers: dict[str, str]
) -> None:
    sender = person("dan")
    if may == "look":
        sender.user_permissions.add(Permission.objects.get(codename="view_qapair"))
    client = Client(enforce_csrf_checks=True, raise_request_exception=False)
    client.force_login(sender)
    client.get("/sign-in")
    token = client.cookies["csrftoken"].value
    form = {"source": "planes", "files": SimpleUploadedFile("pairs.csv", PAIRS)}
    sent = {"Idempotency-Key": "one", "X-CSRFToken": token, **headers}
    assert is_problem(client.post(IMPORT, form, headers=sent), 403)
    assert not uploads_root().exists()


def test_a_session_sends_its_token_against_forgery(root: Program) -> None:
    """The form is read to look for it: the files lie in their folder by then, and go again."""
    client = Client(enforce_csrf_checks=True, raise_request_exception=False)
    client.force_login(User.objects.get(username="root"))
    form = {"source": "planes", "files": SimpleUploadedFile("pairs.csv", PAIRS)}
    headers = {"Idempotency-Key": "one"}
    assert is_problem(client.post(IMPORT, form, headers=headers), 403)
    assert (Job.objects.count(), folders()) == (0, 0)
    client.get("/sign-in")
    form["files"] = SimpleUploadedFile("pairs.csv", PAIRS)
    headers["X-CSRFToken"] = client.cookies["csrftoken"].value
    assert client.post(IMPORT, form, headers=headers).status_code == 202
    assert (Job.objects.count(), folders()) == (1, 1)
