"""How often answers are right, by what people said of them: of systems, and of a corpus."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from annotation.models import Campaign
from core.errors import UserError
from retrieval.answering.answers_file import Given, GivenAnswers
from retrieval.answering.scoring import Outcome, estimate

Labels = Mapping[tuple[str, str], int]  # question key, pair key


def answer_labels(campaign: Campaign) -> Labels:
    """Those that the campaign has made so far. UserError where its people judged something else."""
    if campaign.policy.task_type.shows_question:
        raise UserError(
            f"People of {campaign} did not judge answers: name a campaign of the task `answer`."
        )
    rows = campaign.triplets.filter(label__isnull=False).values_list(
        "candidate__query__question_key", "candidate__pair__pair_key", "label"
    )
    return {(question, pair): int(label or 0) for question, pair, label in rows}


@dataclass(frozen=True)
class Judged:
    scored: Mapping[str, Sequence[Outcome]]  # by system, of questions whose answers all have labels
    questions: int
    left_out: int  # other questions
    unjudged: int  # answers to these that lack a label


def judged_outcomes(
    labels: Labels, given: Sequence[GivenAnswers], systems: Iterable[str] | None = None
) -> Judged:
    """Without `systems`, of all that answer."""
    if systems is None:
        systems = (name for one in given for each in one.answers for name in each.systems)
    scored: dict[str, list[Outcome]] = {name: [] for name in systems}
    left_out = unjudged = 0
    for one in given:
        lacking = sum((one.question_key, each.pair_key) not in labels for each in one.answers)
        if lacking:
            left_out += 1
            unjudged += lacking
            continue
        by_system = {name: each for each in one.answers for name in each.systems}
        for name, outcomes in scored.items():
            outcomes.append(_outcome(name, one.question_key, by_system, labels))
    return Judged(scored, len(given) - left_out, left_out, unjudged)


def _outcome(name: str, question: str, by_system: Mapping[str, Given], labels: Labels) -> Outcome:
    """Without a pair it is wrong, as the paper's accuracy counts it."""
    given = by_system.get(name)
    if given is None:
        return Outcome(right=False, answered=False)
    return Outcome(labels[question, given.pair_key] == 1, answered=given.systems[name])


def correctness(campaign: Campaign) -> list[dict[str, object]]:
    """Of the judged pairs by their source, and of all: QUADRo's Table 1 says it of its database."""
    answer_labels(campaign)
    labelled = campaign.triplets.filter(label__isnull=False).order_by("candidate__pair__source")
    rows = list(labelled.values_list("candidate__pair__source", "label"))
    if not rows:
        raise UserError(f"{campaign} has no labels yet: let people judge first.")
    by_source: dict[str, list[int]] = {}
    for source, label in rows:
        by_source.setdefault(source, []).append(int(label or 0))
    every = [label for labels in by_source.values() for label in labels]
    return [
        {
            "source": source,
            "pairs": len(values),
            "right": sum(values),
            "correctness": estimate(np.array([[float(value)] for value in values])),
        }
        for source, values in (*by_source.items(), ("all", every))
    ]
