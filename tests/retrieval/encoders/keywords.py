"""A small real encoder: one dimension a keyword, so that a test reads its ranking off the texts."""

import hashlib
import re
from collections.abc import Mapping, Sequence

import numpy as np

from core.progress import Progress, no_progress
from retrieval.vectors.types import Vectors


class KeywordEncoder:
    """Counts keywords; the last dimension keeps a text without any from being a zero vector."""

    def __init__(self, keywords: str, name: str = "keywords") -> None:
        self.name = name
        self._places = {word: place for place, word in enumerate(keywords.split())}
        self.dimension = len(self._places) + 1
        self.fingerprint = hashlib.sha256(keywords.encode()).hexdigest()
        self.pooling = "sum"
        self.precision = "fp32"
        self.versions: Mapping[str, str] = {"keywords": "1"}

    def encode_questions(
        self, questions: Sequence[str], progress: Progress = no_progress
    ) -> Vectors:
        vectors = np.zeros((len(questions), self.dimension), np.float32)
        vectors[:, -1] = 0.1
        for row, text in zip(vectors, questions, strict=True):
            for word in re.findall(r"\w+", text.lower()):
                if word in self._places:
                    row[self._places[word]] += 1
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        progress(len(questions))
        return vectors

    def encode_pairs(
        self, pairs: Sequence[tuple[str, str]], progress: Progress = no_progress
    ) -> Vectors:
        texts = [f"{question} {answer}" for question, answer in pairs]
        return self.encode_questions(texts, progress)
