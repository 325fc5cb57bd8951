"""BM25 over an index's pairs, by bm25s: question and answer, or the question alone, as its form.

    INDEX_DIR/lexical/FORM-DIGEST/   manifest.json, the keys, the words, and their weights

One for each form and set of pairs, whatever models have indexes over them; made when first needed.
"""

import os
import shutil
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

import bm25s
import numpy as np
import orjson
from scipy.sparse import csc_matrix

from core.errors import UserError
from core.progress import Progress, no_progress
from retrieval.index.lexical.bm25_weights import Vocabulary, weights, words
from retrieval.index.rescore import Scores
from retrieval.index.versions import folder_of, index_root
from retrieval.models import IndexForm, IndexVersion
from retrieval.vectors.checksums import verify_files
from retrieval.vectors.folder import (
    MANIFEST,
    REMOVED,
    Manifest,
    complete,
    encoded,
    one_build,
    open_version_store,
)
from retrieval.vectors.pair_keys import texts_of
from retrieval.vectors.types import Mask, PairKeys, Positions, unpacked

PAIRS_AT_ONCE = 10_000
# The logarithms of another machine may differ in their last digit: that must not change a rank.
DECIMALS = 4
KEYS, WORDS = "keys.npy", "words.json"
ARRAYS = ("data", "indices", "indptr")  # of the weights, a column a word
FILES = (KEYS, WORDS, *(f"{name}.npy" for name in ARRAYS))


class LexicalIndex:
    """`keys` in their order: a row a pair."""

    def __init__(self, keys: PairKeys, vocabulary: dict[str, int], columns: csc_matrix) -> None:
        self.keys = keys
        self._vocabulary = vocabulary
        self._columns = columns

    @classmethod
    def build(cls, keys: PairKeys, texts: Iterable[str], progress: Progress = no_progress) -> Self:
        """`texts`: of the pairs with these keys, which are in order."""
        vocabulary = Vocabulary()
        documents: list[array[int]] = []
        for text in texts:
            documents.append(vocabulary.numbered(text))
            progress(1)
        return cls(keys, dict(vocabulary.numbers), weights(documents, vocabulary.numbers))

    def search(self, texts: Sequence[str], k: int, excluded: Mask) -> tuple[Positions, Scores]:
        """Rows and scores of the k best for each text, both texts x k; equal scores in key order.

        `excluded`: rows that must not be found, so many that at least k are left. Where fewer have
        a word of the text, the first of the others follow with a score of 0.
        """
        rows = np.empty((len(texts), k), np.int64)
        scores = np.empty((len(texts), k), np.float64)
        banned = np.flatnonzero(excluded)
        for number, text in enumerate(texts):
            rows[number], scores[number] = self._best(text, k, banned)
        return rows, scores

    def save(self, folder: Path) -> None:
        np.save(folder / KEYS, self.keys, allow_pickle=False)
        (folder / WORDS).write_bytes(orjson.dumps(list(self._vocabulary)))
        for name in ARRAYS:
            np.save(folder / f"{name}.npy", getattr(self._columns, name), allow_pickle=False)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """The weights are read from the disk where they are looked at."""
        keys = np.load(folder / KEYS, allow_pickle=False)
        vocabulary = orjson.loads((folder / WORDS).read_bytes())
        parts = [
            np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False) for name in ARRAYS
        ]
        columns = csc_matrix(tuple(parts), (len(keys), len(vocabulary)), copy=False)
        return cls(keys, {word: number for number, word in enumerate(vocabulary)}, columns)

    def _best(self, text: str, k: int, banned: Positions) -> tuple[Positions, Scores]:
        scores = self._scores(text)
        scores[banned] = 0
        rows = np.flatnonzero(scores > 0)  # several times faster than of the numbers themselves
        if len(rows) > k:
            near = scores[rows]
            rows = rows[near >= np.partition(near, -k)[-k] - 10**-DECIMALS]
        best: Scores = scores[rows].astype(np.float64).round(DECIMALS)
        order = np.argsort(-best, kind="stable")[:k]
        rows, best = rows[order], best[order]
        if lacking := k - len(rows):
            scores[banned] = -1
            others = np.flatnonzero(scores == 0)[:lacking]
            rows = np.concatenate([rows, others])
            best = np.concatenate([best, np.zeros(lacking)])
        return rows, best

    def _scores(self, text: str) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
        """Of every row; a repeated word counts again."""
        counts = Counter(word for word in words(text) if word in self._vocabulary)
        columns = self._columns[:, [self._vocabulary[word] for word in counts]]
        scores: np.ndarray[tuple[int], np.dtype[np.float32]] = columns @ np.array(
            list(counts.values()), np.float32
        )
        return scores


def lexical_index(version: IndexVersion, progress: Progress = no_progress) -> LexicalIndex:
    """That of the version's pairs, verified; built if there is none yet. `progress` counts pairs.

    Raises UserError for a file that is not the one recorded.
    """
    folder = lexical_folder(version)
    if not folder.is_dir():
        with one_build(folder.parent):
            if not folder.is_dir():  # or another process has just made it
                _build(version, folder, progress)
    _verify(folder, version)
    return LexicalIndex.load(folder)


def lexical_folder(version: IndexVersion) -> Path:
    name = f"{version.form.lower()}-{version.database_digest[:16]}"
    return index_root() / "lexical" / name


def _build(version: IndexVersion, folder: Path, progress: Progress) -> None:
    keys = keys_of(version)
    work = folder.parent / ".unfinished"
    shutil.rmtree(work, ignore_errors=True)  # of a build that was killed
    work.mkdir()
    index = LexicalIndex.build(keys, _texts(keys, version.form), progress)
    index.save(work)
    complete(work, {**_facts(version), "versions": {"bm25s": bm25s.__version__}})
    os.replace(work, folder)


def keys_of(version: IndexVersion) -> PairKeys:
    """Of the pairs that the version holds, in order."""
    store = open_version_store(index_root(), version.manifest)
    held = np.ones(len(store), np.bool_)
    held[np.load(folder_of(version) / REMOVED, allow_pickle=False)] = False
    return np.sort(store.keys[held])


def _texts(keys: PairKeys, form: str) -> Iterable[str]:
    for start in range(0, len(keys), PAIRS_AT_ONCE):
        for question, answer in texts_of(unpacked(keys[start : start + PAIRS_AT_ONCE])):
            yield f"{question} {answer}" if form == IndexForm.QQA else question


def _facts(version: IndexVersion) -> Manifest:
    return {
        "form": version.form,
        "pairs": version.pairs,
        "database_digest": version.database_digest,
    }


def _verify(folder: Path, version: IndexVersion) -> None:
    hint = f"remove the folder {folder}, it is rebuilt when needed"
    path = folder / MANIFEST
    if not path.is_file():
        raise UserError(f"The index file {path} is missing: {hint}.")
    try:
        manifest = orjson.loads(path.read_bytes())
        files = {name: manifest["files"][name] for name in FILES}
        same = path.read_text(encoding="utf-8") == encoded({**manifest, **_facts(version)})
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise UserError(f"{path} is not a manifest of a lexical index: {hint}.") from error
    if not same:
        raise UserError(f"{path} is not the one of this index's pairs: {hint}.")
    verify_files(folder, files, hint)
