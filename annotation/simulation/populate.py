"""The dry run's campaign in the dry run's empty database, made by the real steps."""

import json
from contextlib import suppress

from django.conf import settings

from annotation.crowd.simulated.knowledge import Gold
from annotation.models import Campaign, Control
from annotation.pipeline.ledger.reservations import set_budget
from annotation.pipeline.setup.import_dataset import import_dataset
from annotation.pipeline.setup.instructions import Unchanged, add_version
from annotation.protocol.policy.policy import Policy
from annotation.protocol.policy.tasks import PAPER_TASK, TaskName, task_of
from annotation.simulation.sample import Plan, PlannedQuery, Texts
from core.text.clean import normalise_question


def fill(plan: Plan) -> Campaign:
    """The queries come with their candidates, none of them labelled."""
    path = settings.DATA_DIR / "queries.jsonl"
    path.write_text("".join(map(_line, plan.queries)), encoding="utf-8")
    policy = Policy.from_dict(plan.policy)
    campaign = import_dataset([path], plan.name, policy=policy, seed=plan.seed).campaign
    with suppress(Unchanged):  # the usual wording, which it has already
        add_version(campaign, plan.instructions)
    owner = campaign if plan.has_own else None
    _controls(owner, Control.Kind.POSITIVE, plan.positives, drafted=plan.has_own, task=policy.task)
    _controls(campaign, Control.Kind.NEGATIVE, plan.negatives, drafted=plan.has_own)
    set_budget(campaign, plan.budget_cents)
    return campaign


def _line(query: PlannedQuery) -> str:
    candidates = [
        {"rank": one.rank, "question": one.question, "answer": one.answer, "label": None}
        for one in query.candidates
    ]
    return json.dumps({"id": query.key, "query": query.text, "candidates": candidates}) + "\n"


def _controls(
    campaign: Campaign | None,
    kind: Control.Kind,
    texts: list[Texts],
    *,
    drafted: bool,
    task: TaskName = PAPER_TASK.name,
) -> None:
    Control.objects.bulk_create(
        Control(
            kind=kind,
            task=task,
            campaign=campaign,
            key=f"{kind[0]}{number:06d}",
            query=query,
            question=question,
            answer=answer,
            drafted=drafted,
        )
        for number, (query, question, answer) in enumerate(texts, start=1)
    )


def gold_of(plan: Plan) -> Gold:
    """What is so: of the controls, whose answer is plain, then of the candidates.

    Of the same two texts the first in rank says it.
    """
    gold, asked = Gold(), task_of(plan.policy)
    for texts, label in ((plan.positives, 1), (plan.negatives, 0)):
        for query, question, answer in texts:
            judged = question if asked.shows_question else answer
            pair = normalise_question(query), normalise_question(judged)
            gold.labels.setdefault(pair, label)
            gold.plain.add(pair)
    for one in plan.queries:
        for candidate in one.candidates:
            judged = candidate.question if asked.shows_question else candidate.answer
            if gold.label(one.text, judged) is None:
                gold.labels[normalise_question(one.text), normalise_question(judged)] = (
                    candidate.label
                )
    return gold
