"""What narrows each long list: one declaration, which its page and the API read alike."""

from collections.abc import Callable
from datetime import UTC, datetime, time
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.db.models import Q

from annotation.analytics.quality.hit_states import HitState
from annotation.crowd.inhouse.members import id_of
from annotation.models import Assignment, AuditEntry, Triplet, Worker
from annotation.protocol.screening.control import RejectionReason

LARGEST = 2**63 - 1


class Narrowing(forms.Field):
    """A field that need not be filled in; `by` is its lookup, or makes a condition of its value."""

    def __init__(self, *args: Any, by: str | Callable[[Any], Q], **about: Any) -> None:
        super().__init__(*args, required=False, **about)
        self.by = by

    def where(self, value: Any) -> Q:
        if value in self.empty_values:
            return Q()
        return Q(**{self.by: value}) if isinstance(self.by, str) else self.by(value)


class Text(Narrowing, forms.CharField):
    pass


class Number(Narrowing, forms.IntegerField):
    pass


class Day(Narrowing, forms.DateField):
    widget = forms.DateInput({"type": "date"})


class Choice(Narrowing, forms.ChoiceField):
    def __init__(self, choices: list[tuple[str, str]], **about: Any) -> None:
        self.values = [value for value, _ in choices]
        words = {"invalid_choice": f"Not '%(value)s': choose one of {', '.join(self.values)}."}
        super().__init__(choices=[("", "Any"), *choices], error_messages=words, **about)


class Filter(forms.Form):
    def where(self, *names: str) -> Q:
        """What the fields named ask for, or all of them; one that is not valid asks for nothing."""
        where = Q()
        for name, field in self.fields.items():
            if isinstance(field, Narrowing) and (not names or name in names):
                where &= field.where(self.cleaned_data.get(name))
        return where


def _of_worker(name: str) -> Q:
    """By its key: the index of assignments knows no names."""
    workers = Worker.objects.filter(worker_id__in={name, id_of(name)})
    return Q(worker__in=list(workers.values_list("pk", flat=True)))


def _by_actor(name: str) -> Q:
    known = User.objects.filter(username=name).first()
    return Q(user=known) if known else Q(actor=name, user=None)


def _by_verb(words: str) -> Q:
    """As the log's page shows it, or as it is stored."""
    return Q(verb__in={words, words.replace(" ", "-")})


class HitFilter(Filter):
    """For rows `with_state`."""

    state = Choice(HitState.choices, by="condition")
    round = Choice(
        [("first", "First round"), ("repack", "Repacked")], by=lambda it: Q(repack=it == "repack")
    )


class LabelFilter(Filter):
    label = Choice([("1", "Yes"), ("0", "No")], by="label")
    query = Text(label="Query id", max_length=64, by="candidate__query__key")


class TripletFilter(LabelFilter):
    status = Choice(Triplet.Status.choices, by="status")
    label = Choice(
        [("1", "Yes"), ("0", "No"), ("none", "No label")],
        by=lambda it: Q(label={"1": 1, "0": 0}.get(it)),
    )
    votes = Number(min_value=0, max_value=99, by="votes")
    from_rank = Number(label="From rank", min_value=1, max_value=9999, by="candidate__rank__gte")
    to_rank = Number(label="To rank", min_value=1, max_value=9999, by="candidate__rank__lte")


class AssignmentFilter(Filter):
    """For rows `with_rejection`."""

    hit = Number(label="HIT", min_value=0, max_value=LARGEST, by="hit__number")
    worker = Text(
        max_length=150, help_text="As the crowd names them; in-house the user name", by=_of_worker
    )
    status = Choice(Assignment.Status.choices, by="status")
    passed = Choice(
        [("yes", "Passed"), ("no", "Failed"), ("none", "Not reviewed yet")],
        label="Controls",
        by=lambda it: Q(passed={"yes": True, "no": False}.get(it)),
    )
    rejection = Choice(
        [(one.key, one.label) for one in RejectionReason],
        label="Rejection reason",
        by="rejection",
    )


class LogFilter(Filter):
    verb = Text(
        label="Action", max_length=40, widget=forms.TextInput({"list": "verbs"}), by=_by_verb
    )
    actor = Text(label="By", max_length=150, by=_by_actor)
    via = Choice(AuditEntry.Via.choices, label="Way", by="via")
    since = Day(label="From", by=lambda day: Q(at__gte=datetime.combine(day, time.min, UTC)))
    until = Day(label="To", by=lambda day: Q(at__lte=datetime.combine(day, time.max, UTC)))
