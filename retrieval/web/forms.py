"""What an import and an index can be told on their pages."""

from typing import Any

from django import forms
from django.conf import settings

from retrieval.corpus.pair_reader import MAX_LICENSE, MAX_SOURCE
from retrieval.corpus.sources.formats import FORMATS
from retrieval.index.choice import KINDS
from retrieval.indexing.plan import AUTO, BuildOptions
from retrieval.jobs.handlers import IndexWanted
from retrieval.jobs.import_files import Wanted
from retrieval.models import IndexForm, IndexKind, TrainedModel

BY_ENDING = "by the file's ending: JSONL, CSV, TSV or Parquet"
MOST_FIELD = 100
BEST = ("share", "score", "score_field")


def _formats() -> list[tuple[str, str]]:
    named = [
        (name, f"{name} ({one.license})" if one.license else name)
        for name, one in sorted(FORMATS.items())
    ]
    return [("", BY_ENDING), *named]


class ImportForm(forms.Form):
    source = forms.CharField(
        label="Name of the source",
        max_length=MAX_SOURCE,
        help_text="Every pair keeps it. An import adds to a source that is there already.",
        widget=forms.TextInput({"list": "sources", "autocomplete": "off"}),
    )
    format = forms.ChoiceField(
        label="Format",
        choices=_formats,
        required=False,
        help_text="As its publisher distributes it; else columns or members named question and"
        " answer, and optionally id and license.",
    )
    license = forms.CharField(
        label="Licence",
        max_length=MAX_LICENSE,
        required=False,
        help_text="Of the rows that name none themselves. Left empty: what the format's publisher"
        " states, if anything is known.",
    )
    share = forms.CharField(
        label="Keep only the best",
        max_length=10,
        required=False,
        help_text="A share of the pairs, as 10% or 0.1. Left empty: all of them.",
        widget=forms.TextInput({"placeholder": "all"}),
    )
    score = forms.ChoiceField(
        label="Best by",
        choices=[
            ("", "nothing: all are kept"),
            ("field", "a column of the file"),
            ("encoder", "this site's encoder: question and answer close in meaning"),
        ],
        required=False,
    )
    score_field = forms.CharField(
        label="Column of scores",
        max_length=MOST_FIELD,
        required=False,
        help_text="Where the best are found by a column: the higher, the better.",
    )

    @property
    def of_every_import(self) -> list[forms.BoundField]:
        return [self[name] for name in ("source", "format", "license")]

    @property
    def of_the_best(self) -> list[forms.BoundField]:
        return [self[name] for name in BEST]

    @property
    def keeps_the_best(self) -> bool:
        return any(self.data.get(name) for name in BEST)

    def wanted(self) -> Wanted:
        given = self.cleaned_data
        return Wanted(
            source=given["source"],
            license=given["license"],
            format=given["format"],
            share=given["share"],
            score_field=given["score_field"] if given["score"] == "field" else "",
            by_encoder=given["score"] == "encoder",
        )


def _kinds() -> list[tuple[str, str]]:
    words = dict(IndexKind.choices)
    return [(AUTO, "what fits the pairs and the memory"), *((one, words[one]) for one in KINDS)]


def _encoders() -> list[tuple[str, str]]:
    retrievers = TrainedModel.objects.filter(kind=TrainedModel.Kind.RETRIEVER).order_by("-pk")
    names = retrievers.values_list("name", flat=True)
    return [("", f"this site's: {settings.ENCODER_MODEL}"), *((name, name) for name in names)]


class BuildForm(forms.Form):
    model = forms.ChoiceField(
        label="Encoder",
        choices=_encoders,
        required=False,
        help_text="This site's, or a retriever that was trained here.",
    )
    form = forms.ChoiceField(
        label="What is searched",
        choices=IndexForm.choices,
        initial=IndexForm.QQA,
        help_text="The paper searches question and answer together.",
    )
    kind = forms.ChoiceField(
        label="Kind",
        choices=_kinds,
        initial=AUTO,
        help_text="Exact kinds find all, the others nearly all and faster.",
    )
    recall = forms.FloatField(
        label="Recall",
        min_value=0.01,
        max_value=1,
        initial=BuildOptions.recall,
        help_text="Of the exact nearest 30, the least share that an approximate kind must find; it"
        " is measured, and the index is refused below it.",
        widget=forms.NumberInput({"step": "0.005"}),
    )
    words = forms.BooleanField(
        label="Read the words too, for searches by words (BM25)", initial=True, required=False
    )

    def wanted(self) -> IndexWanted:
        given: dict[str, Any] = self.cleaned_data
        return IndexWanted(**given)
