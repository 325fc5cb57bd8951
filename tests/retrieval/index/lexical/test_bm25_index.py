"""BM25 over an index's pairs: by the formula, exactly k, and no file but the one recorded."""

import json
import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from core.errors import UserError
from retrieval.index.lexical.bm25_index import LexicalIndex, keys_of, lexical_folder, lexical_index
from retrieval.index.lexical.bm25_weights import words
from retrieval.models import QaPair
from retrieval.vectors.types import PairKeys, packed, unpacked
from tests.retrieval.commands.weather import PAIRS, build
from tests.retrieval.conftest import AddPairs

K1, B = 1.5, 0.75


def keys(count: int) -> PairKeys:
    return packed([f"{number:064x}" for number in range(count)])


def by_the_formula(query: str, texts: Sequence[str]) -> list[float]:
    documents = [Counter(words(text)) for text in texts]
    length = sum(map(Counter.total, documents)) / len(documents)
    scores = []
    for document in documents:
        total = 0.0
        for word in words(query):
            holders = sum(word in other for other in documents)
            idf = math.log(1 + (len(documents) - holders + 0.5) / (holders + 0.5))
            weight = document[word] + K1 * (1 - B + B * document.total() / length)
            total += idf * document[word] / weight
        scores.append(total)
    return scores


@pytest.mark.parametrize("k", [1, 7, 40])
def test_the_best_are_those_of_the_formula(k: int) -> None:
    draw = random.Random(k)
    vocabulary = [f"w{number}" for number in range(12)]
    texts = [" ".join(draw.choices(vocabulary, k=draw.randint(1, 9))) for _ in range(60)]
    queries = [" ".join(draw.choices([*vocabulary, "unheard"], k=4)) for _ in range(20)]
    excluded = np.array([draw.random() < 0.3 for _ in texts])
    index = LexicalIndex.build(keys(60), texts)
    rows, scores = index.search(queries, k, excluded)
    for query, found, given in zip(queries, rows.tolist(), scores.tolist(), strict=True):
        wanted = [round(score, 4) for score in by_the_formula(query, texts)]
        allowed = sorted(np.flatnonzero(~excluded).tolist(), key=lambda row: (-wanted[row], row))
        assert [wanted[row] for row in found] == [wanted[row] for row in allowed[:k]]
        assert given == pytest.approx([wanted[row] for row in found], abs=2e-4)
        assert len(set(found)) == k
        assert not excluded[found].any()


def test_equal_texts_stand_in_the_order_of_their_keys() -> None:
    index = LexicalIndex.build(keys(5), ["green tea"] * 5)
    rows, scores = index.search(["tea"], 3, np.zeros(5, np.bool_))
    assert rows.tolist() == [[0, 1, 2]]
    assert len(set(scores[0].tolist())) == 1


@pytest.mark.parametrize("query", ["rain", "unheard of", "", "?!"])
def test_as_many_as_were_asked_for_come_back_whatever_is_asked(query: str) -> None:
    index = LexicalIndex.build(keys(6), ["tea", "rain", "tea", "tea rain", "", "tea"])
    excluded = np.array([False, False, True, False, False, False])
    rows, scores = index.search([query], 5, excluded)
    assert sorted(rows[0].tolist()) == [0, 1, 3, 4, 5]
    shares = [1, 3] if query == "rain" else []
    assert rows[0, : len(shares)].tolist() == shares
    assert rows[0, len(shares) :].tolist() == [row for row in (0, 1, 3, 4, 5) if row not in shares]
    assert (scores[0] > 0).sum() == len(shares)


@pytest.mark.parametrize("texts", [["", ""], ["?!", "--"]])
def test_an_index_without_a_word_finds_the_first_pairs(texts: list[str], tmp_path: Path) -> None:
    LexicalIndex.build(keys(2), texts).save(tmp_path)
    rows, scores = LexicalIndex.load(tmp_path).search(["tea"], 2, np.zeros(2, np.bool_))
    assert (rows.tolist(), scores.tolist()) == ([[0, 1]], [[0.0, 0.0]])


def test_an_index_that_was_saved_finds_the_same(tmp_path: Path) -> None:
    texts = [f"{question} {answer}" for question, answer in PAIRS]
    made = LexicalIndex.build(keys(len(texts)), texts)
    made.save(tmp_path)
    loaded = LexicalIndex.load(tmp_path)
    queries = ["rain and snow", "What is hail, version 1?", "FOG", "sun sun wind"]
    nothing = np.zeros(len(texts), np.bool_)
    for mine, theirs in zip(
        made.search(queries, 9, nothing), loaded.search(queries, 9, nothing), strict=True
    ):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize(("form", "answers"), [("QQA", True), ("QQ", False)])
def test_the_form_decides_which_words_count(add_pairs: AddPairs, form: str, answers: bool) -> None:
    add_pairs([("What is tea?", "A drink."), ("What is rain?", "Water.")])
    index = lexical_index(build(form))
    [first, *_], _ = (each[0] for each in index.search(["drink water tea"], 2, np.zeros(2, bool)))
    _, [scores] = index.search(["water"], 2, np.zeros(2, bool))
    assert QaPair.objects.get(pair_key=unpacked(index.keys)[first]).question == "What is tea?"
    assert (scores[0] > 0) == answers


def test_it_is_made_once_for_a_set_of_pairs_and_holds_those_of_the_version(
    add_pairs: AddPairs,
) -> None:
    added = add_pairs(PAIRS)
    version, seen = build(), list[int]()
    first = lexical_index(version, seen.append)
    assert sum(seen) == len(PAIRS)
    again = lexical_index(version, seen.append)
    assert sum(seen) == len(PAIRS)
    wanted = sorted(pair.pair_key for pair in added)
    assert unpacked(first.keys) == unpacked(again.keys) == unpacked(keys_of(version)) == wanted


class Killed(Exception):
    pass


def test_a_build_that_is_killed_leaves_none_and_the_next_one_makes_it(
    add_pairs: AddPairs,
) -> None:
    add_pairs(PAIRS)
    version = build()

    def die(done: int) -> None:
        raise Killed

    with pytest.raises(Killed):
        lexical_index(version, die)
    assert not lexical_folder(version).exists()
    assert len(lexical_index(version).keys) == len(PAIRS)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def altered(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))


def foreign(path: Path) -> None:
    manifest = json.loads(path.read_bytes())
    manifest["database_digest"] = "0" * 64
    path.write_text(json.dumps(manifest, indent=2, sort_keys=True) + "\n")


@pytest.mark.parametrize(
    ("name", "harm", "what"),
    [
        ("data.npy", Path.unlink, "missing"),
        ("indices.npy", cut, "bytes instead of"),
        ("keys.npy", altered, "its checksum differs"),
        ("words.json", altered, "its checksum differs"),
        ("manifest.json", Path.unlink, "missing"),
        ("manifest.json", cut, "no manifest|not the one"),
        ("manifest.json", foreign, "not the one of this index's pairs"),
    ],
)
def test_a_file_that_is_not_the_one_recorded_is_refused_by_name(
    add_pairs: AddPairs, name: str, harm: Callable[[Path], object], what: str
) -> None:
    add_pairs(PAIRS)
    version = build()
    lexical_index(version)
    harm(lexical_folder(version) / name)
    with pytest.raises(UserError, match=what) as refusal:
        lexical_index(version)
    assert str(lexical_folder(version) / name) in str(refusal.value)
    assert "it is rebuilt when needed" in str(refusal.value)
