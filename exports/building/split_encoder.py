"""The campaign's retriever as the judge of what queries are near each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.errors import UserError
from exports.splits.assign import Encode
from retrieval.encoders.lazy import load_encoder
from retrieval.registry.registry import resolve_model

BY_WORDS = "near-duplicate queries were found by their words alone"


@dataclass(frozen=True)
class QueryEncoder:
    encode: Encode | None
    note: str = ""  # why there is none


def query_encoder(retriever: Mapping[str, Any] | None) -> QueryEncoder:
    """Of campaign.json's retriever. On the CPU: the same vectors on every machine, nearly."""
    if retriever is None:
        return QueryEncoder(None)
    try:
        encoder = load_encoder(resolve_model(retriever["model"]), "cpu")
    except UserError as error:
        return QueryEncoder(None, f"{error} Without it, {BY_WORDS}.")
    if encoder.fingerprint != retriever["model_fingerprint"]:
        return QueryEncoder(
            None,
            f"The model {retriever['model']} is another one here than when the candidates were "
            f"retrieved: {BY_WORDS}.",
        )
    return QueryEncoder(encoder.encode_questions)
