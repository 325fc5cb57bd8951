import sys
import time
from argparse import ArgumentTypeError
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser
from tqdm import tqdm

from core.command import QuorumCommand, record
from core.errors import UserError
from retrieval.index.choice import BYTES, KINDS
from retrieval.index.lazy import lexical_index
from retrieval.indexing.build import build_index
from retrieval.indexing.plan import AUTO, PRECISIONS, BuildOptions
from retrieval.jobs.count_sources import SUBJECT
from retrieval.models import IndexForm, IndexVersion
from retrieval.registry.registry import resolve_model, trained_form


class Command(QuorumCommand):
    help = "Encodes the q/a pairs and makes the index that candidates are retrieved from."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--model",
            default=settings.ENCODER_MODEL,
            help="a registered model, an installed model package, a folder or a "
            "sentence-transformers name "
            "(default: %(default)s)",
        )
        parser.add_argument(
            "--form",
            choices=IndexForm.values,
            help="QQA: question and answer together; QQ: the question alone (default: what a model "
            "that `manage.py train` made was trained for, else QQA)",
        )
        parser.add_argument("--device", default=settings.ENCODER_DEVICE, help="auto, cpu or cuda")
        _add_choices(parser)
        parser.add_argument(
            "--recall",
            type=float,
            default=BuildOptions.recall,
            help="the least share of the exact nearest 30 that an index of an approximate kind "
            "must find, measured when it is made (%(default)s)",
        )
        parser.add_argument(
            "--processes",
            type=_processes,
            default=1,
            metavar="N",
            help="that encode on the CPU, or auto (%(default)s)",
        )
        parser.add_argument(
            "--spread", action="store_true", help="let the workers of the queue `encoding` encode"
        )
        parser.add_argument("--lexical", action="store_true", help="make the index of BM25 as well")

    def run(self, *args: Any, **options: Any) -> dict[str, object]:
        with self.progress(None, "Encoding", unit=" pairs") as bar:
            encoding = Encoding(bar)
            model = resolve_model(options["model"])
            trained = _form_trained_for(model, options["form"])
            index = build_index(
                model,
                options["form"] or trained or IndexForm.QQA,
                options["device"],
                encoding.count,
                options=_options(options),
                announce=encoding.begin,
            )
        facts = _facts(index, encoding) | {"note": _of_another_form(trained, index.form)}
        told = ("model", "form", "kind", "store", "precision", "pairs", "unchanged")
        details = {name: facts[name] for name in told} | {"words_asked_for": options["lexical"]}
        record("build index", subject=SUBJECT, details=details)
        if options["lexical"]:
            with self.progress(index.pairs, "Reading for BM25", unit=" pairs") as bar:
                lexical_index(index, bar.update)
        return facts


def _form_trained_for(model: str, asked: str | None) -> str | None:
    """None where no training of a retriever is known of; UserError where its record is broken."""
    try:
        form = trained_form(model)
    except UserError:
        if asked is None:
            raise
        return None  # who names the form needs no record of it
    # What loads it refuses a selector by its own words.
    return form if form in IndexForm.values else None


def _of_another_form(trained: str | None, form: str) -> str | None:
    if trained in (None, form):
        return None
    return f"the model was trained for {trained} and not for {form}"


class Encoding:
    """What a build tells as it goes on; shown on the bar and kept for the result."""

    def __init__(self, bar: "tqdm[Any]") -> None:
        self._bar = bar
        self.choice = ""  # empty: the index was there
        self.pairs = 0
        self._began = self._ended = 0.0

    def begin(self, missing: int, choice: str) -> None:
        self.choice = choice
        self._began = time.monotonic()
        self._bar.reset(missing)
        if not self._bar.disable:
            self._bar.write(choice, file=sys.stderr)

    def count(self, pairs: int) -> None:
        self.pairs += pairs
        self._ended = time.monotonic()
        self._bar.update(pairs)

    @property
    def pairs_a_second(self) -> int | None:
        return round(self.pairs / (self._ended - self._began)) if self.pairs else None


def _add_choices(parser: CommandParser) -> None:
    for name, choices, words in (
        ("--kind", KINDS, "of index: exact kinds find all, the others nearly all"),
        ("--store", tuple(BYTES), "how the vectors are kept"),
        ("--precision", PRECISIONS, "in which pairs are encoded"),
    ):
        parser.add_argument(
            name, default=AUTO, choices=(AUTO, *choices), help=f"{words} (default: %(default)s)"
        )


def _options(options: dict[str, Any]) -> BuildOptions:
    names = ("kind", "store", "precision", "recall", "processes", "spread")
    return BuildOptions(**{name: options[name] for name in names})


def _processes(value: str) -> int | None:
    if value == AUTO:
        return None
    if not value.isdecimal() or int(value) < 1:
        raise ArgumentTypeError(f"{value!r} is neither auto nor a number from 1 on")
    return int(value)


def _facts(index: IndexVersion, encoding: Encoding) -> dict[str, object]:
    measured = index.manifest["recall_measured"] or {}
    return {
        "model": index.known_as,
        "form": index.form,
        "kind": index.kind,
        "store": index.manifest["store"]["dtype"],
        "precision": index.manifest["store"]["precision"],
        "choice": encoding.choice or None,
        "unchanged": not encoding.choice,
        "pairs": index.pairs,
        "newly_encoded": encoding.pairs,
        "pairs_a_second": encoding.pairs_a_second,
        "recall": index.recall,
        "recall_at": measured.get("at"),
        "recall_sample": measured.get("sample"),
        "dimension": index.dimension,
        "folder": index.path,
    }
