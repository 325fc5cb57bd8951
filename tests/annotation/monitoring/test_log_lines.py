"""Real lines of the log: whatever is about a HIT, a request or a job says so, in both formats."""

import json
import logging
import logging.config
from collections.abc import Iterator
from copy import deepcopy
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.test import Client
from pytest_django import Settings

from annotation.crowd.port import CrowdError, Submission
from annotation.jobs.tasks import reconcile_campaign, run_job
from annotation.pipeline.collecting.collect import fetch_submissions
from annotation.pipeline.manual.bonus import give_bonus
from annotation.pipeline.manual.decisions import approve_manually
from annotation.pipeline.outbox.deliver import deliver
from annotation.pipeline.publishing.publish import publish
from tests.annotation.api.people import Program, person
from tests.annotation.pipeline.reconcile.drift import create_there
from tests.retrieval.jobs.run_jobs import sent
from tests.worlds.mturk import LentCrowd
from tests.worlds.small_campaign import Stage

pytestmark = pytest.mark.django_db


class Written:
    """What the settings' two formats make of the same records."""

    def __init__(self) -> None:
        self._formats = {"line": StringIO(), "json": StringIO()}
        self.handlers = [self._handler(name, out) for name, out in self._formats.items()]

    def _handler(self, name: str, out: StringIO) -> logging.Handler:
        config: dict[str, Any] = deepcopy(django_settings.LOGGING)
        made = logging.config.DictConfigurator(config)
        handler = logging.StreamHandler(out)
        handler.setFormatter(made.configure_formatter(config["formatters"][name]))
        handler.addFilter(made.configure_filter(config["filters"]["about"]))
        return handler

    def lines(self, logger: str) -> list[tuple[str, dict[str, Any]]]:
        """Of this logger: in words, from the level on, and as JSON."""
        words = self._formats["line"].getvalue().splitlines()
        objects = [json.loads(line) for line in self._formats["json"].getvalue().splitlines()]
        assert len(words) == len(objects)  # none is two
        both = zip(words, objects, strict=True)
        return [
            (line.split(" ", 2)[2], fields) for line, fields in both if fields["logger"] == logger
        ]


@pytest.fixture
def written() -> Iterator[Written]:
    log, made = logging.getLogger(), Written()
    before = log.level
    log.setLevel("DEBUG")
    for handler in made.handlers:
        log.addHandler(handler)
    yield made
    for handler in made.handlers:
        log.removeHandler(handler)
    log.setLevel(before)


SEND = "annotation.pipeline.outbox.send"


def test_each_call_about_a_hit_names_the_campaign_and_the_hit(
    one_hit: Stage, written: Written
) -> None:
    paid = one_hit.work("ada", 1)
    refused = one_hit.work("eve", 1, slips=1)
    one_hit.advance()
    give_bonus(one_hit.campaign, paid, cents=5, reason="A remark that helped.")
    approve_manually(one_hit.campaign, refused, now=one_hit.mturk.clock.now())
    one_hit.deliver()
    key = one_hit.hit(1).key
    report = written.lines(SEND)
    for kind in ("approve", "reject", "bonus", "overturn"):
        words = f"DEBUG {SEND} [campaign=faq hit={key}]: {kind}: done"
        ((_, fields),) = [line for line in report if line[0] == words]
        assert (fields["campaign"], fields["hit"]) == ("faq", key)
        assert (fields["level"], fields["message"]) == ("DEBUG", f"{kind}: done")


class Refusing(LentCrowd):
    """The real adapter over a crowd that lets nobody publish and shows no work."""

    def create_hit(self, **_: Any) -> str:
        raise CrowdError("not this one", permanent=True)

    def submissions(self, hit_id: str) -> Iterator[Submission]:
        raise CrowdError("not now", permanent=False)


def test_a_call_that_is_refused_for_good_is_a_warning(stage: Stage, written: Written) -> None:
    crowd = Refusing(stage.mturk.url)
    publish(stage.campaign, crowd)
    deliver(stage.campaign, crowd)
    keys = stage.campaign.hits.order_by("number").values_list("key", flat=True)
    words = sorted(words for words, _ in written.lines(SEND))
    assert words == sorted(
        f"WARNING {SEND} [campaign=faq hit={key}]: create: not this one" for key in keys
    )


def test_a_hit_that_cannot_be_read_is_named(one_hit: Stage, written: Written) -> None:
    one_hit.work("ada", 1)
    fetch_submissions(one_hit.campaign, Refusing(one_hit.mturk.url))
    key, name = one_hit.hit(1).key, "annotation.pipeline.collecting.collect"
    ((words, fields),) = written.lines(name)
    assert words == f"WARNING {name} [campaign=faq hit={key}]: HIT {key} cannot be read: not now"
    assert (fields["campaign"], fields["hit"]) == ("faq", key)


def test_what_the_comparison_with_the_crowd_says_of_a_hit_names_it(
    one_hit: Stage, written: Written
) -> None:
    key = one_hit.hit(1).key
    extra = create_there(one_hit, key)
    reconcile_campaign(one_hit.campaign.pk, full=True)
    report = [words for words, _ in written.lines("annotation.jobs.tasks") if extra in words]
    assert report
    assert all(f"[campaign=faq hit={key}]: campaign faq: HIT" in words for words in report)


@pytest.mark.parametrize("address", ["charts/none", "hits/99"])
def test_an_api_request_s_lines_name_request_and_campaign(
    stage: Stage, written: Written, address: str
) -> None:
    program = Program(person("cleo", stage.campaign, "viewer"))
    path = f"/api/v1/campaigns/faq/{address}"
    name = program.get(path).headers["X-Request-ID"]
    ((words, fields),) = written.lines("django.request")
    assert words == f"WARNING django.request [request={name} campaign=faq]: Not Found: {path}"
    assert (fields["request"], fields["campaign"]) == (name, "faq")
    program.get("/api/v1/campaigns/other")
    assert "campaign" not in written.lines("django.request")[-1][1]


def test_a_refusal_of_the_api_names_the_campaign_too(stage: Stage, written: Written) -> None:
    program = Program(person("cleo", stage.campaign, "viewer"))
    assert program.post("campaigns/faq/jobs/collect").status_code == 403
    ((words, fields),) = written.lines("django.request")
    assert words.endswith(" campaign=faq]: Forbidden: /api/v1/campaigns/faq/jobs/collect")
    assert fields["campaign"] == "faq"


def test_a_page_s_lines_name_the_campaign(stage: Stage, written: Written, client: Client) -> None:
    client.force_login(person("cleo", stage.campaign, "viewer"))
    assert client.get("/admin/campaigns/faq/hits/99").status_code == 404
    ((words, _),) = written.lines("django.request")
    assert words.endswith(" campaign=faq]: Not Found: /admin/campaigns/faq/hits/99")


def test_a_job_s_lines_name_the_job_and_its_error_forges_none(
    db: None, written: Written, tmp_path: Path, settings: Settings
) -> None:
    settings.DATA_DIR = tmp_path
    header = b'"a\n2026-03-01 09:12:03,211 ERROR root: all is lost",b\n1,2\n'
    job = sent({"forged.csv": header}, by=None)
    run_job(job.pk)
    job.refresh_from_db()
    assert "\n2026-03-01 09:12:03,211 error root: all is lost" in job.error
    ((words, fields),) = written.lines("annotation.jobs.tasks")
    assert words.startswith(f"INFO annotation.jobs.tasks [job={job.pk}]: job {job.pk}: ")
    assert "\\n2026-03-01 09:12:03,211 error root: all is lost" in words
    assert fields["job"] == str(job.pk)
    assert job.error in fields["message"]


def test_a_request_for_another_host_is_one_line(written: Written, client: Client) -> None:
    assert client.get("/sign-in", headers={"host": "evil.example"}).status_code == 400
    [(words, fields)] = written.lines("django.security.DisallowedHost")
    assert "Invalid HTTP_HOST header: 'evil.example'" in words
    assert "exc_info" not in fields
