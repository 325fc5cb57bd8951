"""Questions about coffee that say what they mean, and pairs of another source that look like them.

Each question asks one thing of one way to make coffee. Of each meaning there are several wordings.
"""

import csv
import re
from collections.abc import Iterable, Sequence
from hashlib import sha256
from itertools import product
from pathlib import Path

WAYS = (
    "French press",
    "moka pot",
    "AeroPress",
    "espresso machine",
    "cold brewer",
    "Turkish pot",
    "percolator",
    "siphon",
    "pour-over cone",
    "drip machine",
    "Vietnamese filter",
    "vacuum pot",
)
# By a stem that all wordings have: the wordings, and the answer.
ASKED = {
    "grind": (
        (
            "What is the right grind for a {}?",
            "How fine should I grind beans for a {}?",
            "Which grind does a {} need?",
            "How do I choose the grind for my {}?",
            "What grind size suits a {}?",
        ),
        "A {} likes a grind of size {}.",
    ),
    "water": (
        (
            "What is the best water temperature for a {}?",
            "How hot should the water be for a {}?",
            "Which temperature must water have for a {}?",
            "How do I get the water right for my {}?",
            "What heat of water suits a {}?",
        ),
        "For a {}, heat the water to step {} of the dial.",
    ),
    "minutes": (
        (
            "How many minutes does a {} take?",
            "What number of minutes should a {} brew?",
            "After how many minutes is a {} ready?",
            "How do I know the minutes for my {}?",
            "What are the right minutes for a {}?",
        ),
        "A {} takes {} minutes.",
    ),
    "clean": (
        (
            "How do I clean a {}?",
            "What is the best way to clean my {}?",
            "How can I keep a {} clean?",
            "What should I do to clean a {}?",
            "How often should one clean a {}?",
        ),
        "Clean a {} with {} spoons of soda.",
    ),
    "cost": (
        (
            "What does a {} cost?",
            "How much does a good {} cost?",
            "What is the cost of a {}?",
            "How do I find out the cost of a {}?",
            "What will a new {} cost me?",
        ),
        "A {} costs {} dollars in the shop.",
    ),
}
OTHER_ANSWER = "Ask the other shelf."
_STEM = re.compile(rf"\b({'|'.join(ASKED)})")
_WAY = re.compile("|".join(WAYS), re.IGNORECASE)


def write_coffee(path: Path) -> int:
    """Pairs written."""
    rows = [
        [wording.format(way), answer.format(way, number)]
        for number, (way, (wordings, answer)) in enumerate(product(WAYS, ASKED.values()), 1)
        for wording in wordings
    ]
    return _write(path, rows)


def write_other_shelf(path: Path) -> int:
    """Nearer to any question of coffee than most of the corpus is, and of somebody else's."""
    wordings = ["Tell me: {}", "Quick question: {}"]
    rows = [
        [wording.format(some[0].format(way)), OTHER_ANSWER]
        for wording, way, (some, _) in product(wordings, WAYS, ASKED.values())
    ]
    return _write(path, rows)


def _write(path: Path, rows: Sequence[Iterable[str]]) -> int:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["question", "answer"], *rows])
    return len(rows)


def same_question(query: str, question: str) -> int:
    return int(_meaning(query) == _meaning(question))


def is_slip(query: str, question: str) -> bool:
    """Of one triplet in five, always the same ones."""
    return sha256(f"{query}\n{question}".encode()).digest()[0] % 5 == 0


def _meaning(text: str) -> tuple[str, str]:
    stem, way = _STEM.search(text.lower()), _WAY.search(text)
    assert stem, text
    assert way, text
    return stem[1], way[0].lower()
