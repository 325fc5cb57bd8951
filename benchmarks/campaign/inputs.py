"""A campaign of the paper's size, ready to be packed: random texts and candidates by a seed.

The texts have the lengths and word frequencies of real ones. The candidates are drawn, not
retrieved: which pairs stand together is nothing to the steps that follow.
"""

import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from django.conf import settings
from django.db import connection
from numpy.typing import NDArray

from annotation.models import Campaign
from annotation.pipeline.controls.import_controls import import_controls
from annotation.pipeline.ledger.reservations import set_budget
from annotation.pipeline.setup.create import create_campaign
from annotation.protocol.policy.policy import Policy
from core.progress import Progress, no_progress
from retrieval.corpus.ingest import ingest
from retrieval.indexing.build import build_index
from retrieval.models import Candidate, IndexVersion, QaPair
from retrieval.vectors.types import Vectors

NAME = "paper"
SEED = 1
QUERIES = 15_211
PAIRS = 400_000
BUDGET_CENTS = 9_000_000
VOCABULARY = 30_000
STREAM_WORDS = 2_000_000
QUESTION_WORDS = (4, 14)
ANSWER_WORDS = (20, 100)
ROWS = 20_000


class HashEncoder:
    """A random direction for each word, in as many dimensions as a sentence encoder has."""

    name = settings.ENCODER_MODEL
    dimension = 384
    fingerprint = "random words"
    pooling = "mean"
    precision = "fp32"
    versions: Mapping[str, str] = {"words": "1"}

    def __init__(self, words: Sequence[str]) -> None:
        directions = np.random.default_rng(SEED).standard_normal((len(words), self.dimension))
        self._directions = directions.astype(np.float32)
        self._row = {word: row for row, word in enumerate(words)}

    def encode_questions(
        self, questions: Sequence[str], progress: Progress = no_progress
    ) -> Vectors:
        rows = [[self._row[word] for word in text.split()] for text in questions]
        vectors = np.stack([self._directions[row].sum(axis=0) for row in rows])
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        progress(len(questions))
        return vectors

    def encode_pairs(
        self, pairs: Sequence[tuple[str, str]], progress: Progress = no_progress
    ) -> Vectors:
        return self.encode_questions([question for question, _ in pairs], progress)


def make_campaign(folder: Path, share: float, policy: Policy | None = None) -> int:
    """Pairs, index, controls, queries and candidates: `share` of the paper's. How many triplets."""
    rng = np.random.default_rng(SEED)
    words = vocabulary(rng)
    stream = [words[place] for place in zipf(rng, round(STREAM_WORDS * min(1, 10 * share)))]
    pairs = random_pairs(rng, stream, round(PAIRS * share))
    ingest(write_lines(folder / "pairs.jsonl", pairs), "random")
    index = build_index(settings.ENCODER_MODEL, "QQ", encoder=HashEncoder(words))
    import_controls()
    wanted = round(QUERIES * share)
    # Some more than that: a text that comes twice is one query.
    texts = dict.fromkeys(random_texts(rng, stream, wanted + wanted // 50, QUESTION_WORDS))
    queries = (
        {"id": f"q{number:06d}", "query": text}
        for number, text in enumerate(islice(texts, wanted), 1)
    )
    path = write_lines(folder / "queries.jsonl", queries)
    campaign = create_campaign(NAME, policy=policy or Policy(), seed=SEED, queries=path)
    set_budget(campaign, BUDGET_CENTS)
    return draw_candidates(campaign, index, rng)


def vocabulary(rng: np.random.Generator) -> list[str]:
    """All different; the more frequent, the shorter."""
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words: dict[str, None] = {}
    while len(words) < VOCABULARY:
        length = 2 + round(math.log2(1 + len(words)) / 1.7)
        words["".join(rng.choice(letters, length))] = None
    return list(words)


def zipf(rng: np.random.Generator, count: int) -> NDArray[np.int64]:
    weights = 1 / np.arange(1, VOCABULARY + 1)
    return rng.choice(VOCABULARY, count, p=weights / weights.sum())


def random_texts(
    rng: np.random.Generator, stream: Sequence[str], count: int, lengths: tuple[int, int]
) -> Iterator[str]:
    starts = rng.integers(0, len(stream) - lengths[1], count)
    for start, length in zip(starts, rng.integers(*lengths, count), strict=True):
        yield " ".join(stream[start : start + length])


def random_pairs(
    rng: np.random.Generator, stream: Sequence[str], count: int
) -> Iterator[dict[str, str]]:
    questions = random_texts(rng, stream, count, QUESTION_WORDS)
    answers = random_texts(rng, stream, count, ANSWER_WORDS)
    for question, answer in zip(questions, answers, strict=True):
        yield {"question": question, "answer": answer}


def write_lines(path: Path, rows: Iterable[Mapping[str, str]]) -> Path:
    with path.open("w") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    return path


def draw_candidates(campaign: Campaign, index: IndexVersion, rng: np.random.Generator) -> int:
    query_set = campaign.query_set
    held_out = query_set.queries.values("question_key")
    free = QaPair.objects.exclude(question_key__in=held_out).order_by("pk")
    pairs = np.array(free.values_list("pk", flat=True))
    k = campaign.policy.candidates_per_query
    queries = list(query_set.queries.order_by("pk").values_list("pk", flat=True))
    rows = (
        (query, pair, rank, round(0.9 - rank / 100, 6))
        for query in queries
        for rank, pair in enumerate(pairs[rng.choice(len(pairs), k, False, shuffle=False)], 1)
    )
    copy(Candidate._meta.db_table, ("query_id", "pair_id", "rank", "score"), rows)
    query_set.retrieved_with = index
    query_set.save(update_fields=["retrieved_with"])
    return len(queries) * k


def copy(table: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """By PostgreSQL's COPY. No value may hold a tab, a backslash or an end of line."""
    rows = iter(rows)
    with connection.cursor() as cursor:
        while chunk := list(islice(rows, ROWS)):
            lines = ("\t".join(map(str, row)) + "\n" for row in chunk)
            cursor.copy_expert(
                f"COPY {table} ({', '.join(columns)}) FROM STDIN", io.StringIO("".join(lines))
            )
