"""The pages of the models: who may, what they show, and how little they ask for."""

import re
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from retrieval.indexing.build import build_index
from retrieval.models import TrainedModel
from retrieval.registry.registry import register
from tests.retrieval.conftest import AddPairs
from tests.retrieval.encoders.keywords import KeywordEncoder
from tests.retrieval.registry.trainings import BASE, SELECTOR, trained
from tests.retrieval.web.conftest import As

pytestmark = pytest.mark.django_db

HOSTILE = "<script>alert(1)</script>"
LOOKERS = ("looker", "importer", "withdrawer", "builder", "staff", "root")
MOST_QUERIES = 20


def text_of(answer: Any) -> str:
    page = re.sub(r"<(style|script).*?</\1>", " ", answer.content.decode(), flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


def index_by(model: TrainedModel) -> None:
    name = str(model.path)
    build_index(name, "QQA", encoder=KeywordEncoder("rain", name=name))


@pytest.mark.parametrize("who", [*LOOKERS, "stranger", "nobody"])
def test_the_pages_open_for_those_who_may_look(as_: As, who: str) -> None:
    model = register(trained("faq-qqa"))
    for address in (reverse("database-models"), reverse("database-model", args=[model.name])):
        answer = as_(who).get(address)
        if who == "nobody":
            assert answer.headers["Location"].startswith("/sign-in?next=/admin/database/models")
        else:
            assert answer.status_code == (200 if who in LOOKERS else 403)
        assert as_("root").post(address).status_code == 405


def test_where_no_model_is_the_page_says_how_one_is_made(as_: As) -> None:
    assert b"No models yet" in as_("looker").get(reverse("database-models")).content


def test_the_list_shows_each_with_its_improvement_and_which_is_in_use(
    add_pairs: AddPairs, as_: As
) -> None:
    add_pairs([("Is rain wet?", "Yes.")])
    index_by(register(trained("first")))
    register(trained("second", **SELECTOR, queries={"dev": 4, "test": 5}))
    said = text_of(as_("looker").get(reverse("database-models")))
    assert "first in use P@1 48.0 MAP 40.0" in said
    improvement = "P@1 +9.3 MAP +0.0 MRR +0.0 Hit@5 +0.0 Hit@10 +0.0"
    assert (
        f"{improvement} over {BASE} Retriever reads the question and its answer {BASE} faq-1"
        in said
    )
    assert "second P@1 48.0" in said
    assert "Hit@10 70.0 QRC, 5 queries There was no answer selector before it" in said
    assert f"Answer selector reads the answer and its question {BASE} faq-1" in said


def test_a_models_page_has_the_figures_of_its_card(as_: As) -> None:
    model = register(trained("faq-qqa", queries={"dev": 1, "test": 5}))
    said = text_of(as_("looker").get(reverse("database-model", args=["faq-qqa"])))
    assert model.sha256 in said
    assert "counted: QRC (a query without a positive counts 0)" in said
    assert "P@1 test 38.7 46.0 ± 2.0 48.0" in said
    assert "The figures rest on 1 query of dev and 5 of test." in said
    gain = f"On the test split of faq-1, 5 queries (QRC), over {BASE}: P@1 +9.3 38.7 before, 48.0"
    assert gain in said
    assert "batch_size 64, learning_rate 2e-05, max_length 128, of 2 tried" in said
    assert "duplicate questions: file pairs.tsv" in said


@pytest.mark.parametrize("name", ["nobody", "%00", "..", "%ED%A0%80", "a" * 500, HOSTILE])
def test_a_model_that_is_not_there_is_not_found(as_: As, name: str) -> None:
    assert as_("looker").get(f"{reverse('database-models')}/{name}").status_code == 404


def test_hostile_texts_are_shown_as_texts(add_pairs: AddPairs, as_: As) -> None:
    add_pairs([("Is rain wet?", "Yes.")])
    report = {
        "base": HOSTILE,
        "release": {"name": HOSTILE, "sha256": "a" * 64},
        "recipe": {HOSTILE: HOSTILE},
        "versions": {HOSTILE: [HOSTILE]},
        "chosen": {HOSTILE: HOSTILE},
        "pairs": {HOSTILE: HOSTILE},
        "before": {"dev": {HOSTILE: 0.1}, "test": {HOSTILE: 0.1}},
    }
    index_by(register(trained("faq-qqa", **report)))
    browser = as_("root")
    pages = [reverse("database-models"), reverse("database-model", args=["faq-qqa"])]
    for address in (
        *pages,
        reverse("database"),
        reverse("admin:retrieval_trainedmodel_changelist"),
    ):
        page = browser.get(address).content.decode()
        assert HOSTILE not in page
        assert ("&lt;script&gt;" in page) == (address != reverse("database"))


def test_the_pages_ask_for_little_however_many_models_there_are(
    add_pairs: AddPairs, as_: As
) -> None:
    add_pairs([("Is rain wet?", "Yes.")])
    for number in range(12):
        index_by(register(trained(f"model-{number}", **(SELECTOR if number % 2 else {}))))
    browser = as_("root")
    for address in (
        reverse("database-models"),
        reverse("database-model", args=["model-3"]),
        reverse("database"),
        reverse("admin:retrieval_trainedmodel_changelist"),
        reverse("admin:retrieval_indexversion_changelist"),
    ):
        with CaptureQueriesContext(connection) as asked:
            assert browser.get(address).status_code == 200
        assert len(asked) <= MOST_QUERIES, address


def test_the_databases_page_names_an_index_by_its_registered_model(
    add_pairs: AddPairs, as_: As
) -> None:
    add_pairs([("Is rain wet?", "Yes.")])
    model = register(trained("faq-qqa"))
    index_by(model)
    page = as_("looker").get(reverse("database")).content.decode()
    assert f'<a href="{reverse("database-model", args=["faq-qqa"])}">faq-qqa</a>' in page
    assert str(model.path) not in page
