"""What is asked of a build, and what the machine, the pairs and the recall make of it."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from core.errors import UserError
from retrieval.encoders.lazy import choose_precision, load_encoder
from retrieval.index.choice import BYTES, ON_GPU, Choice, choose, free_memory
from retrieval.index.exact.lazy import free_on_gpu
from retrieval.index.versions import newest_first
from retrieval.models import Corpus, IndexKind, IndexVersion
from retrieval.models.corpus import sources_of
from retrieval.vectors.pair_keys import sampled, texts_of
from retrieval.vectors.types import Encoder, PairKeys, unpacked

AUTO = "auto"
PRECISIONS = ("fp32", "bf16", "fp16")
PRECISION_SAMPLE = 2_000  # pairs


@dataclass(frozen=True)
class BuildOptions:
    """What is `auto` follows from the machine, the pairs and the recall."""

    kind: str = AUTO
    store: str = AUTO  # float32 or float16
    precision: str = AUTO  # fp32, bf16 or fp16: of the pairs; questions are encoded in fp32
    recall: float = 0.99  # at least, of the exact nearest 30
    processes: int | None = 1  # None: as many as are usual on the device
    spread: bool = False  # by the workers

    def __post_init__(self) -> None:
        if self.kind not in (AUTO, *IndexKind.values):
            kinds = ", ".join(IndexKind.values)
            raise UserError(f"Unknown kind of index {self.kind!r}: choose auto, {kinds}.")
        if self.store not in (AUTO, *BYTES):
            stores = ", ".join(BYTES)
            raise UserError(f"Vectors cannot be stored in {self.store!r}: choose auto, {stores}.")
        if not 0 < self.recall <= 1:
            raise UserError(f"The recall wanted is above 0 and at most 1, not {self.recall:g}.")


@dataclass(frozen=True)
class BuildRequest:
    model: str
    form: str
    device: str  # cpu or cuda
    options: BuildOptions
    encoder: Encoder  # of questions
    given: bool  # the encoder: it encodes the pairs as well
    corpus: Corpus | None = None  # all pairs
    current: bool = True  # people search it from then on

    def words(self) -> dict[str, Any]:
        """What was asked for, as far as it decides the outcome."""
        options, corpus = self.options, self.corpus
        return {
            **({"corpus": corpus.name, "sources": sources_of(corpus)} if corpus else {}),
            "asked": {
                "device": self.device,
                "kind": options.kind,
                "precision": options.precision,
                "recall": options.recall,
                "store": options.store,
            },
            "form": self.form,
            "model": self.encoder.name,
            "model_fingerprint": self.encoder.fingerprint,
        }


def choice_of(request: BuildRequest, pairs: int) -> Choice:
    """The width of the vectors stays that of the version chosen last unless another kind needs
    another: memory that is short today must not have six million pairs encoded again."""
    options = request.options
    on_gpu = request.device == "cuda" and options.kind in (AUTO, *ON_GPU)
    case = partial(
        choose,
        pairs=pairs,
        dimension=request.encoder.dimension,
        device=request.device,
        memory_bytes=free_memory(),
        gpu_bytes=free_on_gpu() if on_gpu else None,
        recall=options.recall,
        wanted=options.kind,
    )
    choice = case(dtype=options.store)
    if options.store != AUTO:
        return _with_reason(choice, "as asked for")
    if last := next(_before(request), None):
        with suppress(UserError):
            same = case(dtype=last.manifest["store"]["dtype"])
            if same.kind == choice.kind:
                return _with_reason(same, "as in the index before")
    widest = choice.dtype == "float32"
    room = "has room for it" if widest else "has no room for float32"
    return _with_reason(choice, f"the free memory {room}")


def _with_reason(choice: Choice, why: str) -> Choice:
    return replace(choice, reason=f"{choice.reason} Kept in {choice.dtype}: {why}.")


def precision_of(request: BuildRequest, keys: PairKeys) -> tuple[str, str]:
    """And why. What was chosen stays: a few new pairs must not tip it for all the others."""
    if request.given:
        return request.encoder.precision, "the encoder's own"
    chosen = {"device": request.device, "precision": AUTO}
    for index in _before(request) if request.options.precision == AUTO else ():
        if chosen.items() <= index.manifest["asked"].items():
            return index.manifest["store"]["precision"], "as the vectors before"
    texts = texts_of(unpacked(sampled(keys, PRECISION_SAMPLE)))
    precision = choose_precision(
        request.model, request.device, request.options.precision, texts, request.form
    )
    return precision.name, precision.reason


def _before(request: BuildRequest) -> Iterator[IndexVersion]:
    """The versions by the same model, the newest first."""
    for index in newest_first(request.form):
        if index.manifest["model_fingerprint"] == request.encoder.fingerprint:
            yield index


def pairs_encoder(request: BuildRequest, precision: str) -> Encoder:
    options = request.options
    if request.given or (precision == request.encoder.precision and options.processes == 1):
        return request.encoder
    return load_encoder(
        request.model, request.device, precision=precision, processes=options.processes
    )
