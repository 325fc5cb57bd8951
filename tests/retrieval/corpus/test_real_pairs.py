"""Real pairs come in whole, and once."""

import gzip
import itertools
from pathlib import Path

import pytest

from retrieval.corpus.ingest import ingest
from retrieval.models import QaPair

PAIRS = Path(__file__).parents[4] / "shared" / "data" / "qa_db" / "qa_pairs.jsonl.gz"
ROWS = 2_000

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(not PAIRS.exists(), reason="needs the real pairs of ../shared/data"),
]


def first_rows(folder: Path) -> Path:
    path = folder / "pairs.jsonl.gz"
    with (
        gzip.open(PAIRS, "rt", encoding="utf-8") as real,
        gzip.open(path, "wt", encoding="utf-8") as first,
    ):
        first.writelines(itertools.islice(real, ROWS))
    return path


def test_real_pairs_add_up_and_the_same_file_again_adds_nothing(tmp_path: Path) -> None:
    path = first_rows(tmp_path)
    once = ingest(path, "real")
    assert once.read == ROWS
    assert once.added + once.duplicates + once.rejected == ROWS
    assert once.added > 0.95 * ROWS
    assert QaPair.objects.count() == once.added

    again = ingest(path, "real")
    assert (again.read, again.added, again.rejected) == (ROWS, 0, once.rejected)
    assert QaPair.objects.count() == once.added
