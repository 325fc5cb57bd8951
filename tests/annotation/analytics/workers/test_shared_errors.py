"""Workers who share errors, from a campaign's record to its pages and its command."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.analytics.workers import worker_figures
from annotation.analytics.workers.shared_errors import known_items, report_of
from annotation.models import Assignment, Campaign, Exclusion, ExpertLabel, HitItem, Worker
from tests.annotation.commands.test_commands import refused, run, run_json
from tests.annotation.support.annotators import Annotators
from tests.annotation.support.biased_crowd import is_positive, submitted
from tests.annotation.support.hits import make_campaign, make_hit

pytestmark = pytest.mark.django_db
HITS, HONEST = 30, ("ada", "bob", "cem")


def is_right(item: HitItem) -> int:
    return int(item.position == 0 or is_positive(item))


@pytest.fixture
def campaign() -> Campaign:
    """Each errs on a fourth of the items by themselves, but dee, who copies what ada says."""
    draw, campaign = random.Random(4), make_campaign("faq")
    hits = []
    for hit in range(HITS):
        real = [(f"query {hit}", f"question {hit}-{row}", "answer") for row in range(2)]
        controls = {kind: (f"{kind} {hit}", kind, "answer") for kind in ("positive", "negative")}
        hits.append(make_hit(campaign, real=real, **controls))
    annotators = Annotators(campaign, hits)
    for number, made in enumerate(hits, 1):
        items = list(made.items.order_by("position"))
        for name in HONEST:
            answers = [is_right(item) ^ (draw.random() < 0.25) for item in items]
            submitted(annotators, name, number, answers)
            if name == "ada":
                submitted(annotators, "dee", number, answers)
    Assignment.objects.filter(hit__number__gt=5).update(passed=False, failure="missed")
    return campaign


def test_who_copies_is_named_by_controls_and_by_what_experts_judged(campaign: Campaign) -> None:
    controls = report_of(campaign)
    assert (controls.answers, controls.compared) == (4 * 2 * HITS, 6)
    [pair] = controls.pairs
    assert (pair.first, pair.second, pair.shared) == ("ada", "dee", 2 * HITS)
    assert pair.both_wrong > 2 * pair.expected
    for triplet in campaign.triplets.all():
        label = is_right(triplet.items.get())
        ExpertLabel.objects.create(triplet=triplet, expert="gil", label=label, source="sample")
    both = report_of(campaign)
    assert both.answers - controls.answers == 4 * 2 * 5  # the votes of work that passed
    assert both.pairs[0].shared == pair.shared + 2 * 5
    out = Worker.objects.get(worker_id="dee")
    Exclusion.objects.create(campaign=campaign, worker=out, failures=1, reviewed=1)
    assert report_of(campaign).pairs == []


def test_the_pages_name_them_and_say_that_nobody_is_excluded_by_it(
    campaign: Campaign, admin_client: Client
) -> None:
    page = admin_client.get("/admin/campaigns/faq/workers/").content.decode()
    assert "Errors in common" in page
    assert "Nobody is excluded, rejected, or unpaid by this" in page
    workers = {name: Worker.objects.get(worker_id=name).pk for name in ("ada", "bob", "dee")}
    pages = {
        name: admin_client.get(reverse("campaign-worker", args=["faq", pk])).content.decode()
        for name, pk in workers.items()
    }
    assert "items with known answers that <bdi>dee</bdi> answered too" in pages["ada"]
    assert "items with known answers that <bdi>ada</bdi> answered too" in pages["dee"]
    assert "answered too" not in pages["bob"]


def test_pairs_are_compared_again_only_when_much_more_is_known(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = worker_figures.take(campaign).figures["shared_errors"]
    assert [pair["second"] for pair in first["pairs"]] == ["dee"]
    monkeypatch.setattr("annotation.analytics.workers.shared_errors.report_of", None)
    assert worker_figures.take(campaign).figures["shared_errors"] == first
    monkeypatch.undo()
    Assignment.objects.filter(worker__worker_id="dee", hit__number__lte=20).update(
        passed=None, failure=""
    )
    assert worker_figures.take(campaign).figures["shared_errors"]["pairs"] == []


def test_the_command_writes_the_items_and_compares_all_with_a_machine(
    campaign: Campaign, tmp_path: Path
) -> None:
    items, machine = tmp_path / "items.jsonl", tmp_path / "machine.jsonl"
    words = run("campaign", "shared-errors", "faq", "--items", str(items))
    assert "ada and dee have" in words
    written = [json.loads(line) for line in items.read_text().splitlines()]
    assert len(written) == 2 * HITS
    assert set(written[0]) == {"item", "query", "question", "answer"}
    controls = {item["item"]: item for item in known_items(campaign)}
    assert [controls[item["item"]] for item in written] == written
    judged = HitItem.objects.filter(triplet=None, judgments__worker__worker_id="bob")
    rows = judged.values_list("control_id", "judgments__value")
    labels = [{"item": 2 * control + 1, "label": value} for control, value in rows]
    machine.write_text("".join(json.dumps(row) + "\n" for row in labels))
    report: Any = run_json("campaign", "shared-errors", "faq", "--machine", str(machine))
    assert [(pair["first"], pair["second"]) for pair in report["pairs"]] == [("bob", "the machine")]
    assert report["compared"] == 4
    machine.write_text('{"item": 3, "label": "yes"}\n')
    assert "is no label of a machine: give the number of an item" in refused(
        "campaign", "shared-errors", "faq", "--machine", str(machine)
    )
