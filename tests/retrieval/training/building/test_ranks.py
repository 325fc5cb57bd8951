"""Ranks as a training reads them: by brute force, killed, damaged, and asked for again."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.command import Error
from core.errors import UserError
from core.text.clean import question_key
from retrieval.models import QaPair
from retrieval.training.building import ranks as module
from retrieval.training.building.ranks import RankOptions, build_ranks, sampled
from retrieval.training.building.shards import MANIFEST
from retrieval.training.recipes.materials import Source, read_material
from tests.retrieval.commands.weather import KEYWORDS, PAIRS, build
from tests.retrieval.conftest import AddPairs
from tests.retrieval.training.killing import Killed
from tests.support.command_line import quorum

pytestmark = pytest.mark.django_db
QUERIES = [f"is there {one} {other} today" for one, other in (("rain", "snow"), ("sun", "wind"))]


@pytest.fixture
def corpus(add_pairs: AddPairs) -> list[QaPair]:
    pairs = add_pairs(PAIRS)
    build("QQ")
    return pairs


def rows(folder: Path) -> list[dict[str, Any]]:
    shards = sorted(folder.glob("rows-*.jsonl"))
    return [json.loads(line) for path in shards for line in path.read_text().splitlines()]


def by_brute_force(query: str, depth: int) -> list[list[str]]:
    pairs = list(QaPair.objects.exclude(question_key=question_key(query)).order_by("pair_key"))
    vectors = KEYWORDS.encode_questions([pair.question for pair in pairs]).astype(np.float64)
    cosines = vectors @ KEYWORDS.encode_questions([query])[0].astype(np.float64)
    best = sorted(
        (-round(float(cosine), 6), pair.pair_key, [pair.question, pair.answer])
        for cosine, pair in zip(cosines, pairs, strict=True)
    )
    return [texts for _, _, texts in best[:depth]]


def test_a_rank_is_the_nearest_pairs_and_in_half_of_them_the_first_one_is_swapped(
    tmp_path: Path, corpus: list[QaPair]
) -> None:
    texts = [pair.question for pair in corpus[:60]]
    found = build_ranks(tmp_path / "qrp", texts, RankOptions(depth=4), encoder=KEYWORDS)
    assert found["rows"] == 60
    swapped = 0
    for text, row in zip(texts, rows(tmp_path / "qrp"), strict=True):
        assert row["query"] == text
        expected = by_brute_force(text, 4)
        if row["label"]:
            assert row["pairs"] == expected
            continue
        swapped += 1
        place = row["pairs"].index(expected[0])
        assert place > 0
        expected[0], expected[place] = expected[place], expected[0]
        assert row["pairs"] == expected
    assert 15 < swapped < 45


def test_each_epoch_swaps_others_and_the_first_one_is_as_without_more(
    tmp_path: Path, corpus: list[QaPair]
) -> None:
    texts = [pair.question for pair in corpus[:40]]
    for epochs in (1, 3):
        options = RankOptions(depth=4, epochs=epochs)
        build_ranks(tmp_path / str(epochs), texts, options, encoder=KEYWORDS)
    once, thrice = rows(tmp_path / "1"), rows(tmp_path / "3")
    assert [row["query"] for row in thrice] == [text for text in texts for _ in range(3)]
    assert thrice[::3] == once
    assert len({json.dumps(thrice[place::3]) for place in range(3)}) == 3
    with pytest.raises(UserError, match="0 epochs have nothing to draw"):
        build_ranks(tmp_path / "0", texts, RankOptions(epochs=0), encoder=KEYWORDS)


def test_a_build_that_was_killed_is_gone_on_with_and_makes_the_same_bytes(
    tmp_path: Path, corpus: list[QaPair], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "QUERIES", 10)
    texts, options = [pair.question for pair in corpus[:35]], RankOptions(depth=3, seed=7)
    build_ranks(tmp_path / "whole", texts, options, encoder=KEYWORDS)

    def kill(shards: int) -> None:
        if (tmp_path / "killed" / "rows-00001.jsonl").exists():
            raise Killed

    with pytest.raises(Killed):
        build_ranks(tmp_path / "killed", texts, options, encoder=KEYWORDS, progress=kill)
    before = (tmp_path / "killed" / "rows-00000.jsonl").stat().st_mtime_ns
    found = build_ranks(tmp_path / "killed", texts, options, encoder=KEYWORDS)
    assert (tmp_path / "killed" / "rows-00000.jsonl").stat().st_mtime_ns == before
    for path in (tmp_path / "whole").iterdir():
        assert path.read_bytes() == (tmp_path / "killed" / path.name).read_bytes()
    assert len(found["files"]) == 4
    again = build_ranks(tmp_path / "killed", texts, options, encoder=KEYWORDS)
    assert again["unchanged"] is True


def test_another_request_or_somebodys_folder_is_refused(
    tmp_path: Path, corpus: list[QaPair]
) -> None:
    build_ranks(tmp_path / "qrp", QUERIES, RankOptions(), encoder=KEYWORDS)
    with pytest.raises(UserError, match=r"holds a material of another request .seed.: name a new"):
        build_ranks(tmp_path / "qrp", QUERIES, RankOptions(seed=2), encoder=KEYWORDS)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").touch()
    with pytest.raises(UserError, match=r"holds something other than a material .notes.txt."):
        build_ranks(tmp_path / "mine", QUERIES, RankOptions(), encoder=KEYWORDS)


def test_a_training_reads_the_folder_and_refuses_a_shard_that_was_changed(
    tmp_path: Path, corpus: list[QaPair]
) -> None:
    texts = [pair.question for pair in corpus[:40]]
    build_ranks(tmp_path / "qrp", texts, RankOptions(), encoder=KEYWORDS)
    found = read_material(Source("ranks", tmp_path / "qrp"), set())
    assert found.dev
    assert len(found.train) + len(found.dev) == 40
    held_out = {question_key(texts[0])}
    assert read_material(Source("ranks", tmp_path / "qrp"), held_out).held_out >= 1
    with pytest.raises(UserError, match="holds ranks, and the recipe says pairs"):
        read_material(Source("pairs", tmp_path / "qrp"), set())
    quorum("material", "verify", str(tmp_path / "qrp"))
    shard = tmp_path / "qrp" / "rows-00000.jsonl"
    shard.write_text(shard.read_text().replace('"label":1', '"label":0'))
    with pytest.raises(UserError, match=r"is not the file that manifest\.json names"):
        read_material(Source("ranks", tmp_path / "qrp"), set())
    with pytest.raises(Error, match=r"is not the file that manifest\.json names"):
        quorum("material", "verify", str(tmp_path / "qrp"))
    (tmp_path / "qrp" / MANIFEST).unlink()
    with pytest.raises(UserError, match="holds no whole material"):
        read_material(Source("ranks", tmp_path / "qrp"), set())
    with pytest.raises(Error, match="is no folder that `quorum material` built"):
        quorum("material", "verify", str(shard))


def test_queries_are_questions_that_no_campaign_holds_out(corpus: list[QaPair]) -> None:
    texts = sampled(20, 1, None, lambda done: None)
    assert len(set(texts)) == 20
    assert {question_key(text) for text in texts} <= {pair.question_key for pair in corpus}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], "Say which queries: --queries FILE, or --sample N."),
        (["--sample", "3", "--depth", "1"], "A rank of 1 has nothing to swap: take 2 or more."),
    ],
)
def test_a_command_that_cannot_be_done_says_why(
    tmp_path: Path, corpus: list[QaPair], words: list[str], expected: str
) -> None:
    with pytest.raises(Error, match=expected):
        quorum("material", "ranks", str(tmp_path / "qrp"), *words)
    assert not (tmp_path / "qrp").exists()
