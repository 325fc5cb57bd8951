import gzip
import json
import re
import tracemalloc
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.errors import UserError
from core.text.clean import clean_text, normalise_question, pair_key
from retrieval.corpus.ingest import IngestResult, ingest
from retrieval.corpus.sources.formats import FORMATS
from retrieval.corpus.sources.question_answering import gooaq
from retrieval.models import QaPair
from tests.retrieval.corpus.sources.shapes import (
    ELI5_FINISHED,
    ELI5_POSTS,
    GOOAQ,
    HOTPOT,
    REMOVED,
    SHAPES,
    SQUAD,
    document,
    jsonl,
    write,
)
from tests.support.examples import examples

pytestmark = pytest.mark.django_db


def stored() -> set[tuple[str, str, str]]:
    """An id that is the content's is left out."""
    return {
        (one.question, one.answer, "" if one.source_id == one.pair_key else one.source_id)
        for one in QaPair.objects.all()
    }


def rejects(result: IngestResult) -> list[tuple[int, str]]:
    assert result.rejects_path is not None
    lines = result.rejects_path.read_text(encoding="utf-8").splitlines()
    return [(entry["line"], entry["reason"]) for entry in map(json.loads, lines)]


def test_every_format_has_a_shape_here_and_a_row_in_the_docs() -> None:
    docs = (Path(__file__).parents[4] / "docs" / "sources.md").read_text(encoding="utf-8")
    assert set(SHAPES) == set(FORMATS)
    assert set(re.findall(r"^\| `([a-z][a-z0-9-]+)` \|", docs, flags=re.MULTILINE)) == set(FORMATS)


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize("format", sorted(SHAPES))
def test_a_file_in_its_published_shape_gives_its_pairs(
    tmp_path: Path, format: str, packed: str
) -> None:
    shape = SHAPES[format]
    content = gzip.compress(shape.content, mtime=0) if packed else shape.content
    path = write(tmp_path, shape.name + packed, content)
    result = ingest(path, format, format=format)
    assert stored() == shape.pairs
    assert result.skipped == shape.skipped
    assert (result.rejected, result.added) == (0, len(shape.pairs))
    assert result.read == result.added + result.duplicates + sum(shape.skipped.values())
    assert set(QaPair.objects.values_list("license", flat=True)) == {shape.license}


@pytest.mark.parametrize("format", sorted(SHAPES))
def test_the_same_file_twice_adds_nothing(tmp_path: Path, format: str) -> None:
    path = write(tmp_path, SHAPES[format].name, SHAPES[format].content)
    first = ingest(path, format, format=format)
    second = ingest(path, format, format=format)
    assert second.added == 0
    assert second.duplicates == first.added + first.duplicates
    assert second.skipped == first.skipped


def test_a_license_that_is_given_goes_before_the_publisher_s(tmp_path: Path) -> None:
    path = write(tmp_path, "covid.json", SHAPES["covidqa"].content)
    ingest(path, "covidqa", format="covidqa", license="CC0")
    assert QaPair.objects.get().license == "CC0"


def test_eli5_comes_from_its_scripts_before_and_after_they_choose_documents(
    tmp_path: Path,
) -> None:
    posts = ingest(write(tmp_path, "qalist.json", document(ELI5_POSTS)), "posts", format="eli5")
    assert stored() == {("Why is the sea salty ?", "Rivers carry salt to it .", "6y1")}
    assert posts.skipped == {REMOVED: 1}
    ingest(write(tmp_path, "train.json", document(ELI5_FINISHED)), "train", format="eli5")
    assert ("How do kites fly ?", "The wind pushes them up .", "7z1") in stored()


FOREIGN = [
    (
        "squad",
        "gooaq",
        'is not a SQuAD document ({"data": [...]}): its first object has '
        "id, question, short_answer, answer, answer_type, answer_url.",
    ),
    (
        "gooaq",
        "squad",
        "is not in the format gooaq: its rows have question, answer, short_answer, but none "
        "of these is here (found: version, data).",
    ),
    ("squad", "hotpotqa", "does not begin as a SQuAD document"),
    ("hotpotqa", "gooaq", "is not in the format hotpotqa: its rows have _id or id, question, "),
    ("eli5", "gooaq", "but title or document is missing here (found: id, question,"),
    ("paq", "gooaq", "line 1: the answer is not a list but a text"),
    ("nq-open", "gooaq", "line 1: the answer is not a list but a text"),
    ("gooaq", "wikianswers", "none of the 3 rows of"),
    ("wikianswers", "gooaq", "its lines are clusters of q: and a: items with tabs between them"),
    ("wikiqa", "quoraqp", "is not in the format wikiqa: its rows have QuestionID, Question,"),
    ("quoraqp", "wikiqa", "has no column 'question1'"),
    (
        "natural-questions",
        "nq-open",
        "annotations, but none of these is here (found: question, answer)",
    ),
    ("wqa", "nq-open", "is not in the format wqa: its rows have question, answer, label, but"),
]


@pytest.mark.parametrize(("format", "given", "message"), FOREIGN)
def test_a_file_of_another_format_is_refused_with_what_was_expected_and_found(
    tmp_path: Path, format: str, given: str, message: str
) -> None:
    path = write(tmp_path, SHAPES[given].name, SHAPES[given].content)
    with pytest.raises(UserError) as refusal:
        ingest(path, "faq", format=format)
    assert message in str(refusal.value)
    assert str(path) in str(refusal.value)
    assert not QaPair.objects.exists()


def test_quora_s_own_release_is_refused_for_it_holds_no_answers(tmp_path: Path) -> None:
    release = b"id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n0\t1\t2\tWhy?\tHow?\t0\n"
    path = write(tmp_path, "quora.tsv", release)
    with pytest.raises(UserError, match="has no column 'answer1' or 'answer2'"):
        ingest(path, "quoraqp", format="quoraqp")


@pytest.mark.parametrize(
    ("format", "record", "reason"),
    [
        ("gooaq", {"answer": "A", "short_answer": None}, "there is no question"),
        ("gooaq", {"question": 5, "answer": "A", "short_answer": None}, "is not a text but a num"),
        ("gooaq", {"question": "Q?", "answer": {"a": 1}}, "the answer is not a text but an object"),
        ("gooaq", {"question": "Q?", "answer": " \x00 "}, "the answer is empty"),
        ("gooaq", {"question": "Q?", "answer": "a" * 50_001}, "the answer has 50,001 characters"),
        ("gooaq", {"question": "Q?", "answer": "A", "id": [1]}, "the id is not a text but a list"),
        ("nq-open", {"question": "Q?", "answer": [None]}, "there is no answer"),
        ("nq-open", {"question": "Q?", "answer": [["A"]]}, "the answer is not a text but a list"),
        ("hotpotqa", {"_id": "1", "question": "\ud800", "answer": "A"}, "is not valid UTF-8"),
        ("hotpotqa", ["a list"], "the entry is not an object but a list"),
        ("eli5", {"title": "Q?", "answers": ["A"]}, "the answers is not an object but a list"),
        ("eli5", {"title": "Q?", "answers": {"text": "A"}}, "the text is not a list but a text"),
        ("eli5", {"title": ["Q?", []], "comments": [7]}, "the comment is not an object"),
        ("natural-questions", {"annotations": 3}, "the annotations is not a list but a number"),
        ("natural-questions", {"annotations": [{}]}, "the long_answer is not an object but null"),
        (
            "natural-questions",
            {"annotations": [{"long_answer": {"start_token": "0"}}]},
            "an answer has no start_token and end_token",
        ),
        ("wqa", {"question": "Q?", "answer": "A", "label": 2}, "the label is neither 0 nor 1 but"),
        ("wqa", {"question": "Q?", "answer": "A"}, "the label is neither 0 nor 1 but 'None'"),
    ],
)
def test_a_record_that_cannot_be_used_is_refused_by_its_place(
    tmp_path: Path, format: str, record: Any, reason: str
) -> None:
    lines = SHAPES[format].content
    good = json.loads(lines) if lines.startswith(b"[") else [*map(json.loads, lines.splitlines())]
    whole = [*good, record]
    content = document(whole) if lines.startswith(b"[") else jsonl(*whole)
    result = ingest(write(tmp_path, SHAPES[format].name, content), format, format=format)
    [(line, found)] = rejects(result)
    assert line == len(whole)
    assert reason in found
    assert stored() == SHAPES[format].pairs


@pytest.mark.parametrize(
    ("broken", "line", "reason"),
    [
        ("text", 4, "the article is not an object but a text"),
        ({"paragraphs": {}}, 4, "the paragraphs is not a list but an object"),
        ({"paragraphs": [None]}, 4, "the paragraph is not an object but null"),
        ({"paragraphs": [{"qas": [1]}]}, 4, "the question is not an object but a number"),
        ({"paragraphs": [{"qas": [{"answers": 1}]}]}, 4, "the answers is not a list but a number"),
        ({"paragraphs": [{"qas": [{"answers": [{}]}]}]}, 4, "there is no question"),
        (
            {"paragraphs": [{"qas": [{"question": "Q?", "answers": [{"text": None}]}]}]},
            4,
            "there is no answer",
        ),
    ],
)
def test_a_broken_article_of_squad_costs_no_other_article(
    tmp_path: Path, broken: object, line: int, reason: str
) -> None:
    content = document({"data": [*SQUAD["data"], broken]})
    result = ingest(write(tmp_path, "train.json", content), "squad", format="squad")
    assert [(line, reason)] == [(one, why[: len(reason)]) for one, why in rejects(result)]
    assert stored() == SHAPES["squad"].pairs


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (b"Q1\tq\tD1\tT\tD1-2\tS\n", "the row has 6 columns, the header 7"),
        (b"Q1\tq\tD1\tT\tD1-2\tS\tyes\n", "the label is neither 0 nor 1 but 'yes'"),
        (b"Q1\tcaf\xe9\tD1\tT\tD1-2\tS\t1\n", "the row is not valid UTF-8"),
        (b"Q1\tq\tD1\tT\tD1-2\t\t1\n", "the answer is empty"),
    ],
)
def test_a_row_of_wikiqa_that_cannot_be_used_is_refused(
    tmp_path: Path, row: bytes, reason: str
) -> None:
    path = write(tmp_path, "WikiQA.tsv", SHAPES["wikiqa"].content + row)
    [(line, found)] = rejects(ingest(path, "wikiqa", format="wikiqa"))
    assert line == 4
    assert found.startswith(reason)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"a:An answer alone.\n", "the cluster has no question"),
        (b"q:Who?\tz:No.\n", "an item begins with neither q: nor a:"),
        (b"q:\ta:Nobody.\n", "the question is empty"),
        (b"q:Wh\xff?\ta:Nobody.\n", "the row is not valid UTF-8"),
    ],
)
def test_a_cluster_of_wikianswers_that_cannot_be_used_is_refused(
    tmp_path: Path, line: bytes, reason: str
) -> None:
    path = write(tmp_path, "clusters.txt", SHAPES["wikianswers"].content + line)
    [(number, found)] = rejects(ingest(path, "wikianswers", format="wikianswers"))
    assert number == 4
    assert found.startswith(reason)


def test_a_file_that_holds_no_answers_at_all_is_refused_with_the_reasons(tmp_path: Path) -> None:
    path = write(tmp_path, "test.json", document([HOTPOT[1], HOTPOT[1]]))
    with pytest.raises(UserError) as refusal:
        ingest(path, "hotpotqa", format="hotpotqa")
    assert "none of the 2 rows of" in str(refusal.value)
    assert str(refusal.value).endswith("can be used; 2: the question has no answer.")


@pytest.mark.parametrize("format", ["gooaq", "hotpotqa", "squad", "wikianswers", "wikiqa", "wqa"])
@pytest.mark.parametrize("content", [b"", b"\n", b"[]", b"{}", b"\xff\xfe[\x00]\x00", b"[", b"nul"])
def test_a_file_without_a_pair_is_refused_in_one_sentence(
    tmp_path: Path, format: str, content: bytes
) -> None:
    path = write(tmp_path, "file.jsonl", content)
    with pytest.raises(UserError, match=r"^.*file\.jsonl.*\.$"):
        ingest(path, "faq", format=format)
    assert not QaPair.objects.exists()


def test_a_missing_file_is_refused_in_every_format(tmp_path: Path) -> None:
    for format in FORMATS:
        with pytest.raises(UserError, match=r"There is no file .*nowhere"):
            ingest(tmp_path / "nowhere.json", "faq", format=format)


def test_records_may_come_as_parquet_too(tmp_path: Path) -> None:
    """As the hubs have them."""
    pq.write_table(pa.Table.from_pylist(GOOAQ), tmp_path / "gooaq.parquet")
    ingest(tmp_path / "gooaq.parquet", "gooaq", format="gooaq")
    assert stored() == SHAPES["gooaq"].pairs


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=6), data=st.data())
def test_whatever_texts_a_format_carries_arrive(
    tmp_path: Path, rows: list[tuple[str, str]], data: st.DataObject
) -> None:
    QaPair.objects.all().delete()
    rows = [("Is it so?", "Yes."), *rows]
    format = data.draw(st.sampled_from(sorted(WRITERS)))
    ascii = data.draw(st.booleans())
    path = write(tmp_path, "file", WRITERS[format](rows, ascii))
    ingest(path, format, format=format)
    clean = {(clean_text(q), clean_text(a)) for q, a in rows}
    expected = {(q, a) for q, a in clean if normalise_question(q) and a}
    assert set(QaPair.objects.values_list("question", "answer")) == expected
    for pair in QaPair.objects.all():
        assert pair.pair_key == pair_key(pair.question, pair.answer)


Rows = list[tuple[str, str]]


def as_squad(rows: Rows, ascii: bool) -> bytes:
    qas = [{"question": q, "id": str(n), "answers": [{"text": a}]} for n, (q, a) in enumerate(rows)]
    whole = {"version": "1.1", "data": [{"paragraphs": [{"qas": [one]}]} for one in qas]}
    return json.dumps(whole, ensure_ascii=ascii, indent=1).encode()


def as_hotpotqa(rows: Rows, ascii: bool) -> bytes:
    whole = [{"_id": str(n), "question": q, "answer": a or None, "context": []}
             for n, (q, a) in enumerate(rows)]  # fmt: skip
    return json.dumps(whole, ensure_ascii=ascii).encode()


def as_nq_open(rows: Rows, ascii: bool) -> bytes:
    lines = (json.dumps({"question": q, "answer": [a]}, ensure_ascii=ascii) for q, a in rows)
    return "".join(line + "\n" for line in lines).encode()


WRITERS = {"squad": as_squad, "hotpotqa": as_hotpotqa, "nq-open": as_nq_open}


@given(items=st.lists(TEXTS, min_size=1, max_size=5))
def test_a_list_that_python_printed_is_read_as_its_items(items: list[str]) -> None:
    [found] = gooaq({"question": "Q?", "answer": repr(["First.", *items])})
    assert isinstance(found, dict)
    assert found["answer"] == " ".join(["First.", *items])


@pytest.mark.parametrize(
    "answer", ["['cut", "[]", "[1, 2]", "['a' 'b']", "['a'],", "[" * 50_000, "['" + "\\" * 49_999]
)
def test_an_answer_that_only_begins_like_a_list_stays_as_it_is(answer: str) -> None:
    [found] = gooaq({"question": "Q?", "answer": answer})
    assert isinstance(found, dict)
    assert found["answer"] == answer


@pytest.mark.parametrize("format", ["hotpotqa", "squad"])
def test_memory_does_not_grow_with_a_json_document(tmp_path: Path, format: str) -> None:
    path = tmp_path / "large.json"
    context = "c" * 20_000
    with path.open("w") as file:  # 40 MB
        file.write('{"data": [' if format == "squad" else "[")
        for number in range(2000):
            one: dict[str, object] = {"_id": f"{number}", "question": f"Q {number}?", "answer": "A"}
            if format == "squad":
                qa = {"question": f"Q {number}?", "id": number, "answers": [{"text": "A"}]}
                one = {"paragraphs": [{"context": context, "qas": [qa]}]}
            file.write("," * (number > 0) + json.dumps(one | {"context": context}))
        file.write("]}" if format == "squad" else "]")
    seen: list[int] = []
    tracemalloc.start()
    result = ingest(path, format, format=format, progress=seen.append)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.added == 2000
    assert sum(seen) == path.stat().st_size
    assert peak < 15_000_000
