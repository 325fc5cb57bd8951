import gzip
import json
import random
from pathlib import Path

import pytest

from core.errors import UserError
from core.text.clean import question_key
from retrieval.corpus.pair_reader import MAX_QUESTION
from retrieval.models import QaPair, Query, QuerySet
from retrieval.query_sets import held_out
from retrieval.query_sets.held_out import draw_queries
from tests.retrieval.conftest import AddPairs
from tests.support.query_sets import load_queries, sample_queries

pytestmark = pytest.mark.django_db

PAIRS = [(f"What is thing {n}?", f"It is {n}.") for n in range(40)]


def texts(query_set: QuerySet) -> list[str]:
    return list(query_set.queries.order_by("position").values_list("text", flat=True))


def refusal(tmp_path: Path, content: bytes, name: str) -> str:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(UserError) as refused:
        load_queries("mine", path)
    assert not QuerySet.objects.exists()
    return str(refused.value)


def test_a_sample_has_the_size_asked_for_and_no_question_twice(add_pairs: AddPairs) -> None:
    add_pairs([*PAIRS, *((f"{q.upper()}!", f"{a}!") for q, a in PAIRS)])
    query_set = sample_queries("first", 30, 7)
    keys = [query.question_key for query in query_set.queries.all()]
    assert len(keys) == len(set(keys)) == 30
    assert (query_set.origin, query_set.seed) == ("sample", 7)
    assert all(query.key == "q" + query.question_key[:15] for query in query_set.queries.all())


def test_a_sample_depends_on_the_seed_and_not_on_the_order_of_the_rows(
    add_pairs: AddPairs,
) -> None:
    add_pairs(PAIRS)
    samples = {seed: texts(sample_queries(f"seed {seed}", 8, seed)) for seed in (1, 2)}
    QuerySet.objects.all().delete()
    QaPair.objects.all().delete()
    shuffled = random.Random(5).sample(PAIRS, len(PAIRS))
    add_pairs(shuffled)
    assert texts(sample_queries("again", 8, 1)) == samples[1]
    assert samples[1] != samples[2]


def test_a_known_sample_stays_the_same_in_every_process(add_pairs: AddPairs) -> None:
    add_pairs(PAIRS[:10])
    assert texts(sample_queries("first", 3, 1)) == [
        "What is thing 1?",
        "What is thing 7?",
        "What is thing 2?",
    ]


def test_a_later_sample_takes_no_query_of_an_earlier_set(
    add_pairs: AddPairs, tmp_path: Path
) -> None:
    add_pairs(PAIRS)
    (tmp_path / "mine.txt").write_text("WHAT is thing 3\n")
    load_queries("mine", tmp_path / "mine.txt")
    first = set(texts(sample_queries("first", 20, 1)))
    second = set(texts(sample_queries("second", 19, 1)))
    assert first | second == {q for q, _ in PAIRS} - {"What is thing 3?"}
    with pytest.raises(UserError, match="1 queries were asked for, but the database holds only 0"):
        sample_queries("third", 1, 1)


def test_the_commonest_wording_stands_for_all_copies_of_a_question(add_pairs: AddPairs) -> None:
    add_pairs(
        [
            ("WHAT IS RAIN", "Wet."),
            ("What is rain?", "Water."),
            ("What is rain?", "Drops."),
            ("what is rain", "Weather."),
        ]
    )
    assert texts(sample_queries("first", 1, 1)) == ["What is rain?"]


def test_of_equally_common_wordings_the_first_in_order_is_taken(add_pairs: AddPairs) -> None:
    add_pairs([("what is rain", "Wet."), ("What is rain?", "Water.")])
    assert texts(sample_queries("first", 1, 1)) == ["What is rain?"]


@pytest.mark.parametrize("count", [0, -1])
def test_a_sample_of_nothing_is_refused(count: int) -> None:
    with pytest.raises(UserError, match="needs at least one query"):
        sample_queries("first", count, 1)


def test_too_large_a_sample_is_refused_with_both_numbers(add_pairs: AddPairs) -> None:
    add_pairs([*PAIRS, ("what is THING 0", "Other.")])
    with pytest.raises(UserError, match=r"41 queries were asked for, .* holds only 40 distinct"):
        sample_queries("first", 41, 1)
    assert not QuerySet.objects.exists()


def test_a_draw_counts_the_questions_that_it_reads(
    add_pairs: AddPairs, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_pairs(PAIRS)
    monkeypatch.setattr(held_out, "LOOKUP", 15)
    report: list[int] = []
    drawn = draw_queries(20, 1, report.append)
    assert report == [15, 15]  # of 40
    monkeypatch.undo()
    assert texts(drawn.save("slow")) == texts_of_a_new_draw()


def texts_of_a_new_draw() -> list[str]:
    QuerySet.objects.all().delete()
    return texts(sample_queries("again", 20, 1))


def test_what_another_set_took_during_a_draw_is_not_held_out_twice(add_pairs: AddPairs) -> None:
    add_pairs(PAIRS)
    drawn = draw_queries(20, 1)
    sample_queries("faster", 20, 2)
    with pytest.raises(UserError, match="Another query set was made"):
        drawn.save("slower")
    assert QuerySet.objects.get().name == "faster"


@pytest.mark.parametrize(
    ("name", "message"),
    [("", "needs a name"), ("n" * 101, "needs a name"), ("taken", "already a query set 'taken'")],
)
def test_a_query_set_needs_a_name_of_its_own(
    add_pairs: AddPairs, tmp_path: Path, name: str, message: str
) -> None:
    add_pairs(PAIRS)
    sample_queries("taken", 1, 1)
    (tmp_path / "mine.txt").write_text("What is rain?")
    with pytest.raises(UserError, match=message):
        sample_queries(name, 1, 1)
    with pytest.raises(UserError, match=message):
        load_queries(name, tmp_path / "mine.txt")
    assert QuerySet.objects.count() == 1


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("mine.txt", b"What is  rain?\n\nWhat is snow?\n"),
        ("mine.txt", b"\xef\xbb\xbfWhat is rain?\r\nWhat is snow?\r\n"),
        ("mine.txt.gz", gzip.compress(b"What is rain?\nWhat is snow?", mtime=0)),
        ("mine.csv", b'query\n"What is\nrain?"\nWhat is snow?\n'),
        ("mine.tsv", b"Question\tscore\nWhat is rain?\t1\nWhat is snow?\t2\n"),
        ("mine.jsonl", b'{"query": "What is rain?"}\n{"question": "What is snow?", "n": 1}\n'),
    ],
)
def test_queries_come_from_every_format_in_their_order(
    tmp_path: Path, name: str, content: bytes
) -> None:
    (tmp_path / name).write_bytes(content)
    query_set = load_queries("mine", tmp_path / name)
    assert texts(query_set) == ["What is rain?", "What is snow?"]
    assert (query_set.origin, query_set.seed, query_set.duplicates) == ("file", None, 0)
    assert query_set.queries.get(position=1).key == "q" + question_key("what is rain")[:15]


def test_a_querys_own_id_becomes_its_key(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("id,query\nw-1,What is rain?\n,What is snow?\n")
    load_queries("mine", path)
    assert Query.objects.get(text="What is rain?").key == "w-1"
    assert Query.objects.get(text="What is snow?").key.startswith("q")


def test_a_query_may_be_as_long_as_a_question_of_the_database(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("x" * MAX_QUESTION)
    assert load_queries("mine", path).queries.count() == 1


def test_equal_questions_become_one_query_and_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("What is rain?\nwhat is RAIN\nWhat is snow?\nWhat is rain!\n")
    query_set = load_queries("mine", path)
    assert texts(query_set) == ["What is rain?", "What is snow?"]
    assert query_set.duplicates == 2


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("mine.txt", b"", "(0 bytes) has no rows"),
        ("mine.txt", b"What is rain?\ncaf\xe9?\n", "1 of its 2 rows cannot be used: line 2: the"),
        ("mine.txt", b"caf\xe9?\n", "(save the file as UTF-8); correct or remove them."),
        ("mine.txt", b"What?\rWhy?\r", "has the line ends of old Macs (CR): save it with LF"),
        ("mine.txt", b"?!\n", "line 1: the query has only punctuation"),
        ("mine.txt", b"why " * 25_000, "line 1: the query has 99,999 characters, more than 10,000"),
        (
            "mine.csv",
            b"q\nWhat?\n",
            "has no column 'query' or 'question': name it in its first line",
        ),
        ("mine.csv", b"id,query\na b,What?\n", "the id 'a b' is not made of 1 to 40 letters"),
        ("mine.csv", b"id,query\nx,What?\nx,Why?\n", "two queries have the id x"),
        ("mine.jsonl", b'{"id": 1}\n', "line 1: there is no query or question (columns found: id)"),
        ("mine.jsonl", b"{}\n" * 5, "5 of its 5 rows cannot be used: line 1: "),
        ("mine.jsonl", b"{}\n" * 5, " and 2 more; correct or remove them."),
        ("mine.jsonl", b'{"query": "\\ud800 so?"}\n', "line 1: the row is not valid UTF-8"),
        ("mine.pdf", b"%PDF", "is a PDF, not a file of data"),
        ("mine.doc", b"?", "must end in .jsonl, .csv, .tsv, .txt, in one of these with .gz."),
    ],
)
def test_a_file_of_queries_is_taken_whole_or_refused(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    assert message in refusal(tmp_path, content, name)


def test_whole_numbers_do_as_ids(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text(json.dumps({"id": 12, "query": "What is rain?"}))
    load_queries("mine", path)
    assert Query.objects.get().key == "12"
