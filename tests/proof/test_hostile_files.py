"""Hostile texts in files: taken in as texts, or refused in a sentence; nothing else."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_django import Settings

from annotation.models import Campaign, Control
from annotation.pipeline.create import create_campaign, read_policy
from annotation.pipeline.import_controls import import_controls
from annotation.protocol.policy import Policy
from retrieval.errors import UserError
from retrieval.ingest import ingest
from retrieval.models import QaPair, Query
from retrieval.querysets import load_queries
from retrieval.text import clean_text, is_utf8
from tests.hostile import ATTACKS, BYTES, HALF_CHARACTERS, LONG
from tests.hostile_campaign import TEXTS

pytestmark = pytest.mark.django_db

CLEAN = {clean_text(text) for text in TEXTS}
COLUMNS = ("question", "answer", "id", "license", "query")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, settings: Settings) -> None:
    settings.DATA_DIR = tmp_path


def write_table(path: Path) -> Path:
    """The attacks in each column, as a program that knows the format writes them."""
    rows = [dict.fromkeys(COLUMNS, text) for text in TEXTS]
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, delimiter="\t" if path.suffix == ".tsv" else ",")
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.mark.parametrize("kind", ["jsonl", "csv", "tsv"])
def test_pairs_of_a_file_are_the_texts_that_were_written(tmp_path: Path, kind: str) -> None:
    result = ingest(write_table(tmp_path / f"pairs.{kind}"), "tests")
    stored = set(QaPair.objects.values_list("question", flat=True))
    assert stored <= CLEAN
    assert len(stored) == result.added >= len(TEXTS) - 3


@pytest.mark.parametrize("kind", ["jsonl", "csv", "tsv"])
def test_controls_of_a_file_are_refused_where_both_questions_are_the_same(
    tmp_path: Path, kind: str
) -> None:
    with pytest.raises(UserError, match=r"^Line \d+ of .*; nothing was imported\.$"):
        import_controls(write_table(tmp_path / f"controls.{kind}"))
    assert not Control.objects.exists()


def test_queries_may_be_the_lines_of_a_text(tmp_path: Path) -> None:
    path = tmp_path / "queries.txt"
    path.write_text("\n".join(" ".join(text.split()) for text in TEXTS), encoding="utf-8")
    load_queries("hostile", path)
    assert set(Query.objects.values_list("text", flat=True)) <= CLEAN
    assert Query.objects.count() >= len(TEXTS) - 3


Take = Callable[[Path], object]
READERS: dict[str, Take] = {
    "pairs": lambda path: ingest(path, "tests"),
    "controls": import_controls,
    "queries": lambda path: load_queries("hostile", path),
    "policy": read_policy,
}


def refusal(take: Take, path: Path) -> str:
    """The sentence; empty where the file was taken in. Nothing else may come of it."""
    try:
        take(path)
    except UserError as refused:
        return str(refused)
    return ""


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("kind", ["jsonl", "csv", "tsv", "txt"])
@pytest.mark.parametrize("attack", [*BYTES, *LONG])
def test_a_file_of_hostile_bytes_is_read_or_refused_in_a_sentence(
    tmp_path: Path, attack: str, kind: str, reader: str
) -> None:
    path = tmp_path / f"file.{kind}"
    raw = BYTES.get(attack) or LONG[attack].encode()
    head = {"csv": b"question,answer,query\n", "tsv": b"question\tanswer\tquery\n"}.get(kind, b"")
    path.write_bytes(head + raw + b"\n" + raw * 2)
    sentence = refusal(READERS[reader], path)
    assert not sentence or str(path) in sentence


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("text", [HALF_CHARACTERS, "a NUL \x00 here", *LONG.values()])
def test_what_only_json_can_hold_is_refused_or_cleaned(
    tmp_path: Path, reader: str, text: str
) -> None:
    path = tmp_path / ("policy.json" if reader == "policy" else "rows.jsonl")
    row = {"title": text} if reader == "policy" else dict.fromkeys(COLUMNS, text)
    path.write_text(json.dumps(row) + "\n")
    sentence = refusal(READERS[reader], path)
    assert is_utf8(sentence)
    for pair in QaPair.objects.all():
        assert "\x00" not in pair.question


@pytest.mark.parametrize("text", [*ATTACKS.values(), HALF_CHARACTERS])
@pytest.mark.parametrize("field", ["title", "description", "keywords"])
def test_a_policys_words_can_be_stored_wherever_they_were_accepted(
    tmp_path: Path, field: str, text: str
) -> None:
    path = tmp_path / "policy.json"
    path.write_text(json.dumps({field: text}))
    if sentence := refusal(read_policy, path):
        assert field in sentence
        return
    queries = tmp_path / "queries.txt"
    queries.write_text("why is it so?")
    campaign = create_campaign("faq", policy=read_policy(path), seed=1, queries=queries)
    campaign.refresh_from_db()
    assert getattr(campaign.policy, field) == text
    # What PostgreSQL cannot keep.
    assert "\x00" not in text
    assert is_utf8(text)


@pytest.mark.parametrize("text", [*TEXTS, HALF_CHARACTERS, LONG["a word of 100,000 letters"]])
def test_no_campaign_has_a_hostile_name(tmp_path: Path, text: str) -> None:
    queries = tmp_path / "queries.txt"
    queries.write_text("why is it so?")
    with pytest.raises(UserError):
        create_campaign(text, policy=Policy(), seed=1, queries=queries)
    assert not Campaign.objects.exists()


@pytest.mark.parametrize("attack", BYTES)
def test_instructions_that_are_no_text_are_refused(tmp_path: Path, attack: str) -> None:
    path, queries = tmp_path / "instructions.md", tmp_path / "queries.txt"
    path.write_bytes(b"# Rules\n" + BYTES[attack])
    queries.write_text("why is it so?")
    with pytest.raises(UserError, match="UTF-8"):
        create_campaign("faq", policy=Policy(), seed=1, queries=queries, instructions=path)


def test_instructions_hold_no_nul_which_postgresql_cannot_keep(tmp_path: Path) -> None:
    path, queries = tmp_path / "instructions.md", tmp_path / "queries.txt"
    path.write_text("# Rules\n\na NUL \x00 here")
    queries.write_text("why is it so?")
    campaign = create_campaign("faq", policy=Policy(), seed=1, queries=queries, instructions=path)
    assert "\x00" not in campaign.instructions.get().text
