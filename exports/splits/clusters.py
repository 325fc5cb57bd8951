"""Clusters of near queries: what must not be divided between train and the splits that test it.

Two queries are near each other where
- their texts are equal but for case, white space and punctuation,
- or have 70 % of their character trigrams in common (Jaccard),
- or have vectors with a cosine of 0.9 or more,
- or share a positive candidate.
A cluster is what hangs together by such pairs, so two of its queries may be far from each other.

The thresholds come from reading Quora's question pairs (20,000, half of them duplicates, picked
to be hard): from 0.7 on, pairs differ in a word or its form ("How do I start a handicraft business
online?", "... a handicrafts business online?") or in the one name that a template is about ("Which
weather app is the best in Europe?", "... in the U.S.?"), and either kind gives an answer away.
Below 0.7 clusters begin to chain: of 10,000 of those questions the largest holds 57 at 0.6, 29 at
0.65, 15 at 0.7. By all-MiniLM-L6-v2, a cosine of 0.9 finds the rewordings that share few trigrams
(42 % of the duplicates); its largest cluster of 6,000 questions of many sources holds 4. A model
that puts all texts close together chains at 0.9: `largest_cluster` of the statistics tells.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from zlib import crc32

import numpy as np
from datasketch import LeanMinHash, MinHash, MinHashLSH
from numpy.typing import NDArray
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from exports.splits.shingles import incidence, jaccard, letters, plain, shingles

# Of 10,000 pairs with a Jaccard of 0.7, all but 2 come into one bucket: 1 - (1 - 0.7**4)**32.
BANDS, ROWS = 32, 4
PASSES = 4
SEED, SCHEME = 1, "affine32"
TEXTS = 256  # vectors compared with all others at a time
PAIRS = 20_000  # of texts compared at a time
MARGIN = 1e-3  # more than single precision errs
DECIMALS = 4

Pairs = tuple[NDArray[np.intp], NDArray[np.intp]]


@dataclass(frozen=True)
class NearQuery:
    id: str
    text: str
    positives: frozenset[str]


@dataclass(frozen=True)
class Nearness:
    jaccard: float = 0.7
    cosine: float = 0.9

    def to_dict(self) -> dict[str, float]:
        return asdict(self)


def near_duplicates(
    queries: Sequence[NearQuery], *, vectors: NDArray[np.float32] | None, rules: Nearness
) -> dict[str, str]:
    """Query id -> its cluster, named by the smallest id in it.

    `vectors`: of length 1, a row for each query.
    """
    labels = np.arange(len(queries))
    for left, right in _near_pairs(queries, vectors, rules):
        labels = _joined(labels, left, right)
    smallest: dict[int, str] = {}
    for label, query in zip(labels.tolist(), queries, strict=True):
        smallest[label] = min(query.id, smallest.get(label, query.id))
    return {
        query.id: smallest[label] for label, query in zip(labels.tolist(), queries, strict=True)
    }


def _near_pairs(
    queries: Sequence[NearQuery], vectors: NDArray[np.float32] | None, rules: Nearness
) -> Iterator[Pairs]:
    """Some at a time, so that a cluster of thousands does not fill the memory with its pairs."""
    yield _sharing([letters(query.text)] for query in queries)
    yield _sharing(query.positives for query in queries)
    # What is near must not depend on which of two texts with the same letters comes first.
    texts = [plain(query.text) for query in queries]
    firsts = sorted({text: number for number, text in reversed(list(enumerate(texts)))}.values())
    originals = np.array(firsts, dtype=np.intp)
    for left, right in _of_like_words([queries[first].text for first in firsts], rules.jaccard):
        yield originals[left], originals[right]
    if vectors is not None:
        yield from _of_like_vectors(vectors, rules.cosine)


def _joined(
    labels: NDArray[np.intp], left: NDArray[np.intp], right: NDArray[np.intp]
) -> NDArray[np.intp]:
    size = len(labels)
    ends = labels[left], labels[right]
    graph = coo_matrix((np.ones(len(left), dtype=bool), ends), shape=(size, size))
    _, component_of = connected_components(graph, directed=False)
    joined: NDArray[np.intp] = component_of[labels]
    return joined


def _sharing(values: Iterable[Iterable[str]]) -> Pairs:
    """Each query with the first one that has the same value."""
    first: dict[str, int] = {}
    pairs = [
        (first.setdefault(value, number), number)
        for number, own in enumerate(values)
        for value in own
    ]
    left, right = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    return left, right


def _of_like_words(texts: Sequence[str], threshold: float) -> Iterator[Pairs]:
    """MinHash finds them, the exact Jaccard decides."""
    table = incidence(texts)
    for left, right in _batches(_alike(texts)):
        near = jaccard(table, left, right) >= threshold
        yield left[near], right[near]


def _alike(texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Pairs that share a bucket, each once or a few times: an index of some bands at a time takes
    a fraction of the memory."""
    hashes = MinHash.generator(
        ([shingle.encode(errors="surrogatepass") for shingle in shingles(text)] for text in texts),
        num_perm=BANDS * ROWS,
        seed=SEED,
        scheme=SCHEME,
        hashfunc=crc32,
    )
    table = np.array([one.hashvalues for one in hashes]).reshape(-1, BANDS // PASSES * ROWS)
    for part in range(PASSES):
        index = MinHashLSH(num_perm=table.shape[1], params=(BANDS // PASSES, ROWS))
        for number, values in enumerate(table[part::PASSES]):
            one = LeanMinHash(seed=SEED, hashvalues=values, scheme=SCHEME)
            for other in index.query(one):
                yield other, number
            index.insert(number, one)


def _batches(pairs: Iterable[tuple[int, int]]) -> Iterator[Pairs]:
    batch: list[tuple[int, int]] = []
    for pair in pairs:
        batch.append(pair)
        if len(batch) == PAIRS:
            left, right = np.array(batch, dtype=np.intp).T
            yield left, right
            batch = []
    left, right = np.array(batch, dtype=np.intp).reshape(-1, 2).T
    yield left, right


def _of_like_vectors(vectors: NDArray[np.float32], threshold: float) -> Iterator[Pairs]:
    """By the cosine's first decimals. A product in single precision leaves few pairs in doubt;
    one in double, the same in every chunk, decides those."""
    for start in range(0, len(vectors), TEXTS):
        cosines = np.triu(vectors[start : start + TEXTS] @ vectors[start:].T, 1)
        left, right = np.nonzero(cosines >= threshold - MARGIN)
        sure = cosines[left, right] >= threshold + MARGIN
        left, right = left + start, right + start
        yield left[sure], right[sure]
        left, right = left[~sure], right[~sure]
        for some in range(0, len(left), PAIRS):
            one, other = left[some : some + PAIRS], right[some : some + PAIRS]
            near = _cosines(vectors, one, other) >= threshold
            yield one[near], other[near]


def _cosines(
    vectors: NDArray[np.float32], left: NDArray[np.intp], right: NDArray[np.intp]
) -> NDArray[np.float64]:
    exact: NDArray[np.float64] = (vectors[left].astype(float) * vectors[right]).sum(axis=1)
    return exact.round(DECIMALS)
