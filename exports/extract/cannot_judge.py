"""Who could not judge which triplet, and why: without their notes, which may say anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path

from annotation.models import Campaign
from annotation.pipeline.labelling.votes import cannot_judge
from core.text.collation import by_code_points
from exports.extract.hits import hit_number
from exports.extract.parquet_table import TableFile, table
from exports.layout.files import CANNOT_JUDGE
from retrieval.ranking.records import ID_LENGTH

ROWS = 10_000
CANDIDATE = "item__triplet__candidate"
COLUMNS = (
    f"{CANDIDATE}__query__key",
    f"{CANDIDATE}__pair__pair_key",
    "assignment__worker_id",
    "reason",
    "number",
)


def write_cannot_judge(
    campaigns: Sequence[Campaign], folder: Path, workers: Mapping[int, str]
) -> None:
    """Nothing where the policy does not offer it."""
    if not campaigns[0].policy.cannot_judge_limit:
        return
    said = cannot_judge(*campaigns).annotate(number=hit_number(campaigns, "assignment__hit"))
    in_order = said.order_by(
        by_code_points(COLUMNS[0]),
        f"{CANDIDATE}__rank",
        "assignment__submitted_at",
        by_code_points("assignment__crowd_id"),
    )
    rows = in_order.values_list(*COLUMNS).iterator(chunk_size=ROWS)
    with TableFile(folder, CANNOT_JUDGE) as file:
        while some := list(islice(rows, ROWS)):
            lines = [
                (query, pair[:ID_LENGTH], workers[worker], reason, hit)
                for query, pair, worker, reason, hit in some
            ]
            file.add(table(lines, file.schema))
