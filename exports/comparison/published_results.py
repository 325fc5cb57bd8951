"""Figures that papers print, each with its source, to stand beside ours. Pure.

All but Figure 1's stand in recipes/experiments, too, which an installed package does not have.

Deviations are over the papers' own runs. QUADRo writes QAA in Table 3 for the input that its
section 5.1 and Table 5 call QAQ. Its Hit@1 of 42.6 % (Figure 1) and its P@1 of 39.1 % (Table 3)
are of the same retriever. The paper does not say why they differ; as the figure's 75.4 % at 30 are
those of the whole dataset, it may be of all annotated queries and the table of the test split.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

QUADRO = "QUADRo"
RERANKING = "Question Reranking"  # Pre-Training Methods for Question Reranking
QBERT = "QBERT"
NOTE = (
    "Figures of papers are of other data sets of other sizes, shown for orientation. "
    f"{QUADRO} and {RERANKING} (Table 1) used QUADRo's own test set of 2,000 queries, "
    f"{RERANKING} (Table 2) the pairs of Quora-match, and {QBERT} those of QQP."
)


class Printed(NamedTuple):
    """In percent."""

    value: float
    deviation: float | None = None


class Row(NamedTuple):
    system: str
    source: str
    figures: Mapping[str, Printed]


class Point(NamedTuple):
    """Of a hit@k curve of which only some points are known."""

    system: str
    k: int
    percent: float


def _ranking(p1: Printed, ap: Printed, rr: Printed) -> Mapping[str, Printed]:
    return {"P@1": p1, "MAP": ap, "MRR": rr}


def _pairs(auc: Printed, accuracy: Printed, f1: Printed) -> Mapping[str, Printed]:
    return {"Accuracy": accuracy, "F1": f1, "ROC-AUC": auc}


_P = Printed
_TABLE_3, _TABLE_5 = f"{QUADRO}, Table 3", f"{QUADRO}, Table 5"
_TABLE_1, _TABLE_2 = f"{RERANKING}, Table 1", f"{RERANKING}, Table 2"
ROWS = (
    Row("S-RoBERTa QQA, before", _TABLE_3, _ranking(_P(39.1), _P(39.1), _P(50.4))),
    Row("S-RoBERTa QQ", _TABLE_3, _ranking(_P(43.4), _P(41.6), _P(52.9))),
    Row("S-RoBERTa QQA", _TABLE_3, _ranking(_P(48.4, 0.4), _P(45.6, 0.4), _P(58.3, 0.4))),
    Row("Electra QA", _TABLE_3, _ranking(_P(37.1, 0.6), _P(40.4, 0.2), _P(49.5, 0.3))),
    Row("Electra QQ", _TABLE_3, _ranking(_P(50.0, 0.2), _P(47.7, 0.3), _P(59.5, 0.2))),
    Row("Electra QQA", _TABLE_3, _ranking(_P(49.3, 0.2), _P(47.63, 0.1), _P(59.2, 0.1))),
    Row("Electra QAQ", _TABLE_3, _ranking(_P(50.8, 0.2), _P(48.4, 0.1), _P(60.2, 0.1))),
    Row("QP-RoBERTa base", _TABLE_3, _ranking(_P(43.5), _P(41.8), _P(54.4))),
    Row("QP-RoBERTa large", _TABLE_3, _ranking(_P(45.6), _P(43.5), _P(56.0))),
    Row("RoBERTa QAQ", _TABLE_5, _ranking(_P(47.5, 0.3), _P(46.5, 0.2), _P(57.7, 0.1))),
    Row("DeBERTa", _TABLE_1, _ranking(_P(50.82, 0.38), _P(48.44, 0.07), _P(60.23, 0.23))),
    Row("DeBERTa, QR", _TABLE_1, _ranking(_P(51.87, 0.17), _P(48.87, 0.06), _P(60.98, 0.10))),
    Row(
        "DeBERTa, QR and distilled",
        _TABLE_1,
        _ranking(_P(52.01, 0.34), _P(49.14, 0.11), _P(61.02, 0.30)),
    ),
    Row("DeBERTa", _TABLE_2, _pairs(_P(96.92, 0.05), _P(91.56, 0.28), _P(87.81, 0.28))),
    Row("DeBERTa, QR", _TABLE_2, _pairs(_P(97.05, 0.03), _P(91.37, 0.11), _P(87.86, 0.25))),
    Row(
        "DeBERTa, QR and distilled",
        _TABLE_2,
        _pairs(_P(97.20, 0.20), _P(91.77, 0.12), _P(88.05, 0.05)),
    ),
    Row("SBERT-QE", f"{QBERT}, Table 2", {"Accuracy": _P(89.79, 0.23)}),
    Row("QBERT-RR", f"{QBERT}, Table 2", {"Accuracy": _P(90.13, 0.19)}),
)
FIGURE_1 = f"{QUADRO}, Figure 1"
POINTS = (
    Point("retriever", 1, 42.6),
    Point("retriever", 30, 75.4),
    Point("retriever and selector", 1, 46.6),
)


def published_results() -> dict[str, object]:
    """As shares, as ours are."""
    return {
        "note": NOTE,
        "systems": [
            {
                "name": row.system,
                "source": row.source,
                "figures": {
                    name: {"value": _share(result.value), "deviation": _share(result.deviation)}
                    for name, result in row.figures.items()
                },
            }
            for row in ROWS
        ],
        "hit_at": [
            {"name": name, "source": FIGURE_1, "k": k, "value": _share(percent)}
            for name, k, percent in POINTS
        ],
    }


def _share(percent: float | None) -> float | None:
    return None if percent is None else round(percent / 100, 6)
