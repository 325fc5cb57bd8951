"""Loading a trained selector and scoring by it. Import it through lazy.py: it loads torch."""

import json
import logging
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import torch
from transformers import AutoConfig
from transformers.utils import logging as transformers_logging

from core.errors import UserError
from retrieval.encoders.bundled import bundled_folder
from retrieval.encoders.cross_encoder.model import SelectorModel
from retrieval.encoders.loading import BROKEN, chosen_device, fingerprint_of, refuse_if_broken
from retrieval.encoders.selector import FORM_FILE, form_of
from retrieval.ranking.input_forms import parts

BATCH = 64


class TrainedSelector:
    """Longest inputs first, so that a batch holds little padding; see the Protocol."""

    def __init__(self, model: SelectorModel, name: str, form: str) -> None:
        self.name = name
        self.form = form
        self._model = model

    @cached_property
    def fingerprint(self) -> str:
        return fingerprint_of(self._model)

    def reading(self, form: str) -> "TrainedSelector":
        """The same of other texts than it was trained with."""
        return TrainedSelector(self._model, self.name, form)

    def score(self, query: str, pairs: Sequence[tuple[str, str]]) -> list[float]:
        return self.score_all([(query, question, answer) for question, answer in pairs])

    def score_all(self, triplets: Sequence[tuple[str, str, str]]) -> list[float]:
        """Of (query, question, answer), in their order."""
        return self.score_inputs(
            [(query, parts(self.form, question, answer)) for query, question, answer in triplets]
        )

    def score_inputs(self, inputs: Sequence[tuple[str, Sequence[str]]]) -> list[float]:
        """Of a first text with those that follow it."""
        if not inputs:
            return []
        scores: list[float] = self._model.predict(
            list(inputs), batch_size=BATCH, show_progress_bar=False
        ).tolist()
        return scores


def load_selector(folder: Path, device: str = "auto") -> TrainedSelector:
    """UserError where the folder holds no selector, or a damaged one."""
    form = form_of(folder)
    model = new_selector(str(folder), chosen_device(device))
    return TrainedSelector(model.eval(), folder.name, form)


def load_cross_encoder(name: str, form: str, device: str = "auto") -> TrainedSelector:
    """One that was made elsewhere: what it reads is not recorded with it. Its scores are put from
    0 to 1, in the order that they have."""
    if (outputs := classes_of(name)) != 1:
        raise UserError(
            f"The cross-encoder {name} has {outputs} outputs: name one that was trained to give a "
            "single score."
        )
    return TrainedSelector(new_selector(name, chosen_device(device)).eval(), name, form)


def new_selector(base: str, device: str, *, max_length: int | None = None) -> SelectorModel:
    """Of any checkpoint that can be had without a hub; a base without a head for one score, or with
    one for several classes, gets a random one."""
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    # It tells at length that a new head is new.
    transformers_logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)
    with refuse_if_broken(base):
        model: SelectorModel = SelectorModel(
            _source(base),
            num_labels=1,
            max_length=max_length,
            device=device,
            local_files_only=True,
            # Elsewhere, weights of another size are those of a broken checkpoint.
            model_kwargs={"dtype": torch.float32, "ignore_mismatched_sizes": classes_of(base) > 1},
            # Scores are from 0 to 1, whatever the base's own were.
            activation_fn=torch.nn.Sigmoid(),
        )
    _require_pieces(base, model)
    return model


def classes_of(base: str) -> int:
    """What its own head tells apart: 1 where it gives a score, 0 where it has no head."""
    try:
        config = AutoConfig.from_pretrained(_source(base), local_files_only=True)
    except BROKEN:
        return 0  # what loads the model says what is wrong
    # As its files name it, whatever it will be loaded as.
    return int(config.num_labels) if "SequenceClassification" in str(config.architectures) else 0


def _source(base: str) -> str:
    folder = bundled_folder(base) or Path(base)
    return str(folder.resolve()) if folder.is_dir() else base


def _require_pieces(base: str, model: SelectorModel) -> None:
    """What a selector's inputs are put together of."""
    tokenizer = model.tokenizer
    has = {
        "separator": tokenizer.sep_token,
        "padding token": tokenizer.pad_token,
        "fast version": tokenizer.is_fast,
    }
    if lacking := [what for what, there in has.items() if not there]:
        raise UserError(
            f"The tokenizer of {base} has no {' and no '.join(lacking)}: a selector cannot be "
            "trained from it. Use another base, such as a BERT."
        )


def save_selector(model: SelectorModel, folder: Path, form: str) -> None:
    """Its own card is left out: it would run the model, and Quorum writes one."""
    model.save_pretrained(str(folder), create_model_card=False)
    (folder / FORM_FILE).write_text(json.dumps({"form": form}) + "\n", encoding="utf-8")
