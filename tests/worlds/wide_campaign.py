"""A campaign of as many HITs as a test wants, by the real steps: retrieval, controls, packing."""

import random
from pathlib import Path

from annotation.models import Campaign
from annotation.pipeline.controls.import_controls import import_controls
from annotation.pipeline.ledger.reservations import set_budget
from annotation.pipeline.publishing.pack import pack_hits
from annotation.pipeline.setup.create import create_campaign
from annotation.protocol.policy.policy import Policy
from retrieval.corpus.ingest import ingest
from retrieval.indexing.build import build_index
from retrieval.search.retrieve import retrieve
from tests.retrieval.encoders.keywords import KeywordEncoder
from tests.worlds.small_campaign import BUDGET_CENTS, write_rows


def wide_campaign(
    folder: Path, *, queries: int, candidates: int, **policy: object
) -> tuple[Campaign, int]:
    """Packed, and the number of its HITs; the controls are the shipped ones."""
    topics = [f"topic{number}" for number in range(queries)]
    ingest(write_rows(folder / "pairs.jsonl", _pairs(topics, candidates)), "faq")
    encoder = KeywordEncoder(" ".join(topics))
    build_index("keywords", "QQA", encoder=encoder)
    import_controls()
    asked = [{"id": topic, "query": f"how is {topic} no 0 made?"} for topic in topics]
    campaign = create_campaign(
        "faq",
        policy=Policy.from_dict({"candidates_per_query": candidates, **policy}),
        seed=3,
        queries=write_rows(folder / "queries.jsonl", asked),
    )
    retrieve(campaign.query_set, k=candidates, encoder=encoder)
    packed = pack_hits(campaign)
    set_budget(campaign, BUDGET_CENTS)
    return campaign, packed.hits


def _pairs(topics: list[str], candidates: int) -> list[dict[str, str]]:
    """One of each topic is held out; answers are short, and long enough to be folded."""
    rng = random.Random(5)
    return [
        {
            "question": f"how is {topic} no {number} made?",
            "answer": " ".join(["As they say."] * rng.choice([1, 2, 5, 20, 80]) + [topic]),
        }
        for topic in topics
        for number in range(candidates + 1)
    ]
