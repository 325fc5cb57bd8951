"""Very many rows at once hold what was given, whatever it is made of: by COPY on PostgreSQL.

SQLite has its own way there; the suite runs on PostgreSQL where QUORUM_DATABASE_URL names one.
"""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import Group
from django.db import DataError, IntegrityError, connection, transaction
from django.db.models import F, Value

from annotation.models import Control, Hit
from core.files import bulk_insert
from core.files.bulk_insert import insert, insert_from_query, insert_objects, update_each
from tests.annotation.support.hits import make_campaign

pytestmark = [pytest.mark.django_db, pytest.mark.concurrent]

HOSTILE = (
    "",
    " ",
    "it's \"quoted\", isn't it?",
    '"',
    "''; DROP TABLE annotation_control; --",
    "a,b;c",
    "two\nlines",
    "\n",
    "\\.",
    "before\n\\.\nafter",
    "\\.\n",
    "\r",
    "one\r\ntwo\rthree",
    "a\ttab",
    "\\",
    "\\N",
    "\\n \\t \\\\",
    "NULL",
    "%s %(name)s %% {} $1 :name ?",
    "👩‍🚀 naïve ﷽ שלום",
    "\ufeffmark \u2028 \u2029 \x1c \x0b \x7f",
    "x" * 100_000,
)
COLUMNS = ("kind", "campaign_id", "key", "query", "question", "answer")


def rows(texts: tuple[str, ...] = HOSTILE) -> Iterator[tuple[object, ...]]:
    for number, text in enumerate(texts):
        yield "positive", None, f"c{number}", text, f"{text}{text}", "plain"


def test_every_text_comes_back_as_it_was() -> None:
    insert(Control, COLUMNS, rows())
    stored = Control.objects.order_by("pk").values_list(*COLUMNS)
    assert list(stored) == list(rows())


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_text_in_the_first_or_the_last_column_ends_nothing_early(text: str) -> None:
    columns = ("query", "kind", "key", "question", "answer")
    insert(Control, columns, [(text, "positive", "a", "", text), (text, "positive", "b", "", text)])
    stored = Control.objects.order_by("key").values_list("query", "answer")
    assert list(stored) == [(text, text)] * 2


def test_a_text_that_stands_alone_in_its_row_is_a_row() -> None:
    alone = [text for text in HOSTILE if len(text) <= 150]
    insert(Group, ["name"], [(text,) for text in alone])
    assert list(Group.objects.order_by("pk").values_list("name", flat=True)) == alone


def test_none_is_null_and_an_empty_text_is_none_of_it() -> None:
    campaign = make_campaign()
    now = datetime(2026, 11, 21, 15, 4, 5, 678_901, tzinfo=UTC)
    columns = (
        "campaign_id", "key", "number", "seed", "instructions_id", "max_assignments",
        "price_cents", "tie_reserve", "repack", "excluded_workers", "gone", "fault", "crowd_id",
        "expires_at",
    )  # fmt: skip
    same = (campaign.instructions.get().pk, 2, 19, 0, False, "[]", True)
    insert(
        Hit,
        columns,
        [
            (campaign.pk, "one", 1, -(2**63), *same, "", None, None),
            (campaign.pk, "two", 2, 2**63 - 1, *same, "it's \\.", "3HIT", now),
        ],
    )
    stored = Hit.objects.order_by("number").values_list(
        "seed", "fault", "crowd_id", "expires_at", "gone"
    )
    assert list(stored) == [
        (-(2**63), "", None, None, True),
        (2**63 - 1, "it's \\.", "3HIT", now, True),
    ]


def test_objects_are_stored_with_their_defaults_and_the_time() -> None:
    campaign = make_campaign()
    messages = [
        campaign.outbox.model(campaign=campaign, kind="bonus", token=f"t{number}", reason=text)
        for number, text in enumerate(HOSTILE)
    ]
    insert_objects(messages)
    stored = campaign.outbox.order_by("pk")
    assert [one.reason for one in stored] == list(HOSTILE)
    assert {(one.state, one.new_assignments, one.worker_id) for one in stored} == {
        ("pending", 0, None)
    }
    assert all(one.created_at is not None for one in stored)
    insert_objects([])


def test_texts_of_their_own_are_updated_as_they_are() -> None:
    insert(Control, COLUMNS, rows())
    pks = list(Control.objects.order_by("pk").values_list("pk", flat=True))
    update_each(Control, "answer", dict(zip(pks, HOSTILE, strict=True)))
    stored = Control.objects.order_by("pk").values_list("query", "answer")
    assert list(stored) == [(text, text) for text in HOSTILE]
    update_each(Control, "answer", {})


def test_what_a_query_finds_is_copied_in_the_database() -> None:
    insert(Control, COLUMNS, rows())
    found = Control.objects.order_by("pk").values_list(
        Value("positive"), F("query"), F("question"), Value("copied"), F("pk")
    )
    names = ("kind", "query", "question", "answer", "key")
    assert insert_from_query(Control, names, found) == len(HOSTILE)
    copies = Control.objects.filter(answer="copied").order_by("pk")
    assert list(copies.values_list("query", flat=True)) == list(HOSTILE)


@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 8])
def test_no_row_is_lost_where_one_lot_ends_and_the_next_begins(
    monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr(bulk_insert, "ROWS", 4)
    insert(Control, COLUMNS, rows(HOSTILE[:count]))
    stored = Control.objects.order_by("pk").values_list("query", flat=True)
    assert list(stored) == list(HOSTILE[:count])


def test_a_row_that_breaks_a_rule_leaves_none_of_the_others() -> None:
    twice = [*rows(), ("positive", None, "c0", "again", "again", "again")]
    with pytest.raises(IntegrityError), transaction.atomic():
        insert(Control, COLUMNS, twice)
    assert not Control.objects.exists()


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite takes U+0000")
def test_a_null_character_is_refused_and_leaves_nothing() -> None:
    with pytest.raises((DataError, ValueError)), transaction.atomic():
        insert(Control, COLUMNS, rows((*HOSTILE, "a\x00b")))
    assert not Control.objects.exists()
