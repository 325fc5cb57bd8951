from typing import Any

import pytest
from django.db import IntegrityError, models
from django.utils import timezone

from retrieval.models import IndexVersion, QaPair, Query, QuerySet

pytestmark = pytest.mark.django_db


def pair(**changes: Any) -> QaPair:
    values = {
        "source": "faq",
        "source_id": "1",
        "question": "What is rain?",
        "answer": "Water.",
        "question_key": "a" * 64,
        "pair_key": "b" * 64,
    }
    return QaPair(**(values | changes))


def query(**changes: Any) -> Query:
    values = {"key": "q1", "text": "What is rain?", "question_key": "a" * 64, "position": 1}
    return Query(**(values | {"query_set": QuerySet.objects.get()} | changes))


def index(**changes: Any) -> IndexVersion:
    values = {
        "model": "m",
        "form": "QQ",
        "dimension": 3,
        "pairs": 5,
        "database_digest": "a" * 64,
        "path": "qq-1",
        "manifest": {},
        "chosen_at": timezone.now(),
        "model_setting": "m",
    }
    return IndexVersion(**(values | changes))


def refuse(row: models.Model) -> None:
    with pytest.raises(IntegrityError):
        row.save()


@pytest.mark.parametrize(
    "changes",
    [
        {"pair_key": "c" * 64},  # the same id of the same source
        {"source_id": "2"},  # the same pair
        {"source_id": "2", "pair_key": "c" * 64, "question": ""},
        {"source_id": "2", "pair_key": "c" * 64, "answer": ""},
    ],
)
def test_the_database_refuses_a_second_pair(changes: dict[str, Any]) -> None:
    pair().save()
    refuse(pair(**changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"question_key": "b" * 64, "position": 2},
        {"key": "q2", "position": 2},
        {"key": "q2", "question_key": "b" * 64},
        {"key": "q2", "question_key": "b" * 64, "position": 2, "text": ""},
    ],
)
def test_the_database_refuses_a_second_query(changes: dict[str, Any]) -> None:
    QuerySet.objects.create(name="mine", origin="file")
    query().save()
    refuse(query(**changes))


@pytest.mark.parametrize(
    ("origin", "seed"), [("sample", None), ("file", 1), ("other", 1), ("other", None)]
)
def test_a_query_set_has_a_seed_if_and_only_if_it_was_sampled(
    origin: str, seed: int | None
) -> None:
    refuse(QuerySet(name="mine", origin=origin, seed=seed))


@pytest.mark.parametrize("changes", [{"form": "AQ"}, {"dimension": 0}, {"pairs": 0}])
def test_the_database_refuses_an_impossible_index(changes: dict[str, Any]) -> None:
    refuse(index(**changes))


def test_two_indexes_never_share_a_folder() -> None:
    index().save()
    refuse(index(form="QQA"))


def test_rows_show_themselves_in_words() -> None:
    QuerySet.objects.create(name="mine", origin="file")
    assert str(QuerySet.objects.get()) == "mine"
    assert str(index()) == "m (question alone), 5 pairs"
    assert str(pair()) == str(query()) == "What is rain?"
