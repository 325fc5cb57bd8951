"""Drafts come by a file, as a model writes paraphrases: all of them, or none."""

from pathlib import Path

import pytest

from annotation.models import Campaign
from annotation.pipeline.controls.drafts import dismiss
from annotation.pipeline.controls.import_drafts import Imported, import_drafts
from annotation.pipeline.gold.rejected_rows import BadRows
from tests.annotation.pipeline.controls.test_drafts import NOW
from tests.worlds.small_campaign import QUERIES, retrieved_campaign, write_rows

pytestmark = pytest.mark.django_db

BREAD = QUERIES["bread"]
LOAF = {"kind": "positive", "query": BREAD, "question": "how to bake a loaf"}
EATS = {"kind": "negative", "query": BREAD, "question": "who eats bread?", "answer": " All. "}


@pytest.fixture
def campaign(small_database: None, tmp_path: Path) -> Campaign:
    return retrieved_campaign(tmp_path)


def imported(campaign: Campaign, folder: Path, *rows: dict[str, str]) -> Imported:
    return import_drafts(write_rows(folder / "drafts.jsonl", list(rows)), campaign)


def test_each_row_waits_for_a_person(campaign: Campaign, tmp_path: Path) -> None:
    """A positive without an answer has its query's own."""
    assert imported(campaign, tmp_path, LOAF, EATS) == Imported(read=2, added=2, open=2)
    drafts = campaign.control_drafts.order_by("pk").values_list(
        "kind", "origin", "query__text", "question", "answer", "state"
    )
    assert list(drafts) == [
        ("positive", "given", BREAD, LOAF["question"], "About bread: answer 0.", "open"),
        ("negative", "given", BREAD, EATS["question"], "All.", "open"),
    ]
    assert not campaign.controls.exists()


def test_a_table_will_do_as_well(campaign: Campaign, tmp_path: Path) -> None:
    path = tmp_path / "drafts.csv"
    path.write_text(f"kind,query,question\npositive,{BREAD},how to bake a loaf\n")
    assert import_drafts(path, campaign).added == 1


def test_the_same_file_again_adds_nothing_whatever_was_decided(
    campaign: Campaign, tmp_path: Path
) -> None:
    imported(campaign, tmp_path, LOAF, LOAF)
    dismiss(campaign.control_drafts.get(), by="dan", now=NOW)
    assert imported(campaign, tmp_path, LOAF, EATS) == Imported(read=2, added=1, open=1)


def test_one_bad_row_refuses_all_and_each_has_its_reason(
    campaign: Campaign, tmp_path: Path
) -> None:
    bad = [
        LOAF | {"query": "what is nobody asking"},
        LOAF | {"question": "how is bread made"},
        {**EATS, "answer": ""},
        LOAF | {"kind": "maybe"},
        {"kind": "positive", "query": BREAD},
    ]
    with pytest.raises(BadRows) as refused:
        imported(campaign, tmp_path, LOAF, *bad)
    assert [(row.line, row.reason) for row in refused.value.rows] == [
        (2, "the campaign has no query 'what is nobody asking'"),
        (3, "its query and question are the same text, which tells it at a glance"),
        (4, "the answer is empty"),
        (5, "the kind is 'maybe', neither positive nor negative"),
        (6, "there is no question (columns found: kind, query)"),
    ]
    assert not campaign.control_drafts.exists()
