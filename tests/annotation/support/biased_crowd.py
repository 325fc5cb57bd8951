"""A crowd that invents more than it misses, so that a model of it beats its majority."""

import random

from annotation.models import Assignment, Judgment
from tests.annotation.support.annotators import Annotators
from tests.annotation.support.hits import make_campaign, make_hit

HITS, WORKERS = 24, ("ada", "bob", "cem", "dee", "eve", "fay")


def submitted(annotators: Annotators, name: str, number: int, answers: list[int]) -> Assignment:
    """`answers`: to the HIT's items, in their order."""
    assignment = annotators.work(name, number)
    Judgment.objects.bulk_create(
        Judgment(
            assignment=assignment, item=item, triplet=item.triplet, worker=assignment.worker,
            value=value,
        )
        for item, value in zip(assignment.hit.items.order_by("position"), answers, strict=True)
    )  # fmt: skip
    return assignment


def biased_crowd(name: str = "faq", **policy: object) -> Annotators:
    """Whose workers see a duplicate in a third of those that are none. Each fifth is one."""
    draw, campaign = random.Random(4), make_campaign(name, **policy)
    hits = []
    for hit in range(HITS):
        real = [(f"query {hit}", f"question {hit}-{row}", "answer") for row in range(5)]
        controls = {kind: (f"{kind} {hit}", kind, "answer") for kind in ("positive", "negative")}
        hits.append(make_hit(campaign, real=real, **controls))
    annotators = Annotators(campaign, hits)
    for number, made in enumerate(hits, 1):
        truth = [
            int(item.position == 0 or is_positive(item)) for item in made.items.order_by("position")
        ]
        for name in draw.sample(WORKERS, 3):
            answers = [one if one else int(draw.random() < 0.35) for one in truth]
            submitted(annotators, name, number, answers)
    return annotators


def is_positive(item: object) -> bool:
    control = getattr(item, "control", None)
    return control is not None and control.kind == "positive"
