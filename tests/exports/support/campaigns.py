"""Small judged campaigns, made row by row, and labelled by the real rule.

A verdict is who voted what on a candidate, in order of submission: "ada+ bob- eve+!" are a yes,
a no, and a yes submitted with a failed control. Spammer eve is excluded.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from annotation.models import (
    Account,
    Assignment,
    Campaign,
    Control,
    Entry,
    Exclusion,
    Hit,
    HitItem,
    Instructions,
    Judgment,
    Triplet,
    Worker,
)
from annotation.pipeline.labelling.label import write_labels
from annotation.pipeline.ledger.reservations import book, set_budget
from annotation.pipeline.ledger.settlements import settle
from annotation.protocol.policy.policy import Policy
from core.text.clean import pair_key, question_key
from retrieval.models import Candidate, IndexVersion, QaPair, Query, QuerySet

# Two tea candidates and one of moon take more than two votes; tea's second stays unresolved.
VERDICTS = {
    "moon": ["ada+ bob+", "ada+ bob- third+", "ada- bob-"],
    "rain": ["ada- bob-", "ada- bob+ third-", "eve+ ada- bob-"],
    "tea": ["ada+ bob+", "ada+ bob- third- fourth+", "ada- eve+! third-"],
}
# By their texts, which hold their keys, none of them is near another.
TOPICS = (
    "astronomy bicycles carpentry dentistry elephants fireworks glaciers harvesting insurance "
    "jellyfish kayaking lighthouses"
)
MANY = {f"{topic}-{topic[::-1]}": VERDICTS["moon"] for topic in TOPICS.split()} | VERDICTS
POLICY: dict[str, Any] = {
    "candidates_per_query": 3,
    "hit_size": 3,
    "max_votes": 4,
    "train": 1,
    "dev": 1,
    "test": 1,
}
SPAMMER = "eve"
PRICE_CENTS = 19
START = datetime(2024, 2, 29, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Rows:
    """What one judged candidate is stored as, at its place in the order of submission."""

    query: Query
    rank: int
    verdict: str
    number: int


def make_campaign(
    verdicts: Mapping[str, Sequence[str]] = VERDICTS,
    *,
    name: str = "demo",
    backwards: bool = False,
    began: datetime = START,
    text: str = "",
    **policy: Any,
) -> Campaign:
    """`backwards` stores every row in the opposite order, under other crowd ids."""
    campaign = _empty_campaign(name, Policy.from_dict(POLICY | policy))
    rows = list(_rows(campaign, verdicts))
    for row in reversed(rows) if backwards else rows:
        _store(campaign, row, began, text, "Z" if backwards else "A")
    for worker in Worker.objects.filter(worker_id=SPAMMER):
        Exclusion.objects.create(campaign=campaign, worker=worker, failures=9, reviewed=20)
    _pay(campaign)
    write_labels(campaign)
    return campaign


def _empty_campaign(name: str, policy: Policy) -> Campaign:
    index = IndexVersion.objects.create(
        model="small-model",
        form="QQA",
        dimension=4,
        pairs=100,
        database_digest="d1" * 32,
        path=name,
        manifest={
            "model": "small-model",
            "form": "QQA",
            "model_fingerprint": "f1" * 32,
            "versions": {"faiss": "1"},
        },
        chosen_at=START,
        model_setting="small-model",
    )
    queries = QuerySet.objects.create(name=name, origin="sample", seed=11, retrieved_with=index)
    campaign = Campaign.objects.create(
        name=name, query_set=queries, policy_data=policy.to_dict(), seed=7
    )
    Account.objects.create(campaign=campaign)
    Instructions.objects.create(campaign=campaign, version=1, text="Same meaning, same answer?")
    for kind, of in (("positive", None), ("negative", campaign)):
        Control.objects.create(
            kind=kind, campaign=of, key=name, query="CONTROL", question="CONTROL", answer="CONTROL"
        )
    return campaign


def _rows(campaign: Campaign, verdicts: Mapping[str, Sequence[str]]) -> Iterator[Rows]:
    number = 0
    for position, (key, of_query) in enumerate(verdicts.items()):
        query = Query.objects.create(
            query_set=campaign.query_set,
            key=key,
            text=f"What about {key}, ü and 日本?",
            question_key=question_key(key),
            position=position,
        )
        for rank, verdict in enumerate(of_query, start=1):
            yield Rows(query, rank, verdict, number)
            number += 1


def _store(campaign: Campaign, row: Rows, began: datetime, text: str, crowd: str) -> None:
    hit = Hit.objects.create(
        campaign=campaign,
        key=f"HIT-{campaign.name}-{row.number}",
        number=row.number,
        seed=row.number,
        instructions=campaign.instructions.get(),
        max_assignments=len(row.verdict.split()),
        price_cents=PRICE_CENTS,
        crowd_id=f"{crowd}-HIT-{campaign.name}-{row.number}",
    )
    items = _items(hit, _triplet(campaign, row, text))
    for place, vote in enumerate(row.verdict.split()):
        submitted = began + timedelta(hours=place, minutes=row.number)
        _submit(hit, items, vote, submitted, f"{crowd}-WORK-{hit.key}-{9 - place}")


def _pay(campaign: Campaign) -> None:
    set_budget(campaign, PRICE_CENTS * sum(campaign.hits.values_list("max_assignments", flat=True)))
    book(
        [
            Entry(
                account=campaign.account,
                key=f"reserve:{hit.key}",
                source=Entry.Place.AVAILABLE,
                target=Entry.Place.RESERVED,
                cents=PRICE_CENTS * hit.max_assignments,
                hit=hit,
            )
            for hit in campaign.hits.filter(max_assignments__gt=0)
        ]
    )
    settle(campaign)


def _triplet(campaign: Campaign, row: Rows, text: str) -> Triplet:
    question, answer = f"{row.query.key} question {row.rank}", f"{row.query.key} answer {text}"
    pair, _ = QaPair.objects.get_or_create(
        pair_key=pair_key(question, answer),
        defaults={
            "source": "tests",
            "source_id": f"{row.query.key}-{row.rank}",
            "question": question,
            "answer": answer,
            "question_key": question_key(question),
        },
    )
    candidate = Candidate.objects.create(
        query=row.query, pair=pair, rank=row.rank, score=round(1 / row.rank, 6)
    )
    return Triplet.objects.create(campaign=campaign, candidate=candidate)


def _items(hit: Hit, triplet: Triplet) -> list[HitItem]:
    positive = Control.objects.get(kind="positive", key=hit.campaign.name)
    negative = Control.objects.get(kind="negative", campaign=hit.campaign)
    shown: list[dict[str, Any]] = [
        {"control": positive},
        {"triplet": triplet},
        {"control": negative},
    ]
    return [
        HitItem.objects.create(hit=hit, position=position, key=f"{hit.key}-{position}", **item)
        for position, item in enumerate(shown)
    ]


def _submit(
    hit: Hit, items: Sequence[HitItem], vote: str, submitted: datetime, crowd_id: str
) -> None:
    passed = not vote.endswith("!")
    paid = passed or hit.campaign.policy.on_failed_control == "pay_and_discard"
    value = int("+" in vote)
    worker, _ = Worker.objects.get_or_create(crowd="mturk", worker_id=vote.rstrip("!")[:-1])
    assignment = Assignment.objects.create(
        hit=hit,
        worker=worker,
        crowd_id=crowd_id,
        status="approved" if paid else "rejected",
        accepted_at=submitted,
        submitted_at=submitted,
        answers={},
        passed=passed,
        failure="" if passed else "missed",
    )
    values = [1 if passed else 0, value, 0]
    for item, given in zip(items, values, strict=True):
        Judgment.objects.create(
            assignment=assignment,
            item=item,
            triplet_id=item.triplet_id,
            worker=worker,
            value=given,
        )
