"""Sentence-transformers models as encoders. Import it through lazy.py: it loads torch."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import metadata

import numpy as np
from sentence_transformers import SentenceTransformer

from core.errors import UserError
from core.progress import Progress, no_progress
from retrieval.encoders.batches import Batch, Rows, ahead
from retrieval.encoders.forward import TYPES, forward, require_precision
from retrieval.encoders.loading import chosen_device, fingerprint_of, load_model, pooling_of
from retrieval.encoders.process_pool import WorkerPool, usual_processes
from retrieval.encoders.tokens import Inputs, reads_tokens, token_batches
from retrieval.vectors.types import Vectors

# Tokens in a batch, padding counted. On a CPU what a layer gives should stay in its cache; a GPU
# wants work for all its cores.
BUDGETS = {"cpu": 1_024, "cuda": 32_768}
# Batches made while those before are read.
AHEAD = 8
# Fewer texts are done before processes have started.
POOL_TEXTS = 4_096
PLAIN_BATCH, PLAIN_STEP = 64, 4_096


class SentenceEncoder:
    """Encodes questions alone, and pairs as `[CLS] question [SEP] answer [SEP]`."""

    def __init__(
        self, model: SentenceTransformer, name: str, *, precision: str = "fp32", processes: int = 1
    ) -> None:
        self.name = name
        self.dimension = int(model.get_embedding_dimension() or 0)
        # Before the weights are rounded: the same model, whatever arithmetic it is used in.
        self.fingerprint = fingerprint_of(model)
        self.pooling = pooling_of(model)
        self.precision = precision
        self.versions: Mapping[str, str] = {
            package: metadata.version(package)
            for package in ("sentence-transformers", "transformers", "torch")
        }
        self._model = model.to(TYPES[precision])
        self._reads_tokens = reads_tokens(model)
        self._pool = WorkerPool(name, precision, self.dimension, processes)
        self._processes = processes

    def encode_questions(
        self, questions: Sequence[str], progress: Progress = no_progress
    ) -> Vectors:
        return self._encode(questions, progress)

    def encode_pairs(
        self, pairs: Sequence[tuple[str, str]], progress: Progress = no_progress
    ) -> Vectors:
        # A tuple reaches the tokenizer as text and text pair.
        return self._encode(pairs, progress)

    def _encode(self, inputs: Inputs, progress: Progress) -> Vectors:
        vectors = np.empty((len(inputs), self.dimension), np.float32)
        for rows, encoded in self._batches(inputs):
            vectors[rows] = encoded
            progress(len(encoded))
        return vectors

    def _batches(self, inputs: Inputs) -> Iterator[tuple[Rows, Vectors]]:
        if not self._reads_tokens:
            return self._plain(inputs)
        budget = BUDGETS[self._model.device.type]
        batches = ahead(token_batches(self._model, inputs, budget), AHEAD)
        if self._processes > 1 and len(inputs) >= POOL_TEXTS:
            return self._pool.run(batches)
        return self._here(batches)

    def _here(self, batches: Iterable[Batch]) -> Iterator[tuple[Rows, Vectors]]:
        for batch in batches:
            yield batch.rows, forward(self._model, batch.features, self.dimension)

    def _plain(self, inputs: Inputs) -> Iterator[tuple[Rows, Vectors]]:
        """Models that look words up need no batches of ours."""
        for start in range(0, len(inputs), PLAIN_STEP):
            some = list(inputs[start : start + PLAIN_STEP])
            vectors = self._model.encode(
                some, batch_size=PLAIN_BATCH, normalize_embeddings=True, show_progress_bar=False
            )
            yield np.arange(start, start + len(some)), vectors.astype(np.float32)


def load_encoder(
    name: str, device: str, *, precision: str = "fp32", processes: int | None = 1
) -> SentenceEncoder:
    """See `load_model` for what can be named. No number of processes: the usual one."""
    target = chosen_device(device)
    require_precision(precision, target)
    if processes is None:
        processes = usual_processes(target)
    if processes < 1:
        raise UserError(f"{processes} processes cannot encode: use one or more.")
    if processes > 1 and target != "cpu":
        raise UserError("Only a CPU can use several processes: use --device cpu, or one process.")
    model, known_as = load_model(name, target)
    return SentenceEncoder(model, known_as, precision=precision, processes=processes)
