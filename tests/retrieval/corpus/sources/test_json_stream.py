import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.errors import UserError
from core.progress import no_progress
from retrieval.corpus.sources import json_stream
from retrieval.corpus.sources.json_stream import elements, member_elements
from tests.retrieval.corpus.sources.shapes import write
from tests.support.examples import examples

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=12,
)


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    values=st.lists(JSON, max_size=8),
    indent=st.sampled_from([None, 0, 3]),
    ascii=st.booleans(),
    chunk=st.integers(1, 40),
)
def test_wherever_the_window_ends_the_elements_are_those_of_the_document(
    tmp_path: Path, values: list[Any], indent: int | None, ascii: bool, chunk: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_stream, "CHUNK", chunk)
        whole = json.dumps(values, indent=indent, ensure_ascii=ascii)
        path = write(tmp_path, "list.json", whole.encode("utf-8", "surrogateescape"))
        assert list(elements(path, no_progress)) == values
        named = json.dumps({"before": 12, "data": values, "after": [1]}, indent=indent)
        path = write(tmp_path, "object.json", b"\xef\xbb\xbf" + named.encode())
        assert list(member_elements(path, "data", "it", no_progress)) == values


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'[{"a": 1}, {"a"', "(Expecting ':' delimiter), in entry 2, which begins with"),
        (b'[{"a": 1}', "the end of the file is where ',' belongs, after entry 1"),
        (b'[{"a": 1} {"a": 2}]', "'{' is where ',' belongs, after entry 1"),
        (b"[1, oops]", "(Expecting value), in entry 2, which begins with 'oops]'"),
        (b"[1,]", "(Expecting value), in entry 2"),
        (b"[1][2]", "holds more than one JSON document: '[' follows the first one"),
        (b'{"a": 1}', "'{' is where '[' belongs, at the beginning of a list"),
        (b"[" * 200_000, "(its lists and objects lie too deep in another), in entry 1"),
        (b"[" + b"1" * 5000 + b"]", "(a number in it has more than 4,300 digits), in entry 1"),
        (b'["' + b"x" * 3000, "(Unterminated string starting at), in entry 1"),
        (b'["' + b"x" * 9000 + b'"]', "it does not end within 5,000 characters"),
    ],
)
def test_a_document_that_is_not_whole_is_refused_by_the_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, message: str
) -> None:
    if b"xxx" in content:
        monkeypatch.setattr(json_stream, "LONGEST_ELEMENT", 5000)
        monkeypatch.setattr(json_stream, "CHUNK", 1000)
    with pytest.raises(UserError) as refusal:
        list(elements(write(tmp_path, "list.json", content), no_progress))
    assert message in str(refusal.value)
    assert "list.json" in str(refusal.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "does not begin as it does: it is empty"),
        (b"[]", "does not begin as it does: it is a list"),
        (b"{}", "is not it: its first object has nothing"),
        (b'{"paragraphs": []}', "is not it: its first object has paragraphs"),
        (b'{"data": {"a": 1}}', "is not it: 'data' is an object, not a list"),
        (b'{"data": [1}', "'}' is where ',' belongs, after entry 1"),
        (b'{"data" 1}', "'1' is where ':' belongs, after the name 'data'"),
        (b'{"data": [] "more": 1}', "is where ',' belongs, between two members"),
        (b'{"data": []', "the end of the file is where ',' belongs"),
        (b'{"data": []}}', "holds more than one JSON document"),
    ],
)
def test_an_object_without_the_list_is_refused(
    tmp_path: Path, content: bytes, message: str
) -> None:
    with pytest.raises(UserError) as refusal:
        list(member_elements(write(tmp_path, "one.json", content), "data", "it", no_progress))
    assert message in str(refusal.value)


@pytest.mark.parametrize("cut", [10, 1000, 40_000])
def test_a_document_cut_anywhere_is_refused(tmp_path: Path, cut: int) -> None:
    whole = json.dumps([{"n": number, "text": "x" * 90} for number in range(800)]).encode()
    path = write(tmp_path, "list.json", whole[:cut])
    with pytest.raises(UserError, match="is not a whole JSON document"):
        list(elements(path, no_progress))
