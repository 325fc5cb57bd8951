"""Objectives as losses of sentence-transformers: a batch is read once, and each term of a sum is
computed from what comes out. Import it through lazy.py: it loads torch."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from sentence_transformers.base.losses.gradcache import CachedLossMixin
from sentence_transformers.base.losses.merged_forward import embed_columns
from sentence_transformers.sentence_transformer.losses import (
    MultipleNegativesRankingLoss,
    OnlineContrastiveLoss,
)
from sentence_transformers.util import batch_to_device
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, mse_loss

from retrieval.training.loop.tokens import OfStates, last_states, token_terms
from retrieval.training.recipes.objectives import Term, Terms, on_tokens

OfEmbeddings = Callable[[list[Tensor], Tensor | None], Tensor]
# Of the logits, the labels, the teacher's scores (none where no term asks), and the lambda.
OfLogits = Callable[[Tensor, Tensor, Tensor | None, float], Tensor]
NO_LABELS = torch.empty(0)


def _mnr(model: Any) -> OfEmbeddings:
    loss = MultipleNegativesRankingLoss(model)
    return lambda embeddings, _: loss.compute_loss_from_embeddings(embeddings, NO_LABELS)


def _mnr_symmetric(model: Any) -> OfEmbeddings:
    loss = MultipleNegativesRankingLoss(
        model, directions=("query_to_doc", "doc_to_query"), partition_mode="per_direction"
    )
    return lambda embeddings, _: loss.compute_loss_from_embeddings(embeddings, NO_LABELS)


def _contrastive(model: Any) -> OfEmbeddings:
    """Of ranked rows, an anchor with its positive, and with each of its hard negatives."""
    loss = OnlineContrastiveLoss(model)

    def of(embeddings: list[Tensor], labels: Tensor | None) -> Tensor:
        if labels is not None:
            return loss.compute_loss_from_embeddings(embeddings, labels)
        anchors, *others = embeddings
        beside = anchors.repeat(len(others), 1)
        labels = torch.zeros(len(beside), device=beside.device)
        labels[: len(anchors)] = 1
        return loss.compute_loss_from_embeddings([beside, torch.cat(others)], labels)

    return of


def _binary(logits: Tensor, labels: Tensor, teacher: Tensor | None, share: float) -> Tensor:
    return binary_cross_entropy_with_logits(logits, labels)


def _hinton(logits: Tensor, labels: Tensor, teacher: Tensor | None, share: float) -> Tensor:
    """Of the reranking paper, after Hinton et al. (2015)."""
    assert teacher is not None
    own = binary_cross_entropy_with_logits(logits, labels)
    return (1 - share) * own + share * mse_loss(logits.sigmoid(), teacher)


def _gabburo(logits: Tensor, labels: Tensor, teacher: Tensor | None, share: float) -> Tensor:
    """What the teacher is sure of counts less (Gabburo et al., 2023)."""
    assert teacher is not None
    return binary_cross_entropy_with_logits(logits, labels, weight=1 - teacher)


OF_RETRIEVERS: dict[str, Callable[[Any], OfEmbeddings]] = {
    "mnr": _mnr,
    "mnr-symmetric": _mnr_symmetric,
    "contrastive": _contrastive,
}
OF_SELECTORS: dict[str, OfLogits] = {
    "binary": _binary,
    "distil-hinton": _hinton,
    "distil-gabburo": _gabburo,
}


class _Sum(nn.Module):
    def __init__(self, model: Any, terms: Terms, weight: float = 1.0) -> None:
        super().__init__()
        self.model = model  # before the heads: what they share with it is the model's
        self.tokens = token_terms(model, on_tokens(terms))
        self._weights = {term.name: weight * term.weight[0] for term in terms}
        self._others = [term for term in terms if not term.objective.on_tokens]

    def _changed(self, features: dict[str, Any]) -> OfStates:
        """The features' tokens, where a term is on tokens: all others read the same."""
        if self.tokens is None:
            return lambda states: {}
        return self.tokens.change(features, training=self.model.training)

    def _summed(self, losses: Mapping[str, Tensor]) -> Tensor:
        first, *others = (self._weights[name] * one for name, one in losses.items())
        for one in others:
            first = first + one
        return first


class RetrieverSum(CachedLossMixin, _Sum):
    def __init__(
        self, model: Any, terms: Terms, weight: float = 1.0, mini_batch_size: int | None = None
    ) -> None:
        super().__init__(model, terms, weight)
        self._of_embeddings = {term.name: OF_RETRIEVERS[term.name](model) for term in self._others}
        self.uses_gradient_cache = mini_batch_size is not None
        self.mini_batch_size = mini_batch_size or 0

    def forward(self, sentence_features: Any, labels: Tensor | None) -> Tensor:
        if self.uses_gradient_cache:
            return self.forward_cached(sentence_features, labels)
        if self.tokens is None:
            return self._summed(self._losses(embed_columns(self.model, sentence_features), labels))
        embeddings, of_tokens = [], []
        for features in sentence_features:
            of_states = self._changed(features)
            with last_states(self.model) as states:
                embeddings.append(self.model(features)["sentence_embedding"])
            of_tokens.append(of_states(states[0]))
        means = {
            name: torch.stack([one[name] for one in of_tokens]).mean() for name in of_tokens[0]
        }
        return self._summed({**self._losses(embeddings, labels), **means})

    def calculate_loss(
        self,
        reps: list[list[Tensor]],
        labels: Tensor | None = None,
        *,
        with_backward: bool = False,
    ) -> Tensor:
        """The library's place for it: of the embeddings of all parts of a batch."""
        loss = self._summed(self._losses([torch.cat(parts) for parts in reps], labels))
        if with_backward:
            loss.backward()  # type: ignore[no-untyped-call]
        return loss

    def _losses(self, embeddings: list[Tensor], labels: Tensor | None) -> dict[str, Tensor]:
        return {name: of(embeddings, labels) for name, of in self._of_embeddings.items()}


class SelectorSum(_Sum):
    """Labels are a column, or two: the labels, and the teacher's scores."""

    def forward(
        self,
        inputs: Sequence[Sequence[Any]],
        labels: Tensor | Sequence[Tensor],  # as the library's collator leaves two columns
        prompt: str | None = None,
        task: str | None = None,
    ) -> Tensor:
        pairs = list(zip(*inputs, strict=True))
        features = self.model.preprocess(pairs, prompt=prompt, task=task)
        features = batch_to_device(features, self.model.device)
        of_states = self._changed(features)
        with last_states(self.model) as states:
            logits = self.model(features)["scores"].view(-1)
        rows = labels if isinstance(labels, Tensor) else torch.stack(list(labels))
        columns = rows.to(logits.device).float().view(len(logits), -1)
        teacher = columns[:, 1] if columns.shape[1] > 1 else None
        losses = {
            term.name: OF_SELECTORS[term.name](logits, columns[:, 0], teacher, _lambda(term))
            for term in self._others
        }
        return self._summed({**losses, **of_states(states[0])})


def _lambda(term: Term) -> float:
    return term.lambda_[0] if term.lambda_ else 0.0


SUMS: dict[str, type[RetrieverSum | SelectorSum]] = {
    "retriever": RetrieverSum,
    "selector": SelectorSum,
}
