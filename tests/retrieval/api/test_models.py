"""The models in the API."""

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from retrieval.indexing.build import build_index
from retrieval.registry.registry import register
from tests.annotation.api.people import Program, is_problem
from tests.retrieval.conftest import AddPairs
from tests.retrieval.encoders.keywords import KeywordEncoder
from tests.retrieval.registry.trainings import BASE, SELECTOR, figures, trained

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada(db: None) -> Program:
    user = User.objects.create_user("ada")
    user.user_permissions.add(Permission.objects.get(codename="view_qapair"))
    return Program(user)


def test_where_no_model_is_the_list_is_empty(ada: Program) -> None:
    assert ada.get("models").json() == {"next": None, "previous": None, "results": []}
    assert is_problem(ada.get("models/faq-qqa"), 404)
    assert is_problem(ada.get("models/%00"), 404)


def test_a_model_is_listed_with_its_figures_and_its_improvement(ada: Program) -> None:
    model = register(trained("faq-qqa"))
    [row] = ada.get("models").json()["results"]
    assert {name: row[name] for name in ("name", "kind", "form", "base", "release", "sha256")} == {
        "name": "faq-qqa", "kind": "retriever", "form": "QQA", "base": BASE, "release": "faq-1",
        "sha256": model.sha256,
    }  # fmt: skip
    assert (row["test"], row["way"]) == (figures(0.48), "qrc")
    assert row["improvement"]["former"] == BASE
    assert row["improvement"]["gains"]["P@1"] == pytest.approx(0.093)
    assert not row["in_use"]


def test_one_is_read_with_its_seeds_and_its_card(ada: Program) -> None:
    folder = trained("faq-qqa")
    register(folder)
    report = ada.get("models/faq-qqa").json()
    assert ada.get("models").json()["results"] == [
        {name: report[name] for name in report if name not in NEW}
    ]
    assert [one["test"]["P@1"] for one in report["seeds"]] == [0.44, 0.46, 0.48]
    assert (report["best_seed"], report["before"]["test"]) == (3, figures(0.387))
    assert report["card"] == (folder / "card.md").read_text(encoding="utf-8")


NEW = {"best_seed", "seeds", "before", "card"}


def test_a_selector_has_a_threshold_and_nothing_before_it(ada: Program) -> None:
    register(trained("faq-qaq", **SELECTOR))
    report = ada.get("models/faq-qaq").json()
    assert (report["threshold"], report["before"], report["improvement"]["gains"]) == (
        0.37,
        None,
        {},
    )
    assert report["improvement"]["note"].startswith("There was no answer selector before it")


def test_an_index_names_the_registered_model_that_it_was_made_with(
    ada: Program, add_pairs: AddPairs
) -> None:
    add_pairs([("Is rain wet?", "Yes.")])
    model = register(trained("faq-qqa"))
    build_index("keywords", "QQ", encoder=KeywordEncoder("rain"))
    name = str(model.path)
    build_index(name, "QQA", encoder=KeywordEncoder("rain", name=name))
    rows = ada.get("indexes").json()["results"]
    assert [row["registered_model"] for row in rows] == ["faq-qqa", None]
    assert ada.get("models/faq-qqa").json()["in_use"]


def test_a_long_list_asks_for_little(ada: Program) -> None:
    for number in range(12):
        register(trained(f"model-{number}"))
    with CaptureQueriesContext(connection) as asked:
        answer = ada.get("models?page_size=10").json()
    assert len(answer["results"]) == 10
    assert answer["next"]
    assert len(asked) <= 20
