"""What people do to the q/a database by its pages: who may, what follows, and what the log says."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from annotation.jobs.handlers import HANDLERS
from annotation.models import AuditEntry
from retrieval.corpus.corpora import create_corpus
from retrieval.corpus.uploads import uploads_root
from retrieval.jobs.queue import run
from retrieval.models import Corpus, IndexVersion, Job, QaPair
from retrieval.models.corpus import sources_of
from retrieval.registry.registry import register
from tests.retrieval.registry.trainings import SELECTOR, trained
from tests.retrieval.web.conftest import As, as_
from tests.support.pages import parse

__all__ = ["as_"]

pytestmark = pytest.mark.django_db

CSV = b"question,answer\nWhy is the sky blue?,Light is scattered.\nWhy?\n"
UPLOAD = "/admin/database/upload"


@pytest.fixture(autouse=True)
def _folders(tmp_path: Path, settings: Any) -> None:
    settings.DATA_DIR = tmp_path / "data"
    settings.INDEX_DIR = settings.DATA_DIR / "index"


def upload(
    browser: Client, files: Mapping[str, bytes], *, script: bool = False, **fields: str
) -> Any:
    sent = [SimpleUploadedFile(name, content) for name, content in files.items()]
    headers = {"Accept": "application/json"} if script else {}
    return browser.post(UPLOAD, {"source": "faq", **fields, "files": sent}, headers=headers)


def worked() -> list[Job]:
    """By a worker, until nothing waits."""
    done = []
    while job := Job.objects.filter(state=Job.State.QUEUED).first():
        run(job.pk, f"worker {job.pk}", HANDLERS)
        done.append(Job.objects.get(pk=job.pk))
    return done


def left() -> list[Path]:
    return list(uploads_root().iterdir()) if uploads_root().is_dir() else []


def the_pair() -> QaPair:
    return QaPair.objects.create(
        source="faq", source_id="1", question="Why?", answer="So.", question_key="q",
        pair_key="0" * 64,
    )  # fmt: skip


def test_each_operation_is_for_those_who_may(as_: As) -> None:
    the_pair()
    rules = {
        UPLOAD: {"importer", "root"},
        "/admin/database/index": {"builder", "root"},
        "/admin/database/count": {"looker", "importer", "withdrawer", "builder", "staff", "root"},
    }
    people = "looker", "importer", "withdrawer", "builder", "staff", "root", "stranger", "nobody"
    browsers = {who: as_(who) for who in people}
    for address, allowed in rules.items():
        for who, browser in browsers.items():
            assert browser.get(address).status_code in (405, 302)
            with transaction.atomic():
                answer = browser.post(address)
                if who in allowed:
                    assert answer.status_code in (302, 422), (address, who)
                elif who == "nobody":
                    assert answer.headers["Location"] == "/sign-in"
                else:
                    assert answer.status_code == 403, (address, who)
                    assert not AuditEntry.objects.exists()
                    assert not Job.objects.exists()
                transaction.set_rollback(True)


@pytest.mark.parametrize("script", [False, True])
def test_a_file_that_is_sent_is_imported_with_its_rejected_rows_told(as_: As, script: bool) -> None:
    browser = as_("importer")
    answer = upload(browser, {"faq.csv": CSV}, license="CC0", script=script)
    address = json.loads(answer.content)["location"] if script else answer.headers["Location"]
    assert answer.status_code == (201 if script else 302)
    assert b"not yet imported" in browser.get(address).content
    [job, count] = worked()
    assert job.state == count.state == Job.State.DONE
    assert list(QaPair.objects.values_list("question", "source", "license")) == [
        ("Why is the sky blue?", "faq", "CC0")
    ]
    page = browser.get(address).content.decode()
    assert "the row has 1 column, the header 2" in page
    [entry] = AuditEntry.objects.all()
    assert (entry.actor, entry.verb, entry.subject) == ("importer", "import pairs", "faq")
    assert entry.details["files"] == ["faq.csv"]
    assert entry.details["job"] == job.pk


def test_after_an_import_the_next_step_is_the_index_and_then_a_campaign(as_: As) -> None:
    browser = as_("root")
    address = upload(browser, {"faq.csv": CSV}).headers["Location"]  # without an index
    worked()
    page = parse(browser.get(address))
    [form] = page.xpath("//main//form[@action='/admin/database/index']")
    assert next_step(page) == "Build the index"
    assert browser.post(form.action, dict(form.form_values())).status_code == 302
    worked()
    assert IndexVersion.objects.get().pairs == 1
    later = upload(browser, {"b.csv": CSV.replace(b"sky", b"sea")}, index="on")
    worked()
    assert next_step(parse(browser.get(later.headers["Location"]))) == ("Plan a campaign")


def next_step(page: Any) -> str:
    """The page's one primary button."""
    buttons = page.xpath("//main//*[contains(@class, 'dash-button')]")
    [primary] = [one for one in buttons if "dash-second" not in one.get("class")]
    return str(primary.text_content())


def test_a_beginner_is_asked_for_no_kind_of_index(as_: As) -> None:
    the_pair()
    browser = as_("builder")
    kinds = "//details[summary='Other kinds of index']"
    [folded] = parse(browser.get("/admin/database/")).xpath(kinds)
    assert folded.xpath(".//select/@name") == ["model", "form", "kind"]
    assert folded.get("open") is None
    answer = browser.post("/admin/database/index", {"form": "QQA", "kind": "auto", "recall": "7"})
    [opened] = parse(answer).xpath(kinds)
    assert (answer.status_code, opened.get("open")) == (422, "")


def test_a_published_format_and_several_files_are_imported_at_once(as_: As) -> None:
    files = {"part-00": b"q:why\ta:so\n", "part-01": b"q:how\ta:thus\ta:like this\n"}
    upload(as_("importer"), files, format="wikianswers", source="wa")
    worked()
    assert set(QaPair.objects.values_list("question", "answer")) == {
        ("why", "so"), ("how", "thus"), ("how", "like this"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("files", "fields", "sentence"),
    [
        ({}, {}, "No file was sent"),
        ({"a.csv": CSV}, {"source": ""}, "This field is required"),
        ({"a.csv": CSV}, {"source": "x" * 101}, "at most 100 characters"),
        ({"a.csv": CSV}, {"format": "no such"}, "Select a valid choice"),
        ({"a.csv": CSV}, {"share": "10%"}, "Choose how pairs are ranked"),
        ({"a.csv": CSV, "b.csv": b""}, {}, "b.csv is empty"),
        ({"a.csv": b"<!doctype html><p>Sign in"}, {}, "a.csv is a web page"),
        ({"a.exe": CSV}, {}, "a.exe has an unknown type"),
    ],
)
@pytest.mark.parametrize("script", [False, True])
def test_what_cannot_be_imported_is_told_at_once_and_leaves_nothing(
    as_: As, files: dict[str, bytes], fields: dict[str, str], sentence: str, script: bool
) -> None:
    answer = upload(as_("importer"), files, script=script, **fields)
    assert answer.status_code == 422
    said = json.loads(answer.content)["error"] if script else answer.content.decode()
    assert sentence in said
    assert not left()
    assert not Job.objects.exists()
    assert not AuditEntry.objects.exists()


def test_a_second_import_into_a_source_waits_and_its_file_is_not_kept(as_: As) -> None:
    browser = as_("importer")
    upload(browser, {"a.csv": CSV})
    [folder] = left()
    answer = upload(browser, {"b.csv": CSV})
    assert "already running for source faq" in answer.content.decode()
    assert left() == [folder]
    assert AuditEntry.objects.count() == 1


@pytest.mark.parametrize(
    "name",
    [
        "../../../../evil.csv",
        "..\\..\\evil.csv",
        "/etc/evil.csv",
        "a\x00b.csv",
        "<b>.csv",
        "é" * 300 + ".csv",
    ],
)
def test_a_name_leads_nowhere(as_: As, name: str, tmp_path: Path) -> None:
    browser = as_("importer")
    answer = upload(browser, {name: CSV})
    assert answer.status_code == 302
    [folder] = left()
    assert [path.name for path in folder.iterdir()] == ["1.csv"]
    assert not list(tmp_path.rglob("*evil*"))
    worked()
    assert b"<b>" not in browser.get(answer.headers["Location"]).content
    assert QaPair.objects.count() == 1


def test_a_form_of_another_site_is_refused_and_its_file_is_not_kept(as_: As) -> None:
    as_("importer")
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(User.objects.get(username="importer"))
    assert upload(strict, {"a.csv": CSV}).status_code == 403
    assert not left()
    page = strict.get(reverse("database-import"))
    token = page.context["csrf_token"]
    answer = upload(strict, {"a.csv": CSV}, csrfmiddlewaretoken=str(token))
    assert answer.status_code == 302
    assert len(left()) == 1


def test_who_may_not_import_leaves_nothing_on_the_disk(as_: As) -> None:
    assert upload(as_("looker"), {"a.csv": CSV}).status_code == 403
    assert not left()


def test_more_than_the_disk_holds_is_told(as_: As, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrieval.corpus.uploads.RESERVE", 2**60)
    answer = upload(as_("importer"), {"a.csv": CSV}, script=True)
    assert answer.status_code == 422
    assert "free disk space" in json.loads(answer.content)["error"]
    assert not left()


def test_an_index_is_built_as_a_job_and_search_finds_by_it(as_: As) -> None:
    upload(as_("importer"), {"faq.csv": CSV + b"What do cats eat?,Meat.\n"})
    worked()
    wanted = {"form": "QQA", "kind": "exact", "recall": "0.99", "words": "on"}
    assert as_("builder").post("/admin/database/index", wanted).status_code == 302
    again = as_("root").post("/admin/database/index", wanted)
    assert (again.status_code, b"already running for the database" in again.content) == (422, True)
    job, count = worked()
    assert (job.state, job.error, count.kind) == (Job.State.DONE, "", "count")
    index = IndexVersion.objects.get()
    assert (index.form, index.kind, index.pairs) == ("QQA", "exact", 2)
    entry = AuditEntry.objects.latest("pk")
    assert (entry.actor, entry.verb, entry.details["kind"]) == (
        "builder",
        "build index",
        "exact",
    )
    page = as_("looker").get(reverse("database-search"), {"q": "food of a cat", "by": "both"})
    assert page.context["answer"].results[0].pair.question == "What do cats eat?"


def test_a_registered_retriever_is_chosen_on_the_page(
    as_: As, settings: Settings, tmp_path: Path
) -> None:
    settings.MODELS_DIR = tmp_path / "models"
    the_pair()
    register(trained("faq-qqa"))
    register(trained("faq-qaq", **SELECTOR))
    shown = as_("builder").get("/admin/database/").context["form"].fields["model"].choices
    assert [value for value, _ in shown] == ["", "faq-qqa"]
    wanted = {"form": "QQA", "kind": "exact", "recall": "0.99", "model": "faq-qqa"}
    assert as_("builder").post("/admin/database/index", wanted).status_code == 302
    assert Job.objects.get().arguments["model"] == "faq-qqa"


@pytest.mark.parametrize(
    "wrong",
    [{"form": "X"}, {"kind": "magic"}, {"recall": "2"}, {"recall": "nan"}, {"model": "nobody"}],
)
def test_an_index_that_cannot_be_is_refused(as_: As, wrong: dict[str, str]) -> None:
    the_pair()
    wanted = {"form": "QQA", "kind": "exact", "recall": "0.99", **wrong}
    assert as_("builder").post("/admin/database/index", wanted).status_code == 422
    assert not Job.objects.exists()


def test_the_pairs_are_counted_when_somebody_asks(as_: As) -> None:
    the_pair()
    browser = as_("looker")
    assert browser.post("/admin/database/count").status_code == 302
    assert browser.post("/admin/database/count").status_code == 302
    [job] = worked()
    assert job.result is not None
    assert job.result["total"]["pairs"] == 1


def test_a_corpus_is_created_joined_by_an_import_and_chosen_by_searches(as_: As) -> None:
    browser = as_("root")
    upload(browser, {"a.csv": CSV})
    worked()
    create_corpus("coffee", ["faq"])
    upload(browser, {"b.csv": CSV.replace(b"sky", b"sea")}, source="beans", corpus="coffee")
    worked()
    [coffee] = Corpus.objects.all()
    assert sources_of(coffee) == ["beans", "faq"]
    refused = browser.get("/admin/database/search", {"q": "why", "corpus": "coffee"})
    assert "no index of the corpus coffee yet" in refused.content.decode()
