"""The forms of a new campaign: its queries, its policy, its budget."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args, get_origin, get_type_hints

from django import forms
from django.conf import settings

from annotation.pipeline.setup.create import SEEDS, check_name_and_seed
from annotation.protocol.policy.crowds import CrowdTraits
from annotation.protocol.policy.descriptions import CHOICES, GROUPS, MAIN, OPEN, Group, Words
from annotation.protocol.policy.policy import Policy, PolicyError
from annotation.protocol.policy.tasks import PAPER_TASK, TASKS, TaskType
from annotation.web.new_campaign.draft import Draft
from core.errors import UserError
from core.text.money import cents_of, unit
from retrieval.corpus.corpora import corpus_named
from retrieval.index.versions import chosen_index
from retrieval.models.corpus import ALL
from retrieval.web.forms import corpus_field

WHOLE = re.compile(r"-?[0-9]{1,15}")
DECIMAL = re.compile(r"-?[0-9]{1,15}\.[0-9]{1,15}")
THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")  # the commas between them
FLAGS = {"yes": True, "no": False}
HINTS = get_type_hints(Policy)
LONG = ("description",)


class QueriesForm(forms.Form):
    """Who judges, the campaign's name, its queries and the seed."""

    task = forms.ChoiceField(
        label="What do they judge?",
        choices=[(each.name, each.choice) for each in TASKS.values()],
        initial=PAPER_TASK.name,
        required=False,
        widget=forms.RadioSelect,
    )
    name = forms.CharField(
        max_length=60,
        help_text="Letters, digits, - and _. Used in URLs and files. You cannot change it later.",
    )
    corpus = corpus_field(
        "Queries, candidates, and negative controls come from its sources alone. You cannot "
        "change it later."
    )
    origin = forms.ChoiceField(
        label="Queries",
        choices=[("sample", "Sampled from the corpus"), ("file", "My own, from a file")],
        initial="sample",
        widget=forms.RadioSelect,
    )
    sample = forms.IntegerField(
        label="How many to sample",
        required=False,
        min_value=1,
        max_value=10_000_000,
        help_text="Distinct questions drawn by the seed and held out: they are never "
        "offered as candidates in this campaign. The paper took 15,211. Where answers are judged, "
        "pairs are drawn, each with its own answer.",
    )
    file = forms.FileField(
        label="File of queries",
        required=False,
        help_text="JSON lines, CSV or TSV with a column query (and id, if you like), or a text "
        "file with a query a line; also as .gz. Where answers are judged: JSON lines with a query "
        "and its candidates, as “quorum model evaluate-answers --answers” writes them.",
    )
    seed = forms.IntegerField(
        initial=0,
        help_text="The sample, the packing and the splits follow from it: the same seed makes the "
        "same campaign again.",
    )

    def __init__(self, *args: Any, draft: Draft, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._draft = draft
        presets = [(each.name, each.title) for each in draft.presets.values()]
        self.fields["preset"] = forms.ChoiceField(
            label="Who judges?", choices=presets, widget=forms.RadioSelect
        )

    def clean_task(self) -> str:
        return self.cleaned_data["task"] or PAPER_TASK.name

    def clean(self) -> dict[str, Any]:
        said = self.cleaned_data
        name, seed = said.get("name"), said.get("seed")
        if name is not None and seed is not None:
            try:
                check_name_and_seed(name, seed)
            except UserError as error:
                self.add_error("name" if seed in SEEDS else "seed", str(error))
        sampled = said.get("origin") == "sample"
        if sampled and said.get("sample") is None and not self.errors.get("sample"):
            self.add_error("sample", "Say how many queries are to be drawn.")
        if (
            sampled
            and (most := _pairs(said.get("corpus") or ALL))
            and (said.get("sample") or 0) > most
        ):
            self.add_error("sample", f"The index holds {most:,} pairs: no more can be drawn.")
        if said.get("origin") == "file" and not self.errors.get("task"):
            file = self._draft.file
            if file is None:
                self.add_error("file", "Choose the file of your queries.")
            elif file.task != said.get("task"):
                self.add_error("file", "This file was read for another task: choose it again.")
        return said


def _pairs(corpus: str) -> int | None:
    """Of its index, none of whose questions is drawn twice; None where there is no index."""
    try:
        return chosen_index(corpus_named(corpus)).pairs
    except UserError:
        return None


@dataclass(frozen=True)
class Line:
    """A field of the policy as the page shows it."""

    words: Words
    field: forms.BoundField
    default: str  # as the form writes it

    @property
    def paper(self) -> str:
        return "" if self.words.paper == OPEN else self.words.paper

    @property
    def is_changed(self) -> bool:
        return str(self.field.value()).strip() != self.default


class PolicyForm(forms.Form):
    """The fields of the policy that its crowd leaves open; the others stay as they are in `base`.

    The policy's own rules say what is wrong with them.
    """

    policy: Policy

    def __init__(self, *args: Any, base: Policy, **kwargs: Any) -> None:
        super().__init__(*args, **{"initial": written(asdict(base)), **kwargs})
        self._base = base
        self.crowd = base.crowd_traits
        self.task = base.task_type
        for words in _asked(self.crowd, self.task):
            self.fields[words.name] = _field(words, self.crowd)

    def clean(self) -> dict[str, Any]:
        said = {name: _value(name, text) for name, text in self.cleaned_data.items()}
        try:
            self.policy = Policy.from_dict(
                {"currency": settings.CURRENCY, **self._base.to_dict(), **said}
            )
        except PolicyError as error:
            for fault in error.faults:
                self._add_fault(fault)
        return said

    def _add_fault(self, fault: str) -> None:
        """The policy names the field first."""
        name = re.split(r"\W", fault, maxsplit=1)[0]
        words = fault.removeprefix(f"{name} ") if f"{name} must be" in fault else fault
        self.add_error(name if name in self.fields else None, words[:1].upper() + words[1:] + ".")

    def main(self) -> list[Line]:
        return [self._line(words) for words in _asked(self.crowd, self.task) if words.name in MAIN]

    def groups(self) -> Iterator[tuple[Group, list[Line]]]:
        """The rest."""
        for group in GROUPS:
            rest = [one for one in group.fields if one.name in self.fields and one.name not in MAIN]
            if rest:
                yield group, [self._line(words) for words in rest]

    @property
    def is_open(self) -> bool:
        """Whether something is to be seen among the rest."""
        return any(line.field.errors for _, lines in self.groups() for line in lines)

    def _line(self, words: Words) -> Line:
        return Line(words, self[words.name], _text(words.default))


def _asked(crowd: CrowdTraits, task: TaskType) -> list[Words]:
    return [
        words
        for group in GROUPS
        for words in group.fields
        if crowd.asks(words.name) and task.asks(words.name)
    ]


def _field(words: Words, crowd: CrowdTraits) -> forms.Field:
    common: dict[str, Any] = {
        "label": crowd.said(words.label),
        "help_text": crowd.said(words.meaning),
    }
    hint = HINTS[words.name]
    if get_origin(hint) is Literal:
        choices = [(one, crowd.said(CHOICES[one])) for one in get_args(hint)]
        return forms.ChoiceField(choices=choices, **common)
    if hint is bool:
        return forms.ChoiceField(choices=[(one, one) for one in FLAGS], **common)
    widget: forms.Widget = forms.TextInput()
    if hint is not str:
        widget = forms.TextInput({"inputmode": "numeric" if hint is int else "decimal"})
    elif words.name in LONG:
        widget = forms.Textarea({"rows": 3})
    return forms.CharField(max_length=2000, widget=widget, **common)


def _value(name: str, text: str) -> object:
    """As the policy wants it; what cannot be read stays a text, which the policy refuses."""
    hint = HINTS[name]
    if hint is bool:
        return FLAGS.get(text, text)
    if hint is str or get_origin(hint) is Literal:
        return text
    if WHOLE.fullmatch(text):
        return int(text)
    return float(text) if DECIMAL.fullmatch(text) else text


def _text(value: object) -> str:
    """As the form writes it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def written(values: Mapping[str, object]) -> dict[str, str]:
    """A policy's values as the form's."""
    return {name: _text(value) for name, value in values.items()}


def typed_cents(text: str) -> int | None:
    """Of a sum whose thousands may be grouped; None where nothing was typed."""
    ungrouped = THOUSANDS.sub("", text.strip())
    try:
        return cents_of(ungrouped) if ungrouped else None
    except UserError as error:
        raise forms.ValidationError(str(error)) from error


class BudgetForm(forms.Form):
    """What the campaign may cost at most."""

    budget = forms.CharField(
        max_length=20,
        required=False,
        help_text="It may cost that much at most, fees included. Left empty, nothing that costs "
        "money is published until a budget is set.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["budget"].label = f"Budget in {unit()}"

    def clean_budget(self) -> int:
        return typed_cents(self.cleaned_data["budget"]) or 0
