"""Pairs that are withdrawn: left out at once, kept out of the next index, and taken back."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from core.errors import UserError
from retrieval.corpus.ingest import ingest
from retrieval.corpus.withdraw import Withdrawal, read_names, withdraw_pairs, withdraw_source
from retrieval.index.open_index import open_index
from retrieval.index.versions import WITHDRAWN, chosen_index, current_index, folder_of
from retrieval.models import Candidate, IndexVersion, QaPair
from retrieval.search.retrieve import retrieve
from retrieval.vectors.types import unpacked
from tests.retrieval.commands.weather import KEYWORDS, PAIRS, build
from tests.retrieval.conftest import AddPairs
from tests.support.command_line import quorum
from tests.support.query_sets import sample_queries

pytestmark = pytest.mark.django_db


def found(text: str, k: int) -> list[str]:
    """Keys of the nearest pairs by the current index."""
    index = open_index(current_index())
    positions, _ = index.search(KEYWORDS.encode_questions([text]), k, index.excluded())
    return unpacked(index.store.keys[positions[0]])


def test_a_withdrawn_pair_is_found_no_more_and_the_next_ones_move_up(add_pairs: AddPairs) -> None:
    add_pairs(PAIRS)
    build()
    before = found("rain snow", 200)
    assert withdraw_pairs([before[0], before[7]]) == Withdrawal(named=2, changed=2)
    assert found("rain snow", 198) == [key for key in before if key not in (before[0], before[7])]
    withdraw_pairs([before[0], before[7]], restore=True)
    assert found("rain snow", 200) == before


def test_candidates_are_exactly_as_many_as_asked_for_without_the_withdrawn(
    add_pairs: AddPairs,
) -> None:
    pairs = add_pairs(PAIRS)
    build()
    gone = [pair.pair_key for pair in pairs[::2]]
    withdraw_pairs(gone)
    query_set = sample_queries("held out", 5, 1)
    assert retrieve(query_set, k=30, encoder=KEYWORDS) == 150
    assert not Candidate.objects.filter(pair__pair_key__in=gone).exists()


def test_the_next_index_leaves_the_withdrawn_out_and_encodes_nothing(add_pairs: AddPairs) -> None:
    pairs = add_pairs(PAIRS)
    before = build()
    withdraw_pairs([pair.pair_key for pair in pairs[:3]])
    seen: list[int] = []
    after = build(progress=seen.append)
    assert (before.pairs, after.pairs, seen) == (200, 197, [])
    assert current_index() == after


@pytest.mark.parametrize("and_another", [False, True])
def test_a_pair_restored_after_the_next_index_was_made_asks_for_another(
    add_pairs: AddPairs, and_another: bool
) -> None:
    """Also where as many pairs are withdrawn as then."""
    pairs = add_pairs(PAIRS)
    first = build()
    withdraw_pairs([pairs[0].pair_key])
    build()
    withdraw_pairs([pairs[0].pair_key], restore=True)
    if and_another:
        withdraw_pairs([pairs[1].pair_key])
    with pytest.raises(UserError, match=r"^1 q/a pairs that were withdrawn .* run `quorum in"):
        current_index(fresh=True)
    again = build()
    assert current_index() == again
    assert (again == first) is not and_another
    assert pairs[0].pair_key in found("rain", again.pairs)


def test_an_index_is_not_taken_for_one_of_fewer_pairs_that_are_withdrawn_now(
    add_pairs: AddPairs,
) -> None:
    """The living pairs are the same, yet the database has one more."""
    add_pairs(PAIRS)
    first = build()
    [new] = add_pairs([("What is new?", "This.")])
    withdraw_pairs([new.pair_key])
    second = build()
    assert (second.database_digest, second == first) == (first.database_digest, False)
    assert current_index() == second


def test_no_query_is_drawn_from_what_is_withdrawn(add_pairs: AddPairs) -> None:
    rain, wet, snow, drops = add_pairs(
        [
            ("What is rain?", "Water."),
            ("What is rain?", "Wet."),
            ("And snow?", "No."),
            ("what is RAIN", "Drops."),
        ]
    )
    withdraw_pairs([pair.pair_key for pair in (rain, wet, snow)])
    with pytest.raises(UserError, match="holds only 1 distinct questions"):
        sample_queries("too many", 2, 1)
    assert sample_queries("one", 1, 1).queries.get().text == drops.question


def test_a_draw_stays_the_same_where_nothing_of_it_is_withdrawn(add_pairs: AddPairs) -> None:
    pairs = add_pairs(PAIRS)

    def draw() -> list[str]:
        query_set = sample_queries("drawn", 20, 7)
        drawn = list(query_set.queries.values_list("question_key", flat=True))
        query_set.delete()
        return drawn

    first = draw()
    withdraw_pairs([next(pair.pair_key for pair in pairs if pair.question_key not in first)])
    assert draw() == first
    gone = QaPair.objects.filter(question_key=first[0])
    withdraw_pairs([pair.pair_key for pair in gone])
    assert draw()[:19] == first[1:]


def test_the_same_pair_again_stays_withdrawn(add_pairs: AddPairs, tmp_path: Path) -> None:
    [pair] = add_pairs([("What is rain?", "Water.")])
    withdraw_pairs([pair.pair_key])
    path = tmp_path / "again.tsv"
    path.write_text("question\tanswer\nWhat is rain?\tWater.\n")
    result = ingest(path, "other")
    assert (result.added, result.duplicates, result.withdrawn) == (0, 1, 1)
    assert QaPair.objects.get().withdrawn_at is not None


def test_a_source_is_withdrawn_as_a_whole_and_twice_is_once(add_pairs: AddPairs) -> None:
    add_pairs(PAIRS[:3], source="faq")
    add_pairs(PAIRS[3:5], source="forum")
    assert withdraw_source("forum") == Withdrawal(named=2, changed=2)
    assert withdraw_source("forum") == Withdrawal(named=2, changed=0)
    assert QaPair.objects.filter(withdrawn_at=None).count() == 3
    assert withdraw_source("forum", restore=True) == Withdrawal(named=2, changed=2)
    with pytest.raises(UserError, match=r"no q/a pairs of a source 'frum': .* are faq, forum\."):
        withdraw_source("frum")


def test_one_unknown_pair_and_nothing_is_changed(add_pairs: AddPairs) -> None:
    pairs = add_pairs(PAIRS[:2])
    for unknown in ("0" * 64, "987654", "rain"):
        with pytest.raises(UserError, match=f"no q/a pairs {unknown}: .* nothing was changed"):
            withdraw_pairs([pairs[0].pair_key, str(pairs[1].pk), unknown])
    assert not QaPair.objects.filter(withdrawn_at__isnull=False).exists()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("ids.txt", "{0}\n\n{1}\n{0}\n"),
        ("ids.csv", "pair,why\n{0},wrong\n{1},old\n"),
        ("ids.jsonl", '{{"pair": "{0}"}}\n{{"pair_key": "{1}"}}\n'),
    ],
)
def test_pairs_are_named_by_key_or_id_in_a_file(
    add_pairs: AddPairs, tmp_path: Path, name: str, content: str
) -> None:
    pairs = add_pairs(PAIRS[:3])
    path = tmp_path / name
    path.write_text(content.format(pairs[0].pair_key, pairs[1].pk))
    assert withdraw_pairs(read_names(path)) == Withdrawal(named=2, changed=2)
    assert QaPair.objects.get(withdrawn_at=None) == pairs[2]


def test_a_line_that_names_no_pair_is_refused_by_its_number(tmp_path: Path) -> None:
    path = tmp_path / "ids.txt"
    path.write_text("12\nrain\n")
    with pytest.raises(UserError, match=r"line 2 of .*ids.txt names no pair: 'rain' is neither"):
        read_names(path)


def test_the_command_says_how_many(add_pairs: AddPairs, capsys: Any, tmp_path: Path) -> None:
    pairs = add_pairs(PAIRS[:4])
    (tmp_path / "ids.txt").write_text(f"{pairs[1].pk}\n{pairs[2].pk}\n")
    quorum("corpus", "withdraw", "--pair", pairs[0].pair_key, "--json")
    quorum("corpus", "withdraw", "--pair", str(tmp_path / "ids.txt"), "--json")
    quorum("corpus", "restore", "--source", "faq", "--json")
    assert list(map(json.loads, capsys.readouterr().out.splitlines())) == [
        {"pairs_named": 1, "withdrawn": 1, "pairs": [pairs[0].pair_key]},
        {"pairs_named": 2, "withdrawn": 2, "pairs": [str(pairs[1].pk), str(pairs[2].pk)]},
        {"pairs_named": 4, "restored": 3, "pairs": []},
    ]
    with pytest.raises(CommandError, match="Name either pairs or a source"):
        quorum("corpus", "withdraw")
    assert not IndexVersion.objects.exists()


def test_restoring_what_the_index_lacks_says_that_it_is_to_be_made_again(
    add_pairs: AddPairs, capsys: Any
) -> None:
    first, second = (pair.pair_key for pair in add_pairs(PAIRS)[:2])

    def restored(key: str) -> Any:
        quorum("corpus", "restore", "--pair", key, "--json")
        report = json.loads(capsys.readouterr().out)
        del report["pairs"]
        return report

    build()
    withdraw_pairs([first])
    assert restored(first) == {"pairs_named": 1, "restored": 1}
    withdraw_pairs([first])
    build()
    withdraw_pairs([second])
    assert restored(second) == {"pairs_named": 1, "restored": 1}
    said = restored(first)
    assert said.pop("next") == (
        "run `quorum index build --model keywords --form QQA`: the index was made without 1 of the "
        "pairs restored, and no search finds them until then"
    )
    assert restored(first)["next"]
    (folder_of(chosen_index()) / WITHDRAWN).write_bytes(b"")
    assert "next" not in restored(first)  # told by what refuses the damaged file
    build()
    assert restored(first) == {"pairs_named": 1, "restored": 0}
