"""200 pairs on the weather, and the index over them by counted keywords."""

from typing import Any

from retrieval.indexing.build import build_index
from retrieval.models import IndexVersion
from tests.retrieval.encoders.keywords import KeywordEncoder

WORDS = ["rain", "snow", "hail", "sun", "wind", "fog", "ice", "frost", "cloud", "storm"]
KEYWORDS = KeywordEncoder(" ".join(WORDS))
PAIRS = [
    (f"What is {a} and {b}, version {n}?", f"It is {b} {b}.")
    for n in range(2)
    for a in WORDS
    for b in WORDS
]


class Interrupted(Exception):
    """A process that ends in the middle of its work."""


def build(form: str = "QQA", encoder: Any = KEYWORDS, **options: Any) -> IndexVersion:
    return build_index("unused", form, "cpu", encoder=encoder, **options)
