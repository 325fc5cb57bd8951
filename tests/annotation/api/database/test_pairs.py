"""The pairs of the corpus are listed."""

import pytest
from django.contrib.auth.models import User

from annotation.models import Campaign
from retrieval.models import QaPair
from tests.annotation.api.people import Program


@pytest.fixture
def root(campaign: Campaign) -> Program:
    return Program(User.objects.create_superuser("root"))


def test_the_pairs_of_a_source_come_in_the_order_of_its_ids(root: Program) -> None:
    texts = {"answer": "So.", "source": "made"}
    for name in ("b", "a", "d 2", "c/1"):
        QaPair.objects.create(
            question=name, source_id=name, question_key=name, pair_key=name, **texts
        )
    found, link = [], "pairs?source=made&page_size=2"
    while link:
        page = root.get(link).json()
        found += [row["source_id"] for row in page["results"]]
        link = page["next"]
    assert found == ["a", "b", "c/1", "d 2"]
