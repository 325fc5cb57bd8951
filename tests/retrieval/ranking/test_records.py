"""A query's line, byte by byte."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from retrieval.ranking.records import (
    CandidateRecord,
    DatasetError,
    QueryRecord,
    document,
    line,
    parse,
    read,
)


def candidate(question: str = "q", rank: int = 1, score: float = 0.5) -> CandidateRecord:
    return CandidateRecord("c1", question, "a", rank=rank, score=score, label=1, yes=2, no=1)


def test_a_line_has_fixed_keys_and_ends_in_one_newline() -> None:
    assert line(QueryRecord("q1", "why?", [candidate()])) == (
        b'{"id":"q1","query":"why?","candidates":[{"id":"c1","question":"q","answer":"a",'
        b'"rank":1,"score":0.5,"label":1,"votes":{"yes":2,"no":1}}]}\n'
    )


@pytest.mark.parametrize("text", ["ü „…“ 日本 🙂", 'a "b" \\ c', "a\nb\tc\r\u2028d", "<b>&amp;"])
def test_any_text_is_utf_8_on_one_line_and_comes_back(text: str) -> None:
    written = line(QueryRecord("q1", text, [candidate(question=text)]))
    assert written.count(b"\n") == 1
    read = json.loads(written.decode())
    assert read["query"] == read["candidates"][0]["question"] == text


def test_letters_of_every_alphabet_stand_for_themselves() -> None:
    assert "日本".encode() in line(QueryRecord("q1", "日本", []))


@pytest.mark.parametrize("score", [1.0, -0.25, 0.123457, 1e-06, 0.0])
def test_a_score_comes_back_as_it_was(score: float) -> None:
    read = json.loads(line(QueryRecord("q1", "why?", [candidate(score=score)])))
    assert read["candidates"][0]["score"] == score


def test_no_number_is_written_that_json_does_not_know() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        document({"share": float("nan")})


def test_a_document_is_indented_utf_8() -> None:
    assert document({"a": "ü", "b": [1]}) == '{\n  "a": "ü",\n  "b": [\n    1\n  ]\n}\n'.encode()


def test_a_line_is_read_back_as_it_was_written() -> None:
    record = QueryRecord("q1", "why?", [candidate(), candidate(question="ü\n", rank=3)])
    assert parse(line(record)) == record


@pytest.mark.parametrize("text", [b"", b"[]", b'{"id": "q1"}', b"\xff", b'{"candidates": [1]}'])
def test_what_is_no_record_is_refused_by_file_and_line(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "train.jsonl"
    path.write_bytes(line(QueryRecord("q1", "why?", [])) + text + b"\n")
    with pytest.raises(DatasetError, match=r"^train\.jsonl, line 2: no record of a release"):
        list(read(path))
