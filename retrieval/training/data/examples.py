"""What each objective reads, made of a material's groups.

Ranked: (anchor, positive, hard negatives); the other rows of a batch are its negatives too. Any
other: (query, candidate, label). Of a candidate, a retriever reads a text (QQ) or a list of two
(QQA), a selector a list of parts. Import it through lazy.py: datasets takes seconds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice

from datasets import Dataset

from core.errors import UserError
from retrieval.ranking.input_forms import FORMS, parts
from retrieval.training.recipes.materials import RANK_FORMS, RELEASE, Candidate, Group, Material
from retrieval.training.recipes.recipe import Task

Read = str | list[str]
TEXTS = {"Q": "question", "A": "answer"}  # by the letters of a form
ANCHOR, POSITIVE, NEGATIVE, LABEL = "anchor", "positive", "negative", "label"


@dataclass(frozen=True)
class Examples:
    rows: Dataset
    left_out: int  # groups that have nothing to learn from


def examples_of(model: str, task: Task, groups: Sequence[Group]) -> Examples:
    """In the order of the groups; hard negatives are a query's first ones.

    UserError where none of the texts that the form reads is there: it would learn from nothing.
    """
    used = list(_with_texts(task, groups))
    if task.is_ranked:
        return _ranked(model, task, used, len(groups))
    rows = [
        (*read(model, task.form, group.query, candidate), candidate.label)
        for group in used
        for candidate in _judged(task, group)
    ]
    columns = {
        "query": [query for query, _, _ in rows],
        "candidate": [candidate for _, candidate, _ in rows],
        LABEL: [float(label) for _, _, label in rows],
    }
    return Examples(Dataset.from_dict(columns), len(groups) - len(used))


def read(model: str, form: str, query: str, candidate: Candidate) -> tuple[str, Read]:
    """The first text and what stands beside it; an answer that is not known is empty."""
    if form in RANK_FORMS:
        first, *others = [query, *candidate.rank] if form == "QRANK" else candidate.rank
        return first, others
    texts = list(parts(form, candidate.question, candidate.answer))
    return query, texts[0] if (model, form) == ("retriever", "QQ") else texts


def labelled(task: Task, groups: Sequence[Group]) -> list[tuple[Group, Candidate]]:
    """Of each example that a task that is not ranked reads, in their order."""
    return [
        (group, candidate)
        for group in _with_texts(task, groups)
        for candidate in _judged(task, group)
    ]


def require_texts(model: str, task: Task, release: Material, where: str) -> None:
    """UserError where a form reads what no candidate in train, or in dev, of a release has."""
    texts = {"train": _texts_of(release.train), "dev": _texts_of(release.dev)}
    usable = _usable(model, *texts.values())
    if task.form in usable or not (release.train and release.dev):
        return
    split, lacking = next(
        (split, TEXTS[letter])
        for split, there in texts.items()
        for letter in task.form[1:]
        if letter not in there
    )
    instead = f"name {' or '.join(usable)} in the recipe"
    raise UserError(
        f"The form {task.form} reads {lacking}s, and no candidate in {split} of {where} has one: "
        f"{instead if usable else 'train on a release that has some'}."
    )


def _texts_of(groups: Sequence[Group]) -> set[str]:
    return {
        letter
        for letter, name in TEXTS.items()
        if any(getattr(one, name) for group in groups for one in group.candidates)
    }


def _usable(model: str, train: set[str], dev: set[str]) -> list[str]:
    """A retriever has no form of answers alone: it reads them by QQA where no candidate has a
    question."""
    forms = [form for form in FORMS[model] if set(form[1:]) <= train & dev]
    if forms or train != dev:
        return forms
    return [form for form in FORMS[model] if set(form[1:]) & train]


def _judged(task: Task, group: Group) -> Sequence[Candidate]:
    """A rank is one example, labelled as its first pair is."""
    return group.candidates[:1] if task.form in RANK_FORMS else group.candidates


def _with_texts(task: Task, groups: Sequence[Group]) -> Iterator[Group]:
    if task.material == RELEASE or task.form in RANK_FORMS or "Q" in task.form[1:]:
        yield from groups
        return
    answered = (
        group._replace(candidates=tuple(one for one in group.candidates if one.answer))
        for group in groups
    )
    used = [group for group in answered if group.candidates]
    if groups and not used:
        raise UserError(
            f"The form {task.form} reads answers alone, and of what {task.material} has to learn "
            "from, or to tell when to stop, nothing has an answer (answer2 of pairs): add answers, "
            "or leave it out."
        )
    yield from used


def _ranked(model: str, task: Task, groups: Sequence[Group], given: int) -> Examples:
    """A query without negatives is left out, except where another material has none at all."""
    wanted = task.hard_negatives
    if task.material != RELEASE:
        wanted = min(wanted, max((_beside_positives(group) for group in groups), default=0))
    names = [ANCHOR, POSITIVE, *(f"{NEGATIVE}_{number}" for number in range(1, wanted + 1))]
    rows: list[tuple[Read, ...]] = []
    left_out = given - len(groups)
    for group in groups:
        of_group = list(_rows_of(model, task, group, wanted))
        left_out += not of_group
        rows += of_group
    columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    return Examples(Dataset.from_dict(columns), left_out)


def _beside_positives(group: Group) -> int:
    """The number of negatives, of a query that has a positive."""
    negatives = sum(one.label < 0.5 for one in group.candidates)
    return negatives * (negatives < len(group.candidates))


def _rows_of(model: str, task: Task, group: Group, wanted: int) -> Iterator[tuple[Read, ...]]:
    """A row for each positive, with the next of the query's negatives, the hardest first."""
    texts: dict[bool, list[Read]] = {False: [], True: []}
    for candidate in group.candidates:
        texts[candidate.label >= 0.5].append(read(model, task.form, group.query, candidate)[1])
    if wanted and not texts[False]:
        return
    negatives = cycle(texts[False])
    for positive in texts[True]:
        yield (group.query, positive, *islice(negatives, wanted))
