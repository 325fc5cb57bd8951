"""Hostile texts in files: taken in as texts, or refused in a sentence; nothing else."""

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from pytest_django import Settings

from annotation.models import Campaign, Control, ExpertLabel, Instructions, QualificationItem
from annotation.pipeline.controls.import_controls import import_controls
from annotation.pipeline.gold.import_gold import import_gold
from annotation.pipeline.setup.create import create_campaign, read_policy
from annotation.protocol.policy.policy import Policy
from core.errors import UserError
from core.text.clean import clean_text, is_utf8
from retrieval.corpus.ingest import ingest
from retrieval.models import QaPair, Query
from tests.annotation.support import hits
from tests.support.query_sets import load_queries
from tests.worlds.hostile import ATTACKS, BYTES, HALF_CHARACTERS, LONG
from tests.worlds.hostile_campaign import TEXTS, qualification_rows

pytestmark = pytest.mark.django_db

CLEAN = {clean_text(text) for text in TEXTS}
COLUMNS = ("question", "answer", "id", "license", "query", "why", "note")
ROWS = [dict.fromkeys(COLUMNS, text) for text in TEXTS]
KNOWN = ("why is it so?", "what makes it so?", "Nothing.")  # a triplet that gold may be about


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, settings: Settings) -> None:
    settings.DATA_DIR = tmp_path


def write_table(path: Path, rows: Sequence[Mapping[str, str]]) -> Path:
    """As a program that knows the format writes them."""
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0], delimiter="\t" if path.suffix == ".tsv" else ",")
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.mark.parametrize("kind", ["jsonl", "csv", "tsv"])
def test_pairs_of_a_file_are_the_texts_that_were_written(tmp_path: Path, kind: str) -> None:
    result = ingest(write_table(tmp_path / f"pairs.{kind}", ROWS), "tests")
    stored = set(QaPair.objects.values_list("question", flat=True))
    assert stored <= CLEAN
    assert len(stored) == result.added >= len(TEXTS) - 3


@pytest.mark.parametrize("kind", ["jsonl", "csv", "tsv"])
def test_controls_of_a_file_are_refused_where_both_questions_are_the_same(
    tmp_path: Path, kind: str
) -> None:
    with pytest.raises(UserError, match=r"^Line \d+ of .*; nothing was imported\.$"):
        import_controls(write_table(tmp_path / f"controls.{kind}", ROWS))
    assert not Control.objects.exists()


def test_queries_may_be_the_lines_of_a_text(tmp_path: Path) -> None:
    path = tmp_path / "queries.txt"
    path.write_text("\n".join(" ".join(text.split()) for text in TEXTS), encoding="utf-8")
    load_queries("hostile", path)
    assert set(Query.objects.values_list("text", flat=True)) <= CLEAN
    assert Query.objects.count() >= len(TEXTS) - 3


@pytest.mark.parametrize("kind", ["jsonl", "csv", "tsv"])
def test_a_qualification_test_has_the_texts_that_were_written(tmp_path: Path, kind: str) -> None:
    rows = qualification_rows()
    take_test(write_table(tmp_path / f"items.{kind}", rows), items=len(rows))
    for column in ("query", "question", "answer", "why"):
        stored = set(QualificationItem.objects.values_list(column, flat=True))
        assert stored == {clean_text(row[column]) for row in rows}


def take_test(path: Path, *, items: int = 2) -> Campaign:
    queries = path.parent / "questions.txt"
    queries.write_text(KNOWN[0])
    policy = Policy(qualification_items=items)
    return create_campaign("faq", policy=policy, seed=1, queries=queries, items=path)


@pytest.mark.parametrize("kind", ["jsonl", "csv", "tsv"])
def test_an_experts_note_of_a_file_is_the_text_that_was_written(tmp_path: Path, kind: str) -> None:
    campaign = judged()
    for number, text in enumerate(TEXTS):
        row = dict(zip(("query", "question", "answer"), KNOWN, strict=True))
        row |= {"label": "1", "expert": f"e{number}", "note": text}
        import_gold(write_table(tmp_path / f"gold.{kind}", [row]), campaign)
        assert ExpertLabel.objects.get(expert=f"e{number}").note == clean_text(text)


def judged() -> Campaign:
    campaign = hits.make_campaign()
    hits.make_triplet(campaign, KNOWN)
    return campaign


def instruct(path: Path) -> Campaign:
    queries = path.parent / "questions.txt"
    queries.write_text(KNOWN[0])
    return create_campaign("faq", policy=Policy(), seed=1, queries=queries, instructions=path)


Take = Callable[[Path], object]
READERS: dict[str, Take] = {
    "pairs": lambda path: ingest(path, "tests"),
    "controls": import_controls,
    "queries": lambda path: load_queries("hostile", path),
    "policy": read_policy,
    "qualification_test": take_test,
    "gold": lambda path: import_gold(path, judged()),
    "instructions": instruct,
}
HEAD = b"question,answer,query,why,note,expected,label"


def hostile_bytes(kind: str, raw: bytes) -> bytes:
    """Two rows, the bytes in every text of them."""
    if kind == "jsonl":
        texts = b", ".join(b'"%s": "%s"' % (name, raw) for name in HEAD.split(b",")[:5])
        return b"".join(b'{%s, "expected": %d, "label": %d}\n' % (texts, n, n) for n in (0, 1))
    if kind == "txt":
        return raw + b"\n" + raw * 2
    rows = b"\n".join([HEAD, *(b",".join([raw] * 5 + [n, n]) for n in (b"0", b"1"))])
    return rows.replace(b",", b"\t") if kind == "tsv" else rows


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
    path.write_bytes(hostile_bytes(kind, BYTES.get(attack) or LONG[attack].encode()))
    sentence = refusal(READERS[reader], path)
    assert not sentence or str(path) in sentence


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("text", [HALF_CHARACTERS, "a NUL \x00 here", *LONG.values()])
def test_what_only_json_can_hold_is_refused_or_cleaned(
    tmp_path: Path, reader: str, text: str
) -> None:
    path = tmp_path / ("policy.json" if reader == "policy" else "rows.jsonl")
    rows = [dict.fromkeys(COLUMNS, text) | {"expected": n, "label": n} for n in (0, 1)]
    written = [{"title": text}] if reader == "policy" else rows
    path.write_text("".join(json.dumps(row) + "\n" for row in written))
    sentence = refusal(READERS[reader], path)
    assert is_utf8(sentence)
    for model, column in (
        (QaPair, "question"),
        (QualificationItem, "why"),
        (ExpertLabel, "note"),
        (Instructions, "text"),
    ):
        for kept in model._default_manager.values_list(column, flat=True):
            assert "\x00" not in kept
            assert is_utf8(kept)


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
