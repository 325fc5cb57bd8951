"""What aggregators read of a campaign, and what they are measured by."""

from typing import Any, NamedTuple

import numpy as np
from django.db.models import F, QuerySet

from annotation.models import Campaign, Judgment
from annotation.pipeline.labelling.known_answers import RIGHT, control_answers
from annotation.pipeline.labelling.votes import ROWS, valid_judgments
from annotation.protocol.aggregation.table import UNKNOWN, Ints, VoteTable

COLUMNS = np.dtype([("item", np.int64), ("worker", np.int64), ("vote", np.int64)])


class Votes(NamedTuple):
    """`triplets`: the keys of the first items, the controls follow them. `workers`: the keys of
    the workers but for the last one, who is anybody new."""

    table: VoteTable
    triplets: Ints
    workers: Ints


def vote_table(campaign: Campaign) -> Votes:
    """The valid votes, and the answers to controls."""
    votes = _rows(valid_judgments(campaign), F("triplet_id"))
    # A control's number, with its label in the last bit.
    answers = _rows(control_answers(campaign), F("item__control_id") * 2 + RIGHT)
    triplets, items = np.unique(votes["item"], return_inverse=True)
    controls, known_items = np.unique(answers["item"], return_inverse=True)
    workers, worker = np.unique(
        np.concatenate([votes["worker"], answers["worker"]]), return_inverse=True
    )
    table = VoteTable(
        item=np.concatenate([items, known_items + len(triplets)]),
        worker=worker,
        vote=np.concatenate([votes["vote"], answers["vote"]]),
        known=np.concatenate([np.full(len(triplets), UNKNOWN), controls % 2]),
        workers=len(workers) + 1,
    )
    return Votes(table, triplets, workers)


def _rows(judgments: QuerySet[Judgment], item: Any) -> Any:
    rows = judgments.order_by("pk").values_list(item, "worker_id", "value")
    return np.fromiter(rows.iterator(chunk_size=ROWS), COLUMNS)
