"""Pairs newer than the index: every face carries on, says how many it lacks, and insists on none
where it is asked to."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError
from django.urls import reverse

from retrieval.encoders.lazy import load_encoder
from retrieval.indexing.build import build_index
from tests.annotation.api.people import Program
from tests.retrieval.conftest import AddPairs
from tests.retrieval.training import tiny
from tests.retrieval.web.conftest import As, account
from tests.support.command_line import quorum

pytestmark = pytest.mark.django_db

NEWER = 3
SENTENCE = "3 pairs are newer than the index: build it again to find them."
ASKED = "how do I make a loaf"
QUIET = ("--device", "cpu", "--quiet")
RETRIEVE = ("campaign", "retrieve", "faq", *QUIET)


@pytest.fixture(autouse=True)
def _world(add_pairs: AddPairs, tmp_path: Path, settings: Any) -> None:
    """An index by a tiny model with random weights, and what came after it."""
    pairs = [(f"What is the number {n}?", f"It is {n}.") for n in range(40)]
    add_pairs(pairs[NEWER:])
    settings.ENCODER_MODEL = model = str(tiny.retriever(tmp_path / "retriever"))
    build_index(model, "QQ", "cpu", encoder=load_encoder(model, "cpu"))
    add_pairs(pairs[:NEWER], source="newer")
    (tmp_path / "queries.jsonl").write_text(json.dumps({"query": ASKED}))
    quorum("campaign", "create", "faq", "--queries", tmp_path / "queries.jsonl", "--quiet")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("search", ASKED, *QUIET), SENTENCE),
        (("ask", ASKED, *QUIET), SENTENCE),
        (RETRIEVE, "pairs not indexed 3"),
    ],
    ids=["search", "ask", "retrieve"],
)
def test_a_command_says_how_many_pairs_it_lacks_or_insists(
    words: tuple[str, ...], sentence: str
) -> None:
    with pytest.raises(CommandError, match="have changed since the index was made"):
        quorum(*words, "--fresh")
    quorum(*words, stdout=(lines := io.StringIO()))
    assert sentence in " ".join(lines.getvalue().split())
    quorum(*words, "--json", stdout=(line := io.StringIO()))
    assert json.loads(line.getvalue())["pairs_not_indexed"] == NEWER


@pytest.mark.parametrize("path", ["pairs/search", "pairs/answer"])
def test_the_api_says_how_many_pairs_it_lacks_or_insists(path: str) -> None:
    ada = Program(account("looker"))
    report = ada.post(path, {"question": ASKED})
    assert (report.status_code, report.json()["pairs_not_indexed"]) == (200, NEWER)
    refused = ada.post(path, {"question": ASKED, "fresh": True})
    assert refused.status_code == 422
    assert "have changed since the index was made" in str(refused.json())


@pytest.mark.parametrize("page", ["database-search", "database-ask"])
def test_a_page_says_how_many_pairs_it_lacks(page: str, as_: As) -> None:
    shown = as_("looker").get(reverse(page), {"q": ASKED})
    assert (shown.status_code, SENTENCE in shown.content.decode()) == (200, True)


def test_a_campaign_s_milestones_say_how_many_pairs_its_candidates_were_not_chosen_from(
    as_: As,
) -> None:
    quorum(*RETRIEVE)
    page = as_("root").get(reverse("campaign-milestones", args=["faq"]))
    assert f"{NEWER} newer pairs were not in the index." in page.content.decode()
