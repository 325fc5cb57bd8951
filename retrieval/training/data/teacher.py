"""A teacher's scores beside the labels: a model's, or those of the run that one left. It is loaded
once and scores each example once, whatever is tried with it. Import it through lazy.py: torch.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from datasets import Dataset
from django.conf import settings

from core.errors import UserError
from retrieval.encoders.cross_encoder.load import load_cross_encoder, load_selector
from retrieval.encoders.encoder import load_encoder
from retrieval.encoders.model_folder import folder_of
from retrieval.encoders.score_candidates import score_with_encoder, score_with_selector
from retrieval.encoders.selector import is_cross_encoder, is_selector
from retrieval.ranking.read_runs import read_run
from retrieval.ranking.records import CandidateRecord, QueryRecord
from retrieval.registry.registry import digest_of_folder, resolve_either, trained_form
from retrieval.training.data.examples import LABEL, Examples, labelled
from retrieval.training.data.release_splits import NEEDED
from retrieval.training.recipes.materials import Candidate, Group
from retrieval.training.recipes.recipe import Task
from retrieval.vectors.checksums import sha256_of

USUAL_FORM = "QQA"  # of a retriever that was not trained here
SPLIT = "{split}"  # in the name of a run that has a file for each

Labelled = Sequence[tuple[Group, Candidate]]


@dataclass(frozen=True)
class Teacher:
    sha256: str  # of what it scores by
    scores: Callable[[Task, Labelled], list[float]]
    is_run: bool = False  # it scores the release's candidates alone


def load_teacher(name: str, device: str) -> Teacher:
    """A registered model, a folder, one in MODELS_DIR, or a run; UserError where there is none of
    this name, or it cannot be loaded."""
    paths = list(dict.fromkeys(Path(name.replace(SPLIT, split)) for split in NEEDED))
    if SPLIT in name or paths[0].is_file():
        return _of_run(name, paths)
    model = resolve_either(name)
    if folder_of(model) is None:  # one that an experiment has trained
        model = str(Path(settings.MODELS_DIR) / name)
    folder = folder_of(model)
    if folder is None:
        raise UserError(
            f"There is no teacher {name!r}: name a registered model, a folder, or a run."
        )
    scores = (_by_selector if is_cross_encoder(folder) else _by_encoder)(model, device)
    return Teacher(digest_of_folder(folder, with_links=True), scores)


def with_teacher(
    teacher: Teacher, task: Task, examples: Examples, groups: Sequence[Group]
) -> Examples:
    """Each label becomes two numbers: itself, and the teacher's score from 0 to 1."""
    scores = teacher.scores(task, labelled(task, groups))
    labels = [
        [label, min(max(score, 0.0), 1.0)]
        for label, score in zip(examples.rows[LABEL], scores, strict=True)
    ]
    others = {name: examples.rows[name][:] for name in examples.rows.column_names if name != LABEL}
    return replace(examples, rows=Dataset.from_dict({**others, LABEL: labels}))


def _by_selector(model: str, device: str) -> Callable[[Task, Labelled], list[float]]:
    """One that was made elsewhere reads what the student does."""
    ours = is_selector(Path(model))
    selector = load_selector(Path(model), device) if ours else load_cross_encoder(model, "", device)

    def scores(task: Task, some: Labelled) -> list[float]:
        form = _form(selector.form or task.form, some)
        scored = score_with_selector(selector.reading(form), _records(some))
        return [score for _, [(_, score)] in scored]

    return scores


def _by_encoder(model: str, device: str) -> Callable[[Task, Labelled], list[float]]:
    encoder = load_encoder(model, device)

    def scores(task: Task, some: Labelled) -> list[float]:
        form = _form(trained_form(model) or USUAL_FORM, some)
        scored = score_with_encoder(encoder, form, _records(some))
        return [score for _, [(_, score)] in scored]

    return scores


def _form(own: str, some: Labelled) -> str:
    """Of texts without answers, or that are one text, a teacher reads that text once."""
    alone = all(candidate.answer in ("", candidate.question) for _, candidate in some)
    return "QQ" if alone else own


def _records(some: Labelled) -> list[QueryRecord]:
    return [
        QueryRecord(
            str(number),
            group.query,
            [CandidateRecord("1", one.question, one.answer, 1, None, 0, 0, 0)],
        )
        for number, (group, one) in enumerate(some)
    ]


def _of_run(name: str, paths: Sequence[Path]) -> Teacher:
    if missing := [path for path in paths if not path.is_file()]:
        raise UserError(
            f"The teacher {name} lacks {missing[0]}: name a run from the current folder, or by its "
            "whole path."
        )
    known = {(one.query, one.candidate): one.score for path in paths for one in read_run(path)}
    if max(known.values()) > 1:
        raise UserError(
            f"The run {name} has scores above 1, and a teacher's are from 0 to 1: name a run of "
            "cosines or probabilities."
        )
    digests = "".join(map(sha256_of, paths))
    return Teacher(
        hashlib.sha256(digests.encode()).hexdigest(),
        lambda task, some: [_of_candidate(name, known, *one) for one in some],
        is_run=True,
    )


def _of_candidate(
    name: str, known: Mapping[tuple[str, str], float], group: Group, candidate: Candidate
) -> float:
    try:
        return known[group.id, candidate.id]
    except KeyError as error:
        raise UserError(
            f"The run {name} has no score of the candidate {candidate.id!r} of the query "
            f"{group.id!r}: a run that teaches must score train and dev of the release."
        ) from error
