"""What a model makes of a release's split, written as a run: to be evaluated and compared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from core.errors import UserError
from core.progress import Progress, no_progress
from exports.evaluation.coverage import damaged
from exports.evaluation.systems import labels_of
from retrieval.encoders.lazy import load_cross_encoder, load_encoder, load_selector, model_folder
from retrieval.encoders.score_candidates import score_with_encoder, score_with_selector
from retrieval.encoders.selector import Selector, is_cross_encoder, is_selector
from retrieval.ranking.input_forms import NO_QUESTIONS, SELECTOR_FORMS
from retrieval.ranking.records import DatasetError, QueryRecord, read
from retrieval.ranking.runs import ScoredQuery, require_new, write_run
from retrieval.registry.registry import resolve_either, trained_form

FORM = "QQA"  # of a retriever that was not trained here


@dataclass(frozen=True)
class ScoreRequest:
    model: str  # a registered one's name, a folder, or whatever else `load_encoder` takes
    release: Path
    split: str
    form: str | None  # of a retriever, or of a foreign cross-encoder; a selector reads its own
    device: str


def queries_of(release: Path, split: str) -> int:
    """UserError where there is nothing to score."""
    return len(labels_of(release, split))


def score(wanted: ScoreRequest, out: Path, progress: Progress = no_progress) -> dict[str, object]:
    """`progress` counts queries. UserError on any bad input; then nothing is written."""
    require_new(out)
    form, scored = _scored(wanted, progress)
    queries = write_run(out, scored, system=wanted.model)
    return {
        "model": wanted.model,
        "form": form,
        "release": str(wanted.release),
        "split": wanted.split,
        "queries": queries,
        "run": str(out),
    }


def _scored(wanted: ScoreRequest, progress: Progress) -> tuple[str, Iterator[ScoredQuery]]:
    model = resolve_either(wanted.model)
    folder = model_folder(model)
    if folder is None or not (is_selector(folder) or is_cross_encoder(folder)):
        form = wanted.form or trained_form(model) or FORM
        encoder = load_encoder(model, wanted.device)
        return form, score_with_encoder(encoder, form, _records(wanted, form), progress)
    selector = _selector(wanted, model, folder)
    records = _records(wanted, selector.form)
    return selector.form, score_with_selector(selector, records, progress)


def _selector(wanted: ScoreRequest, model: str, folder: Path) -> Selector:
    """A cross-encoder that was made elsewhere is one, too, where its form is named."""
    if not is_selector(folder):
        if wanted.form is None:
            raise UserError(
                f"{wanted.model} is a cross-encoder that was not trained here: say what it reads, "
                f"--form {', '.join(SELECTOR_FORMS[:-1])} or {SELECTOR_FORMS[-1]}."
            )
        return load_cross_encoder(model, wanted.form, wanted.device)
    selector = load_selector(folder, wanted.device)
    if wanted.form not in (None, selector.form):
        raise UserError(
            f"{wanted.model} is an answer selector that reads {selector.form}: leave --form out."
        )
    return selector


def _records(wanted: ScoreRequest, form: str) -> Iterator[QueryRecord]:
    """UserError, at the end, where there was nothing that the form reads."""
    empty = form == "QQ"
    try:
        for record in read(wanted.release / f"{wanted.split}.jsonl"):
            empty = empty and not any(one.question for one in record.candidates)
            yield record
    except (DatasetError, OSError) as error:
        raise damaged(wanted.release, error) from error
    if empty:
        raise UserError(NO_QUESTIONS.format(wanted.split))
