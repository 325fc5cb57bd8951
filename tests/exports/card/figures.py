"""A complete stats.json by hand: what a card says of known figures."""

from __future__ import annotations

from typing import Any


def row(queries: int, triplets: int, positives: int) -> dict[str, Any]:
    each = max(queries, 1)
    return {
        "queries": queries,
        "triplets": triplets,
        "positives": positives,
        "negatives": triplets - positives,
        "candidates_per_query": _spread(queries, triplets / each, 0.4),
        "positives_per_query": _spread(queries, positives / each, 5.3),
        "negatives_per_query": _spread(queries, (triplets - positives) / each, 5.4),
        "answerable_queries": queries * 3 // 4,
        "answerable_share": 0.75 if queries else None,
        "votes": triplets * 2,
        "votes_per_triplet": 2.2 if queries else None,
    }


def _spread(queries: int, mean: float, std: float) -> dict[str, float | None]:
    return {"mean": mean, "std": std} if queries else {"mean": None, "std": None}


SPLITS = {
    "train": row(11711, 337_276, 71_437),
    "dev": row(1500, 45_000, 7_200),
    "test": row(2000, 60_000, 9_400),
    "all": row(15211, 442_276, 88_037),
}
CAMPAIGN = {
    "queries": 15_250,
    "queries_left_out": 39,
    "triplets": 442_900,
    "labelled": 442_300,
    "open": 0,
    "unresolved": 600,
    "votes": 990_000,
    "first_two_votes": {"triplets": 442_900, "agreement": 0.7812, "kappa": 0.2934},
    "ties_broken": 96_900,
    "workers": 412,
    "excluded_workers": 17,
    "assignments": {
        "submitted": 201_000,
        "approved": 198_000,
        "rejected": 3_000,
        "paid_but_discarded": 1_200,
    },
    "rejection_reasons": {"unanswered": 200, "missed": 2_700, "manual": 100},
    "cost_cents": 3_764_505,
    "bonus_cents": 2_505,
    "expert": {"labels": 400, "triplets": 200, "unresolved_adjudicated": 0.1, "agreement": 0.96},
    "label_error": 0.061,
    "label_error_interval": [0.034, 0.0988],
    "label_error_triplets": 200,
    "label_error_reason": None,
    "label_error_basis": "labelled triplets whose expert label was given to a random sample",
    "label_error_kinds": {
        "false_positives": {"share": 0.112, "interval": [0.061, 0.197]},
        "false_negatives": None,
    },
}
AGREEMENT = {
    "agreement": 0.7812,
    "agreement_interval": [0.7799, 0.7825],
    "kappa": 0.2934,
    "kappa_interval": [0.2899, 0.2971],
    "alpha": 0.3011,
    "alpha_interval": [0.2977, 0.3049],
    "triplets": 442_900,
    "votes": 990_000,
    "replicates": 1000,
    "seed": 7,
    "level": 0.95,
}
WORKERS = {
    "workers": 412,
    "gini": 0.7113,
    "top_share": 0.0812,
    "robust_labels": 398_000,
    "robust_share": 0.8999,
    "agreement_with_label": {
        "edges": [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0],
        "workers": [0, 0, 1, 2, 4, 9, 21, 74, 199, 102],
        "votes": [0, 0, 40, 90, 300, 2_000, 9_000, 90_000, 600_000, 288_570],
        "least_votes": 10,
    },
    "control_failures": {"reviewed": 201_000, "failed": 3_000, "workers": 112},
}
CONTROLS = {
    "judged": {"positive": 201_000, "negative": 201_000},
    "missed": {"positive": 1_900, "negative": 1_400},
    "inside_release": 0,
}
RETRIEVER = {
    "candidates_by_rank": [15211 - 30 * rank for rank in range(30)],
    "positives_by_rank": [round(6500 / (1 + 0.28 * rank)) for rank in range(30)],
    "hit_at": {"1": 0.426, "5": 0.608, "10": 0.6772, "30": 0.754},
}
SIMILARITY = {
    "measure": "Jaccard of character trigrams",
    "edges": [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0],
    "clusters": {
        "counts": [3, 40, 310, 900, 1100, 700, 330, 100, 17, 0],
        "mean": 0.4432,
        "max": 0.8671,
    },
    "random": {
        "counts": [3, 38, 290, 850, 1010, 640, 320, 130, 90, 129],
        "mean": 0.4817,
        "max": 1.0,
    },
    "clusters_of_queries": 14_800,
    "largest_cluster": 21,
}


def _scored(value: float) -> dict[str, float]:
    return {"value": value, "low": value - 0.02, "high": value + 0.02}


METRICS = {"P@1": 0.41, "MAP": 0.38, "MRR": 0.51, "Hit@5": 0.61}
BASELINES = {
    "way": "QRC",
    "level": 0.95,
    "replicates": 1000,
    "seed": 7,
    "splits": {
        split: {
            "bm25": {name: _scored(value - 0.1) for name, value in METRICS.items()},
            "retriever": {name: _scored(value) for name, value in METRICS.items()},
        }
        for split in ("dev", "test")
    },
}
COMPLETE: dict[str, Any] = {
    "splits": SPLITS,
    "campaign": CAMPAIGN,
    "agreement": AGREEMENT,
    "workers": WORKERS,
    "controls": CONTROLS,
    "retriever": RETRIEVER,
    "similarity": SIMILARITY,
    "baselines": BASELINES,
}
