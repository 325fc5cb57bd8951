"""The encoder of an index's questions: of a few, without torch where the model allows it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from core.progress import Progress, no_progress
from retrieval.encoders.lazy import load_encoder, model_folder, plain_bert
from retrieval.models import IndexVersion
from retrieval.registry.registry import digest_of_folder, model_of
from retrieval.vectors.types import Encoder, QuestionEncoder, Vectors

if TYPE_CHECKING:
    from retrieval.encoders.plain_bert import PlainBert

FEW = 256  # questions: about as long as torch takes to import
# What tells models apart: case, accents, other scripts, nothing, and more than a model reads.
PROBES = ("How do I boil eggs?", "", "Café Ünïcode 東京", "[SEP] a's: 1,000-fold", "word " * 3000)
SAME = 1e-6  # float32 summed in another order


@dataclass(frozen=True)
class PlainEncoder:
    name: str
    fingerprint: str
    model: "PlainBert"

    def encode_questions(
        self, questions: Sequence[str], progress: Progress = no_progress
    ) -> Vectors:
        vectors = self.model.encode(questions)
        progress(len(questions))
        return vectors


def question_encoder(
    version: IndexVersion, device: str = "auto", *, questions: int = 1
) -> QuestionEncoder:
    """For about so many questions: two ways give the same vectors but for their last digits."""
    name = model_of(version)
    if questions <= FEW and device in ("auto", "cpu"):
        folder, made_with = model_folder(name), version.manifest.get("plain_model")
        if folder and made_with and digest_of_folder(folder, with_links=True) == made_with:
            fingerprint = version.manifest["model_fingerprint"]
            return PlainEncoder(name, fingerprint, plain_bert(folder))
    return load_encoder(name, device)


def plain_model(encoder: Encoder) -> Mapping[str, str]:
    """For the manifest: the digest of the encoder's files, where they make its vectors without
    torch, too."""
    folder = model_folder(encoder.name)
    if folder is None or not _same_vectors(encoder, folder):
        return {}
    return {"plain_model": digest_of_folder(folder, with_links=True)}


def _same_vectors(encoder: Encoder, folder: Path) -> bool:
    try:
        plain = plain_bert(folder).encode(PROBES)
    except (KeyError, OSError, ValueError):  # another architecture, or in other files
        return False
    known = encoder.encode_questions(PROBES)
    return plain.shape == known.shape and bool(np.abs(plain - known).max() < SAME)
