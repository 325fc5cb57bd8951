"""A campaign with an attack in every text that files bring in."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path

from annotation.models import Campaign
from annotation.pipeline.controls.import_controls import import_controls
from annotation.pipeline.ledger.reservations import set_budget
from annotation.pipeline.publishing.pack import pack_hits
from annotation.pipeline.setup.create import create_campaign, read_policy
from retrieval.corpus.ingest import ingest
from retrieval.indexing.build import build_index
from retrieval.search.retrieve import retrieve
from tests.retrieval.encoders.keywords import KeywordEncoder
from tests.worlds.hostile import ATTACKS, MARK
from tests.worlds.small_campaign import BUDGET_CENTS, write_rows

PER_QUERY = 5
TEXTS = tuple(ATTACKS.values())
TOPICS = [f"t{number}" for number in range(-(-len(TEXTS) // PER_QUERY))]
ENCODER = KeywordEncoder(" ".join(TOPICS))
HITS = len(TOPICS)
# For hostile_campaign: every attack is an item of it.
QUALIFICATION = {"qualification_items": len(TEXTS)}
POLICY = {
    "candidates_per_query": PER_QUERY,
    "control_pool_size": HITS,
    "min_assignments": 1,
    "title": f'"><b class={MARK}>title</b>',
    "description": f"</p><script>window.__{MARK}=1</script> {{{{ 7|add:7 }}}} javascript:{MARK}",
    "keywords": f"' onmouseover='window.__{MARK}=1', -->",
}


def hostile_campaign(folder: Path, **policy: object) -> Campaign:
    """Packed; each attack is a question, an answer, a query, a control and a paragraph.

    And an item of the qualification test, where the policy asks for one.
    """
    ingest(
        write_rows(folder / "pairs.jsonl", list(_pairs())), f"<b class={MARK}>", license=TEXTS[0]
    )
    build_index("keywords", "QQA", encoder=ENCODER)
    import_controls(write_rows(folder / "controls.jsonl", list(_controls())))
    instructions = folder / "instructions.md"
    instructions.write_text("\n\n".join(TEXTS), encoding="utf-8")
    rules = folder / "policy.json"
    rules.write_text(json.dumps({**POLICY, **policy}))
    items = write_rows(folder / "items.jsonl", qualification_rows())
    campaign = create_campaign(
        "hostile",
        policy=read_policy(rules),
        seed=1,
        queries=write_rows(folder / "queries.jsonl", list(_queries())),
        instructions=instructions,
        items=items if policy.get("qualification_items") else None,
    )
    retrieve(campaign.query_set, k=PER_QUERY, encoder=ENCODER)
    assert pack_hits(campaign).hits == HITS
    set_budget(campaign, BUDGET_CENTS)
    return campaign


def qualification_rows() -> list[dict[str, str]]:
    """An item of each attack, reason and all; as many Yes as No, or one more."""
    return [
        {
            "query": f"{text} p{number}",
            "question": f"p{number} {text}",
            "answer": text,
            "expected": str(number % 2),
            "why": text,
        }
        for number, text in enumerate(TEXTS)
    ]


def _pairs() -> Iterator[dict[str, str]]:
    for number, text in enumerate(TEXTS):
        topic = TOPICS[number // PER_QUERY]
        yield {"question": f"{text} {topic} q{number}", "answer": text, "id": text[:100]}
    # Attacks have words in common, which a negative control must not have.
    for number in range(40):
        yield {"question": f"what is n{number}", "answer": f"It is {number}."}


def _queries() -> Iterator[dict[str, str]]:
    for topic, text in zip(TOPICS, itertools.cycle(TEXTS), strict=False):
        yield {"id": topic, "query": f"{text} {topic}"}


def _controls() -> Iterator[dict[str, str]]:
    for number, text in enumerate(TEXTS):
        yield {"query": f"{text} c{number}", "question": f"c{number} {text}", "answer": text}
