"""Documents and the spans that are drawn from them, each against the paper's rule."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from core.errors import UserError
from retrieval.training.building import documents as documents_module
from retrieval.training.building import spans as module
from retrieval.training.building.documents import build_documents, paragraphs_of
from retrieval.training.building.spans import build_spans
from retrieval.training.recipes.materials import Source, read_material
from tests.support.command_line import quorum

ABOUT = ("bread", "tea", "rain", "snow", "wool", "clay")


def sentence(subject: str, paragraph: int, number: int) -> str:
    return f"The {subject} of part {paragraph} has its sentence {number} here."


def document(subject: str) -> str:
    """Of three paragraphs with 2, 4 and 7 sentences."""
    return "\n".join(
        " ".join(sentence(subject, paragraph, number) for number in range(count))
        for paragraph, count in enumerate((2, 4, 7))
    )


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "wiki.jsonl"
    path.write_text("".join(json.dumps({"text": document(one)}) + "\n" for one in ABOUT))
    build_documents(tmp_path / "documents", [path])
    return tmp_path / "documents"


def rows(folder: Path) -> list[dict[str, Any]]:
    shards = sorted(folder.glob("rows-*.jsonl"))
    return [json.loads(line) for path in shards for line in path.read_text().splitlines()]


def origin(text: str) -> tuple[str, int, set[int]]:
    """Subject, paragraph and sentences of a text; all of one paragraph."""
    words = text.split()
    [subject], [paragraph] = set(words[1::10]), set(words[4::10])
    return subject, int(paragraph), {int(number) for number in words[8::10]}


def test_a_document_is_paragraphs_of_sentences() -> None:
    text = "Short.\n" + document("bread").replace("sentence 1", "Dr. Smith's no. 1")
    first, second, third = paragraphs_of(text)
    assert [len(each) for each in (first, second, third)] == [2, 4, 7]
    assert second[1] == "The bread of part 1 has its Dr. Smith's no. 1 here."
    assert (
        paragraphs_of("A paragraph alone, of over sixty characters, makes no document here.") == []
    )


def test_documents_come_from_rows_and_from_files_with_paragraphs_apart(tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_text(json.dumps({"text": document("bread")}) + "\n")
    (tmp_path / "two.txt").write_text(document("tea").replace("\n", "\n\n"))
    found = build_documents(tmp_path / "out", [tmp_path / "one.jsonl", tmp_path / "two.txt"])
    assert found["rows"] == 2
    assert [origin(" ".join(one["paragraphs"][0]))[0] for one in rows(tmp_path / "out")] == [
        "bread",
        "tea",
    ]


def test_shards_of_documents_that_are_there_are_passed_over(
    tmp_path: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents_module, "DOCUMENTS", 2)
    wiki = tmp_path / "wiki.jsonl"
    build_documents(tmp_path / "whole", [wiki])
    assert rows(tmp_path / "whole") == rows(corpus)
    (tmp_path / "whole" / "manifest.json").rename(tmp_path / "manifest.json")
    request = json.loads((tmp_path / "manifest.json").read_text())
    names = ("kind", "seed", "options", "inputs")
    (tmp_path / "whole" / "request.json").write_text(json.dumps({n: request[n] for n in names}))
    (tmp_path / "whole" / "rows-00001.jsonl").unlink()
    build_documents(tmp_path / "whole", [wiki])
    assert rows(tmp_path / "whole") == rows(corpus)


def test_each_epoch_draws_other_spans_and_the_first_one_those_of_a_build_without_more(
    tmp_path: Path, corpus: Path
) -> None:
    build_spans(tmp_path / "1", corpus, "sp")
    build_spans(tmp_path / "3", corpus, "sp", epochs=3)
    once, thrice = rows(tmp_path / "1"), rows(tmp_path / "3")
    of_document = len(once) // len(ABOUT)
    epochs = [thrice[start : start + of_document] for start in range(0, len(thrice), of_document)]
    assert [row for of in epochs[::3] for row in of] == once
    assert len({json.dumps(of) for of in epochs[:3]}) == 3


@pytest.mark.parametrize("objective", ["ssp", "sp"])
def test_spans_of_one_paragraph_belong_together(
    tmp_path: Path, corpus: Path, objective: str
) -> None:
    build_spans(tmp_path / "spans", corpus, objective)
    found = rows(tmp_path / "spans")
    assert len(found) == len(ABOUT) * 3 * 5  # each paragraph: a positive and four negatives
    sizes = {0: 2, 1: 4, 2: 7}
    for place in range(0, len(found), 5):
        positive, *negatives = found[place : place + 5]
        subject, paragraph, left = origin(positive["left"])
        assert 1 <= len(left) <= 3
        assert sorted(left) == list(range(min(left), max(left) + 1))
        assert origin(positive["right"])[:2] == (subject, paragraph)
        right = origin(positive["right"])[2]
        assert not left & right
        if objective == "sp":
            assert left | right == set(range(sizes[paragraph]))
        else:
            assert 1 <= len(right) <= 5
        assert [one["label"] for one in (positive, *negatives)] == [1, 0, 0, 0, 0]
        assert [one["hard"] for one in negatives] == [True, True, False, False]
        for one in negatives:
            assert one["left"] == positive["left"]
            other, elsewhere, sentences = origin(one["right"])
            assert (other == subject) == one["hard"]
            if one["hard"]:
                assert elsewhere != paragraph
            if objective == "sp":
                assert len(sentences) < sizes[elsewhere]  # no whole paragraph gives itself away
    assert {origin(one["right"])[0] for one in found} == set(ABOUT)


def test_paragraphs_of_one_document_belong_together(tmp_path: Path, corpus: Path) -> None:
    build_spans(tmp_path / "spans", corpus, "psd")
    found = rows(tmp_path / "spans")
    assert len(found) == len(ABOUT) * 5
    for place in range(0, len(found), 5):
        positive, *negatives = found[place : place + 5]
        subject, paragraph, _ = origin(positive["left"])
        assert origin(positive["right"])[0] == subject
        assert origin(positive["right"])[1] != paragraph
        assert all(origin(one["right"])[0] != subject for one in negatives)


def test_the_same_seed_makes_the_same_spans_in_any_shards(
    tmp_path: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build_spans(tmp_path / "a", corpus, "ssp", seed=3)
    monkeypatch.setattr(module, "DOCUMENTS", 2)
    build_spans(tmp_path / "b", corpus, "ssp", seed=3)
    build_spans(tmp_path / "c", corpus, "ssp", seed=4)
    assert len(list((tmp_path / "b").glob("rows-*"))) == 3
    assert rows(tmp_path / "a") == rows(tmp_path / "b") != rows(tmp_path / "c")


def test_both_orders_of_two_spans_are_drawn() -> None:
    paragraph = [str(number) for number in range(6)]
    draw = random.Random(1)
    pairs = [module._two_spans(paragraph, draw) for _ in range(200)]
    assert {int(left[0]) < int(right[0]) for left, right in pairs} == {True, False}
    assert {len(left) for left, _ in pairs} == {1, 2, 3}
    assert {len(right) for _, right in pairs} == {1, 2, 3, 4, 5}


def test_a_recipe_reads_spans_as_they_are_built(tmp_path: Path, corpus: Path) -> None:
    quorum(
        "material", "spans", str(tmp_path / "s"), "--documents", str(corpus), "--objective", "sp"
    )
    found = read_material(Source("spans", tmp_path / "s"), set())
    assert len(found.train) + len(found.dev) == len(rows(tmp_path / "s"))
    lefts = [{group.query for group in some} for some in (found.train, found.dev)]
    assert not lefts[0] & lefts[1]


def test_a_file_of_any_line_ends_has_its_paragraphs_and_none_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "one.txt"
    path.write_bytes(document("bread").replace("\n", "\r\n \r\n").encode())
    build_documents(tmp_path / "out", [path])
    [found] = rows(tmp_path / "out")
    assert [len(paragraph) for paragraph in found["paragraphs"]] == [2, 4, 7]
    monkeypatch.setattr(documents_module, "LARGEST_TEXT", 400)
    with pytest.raises(UserError, match="has over 400 bytes: divide it into documents"):
        build_documents(tmp_path / "more", [path])
    lines = tmp_path / "wiki.jsonl"
    lines.write_text(json.dumps({"text": document("tea")}) + "\n")
    with pytest.raises(UserError, match=r"Line 1 of .*: the text has over 400 characters"):
        build_documents(tmp_path / "more", [lines])
    path.write_bytes(b"\xff")
    with pytest.raises(UserError, match="is not valid UTF-8"):
        build_documents(tmp_path / "more", [path])


def test_files_in_another_order_are_another_request(tmp_path: Path) -> None:
    files = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for path, subject in zip(files, ("bread", "tea"), strict=True):
        path.write_text(document(subject).replace("\n", "\n\n"))
    build_documents(tmp_path / "out", files)
    with pytest.raises(UserError, match=r"holds a material of another request .options."):
        build_documents(tmp_path / "out", files[::-1])


@pytest.mark.parametrize(
    ("text", "expected"),
    [('{"title": "a"}\n', "there is no text|the text is missing"), ('{"text": 3}\n', "Line 1 of")],
)
def test_a_row_without_a_text_is_named_by_its_line(
    tmp_path: Path, text: str, expected: str
) -> None:
    (tmp_path / "wiki.jsonl").write_text(text)
    with pytest.raises(UserError, match=expected):
        build_documents(tmp_path / "documents", [tmp_path / "wiki.jsonl"])


def test_what_cannot_be_drawn_from_is_refused(tmp_path: Path, corpus: Path) -> None:
    (tmp_path / "one.jsonl").write_text(json.dumps({"text": document("bread")}) + "\n")
    build_documents(tmp_path / "alone", [tmp_path / "one.jsonl"])
    with pytest.raises(UserError, match="has 1 document: negatives need another one"):
        build_spans(tmp_path / "spans", tmp_path / "alone", "ssp")
    build_spans(tmp_path / "spans", corpus, "ssp")
    with pytest.raises(UserError, match="holds spans: name the folder of"):
        build_spans(tmp_path / "more", tmp_path / "spans", "ssp")
    with pytest.raises(UserError, match="There is no objective 'nsp'"):
        build_spans(tmp_path / "more", corpus, "nsp")
    with pytest.raises(UserError, match="Sentences of 'xx' cannot be told apart: choose one of"):
        build_documents(tmp_path / "more", [tmp_path / "one.jsonl"], language="xx")
