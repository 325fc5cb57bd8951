"""What an import and an index can be told on their pages."""

from typing import Any

from django import forms
from django.conf import settings

from retrieval.corpus.corpora import corpora
from retrieval.corpus.pair_reader import MAX_LICENSE, MAX_SOURCE
from retrieval.corpus.sources.formats import FORMATS
from retrieval.indexing.plan import AUTO, BuildOptions
from retrieval.jobs.handlers import IndexRequest
from retrieval.jobs.import_files import ImportRequest
from retrieval.models import Corpus, IndexForm, IndexKind, TrainedModel
from retrieval.models.corpus import ALL

BY_ENDING = "by the file's ending: JSONL, CSV, TSV or Parquet"
MOST_FIELD = 100
BEST = ("share", "score", "score_field")
EXPERT = ("model", "form", "kind", "recall")  # of an index: their defaults suit nearly everybody


def _formats() -> list[tuple[str, str]]:
    named = [
        (name, f"{name} ({one.license})" if one.license else name)
        for name, one in sorted(FORMATS.items())
    ]
    return [("", BY_ENDING), *named]


def corpus_choices() -> list[tuple[str, str]]:
    names = Corpus.objects.order_by("name").values_list("name", flat=True)
    return [(ALL, "all pairs"), *((name, name) for name in names)]


def corpus_field(help_text: str = "", *, required: bool = False) -> forms.ChoiceField:
    """Left out, it is all pairs."""
    return forms.ChoiceField(
        label="Corpus",
        choices=corpus_choices,
        required=required,
        initial=ALL,
        help_text=help_text,
    )


class ImportForm(forms.Form):
    source = forms.CharField(
        label="Name of the source",
        max_length=MAX_SOURCE,
        help_text="Stored with every pair. Importing into an existing source adds to it.",
        widget=forms.TextInput({"list": "sources", "autocomplete": "off"}),
    )
    corpus = corpus_field("The source joins this corpus. “All pairs” always contains every source.")
    format = forms.ChoiceField(
        label="Format",
        choices=_formats,
        required=False,
        help_text="The format of a published dataset, or a file with columns named question and "
        "answer (id and license are optional).",
    )
    license = forms.CharField(
        label="Licence",
        max_length=MAX_LICENSE,
        required=False,
        help_text="For rows without a licence of their own. If empty, the licence that the "
        "dataset's publisher states, if known.",
    )
    share = forms.CharField(
        label="Keep only the best",
        max_length=10,
        required=False,
        help_text="Share of pairs to keep, such as 10% or 0.1. If empty, all pairs are kept.",
        widget=forms.TextInput({"placeholder": "all"}),
    )
    score = forms.ChoiceField(
        label="Best by",
        choices=[
            ("", "nothing (keep all pairs)"),
            ("field", "a column of the file"),
            ("encoder", "this site's encoder (similarity of question and answer)"),
        ],
        required=False,
    )
    score_field = forms.CharField(
        label="Column of scores",
        max_length=MOST_FIELD,
        required=False,
        help_text="Required if you rank by a column. Higher is better.",
    )

    index = forms.BooleanField(
        label="Build the corpus's index again afterwards",
        initial=True,
        required=False,
        help_text="Searches do not find new pairs before. Only new pairs are encoded.",
    )

    @property
    def of_every_import(self) -> list[forms.BoundField]:
        return [self[name] for name in ("source", "corpus", "format", "license")]

    @property
    def of_the_best(self) -> list[forms.BoundField]:
        return [self[name] for name in BEST]

    @property
    def keeps_the_best(self) -> bool:
        return any(self.data.get(name) for name in BEST)

    def wanted(self) -> ImportRequest:
        given = self.cleaned_data
        return ImportRequest(
            source=given["source"],
            license=given["license"],
            format=given["format"],
            share=given["share"],
            score_field=given["score_field"] if given["score"] == "field" else "",
            by_encoder=given["score"] == "encoder",
            corpus=given["corpus"] or ALL,
            index=given["index"],
        )


def _kinds() -> list[tuple[str, str]]:
    return [(AUTO, "automatic, by number of pairs and memory"), *IndexKind.choices]


def _encoders() -> list[tuple[str, str]]:
    retrievers = TrainedModel.objects.filter(kind=TrainedModel.Kind.RETRIEVER).order_by("-pk")
    names = retrievers.values_list("name", flat=True)
    return [("", f"this site's: {settings.ENCODER_MODEL}"), *((name, name) for name in names)]


def source_choices() -> list[tuple[str, str]]:
    return [(source, source) for source in corpora()[0].sources]


class BuildForm(forms.Form):
    corpus = corpus_field("Only this corpus's sources are indexed.")
    model = forms.ChoiceField(
        label="Encoder",
        choices=_encoders,
        required=False,
        help_text="The site's default, or a retriever trained here.",
    )
    form = forms.ChoiceField(
        label="What is searched",
        choices=IndexForm.choices,
        initial=IndexForm.QQA,
        help_text="The paper uses question and answer.",
    )
    kind = forms.ChoiceField(
        label="Kind",
        choices=_kinds,
        initial=AUTO,
        help_text="Automatic is exact as long as a question takes less than half a second (up to "
        "6 million pairs with 384 numbers each), then a graph, and above 10 million pairs inverted "
        "lists. PostgreSQL keeps that of pgvector, and Milvus that of milvus. All but the exact "
        "kinds may miss a few pairs.",
    )
    recall = forms.FloatField(
        label="Recall",
        min_value=0.01,
        max_value=1,
        initial=BuildOptions.recall,
        help_text="Minimum recall@30 for approximate kinds. It is measured after the build, and "
        "an index below it is refused.",
        widget=forms.NumberInput({"step": "0.005"}),
    )
    words = forms.BooleanField(
        label="Also build the keyword index (BM25)", initial=True, required=False
    )

    @property
    def usual(self) -> list[forms.BoundField]:
        return [self[name] for name in self.fields if name not in EXPERT]

    @property
    def expert(self) -> list[forms.BoundField]:
        return [self[name] for name in EXPERT]

    @property
    def asks_an_expert(self) -> bool:
        """Something else than the usual is chosen there, or is wrong."""
        return any(one.errors or one.value() != one.initial for one in self.expert)

    def wanted(self) -> IndexRequest:
        given: dict[str, Any] = self.cleaned_data
        return IndexRequest(**{**given, "corpus": given["corpus"] or ALL})
