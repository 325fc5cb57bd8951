"""What aggregators read of a campaign, and what they are measured by."""

from typing import Any, NamedTuple

import numpy as np
from django.db.models import QuerySet

from annotation.models import Campaign, Control, Judgment
from annotation.pipeline.labelling.known_answers import control_answers
from annotation.pipeline.labelling.votes import ROWS, valid_judgments
from annotation.protocol.aggregation.table import UNKNOWN, Ints, VoteTable
from core.text.collation import by_code_points

COLUMNS = np.dtype([("item", np.int64), ("worker", np.int64), ("vote", np.int64)])


class Votes(NamedTuple):
    """`triplets`: the keys of the first items, the controls follow them. `workers`: the keys of
    the workers but for the last one, who is anybody new."""

    table: VoteTable
    triplets: Ints
    workers: Ints
    ranks: Ints | None  # of the triplets; None: they have no say


def vote_table(campaign: Campaign) -> Votes:
    """The valid votes, and the answers to controls in the order that a release has them in."""
    votes = _rows(valid_judgments(campaign).order_by("pk"), "triplet_id")
    submitted = "assignment__submitted_at", by_code_points("assignment__crowd_id")
    in_order = control_answers(campaign).order_by(*submitted, "item__position")
    answers = _rows(in_order, "item__control_id")
    triplets, items = np.unique(votes["item"], return_inverse=True)
    known_items, known = _controls(campaign, answers["item"])
    workers, worker = np.unique(
        np.concatenate([votes["worker"], answers["worker"]]), return_inverse=True
    )
    table = VoteTable(
        item=np.concatenate([items, known_items + len(triplets)]),
        worker=worker,
        vote=np.concatenate([votes["vote"], answers["vote"]]),
        known=np.concatenate([np.full(len(triplets), UNKNOWN), known]),
        workers=len(workers) + 1,
    )
    return Votes(table, triplets, workers, _ranks(campaign, triplets))


def _ranks(campaign: Campaign, triplets: Ints) -> Ints | None:
    if not campaign.policy.rank_prior:
        return None
    ranks = dict(campaign.triplets.values_list("pk", "candidate__rank"))
    return np.array([ranks[one] for one in triplets.tolist()], np.int64)


def _controls(campaign: Campaign, asked: Ints) -> tuple[Ints, Ints]:
    """Their numbers, those of the same questions alike and in the order in which they come; and
    the label of each number."""
    of_campaign = control_answers(campaign).order_by().values("item__control")
    rows = Control.objects.filter(pk__in=of_campaign).values_list("pk", "kind", "query", "question")
    texts = {pk: of_control for pk, *of_control in rows}
    numbers: dict[tuple[str, ...], int] = {}
    items = [numbers.setdefault(tuple(texts[one]), len(numbers)) for one in asked.tolist()]
    known = [int(kind == Control.Kind.POSITIVE) for kind, *_ in numbers]
    return np.array(items, np.int64), np.array(known, np.int64)


def _rows(judgments: QuerySet[Judgment], item: str) -> Any:
    rows = judgments.values_list(item, "worker_id", "value")
    return np.fromiter(rows.iterator(chunk_size=ROWS), COLUMNS)
