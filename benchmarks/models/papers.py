"""Figures of answer sentence selection that a paper prints, beside those of `make bench-models`.

Of "Pre-training Transformer Models with Sentence-Level Objectives for Answer Sentence Selection",
Table 1, test, the clean way; the deviation over five runs in brackets. Those of question ranking
are in exports/comparison/published_results.py.
"""

from collections.abc import Iterator

SOURCE = "Di Liello et al. 2022, Table 1"
FIGURES = {
    "wikiqa": {
        "RoBERTa-Base": ("78.3 (2.8)", "85.8 (1.3)", "87.2 (1.3)"),
        "ELECTRA-Base": ("77.1 (4.0)", "85.0 (2.6)", "86.5 (2.7)"),
        "TANDA RoBERTa": ("83.0 (1.3)", "88.5 (0.8)", "89.9 (0.8)"),
        "TANDA ELECTRA": ("85.6 (1.1)", "90.2 (0.8)", "91.4 (0.7)"),
    },
    "trecqa": {
        "RoBERTa-Base": ("90.0 (1.9)", "89.7 (0.7)", "94.4 (1.1)"),
        "ELECTRA-Base": ("90.3 (1.7)", "89.9 (0.4)", "94.0 (0.9)"),
        "TANDA RoBERTa": ("89.7 (0.0)", "90.1 (0.6)", "94.1 (0.4)"),
        "TANDA ELECTRA": ("92.6 (1.5)", "91.6 (0.7)", "95.5 (0.7)"),
    },
}


def printed(part: str) -> Iterator[str]:
    """A table in Markdown."""
    yield f"| {SOURCE} | P@1 | MAP | MRR |"
    yield "| --- | --- | --- | --- |"
    for name, figures in FIGURES[part].items():
        yield f"| {name} | {' | '.join(figures)} |"
