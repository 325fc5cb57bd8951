"""A small campaign by the real steps, and a stage on which people work on it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from annotation.models import Campaign, Hit, HitItem, OutboxMessage
from annotation.pipeline.advance import Pass, advance
from annotation.pipeline.collecting.collect import fetch_submissions
from annotation.pipeline.collecting.review import FIELD, review
from annotation.pipeline.controls.import_controls import import_controls
from annotation.pipeline.ledger.reservations import set_budget
from annotation.pipeline.outbox.deliver import Delivery, deliver
from annotation.pipeline.publishing.pack import pack_hits
from annotation.pipeline.publishing.publish import publish
from annotation.pipeline.recompute import recompute
from annotation.pipeline.setup.create import create_campaign
from annotation.protocol.policy.policy import Policy
from annotation.protocol.screening.behaviour import CANNOT_JUDGE
from retrieval.corpus.ingest import ingest
from retrieval.indexing.build import build_index
from retrieval.search.retrieve import retrieve
from tests.retrieval.encoders.keywords import KeywordEncoder
from tests.worlds.account import Account

TOPICS = ("bread", "piano", "rocket", "garden", "candle", "violin")
# Two of them have a long word, which no negative control may share.
SHAPES = (
    "how is {} made",
    "who sells {} here",
    "why is {} so old",
    "can {} be lent",
    "is {} really loud",
    "what is {} for",
)
PAIRS = tuple(
    (shape.format(topic), f"About {topic}: answer {number}.")
    for topic in TOPICS
    for number, shape in enumerate(SHAPES)
)
# In other words of case and end, these are pairs' questions: each leaves five of its topic.
QUERIES = {topic: f"How is {topic} made?" for topic in TOPICS[:5]}
CONTROLS = tuple((f"how many {what}", f"the number of {what}", "Ten.") for what in "abcdef")
POLICY: Mapping[str, object] = {
    "candidates_per_query": 5,
    "control_pool_size": 6,
    "min_assignments": 3,
}
BUDGET_CENTS = 1_000_000
ENCODER = KeywordEncoder(" ".join(TOPICS))

Judge = Callable[[str, int], int | None]  # (query's key, rank) -> 0, 1, or None: can't judge


def write_rows(path: Path, rows: list[dict[str, str]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def fill_database(folder: Path, pairs: tuple[tuple[str, str], ...] = PAIRS) -> None:
    rows = [{"question": question, "answer": answer} for question, answer in pairs]
    ingest(write_rows(folder / "pairs.jsonl", rows), "faq")
    build_index("keywords", "QQA", encoder=ENCODER)
    columns = "query", "question", "answer"
    controls = [dict(zip(columns, control, strict=True)) for control in CONTROLS]
    import_controls(write_rows(folder / "controls.jsonl", controls))


def retrieved_campaign(folder: Path, name: str = "faq", **policy: object) -> Campaign:
    queries = [{"id": key, "query": text} for key, text in QUERIES.items()]
    path = write_rows(folder / "queries.jsonl", queries)
    rules = Policy.from_dict({**POLICY, **policy})
    campaign = create_campaign(name, policy=rules, seed=7, queries=path)
    retrieve(campaign.query_set, k=rules.candidates_per_query, encoder=ENCODER)
    return campaign


def packed_campaign(folder: Path, name: str = "faq", **policy: object) -> Campaign:
    campaign = retrieved_campaign(folder, name, **policy)
    pack_hits(campaign)
    set_budget(campaign, BUDGET_CENTS)
    return campaign


@dataclass
class Stage:
    """A campaign, its crowd, and the people there."""

    campaign: Campaign
    mturk: Account

    def publish(self) -> Delivery:
        publish(self.campaign, self.mturk.crowd)
        return self.deliver()

    def deliver(self) -> Delivery:
        return deliver(self.campaign, self.mturk.crowd, clock=self.mturk.clock.now)

    def advance(self) -> Pass:
        return advance(self.campaign, self.mturk.crowd, clock=self.mturk.clock.now)

    def hit(self, number: int) -> Hit:
        return self.campaign.hits.get(number=number)

    def accept(self, name: str, number: int) -> str | None:
        crowd_id = self.hit(number).crowd_id
        assert crowd_id
        return self.mturk.person(name).accept(crowd_id)

    def work(self, name: str, number: int, real: int | Judge = 0, *, slips: int = 0) -> str:
        """Judge a HIT's triplets by `real`, with `slips` of its controls wrong; the assignment."""
        assignment_id = self.accept(name, number)
        assert assignment_id, f"{name} cannot accept HIT {number}"
        self.mturk.person(name).submit(assignment_id, self.sheet(number, real, slips=slips))
        return assignment_id

    def sheet(self, number: int, real: int | Judge = 0, *, slips: int = 0) -> dict[str, str]:
        return sheet_of(self.hit(number), real, slips=slips)

    def triplets(self, number: int) -> list[tuple[str, int]]:
        """(query's key, rank) of a HIT's triplets in the order shown."""
        items = self.hit(number).items.exclude(triplet=None).order_by("position")
        return list(items.values_list("triplet__candidate__query__key", "triplet__candidate__rank"))

    def labels(self) -> dict[tuple[str, int], int | str]:
        """(query's key, rank) -> the label, or the status where there is none."""
        rows = self.campaign.triplets.select_related("candidate__query")
        return {
            (row.candidate.query.key, row.candidate.rank): (
                row.status if row.label is None else row.label
            )
            for row in rows
        }

    def outbox(self, kind: str) -> list[OutboxMessage]:
        return list(self.campaign.outbox.filter(kind=kind).order_by("pk"))


def tie(one_hit: Stage) -> None:
    """The wish for a third vote is written down; all calls before it have been made."""
    one_hit.work("ada", 1, 0)
    one_hit.work("bob", 1, lambda query, _: int(query == "bread"))
    fetch_submissions(one_hit.campaign, one_hit.mturk.crowd)
    review(one_hit.campaign)
    one_hit.deliver()
    recompute(one_hit.campaign)
    assert [message.kind for message in one_hit.campaign.outbox.exclude(state="done")] == ["extend"]


def sheet_of(hit: Hit, real: int | Judge = 0, *, slips: int = 0) -> dict[str, str]:
    """The form that a worker who judges so sends."""
    texts = "control", "triplet__candidate__query"
    answers: dict[str, str] = {}
    for item in hit.items.select_related(*texts).order_by("position"):
        value = _judged(item, real)
        if item.control is not None and slips > 0:
            value, slips = 1 - item.control.expected, slips - 1
        answers[FIELD + item.key] = CANNOT_JUDGE if value is None else str(value)
    return answers


def _judged(item: HitItem, real: int | Judge) -> int | None:
    if item.control is not None:
        return item.control.expected
    assert item.triplet is not None
    candidate = item.triplet.candidate
    return real if isinstance(real, int) else real(candidate.query.key, candidate.rank)
