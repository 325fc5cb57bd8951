"""HITs for tests of the page and of the simulated crowd, stored as packing stores them."""

from collections.abc import Sequence

from annotation.models import Campaign, Control, Hit, HitItem, Instructions, Triplet
from core.text.clean import pair_key, question_key
from retrieval.models import Candidate, QaPair, Query, QuerySet

Row = tuple[str, str, str]  # query, question, answer

REAL: tuple[Row, ...] = (
    ("wine stain on a white shirt", "How is red wine washed out of cotton?", "With cold water."),
    ("Why is the sky blue?", "Why are sunsets red?", "Because blue light is scattered."),
    ("price of a stamp", "How much does a stamp cost?", "It depends on the country."),
    ("Who wrote Middlemarch?", "When was Middlemarch written?", "In 1871."),
    ("boil an egg", "How long do I boil an egg?", "Seven minutes."),
)
POSITIVE: Row = ("How many legs has a spider?", "number of legs on a spider", "Eight.")
NEGATIVE: Row = ("How do I sharpen a knife?", "Which is the driest desert?", "The Atacama.")


def make_campaign(
    name: str = "faq", *, text: str = "# Rules\n\nBoth ask the *same*.", **policy: object
) -> Campaign:
    query_set = QuerySet.objects.create(name=name, origin=QuerySet.Origin.FILE)
    campaign = Campaign.objects.create(name=name, query_set=query_set, policy_data=policy, seed=1)
    Instructions.objects.create(campaign=campaign, version=1, text=text)
    return campaign


def make_hit(
    campaign: Campaign,
    *,
    real: Sequence[Row] = REAL,
    positive: Row = POSITIVE,
    negative: Row = NEGATIVE,
    max_assignments: int = 2,
) -> Hit:
    """The controls stand third and sixth."""
    number = campaign.hits.count() + 1
    hit = Hit.objects.create(
        campaign=campaign,
        key=f"{campaign.name}-{number}",
        number=number,
        seed=number,
        instructions=campaign.instructions.get(),
        max_assignments=max_assignments,
        price_cents=19,
    )
    contents: list[Triplet | Control] = [make_triplet(campaign, row) for row in real]
    contents.insert(2, _control(positive, kind="positive", campaign=None))
    contents.insert(5, _control(negative, kind="negative", campaign=campaign))
    for position, content in enumerate(contents):
        HitItem.objects.create(
            hit=hit,
            position=position,
            key=f"{campaign.name[:8]}{number:04}x{position}",
            triplet=content if isinstance(content, Triplet) else None,
            control=content if isinstance(content, Control) else None,
        )
    return hit


def make_triplet(campaign: Campaign, row: Row) -> Triplet:
    query_text, question, answer = row
    query, _ = Query.objects.get_or_create(
        query_set=campaign.query_set,
        key=question_key(query_text),
        defaults={
            "text": query_text,
            "question_key": question_key(query_text),
            "position": campaign.query_set.queries.count(),
        },
    )
    key = pair_key(question, answer)
    pair, _ = QaPair.objects.get_or_create(
        pair_key=key,
        defaults={
            "source": "tests",
            "source_id": key,
            "question": question,
            "answer": answer,
            "question_key": question_key(question),
        },
    )
    rank = query.candidates.count() + 1
    candidate = Candidate.objects.create(query=query, pair=pair, rank=rank, score=0.5)
    return Triplet.objects.create(campaign=campaign, candidate=candidate)


def _control(row: Row, *, kind: str, campaign: Campaign | None) -> Control:
    query, question, answer = row
    control, _ = Control.objects.get_or_create(
        key=pair_key(f"{query} {question}", answer),
        campaign=campaign,
        defaults={"kind": kind, "query": query, "question": question, "answer": answer},
    )
    return control
