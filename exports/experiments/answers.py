"""An experiment of answers, after QUADRo's Table 4: questions whose answers are known are put to
the database by whole systems, each a retriever with or without a selector.

Each model is trained by its recipe, with a stage fewer where a system is not tuned; of its seeds
the best answers. The index that people search stays the one that it was. What the systems answered
is written for people to judge; a campaign where they did takes the place of the known answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings as site

from annotation.analytics.quality.answer_accuracy import Judged, answer_labels, judged_outcomes
from annotation.pipeline.setup.create import get_campaign
from core.errors import UserError
from core.text.clean import question_key
from core.text.words import plural
from exports.experiments.experiment import ACCURACY, System
from exports.experiments.release_materials import QUESTIONS
from exports.experiments.table import NOTE, markdown, printed
from exports.experiments.training import Run, Training, best
from retrieval.answering.ablations import OpenSystems
from retrieval.answering.ablations import System as Parts
from retrieval.answering.answer import CANDIDATES, Answerer
from retrieval.answering.answer_match import PROXY
from retrieval.answering.answers_file import given_answers, write_answers
from retrieval.answering.known_answers import KnownQuestion, read_known
from retrieval.answering.scoring import Outcome, compared, outcomes
from retrieval.indexing.build import build_index
from retrieval.ranking.bootstrap import LEVEL
from retrieval.ranking.fusion import ALONE, BM25
from retrieval.training.recipes.recipe import Recipe

ANSWERS = "-answers.jsonl"
Asked = Mapping[str, Mapping[str, Sequence[Outcome]]]  # by file and system


class Model(NamedTuple):
    """By what it is trained; of several systems it is one model."""

    name: str
    recipe: Recipe


def run_answers(run: Run) -> dict[str, Any]:
    if run.judge and not answer_labels(get_campaign(run.judge)):
        raise UserError(f"{run.judge} has no labels yet: let people judge first.")
    systems = [one for one in run.experiment.systems if one.recipe is not None]
    models = {one.name: dict(_models(run, one)) for one in systems}
    every = {model.name: model.recipe for of in models.values() for model in of.values()}
    known = {
        name: read_known(run.there(QUESTIONS, file))
        for name, file in run.experiment.questions.items()
    }
    run.require(every.values(), ())
    run.out.mkdir(parents=True, exist_ok=True)
    trained = run.train_all(every, 1, len(every))
    opened = OpenSystems(run.device)
    answerers = {one.name: _answerer(run, one, models, trained, opened) for one in systems}
    asked = {}
    for name, questions in known.items():
        run.begin(f"Answering {name}", len(questions) * len(systems))
        asked[name] = {
            system: outcomes(answerer, questions, CANDIDATES, run.step)
            for system, answerer in answerers.items()
        }
    _write_answers(run, known, asked)
    labels = answer_labels(get_campaign(run.judge)) if run.judge else None
    judged = {
        name: Judged(of, len(known[name]), 0, 0)
        if labels is None
        else judged_outcomes(labels, given_answers(known[name], of), of)
        for name, of in asked.items()
    }
    about = _about_people(run, judged)
    result = {
        "title": run.experiment.title,
        "report": str(run.report(".md")),
        "release": str(run.release),
        "against": run.experiment.against,
        "judge": run.judge,
        "file": run.path(ANSWERS).name,
        "answers": {
            name: {
                "questions": of.questions,
                "left_out": of.left_out,
                "unjudged": of.unjudged,
                "systems": _compared(run, of.scored),
            }
            for name, of in judged.items()
            if of.questions
        },
        "papers": [
            _printed(system, run.experiment.source)
            for system in run.experiment.systems
            if system.paper_of_sets or system.lacks
        ],
        "notes": [
            run.note(every.values()),
            f"In percent, with {LEVEL:.0%} bootstrap intervals over the questions; p: a paired "
            f"randomization test against {run.experiment.against}. Right: "
            f"{f'as people of {run.judge} said' if run.judge else PROXY}.",
            about,
            NOTE,
        ],
    }
    run.write(result, markdown(result))
    return result


def _models(run: Run, system: System) -> Iterator[tuple[str, Model]]:
    """Its retriever and its selector."""
    assert system.answering is not None
    untuned = system.answering.untuned
    recipes = {"retriever": system.recipe, "selector": system.answering.selector}
    for kind, path in recipes.items():
        if path is not None:
            name = f"{path.stem}-untuned" if untuned else path.stem
            yield kind, Model(name, run.recipe(path, system, stages=-1 if untuned else None))


def _answerer(
    run: Run,
    system: System,
    models: Mapping[str, Mapping[str, Model]],
    trained: Mapping[str, Training],
    opened: OpenSystems,
) -> Answerer:
    assert system.answering is not None
    folder, of_system = Path(site.MODELS_DIR), models[system.name]
    retriever, selector = of_system["retriever"], of_system.get("selector")
    training = trained[retriever.name]
    nearest = folder / training["name"] / best(training)["model"]
    run.begin(f"Indexing for {system.name}", 0)
    index = build_index(str(nearest), retriever.recipe.form, run.device, current=False)
    chooser = None if selector is None else str(folder / trained[selector.name]["name"])
    retrievers = (BM25,) if system.answering.search == BM25 else ALONE
    return opened.answerer(Parts(system.name, index, chooser, retrievers))


def _write_answers(run: Run, known: Mapping[str, Sequence[KnownQuestion]], asked: Asked) -> None:
    """Of all files in one, each question once."""
    every: dict[str, tuple[KnownQuestion, dict[str, list[Outcome]]]] = {}
    for name, questions in known.items():
        for number, question in enumerate(questions):
            of = {system: [outcomes[number]] for system, outcomes in asked[name].items()}
            if any(one.best for [one] in of.values()):
                every.setdefault(question_key(question.text), (question, of))
    write_answers(
        run.path(ANSWERS),
        [question for question, _ in every.values()],
        {
            system: [one for _, of in every.values() for one in of[system]]
            for system in next(iter(asked.values()))
        },
    )


def _about_people(run: Run, judged: Mapping[str, Judged]) -> str:
    """How answers come to be judged; UserError where none is yet."""
    how = (
        "create a campaign of the task `answer` from the queries in "
        f"{run.portable(run.path(ANSWERS))}"
    )
    if not run.judge:
        return f"To have people judge the answers, {how}."
    unjudged = sum(of.unjudged for of in judged.values())
    left_out = sum(of.left_out for of in judged.values())
    if not unjudged:
        return f"People of {run.judge} judged all answers."
    said = (
        f"{run.judge} has no label for {plural(unjudged, 'answer')} yet, which leaves "
        f"out {plural(left_out, 'question')}: let its people finish, or {how}."
    )
    if not any(of.questions for of in judged.values()):
        raise UserError(said)
    return said


def _compared(run: Run, asked: Mapping[str, Sequence[Outcome]]) -> dict[str, Any]:
    """By the names of the systems, in their order."""
    other = run.experiment.against
    rows = {str(row["system"]): row for row in compared({other: asked[other], **asked})}
    return {name: rows[name] for name in asked}


def _printed(system: System, source: str) -> dict[str, Any]:
    accuracy = {name: of[ACCURACY] for name, of in system.paper_of_sets.items()}
    return printed(system, source, accuracy)
